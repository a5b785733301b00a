//! Collections: folders that became trees of entities.
//!
//! What it is for: `collections/all` remembers which folders became which trees, and what of each file is where. What is new,
//! edited or gone in a folder is brought to its tree; people look into trees, search, rename and move.
//! What it knows: the engine, entities, the ids that directories have, where images are kept.
//! What it does not know: folders on a disk, HTTP, how files are converted, read and described.
//! Where to enter: [`Collections`] for what is remembered, [`changes`] for what is to be done, [`snapshot`] for doing
//! it, [`Tree`] and [`Part`] for looking, [`Shelf`] for everything that people do.

mod by_hand;
mod catalog;
pub mod changes;
mod changing;
mod collection;
mod delete;
mod error;
mod file;
pub mod limits;
mod part;
mod refusal;
mod search;
mod shelf;
pub mod snapshot;
mod text;
mod tree;

pub use by_hand::{ByHand, move_file};
pub use catalog::{Call, Collections, NAME, Reply, check_name};
pub use collection::{Archived, Collection, Pending, SourceFile, Stage, Unfinished};
pub use delete::{DeletedCollection, sweep};
pub use error::ShelfError;
pub use file::{FileVersion, ShownFile};
pub use part::{ChildDocument, Named, Part, PartDocument};
pub use refusal::No;
pub use search::{Field, Hit, search};
pub use shelf::{Found, Moved, Renamed, Shelf};
pub use text::{is_file, shown_name, text_of};
pub use tree::{Branch, FileDocument, Tree, TreeDocument};

use abide_engine::Registry;
use abide_engine::registry::RegisterError;

/// Brings the object to an engine.
pub fn register(registry: &mut Registry) -> Result<(), RegisterError> {
    registry.object(Collections)
}
