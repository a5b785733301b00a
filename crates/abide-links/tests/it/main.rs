//! The log of a store, in virtual time.

mod sync_log;
