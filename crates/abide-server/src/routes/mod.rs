//! The routes, one noun each. They only decode, call and encode.

pub(crate) mod attempts;
pub(crate) mod backup;
pub(crate) mod batches;
pub(crate) mod coordinator;
pub(crate) mod dead;
pub(crate) mod entities;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod lease;
pub(crate) mod limits;
pub(crate) mod link_keys;
pub(crate) mod links;
pub(crate) mod metrics;
pub(crate) mod objects;
pub(crate) mod openapi;
pub(crate) mod orchestrator;
pub(crate) mod organizer;
pub(crate) mod preprocess;
mod queued;
pub(crate) mod queues;
pub(crate) mod sync;
pub(crate) mod tickets;
pub(crate) mod tokens;
pub(crate) mod web;
