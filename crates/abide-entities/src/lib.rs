//! Versioned manifests of blobs with true content ids.
//!
//! What it is for: an `entity/{id}` has versions, each a manifest that names blobs, a parent and children; its tip moves by
//! compare-and-swap. `catalog/main` lists them all, `blobs/main` knows the bytes, which are in a bucket under their id.
//! What it knows: the engine, buckets, CIDs, DAG-CBOR, UnixFS.
//! What it does not know: HTTP servers, configuration, other services.
//! Where to enter: [`EntityStore`] for what can be asked, [`LocalEntities`] and [`RemoteEntities`] for who answers,
//! [`register`]; `entity.rs` for versions, `links.rs` for parents and children, `file_dag.rs` for the ids of files.
//!
//! # Rows of an entity
//!
//! | row | what |
//! |---|---|
//! | `head` | the newest version, and the bond to its parent |
//! | `v/{number, newest first}` | each version without components and children |
//! | `cid/{cid}` | the number of the version with that manifest |
//! | `k/{name}` | a component of the newest version, and since when |
//! | `h/{version}/{name}` | a component that went in that version |
//! | `kid/{child}` | a child of the newest version: its place and its link |
//! | `kh/{place}` | who had that place, from which version to which |
//! | `pg/{page}` | the block of a page of children, when there are more than one page of places |
//! | `wait/{number}` | a call that is answered when others know of it |
//! | `leaving` | how far the deletion of the entity is: it has no head then |

pub mod answer;
mod blobs;
mod catalog;
mod children;
mod collect;
mod components;
mod content;
mod dag_json;
mod entity;
mod error;
mod file_dag;
mod id;
mod leave;
pub mod limits;
mod links;
mod local;
mod manifest;
mod messages;
mod refusal;
mod remote;
pub mod request;
mod retry;
mod rows;
mod seal;
mod show;
mod spool;
mod stamp;
mod store;

pub use blobs::{Blobs, BlobsCall, BlobsReply, Stored};
pub use catalog::{Block, Catalog, CatalogCall, CatalogReply};
pub use collect::{Collected, Collecting};
pub use content::{BadContentId, Codec, ContentId};
pub use entity::{Call, Entity, Reply};
pub use error::{CasDetails, EntityError, ErrorBody};
pub use file_dag::{FileHasher, FileNode, HashedFile, Link};
pub use id::{BadId, EntityId};
pub use local::LocalEntities;
pub use messages::{ToBlobs, ToCatalog, ToEntity};
pub use refusal::No;
pub use remote::RemoteEntities;
pub use retry::{Updated, update, update_if};
pub use stamp::stamp;
pub use store::{Asked, Contents, Detail, EntityStore, Part, Pieces};

use abide_engine::Registry;
use abide_engine::registry::RegisterError;

/// Brings the objects to an engine.
pub fn register(registry: &mut Registry) -> Result<(), RegisterError> {
    registry.object(Entity)?;
    registry.object(Catalog)?;
    registry.object(Blobs)
}
