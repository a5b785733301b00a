//! Every bound of this service.

/// Components of one entity.
pub const COMPONENTS: usize = 10_000;
/// Components given when an entity is created: as many as fit one commit.
pub const COMPONENTS_AT_CREATION: usize = 1_500;
/// Components added, replaced and removed in one version after the first.
pub const COMPONENT_CHANGES: usize = 600;
/// Bytes of a component's name.
pub const COMPONENT_NAME_BYTES: usize = 255;
/// Children added, and children removed, in one request.
pub const CHILDREN_AT_ONCE: usize = 100;
/// Children in one page, and in a manifest that has no pages.
pub const PAGE_CHILDREN: u64 = 1_000;
/// Bytes of an entity's properties, written as JSON.
pub const PROPERTIES_BYTES: usize = 64 * 1024;
/// Levels in an entity's properties.
pub const PROPERTIES_DEPTH: usize = 64;
/// Bytes of an entity's relationships, written as JSON.
pub const RELATIONSHIPS_BYTES: usize = 64 * 1024;
/// Bytes of a type.
pub const TYPE_BYTES: usize = 64;
/// Bytes of a label.
pub const LABEL_BYTES: usize = 1024;
/// Bytes of a description.
pub const DESCRIPTION_BYTES: usize = 32 * 1024;
/// Bytes of a version's note.
pub const NOTE_BYTES: usize = 4 * 1024;
/// Bytes of a content id as text.
pub const CONTENT_ID_BYTES: usize = 128;
/// Items in one page of a listing.
pub const PAGE_ITEMS: usize = 1_000;
/// Bytes of one request to `/upload` if nobody says otherwise.
pub const UPLOAD_BYTES: u64 = 100 * 1024 * 1024;
/// Parts of one request to `/upload`.
pub const UPLOAD_PARTS: usize = 1_000;
/// Bytes of one leaf of a file.
pub const CHUNK_BYTES: usize = 262_144;
/// Links of one node of a file.
pub const NODE_LINKS: usize = 174;
/// How long a call waits for the entities that it links.
pub const LINK_WAIT_MS: u64 = 30_000;
/// How long it is remembered that a blob was deleted: whoever uploaded it before and names it then is told.
pub const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1_000;
/// Rows of an entity that one step of its deletion tells others about.
pub const TOLD_AT_ONCE: usize = 600;
/// How often a deletion is waited for that long again.
pub const DELETION_WAITS: usize = 10;
/// Calls that wait for the same deletion.
pub const DELETIONS_AWAITED: usize = 16;
/// Blobs looked at by one step of a collection.
pub const COLLECTED_AT_ONCE: usize = 500;
/// Blobs younger than this are never collected: whoever uploaded them may be about to name them.
pub const COLLECT_AGE_MS: i64 = 60 * 60 * 1_000;
/// How old blobs are that are collected, if nobody says.
pub const COLLECT_USUAL_MS: i64 = 24 * 60 * 60 * 1_000;
/// Levels of parents that an entity may have above it.
pub const LEVELS: usize = 256;
