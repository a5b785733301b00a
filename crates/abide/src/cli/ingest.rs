//! Commands of collections: making one of a folder, and what is done with it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// A folder that becomes a collection.
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// Folder with scans, texts, PDFs and images; nothing is written to it.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// What the collection is called; as DIR is by default.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Languages of texts in images, as tesseract names them: deu+eng.
    #[arg(long, value_name = "LANGUAGES")]
    pub(crate) lang: Option<String>,

    /// Only say what would be done and what it would take.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Write the organized collection to this folder afterwards.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) export: Option<PathBuf>,

    /// DIR is the folder of the collection at another place, whatever is different in it.
    #[arg(long)]
    pub(crate) moved: bool,

    /// Look whether the bytes of every file are there, and bring those again that are not.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) mend: bool,
}

/// What to do with collections.
#[derive(Debug, Subcommand)]
pub(crate) enum CollectionCommand {
    /// List collections.
    List,
    /// Print a collection as a tree of groups with their files.
    Tree {
        /// Which.
        #[arg(value_name = "COLLECTION")]
        name: String,
    },
    /// Show a part of a collection with its description, files and versions, or a file with its text.
    Show {
        /// Which.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// Names with / between them, as the tree has them, or an id; the whole by default.
        #[arg(value_name = "PATH", default_value = "")]
        path: String,
        /// An older version: the number of one that is listed for the part, or for the part that the file is in.
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
        ver: Option<u32>,
    },
    /// Search names, texts, what was read off images, and descriptions; all words must occur.
    Search {
        /// Which.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// What to search for.
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
    },
    /// Write a collection to a folder, as it is organized.
    Export {
        /// Which.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// A folder that is not there, empty, or has an export of it, which is brought up to date.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Move a file or a group; later runs of ingest leave it there.
    Move {
        /// Which collection.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// What to move: names with / between them, or an id.
        #[arg(value_name = "PATH")]
        what: String,
        /// The group or folder that it is moved into; "" for the topmost.
        #[arg(value_name = "INTO")]
        into: String,
    },
    /// Rename a file, group or folder of a collection; later runs of ingest keep the name.
    Rename {
        /// Which collection.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// What to rename: names with / between them, or an id.
        #[arg(value_name = "PATH")]
        what: String,
        /// What it is called from now on.
        #[arg(value_name = "NAME")]
        to: String,
    },
    /// Delete a collection with all its versions, and everything that nothing else names; it says what, and asks.
    Delete {
        /// Which.
        #[arg(value_name = "COLLECTION")]
        name: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}
