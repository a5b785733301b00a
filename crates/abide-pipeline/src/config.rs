//! What is to be done with a directory or a file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which phases a directory goes through. What is not said is done; `reorganize` has three answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessingConfig {
    /// Read its images.
    pub ocr: bool,
    /// Put its files into groups: always, never, or if it has enough of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorganize: Option<bool>,
    /// Extract metadata.
    pub pinax: bool,
    /// Accepted; that phase is skipped.
    pub cheimarros: bool,
    /// Write a description.
    pub describe: bool,
}

impl Default for ProcessingConfig {
    fn default() -> ProcessingConfig {
        ProcessingConfig { ocr: true, reorganize: None, pinax: true, cheimarros: true, describe: true }
    }
}

impl ProcessingConfig {
    /// Nothing at all: what a delivered file without a configuration means.
    pub const NOTHING: ProcessingConfig =
        ProcessingConfig { ocr: false, reorganize: None, pinax: false, cheimarros: false, describe: false };

    /// Reads one that came with a file; none if it says nothing.
    #[must_use]
    pub fn of_value(value: &Value) -> Option<ProcessingConfig> {
        value.is_object().then(|| serde_json::from_value(value.clone()).ok()).flatten()
    }

    /// What a directory does whose files ask for these: a phase if any file asks for it; it is reorganized if a file asks
    /// for that, and not if a file forbids it.
    #[must_use]
    pub fn or(self, other: ProcessingConfig) -> ProcessingConfig {
        let reorganize = match (self.reorganize, other.reorganize) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => None,
        };
        ProcessingConfig {
            ocr: self.ocr || other.ocr,
            reorganize,
            pinax: self.pinax || other.pinax,
            cheimarros: self.cheimarros || other.cheimarros,
            describe: self.describe || other.describe,
        }
    }
}
