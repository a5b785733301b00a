//! Sync clients: sockets and requests on the logs of stores. The wire format itself is `abide-links`'s.

mod denied;
mod feed;
mod live_pull;
mod member;
mod one_request;
mod page_room;
mod pass;
mod push_end;
mod socket;
mod sockets;
mod stream;
mod upgrade;
mod wire;

pub(crate) use feed::{Feed, Feeds};
pub(crate) use member::Member;
pub(crate) use one_request::{answer, refused};
pub(crate) use pass::Pass;
pub(crate) use socket::{Party, serve};
pub(crate) use sockets::Sockets;
pub(crate) use stream::{Source, export, tail};
pub(crate) use upgrade::{NoUpgrade, Upgrade};
