//! Forms of messages on a real engine.
