//! Event-log sync and the reactive link processor.

pub mod event;
pub mod identity;
pub mod limits;
pub mod page;
