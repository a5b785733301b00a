//! The organizer's decisions: budgets, checks of answers, and groups without a model.

mod budget;
mod builtin;
mod check;
mod collections;
mod prompt;
