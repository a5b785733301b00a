//! Chat completions within a budget, and what needs no model.
//!
//! What it is for: one question to a model with an answer that is known to have the asked shape, or a short summary of a
//! text without any model.
//! What it knows: endpoints that speak as OpenAI's does, more or less; what they cost; sentences and words of some languages.
//! What it does not know: stores, jobs, services, config. Where an answer is kept is the caller's affair: [`Ask::key`] says
//! under which name.
//! Where to enter: [`Client::ask`] for a model, [`Replay`] for its answers in tests, [`extract::summarize`] without one,
//! [`fence::fence`] for text from strangers in a prompt.

mod answer;
mod ask;
pub mod budget;
mod client;
mod dialect;
mod error;
pub mod extract;
pub mod fence;
mod fit;
mod limiter;
pub mod limits;
mod purse;
pub mod repair;
mod replay;
mod spend;
mod wire;

pub use answer::Answer;
pub use ask::{Ask, Shape};
pub use client::{Client, Endpoint};
pub use error::LlmError;
pub use limiter::Limiters;
pub use purse::{Book, Purse};
pub use replay::{Counted, Model, Reckoned, Reckoning, Replay};
pub use spend::{Price, Spent, Usage};
