//! Configuration: defaults, then `abide.toml`, then the environment, then flags; the later wins.
//!
//! `table.rs` declares every option once; decoding, overlay, refusals and `abide config` follow from it.

mod environment;
mod file;
pub(crate) mod kind;
mod layer;
mod nearest;
pub(crate) mod option;
mod problem;
mod resolve;
mod source;
mod table;
mod value;

pub(crate) use environment::Surroundings;
pub(crate) use option::user_data_dir;
pub(crate) use problem::Problems;
pub(crate) use resolve::{Entry, Inputs, Resolved, resolve};
pub(crate) use source::Source;
pub(crate) use table::{
    Config, Coordinator, Entities, Llm, Log, OPTIONS, Pipeline, Preprocess, Sync, Telemetry, doc_of_flag,
};
pub(crate) use value::Value;
