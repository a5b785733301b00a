//! Folders of files into named groups.
//!
//! What it is for: deciding which files of a directory belong together and saying why, by a model within a budget of
//! tokens, or without any model.
//! What it knows: names and contents of files; how a model's answer is checked and repaired.
//! What it does not know: HTTP, stores.
//! Where to enter: [`builtin::organize`] needs no model; [`budget`] and [`prompt`] make what a model is asked,
//! [`check`] makes what it answers safe to act on.

pub mod builtin;
pub mod check;
pub mod contract;
pub mod limits;
pub mod names;
pub mod prompt;

mod file;
mod plan;

pub use abide_llm::budget;
pub use file::{FileKind, InputFile, REF_SUFFIX};
pub use plan::{Group, Plan};
