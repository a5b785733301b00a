//! PINAX: the metadata record of a directory.

mod builtin;
mod model;
mod names;
mod record;
mod types;
mod validate;

pub use names::Names;
pub use record::{Draft, Pinax, UNKNOWN};
pub use types::DcmiType;
pub use validate::{FieldCheck, Validation};

pub(crate) use builtin::record as builtin;
pub(crate) use model::{ask, draft};
