//! What can be wrong with a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::option::OptionSpec;
use super::source::Source;

/// One thing that is wrong. No variant ever carries the value of a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The config file cannot be read.
    #[error("cannot read the config file {} ({found_by}): {error}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why this file was chosen.
        found_by: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The config file is not TOML.
    #[error("{at}: {message}")]
    Syntax {
        /// Where.
        at: Source,
        /// What the parser said; without the line's text, which may hold a secret.
        message: String,
    },
    /// A section that does not exist.
    #[error("{at}: unknown section [{name}]; the nearest known section is [{nearest}]")]
    UnknownSection {
        /// Where.
        at: Source,
        /// As written.
        name: String,
        /// What may have been meant.
        nearest: &'static str,
    },
    /// A key that does not exist, in a section that does, or outside any section.
    #[error("{at}: unknown key {name}; the nearest known key is {nearest}")]
    UnknownKey {
        /// Where.
        at: Source,
        /// As written, with its section.
        name: String,
        /// What may have been meant.
        nearest: String,
    },
    /// A section's name with something else than keys below it.
    #[error("{at}: {section} is a section, not a key: write [{section}] and its keys below it")]
    NotASection {
        /// Where.
        at: Source,
        /// Which section.
        section: &'static str,
    },
    /// An `ABIDE_` variable that does not exist.
    #[error("unknown variable {name}; the nearest known variable is {nearest}")]
    UnknownVariable {
        /// As set.
        name: String,
        /// What may have been meant.
        nearest: String,
    },
    /// A value that its option does not accept.
    #[error("{place} is {found}, expected {expected}")]
    BadValue {
        /// The variable, the flag, or the line and the key.
        place: String,
        /// What is there; hidden if the option is secret.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// An option without value or default.
    #[error("{option} has no default because neither XDG_DATA_HOME nor HOME is an absolute path; set {env}")]
    NoDefault {
        /// Which option.
        option: String,
        /// The variable that sets it.
        env: String,
    },
}

impl Problem {
    /// `found` at `source` is not a value of `spec`.
    pub(crate) fn bad_value(spec: &OptionSpec, source: &Source, found: String) -> Self {
        let place = match source {
            Source::Default => format!("the default of {}", spec.name()),
            Source::File { .. } => format!("{source}: {}", spec.name()),
            Source::Env { name } => name.clone(),
            Source::Flag { name } => (*name).to_owned(),
        };
        let found = if spec.secret { "not valid (hidden: it is a secret)".to_owned() } else { found };
        Self::BadValue { place, found, expected: spec.kind.expected() }
    }
}

/// Everything that is wrong with a configuration, one line each.
#[derive(Debug)]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
