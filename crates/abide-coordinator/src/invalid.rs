//! Bodies that are not valid, field by field.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A body that is not valid: everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// At least one.
    pub issues: Vec<Issue>,
}

impl Invalid {
    /// Its code at the edge.
    pub const CODE: &'static str = "invalid";

    /// What the client gets.
    #[must_use]
    pub fn answer(&self) -> InvalidAnswer {
        let error = InvalidError { code: Invalid::CODE.to_owned(), message: self.to_string() };
        InvalidAnswer { success: false, error, issues: self.issues.clone() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.issues.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{issue}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Where, from the body inwards; empty for the body itself.
    pub path: Vec<Step>,
    /// What sort.
    pub code: IssueCode,
    /// The sentence.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "the body")?;
        }
        for (index, step) in self.path.iter().enumerate() {
            match step {
                Step::Field(name) if index == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        write!(f, " {}", self.message)
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// Into a field.
    Field(String),
    /// Into a list.
    Index(usize),
}

/// What sort of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueCode {
    /// Missing, or of another type.
    InvalidType,
    /// Not one of the words.
    InvalidValue,
    /// Less, shorter or fewer than the least.
    TooSmall,
    /// More or longer than the most.
    TooBig,
}

/// The body of an answer with status 400.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidAnswer {
    /// False.
    pub success: bool,
    /// The same as every error's.
    pub error: InvalidError,
    /// Field by field.
    pub issues: Vec<Issue>,
}

/// The error of an [`InvalidAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidError {
    /// `invalid`.
    pub code: String,
    /// All issues in a sentence.
    pub message: String,
}
