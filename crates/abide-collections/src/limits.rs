//! Every bound of this service.

/// Characters of a collection's name.
pub const NAME_CHARS: usize = 100;
/// Bytes of the name that somebody gives a file.
pub const NAME_BYTES: usize = 210;
/// Bytes of a file's path in its folder.
pub const PATH_BYTES: usize = 600;
/// Collections or files that one call brings or gets.
pub const ITEMS_PER_CALL: usize = 500;
/// Entities of one tree.
pub const NODES: usize = 100_000;
/// Levels of a tree.
pub const DEPTH: usize = 100;
/// Files of a part that are shown.
pub const SHOWN_FILES: usize = 1_000;
/// Parts of a part that are shown.
pub const SHOWN_CHILDREN: usize = 1_000;
/// Versions of a part that are shown with it.
pub const SHOWN_VERSIONS: usize = 20;
/// Entities that are read at the same time.
pub const READ_AT_ONCE: usize = 8;
/// Changes of components in one version.
pub const CHANGES_AT_ONCE: usize = 500;
/// Bytes of a text that is looked into.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Hits of a search.
pub const HITS: usize = 200;
/// Characters of an excerpt on each side of what was found.
pub const EXCERPT_CHARS: usize = 60;
/// Characters of what is searched for.
pub const QUERY_CHARS: usize = 200;
