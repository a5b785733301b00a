//! Outside work: reading directories, asking models, publishing groups, delivering callbacks. The only place with `async`.

mod ask;
mod bounds;
mod callback;
mod describe;
mod judge;
mod paper;
mod publish;
mod read;

pub use ask::{Answers, AskError, Asking, Bill, Later, NoAnswers, Organized, organize, strategize};
pub(crate) use callback::Callback;
pub(crate) use judge::Judge;
pub(crate) use paper::of_batch;
pub(crate) use publish::{Publisher, upload};
pub use publish::{Publishing, publish};
