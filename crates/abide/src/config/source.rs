//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::output::displayed;

/// Where the value of an option came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub(crate) enum Source {
    /// Nobody set it.
    Default,
    /// A line of the config file.
    File {
        /// The file, as it was named or found.
        #[serde(serialize_with = "displayed")]
        path: PathBuf,
        /// The line of its key, from 1.
        line: usize,
    },
    /// An environment variable.
    Env {
        /// Which one.
        name: String,
    },
    /// A flag.
    Flag {
        /// Which one, with its dashes.
        name: &'static str,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env { name } => write!(f, "env {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}
