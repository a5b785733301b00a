//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod config_check;
pub(crate) mod config_show;
pub(crate) mod links;
pub(crate) mod listen;
pub(crate) mod serve;
