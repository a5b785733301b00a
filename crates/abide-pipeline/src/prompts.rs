//! What people tell the models of a batch in their own words.

use crate::limits::{PROMPT_BYTES, PROMPT_CHARS, PROMPTS_CHARS};
use crate::status::PhaseName;
use serde::{Deserialize, Serialize};

/// Words for every phase, and words for each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CustomPrompts {
    /// For all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub general: Option<String>,
    /// For the organizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorganization: Option<String>,
    /// For metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinax: Option<String>,
    /// For descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Kept; that phase is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cheimarros: Option<String>,
}

/// Prompts that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPrompts {
    /// One is too long.
    #[error("custom_prompts.{field} has {chars} characters, and {PROMPT_CHARS} are taken")]
    One {
        /// Which.
        field: &'static str,
        /// Its length.
        chars: usize,
    },
    /// Together they are too long.
    #[error("custom_prompts have {0} characters together, and {PROMPTS_CHARS} are taken")]
    All(usize),
    /// Together they do not fit a message.
    #[error("custom_prompts have {0} bytes together, and {PROMPT_BYTES} fit a message")]
    Bytes(usize),
}

impl CustomPrompts {
    /// Checks their lengths.
    pub fn check(&self) -> Result<(), BadPrompts> {
        let (mut all, mut bytes) = (0, 0);
        for (field, text) in self.fields() {
            let chars = text.map_or(0, |text| text.chars().count());
            if chars > PROMPT_CHARS {
                return Err(BadPrompts::One { field, chars });
            }
            all += chars;
            bytes += text.map_or(0, |text| serde_json::to_string(text).map_or(0, |json| json.len()));
        }
        if all > PROMPTS_CHARS {
            return Err(BadPrompts::All(all));
        }
        if bytes > PROMPT_BYTES { Err(BadPrompts::Bytes(bytes)) } else { Ok(()) }
    }

    fn fields(&self) -> [(&'static str, Option<&String>); 5] {
        [
            ("general", self.general.as_ref()),
            ("reorganization", self.reorganization.as_ref()),
            ("pinax", self.pinax.as_ref()),
            ("description", self.description.as_ref()),
            ("cheimarros", self.cheimarros.as_ref()),
        ]
    }

    /// What a phase is told: the general words, a blank line, its own, whichever there are.
    #[must_use]
    pub fn of(&self, phase: PhaseName) -> Option<String> {
        let own = match phase {
            PhaseName::Reorganization => &self.reorganization,
            PhaseName::Pinax => &self.pinax,
            PhaseName::Cheimarros => &self.cheimarros,
            PhaseName::Description => &self.description,
            PhaseName::Discovery | PhaseName::Ocr => &None,
        };
        let said: Vec<&str> = [&self.general, own]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
            .collect();
        (!said.is_empty()).then(|| said.join("\n\n"))
    }
}
