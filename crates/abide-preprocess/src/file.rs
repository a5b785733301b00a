//! Files of a batch: what goes through its phases and comes out in the end.

use abide_engine::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A file as phases and receivers see it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessableFile {
    /// Where its bytes are in staging.
    pub r2_key: String,
    /// Where it was for whoever uploaded it.
    pub logical_path: String,
    /// Its name.
    pub file_name: String,
    /// Its size.
    pub file_size: u64,
    /// What it is said to be.
    pub content_type: String,
    /// What is to be done with it later, as the manifest has it.
    pub processing_config: Value,
    /// Its content id, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
    /// The name of the file that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_file: Option<String>,
    /// Which phases did what with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preprocessor_tags: Vec<String>,
    /// Where the output of its conversion goes, or what the keys of its pages begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_r2_key: Option<String>,
}

impl ProcessableFile {
    /// As whoever gets the batch sees it.
    #[must_use]
    pub fn delivered(mut self) -> ProcessableFile {
        self.output_r2_key = None;
        self
    }

    /// The same with a tag.
    #[must_use]
    pub fn tagged(mut self, tag: &str) -> ProcessableFile {
        self.preprocessor_tags.push(tag.to_owned());
        self
    }
}

/// The place of a file in its batch: `0000012` for the twelfth of the manifest, `0000012-00003` for what came of it.
/// In the order of their text, what came of a file is right behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(String);

impl Place {
    /// Of the file `index` of the manifest, from 0.
    #[must_use]
    pub fn of_input(index: u64) -> Place {
        Place(format!("{:07}", index + 1))
    }

    /// Of the output `nth` of the file here, from 1.
    #[must_use]
    pub fn output(&self, nth: usize) -> Place {
        Place(format!("{}-{nth:05}", self.0))
    }

    /// Of the input that this came of.
    #[must_use]
    pub fn input(&self) -> Place {
        Place(self.0.split('-').next().unwrap_or(&self.0).to_owned())
    }

    /// Reads one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Place> {
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        fits.then(|| Place(text.to_owned()))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How an input ended: exactly one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum InputEnd {
    /// Its tasks are not all over.
    Open,
    /// Every task about it or what came of it is completed.
    Converted,
    /// No phase takes it.
    PassedThrough {
        /// Why.
        reason: String,
    },
    /// A task about it or what came of it failed.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A file's row. Those of inputs also say how the input fared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRow {
    /// The file; none if a phase removed it.
    pub file: Option<ProcessableFile>,
    /// How an input fared; none for what came of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fared: Option<Fared>,
}

impl Record for FileRow {}

/// Tasks about an input and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Fared {
    /// Its name, kept although the file may be replaced.
    pub file_name: String,
    /// Where it was for whoever uploaded it.
    #[serde(default)]
    pub logical_path: String,
    /// Not over.
    pub open: u32,
    /// Completed.
    pub completed: u32,
    /// Failed.
    pub failed: u32,
    /// Why the last that failed did, or why no phase takes it.
    pub reason: String,
}

impl Fared {
    /// How the input ended.
    #[must_use]
    pub fn end(&self) -> InputEnd {
        match self {
            Fared { failed: 1.., reason, .. } => InputEnd::Failed { reason: reason.clone() },
            Fared { open: 1.., .. } => InputEnd::Open,
            Fared { completed: 1.., .. } => InputEnd::Converted,
            Fared { reason, .. } => InputEnd::PassedThrough { reason: reason.clone() },
        }
    }
}
