//! A directory as it is described.

use crate::pinax::Pinax;

/// A directory with its texts and what is known of its children.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// The id of its entity.
    pub pi: String,
    /// What people call it.
    pub name: String,
    /// Its files.
    pub files: Vec<Document>,
    /// Its children, described already.
    pub children: Vec<Child>,
    /// What the institution that holds it is called, if somebody said so.
    pub institution: Option<String>,
    /// Where it can be looked at, if that is known.
    pub access_url: Option<String>,
    /// What whoever uploaded it wants of a model.
    pub custom_prompt: Option<String>,
}

/// A file and its text: its own, or what was read off it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// Its text; empty if there is none.
    pub text: String,
}

/// A directory within one.
#[derive(Debug, Clone, Default)]
pub struct Child {
    /// What people call it.
    pub name: String,
    /// Its record, if it has one.
    pub pinax: Option<Pinax>,
    /// Its description, if it has one.
    pub description: Option<String>,
}

impl Directory {
    /// Whether there is nothing to say anything about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.children.is_empty()
    }
}
