//! The routes, one noun each. They only decode, call and encode.

pub(crate) mod attempts;
pub(crate) mod coordinator;
pub(crate) mod dead;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod lease;
pub(crate) mod limits;
pub(crate) mod objects;
pub(crate) mod queues;
pub(crate) mod tickets;
pub(crate) mod tokens;
