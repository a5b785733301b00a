//! The pure decisions, as tables.

mod host_key;
mod job;
mod json;
mod lane;
mod limit;
mod name;
mod rate;
mod retry;
mod row;
mod seed;
mod why;
