//! Jobs: how they are enqueued, wait, are leased, end and are taken back.

pub(crate) mod attempts;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod enqueue;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod leases;
pub(crate) mod offers;
pub(crate) mod place;
pub(crate) mod schedule;
pub(crate) mod unique;
