//! Collections: folders that became trees of entities.
//!
//! What it is for: `collections/all` remembers which folders became which trees, and what of each file is where. What is new,
//! edited or gone in a folder is brought to its tree; people look into trees, search, rename and move.
//! What it knows: the engine, entities, the ids that directories have.
//! What it does not know: folders on a disk, HTTP, how files are converted, read and described.
//! Where to enter: [`Collections`] for what is remembered, [`changes`] for what is to be done, [`snapshot::apply`] for doing
//! it, [`Tree`] for looking.

mod by_hand;
mod catalog;
pub mod changes;
mod collection;
pub mod limits;
mod refusal;
mod search;
pub mod snapshot;
mod text;
mod tree;

pub use by_hand::{move_file, move_node, rename};
pub use catalog::{Call, Collections, NAME, Reply, check_name};
pub use collection::{Collection, Pending, SourceFile};
pub use refusal::No;
pub use search::{Field, Hit, search};
pub use text::{is_file, shown_name, text_of};
pub use tree::{Branch, Tree, TreeDocument};

use abide_engine::Registry;
use abide_engine::registry::RegisterError;

/// Brings the object to an engine.
pub fn register(registry: &mut Registry) -> Result<(), RegisterError> {
    registry.object(Collections)
}
