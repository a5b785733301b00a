//! The routes, one noun each. They only decode, call and encode.

pub(crate) mod attempts;
pub(crate) mod backup;
pub(crate) mod coordinator;
pub(crate) mod dead;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod lease;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod objects;
pub(crate) mod openapi;
pub(crate) mod queues;
pub(crate) mod tickets;
pub(crate) mod tokens;
pub(crate) mod web;
