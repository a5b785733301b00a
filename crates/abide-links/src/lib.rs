//! Event-log sync and the reactive link processor.
