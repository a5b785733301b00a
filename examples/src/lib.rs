//! Small programs that use Abide as a library.
//!
//! Each of [`counter`], [`transfer`], [`fan_out`], [`reminder`] and [`chat`] holds the objects of one program. The programs
//! are in `src/bin`; `cargo run -p abide-examples --bin counter -- DIR` runs one. Their tests are in `tests/it`: each object
//! by itself in virtual time, and each program twice on one data directory.

pub mod call;
pub mod chat;
pub mod counter;
pub mod fan_out;
pub mod home;
pub mod reminder;
pub mod transfer;

pub use call::call;
pub use home::Home;
