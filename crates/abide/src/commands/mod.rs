//! The commands, one file each.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod collection;
pub(crate) mod completions;
pub(crate) mod config_check;
pub(crate) mod config_show;
pub(crate) mod dead;
pub(crate) mod doctor;
pub(crate) mod ingest;
pub(crate) mod job;
pub(crate) mod limit;
pub(crate) mod links;
pub(crate) mod listen;
pub(crate) mod object;
pub(crate) mod preprocess;
pub(crate) mod queue;
pub(crate) mod serve;
pub(crate) mod token;
pub(crate) mod worker;
