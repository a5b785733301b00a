//! Batches: on a world with a scripted organizer and scripted work, and on a real engine with real entities.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod again;
mod answers;
mod away;
mod crashes;
mod elsewhere;
mod forms;
mod meanwhile;
mod messages;
mod ours;
mod pure;
mod real;
mod rig;
mod rules;
mod speed;
mod uploads;
mod whole;
