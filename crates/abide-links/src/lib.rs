//! Event-log sync and the reactive link processor.

pub mod event;
