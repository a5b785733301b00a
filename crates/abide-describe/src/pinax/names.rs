//! One name or several.

use serde::{Deserialize, Serialize};

/// A field that is one text or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Names {
    /// Those that are not blank; none if there are none.
    #[must_use]
    pub fn of(names: impl IntoIterator<Item = String>) -> Option<Names> {
        let trimmed = names.into_iter().map(|name| name.trim().to_owned());
        let mut names: Vec<String> = trimmed.filter(|name| !name.is_empty()).collect();
        match names.len() {
            0 => None,
            1 => names.pop().map(Names::One),
            _ => Some(Names::Many(names)),
        }
    }

    /// Each.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Names::One(name) => std::slice::from_ref(name).iter(),
            Names::Many(names) => names.iter(),
        }
    }
}
