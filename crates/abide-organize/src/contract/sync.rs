//! `POST /organizer/organize` and `POST /organizer/strategize`: asked and answered at once, nothing kept.

use super::callback::{StrategizeResult, Tokens};
use super::request::{BadRequest, FileInput, at_most, bad, check_files};
use super::status::OrganizerKind;
use crate::budget::Truncation;
use crate::limits::PROMPT_BYTES;
use crate::plan::Group;
use serde::{Deserialize, Serialize};

/// Files to group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrganizeRequest {
    /// The directory.
    pub directory_path: String,
    /// Its files, with their contents.
    pub files: Vec<FileInput>,
    /// What the owner wants beside what is always wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompt: Option<String>,
    /// What all parts of a large directory go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy_guidance: Option<String>,
}

impl OrganizeRequest {
    /// Whether it can be answered.
    pub fn check(&self) -> Result<(), BadRequest> {
        check_sample(&self.directory_path, &self.files, self.custom_prompt.as_deref())?;
        let guidance = self.strategy_guidance.as_ref().map_or(0, String::len);
        at_most("bytes of strategy_guidance", PROMPT_BYTES, guidance)
    }
}

/// How the files go together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrganizeResponse {
    /// Groups.
    pub groups: Vec<Group>,
    /// Files that belong to none.
    pub ungrouped_files: Vec<String>,
    /// How it was decided.
    pub reorganization_description: String,
    /// Who decided.
    pub organizer: OrganizerKind,
    /// Which model; `builtin` if none was asked.
    pub model: String,
    /// What it took.
    pub tokens: Tokens,
    /// What that cost.
    pub cost_usd: f64,
    /// What was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// What was repaired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_warnings: Vec<String>,
}

/// A sample of a large directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategizeRequest {
    /// The directory.
    pub directory_path: String,
    /// Some of its files, with their contents.
    pub files: Vec<FileInput>,
    /// How many it has.
    pub total_file_count: u64,
    /// In how many parts they are organized.
    pub chunk_count: u64,
    /// What the owner wants beside what is always wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompt: Option<String>,
}

impl StrategizeRequest {
    /// Whether it can be answered.
    pub fn check(&self) -> Result<(), BadRequest> {
        check_sample(&self.directory_path, &self.files, self.custom_prompt.as_deref())?;
        for (name, number) in [("total_file_count", self.total_file_count), ("chunk_count", self.chunk_count)]
        {
            if number == 0 {
                return bad(format!("{name} is 0: it is at least 1"));
            }
        }
        Ok(())
    }
}

/// How a large directory is best grouped in parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrategizeResponse {
    /// The plan.
    #[serde(flatten)]
    pub result: StrategizeResult,
    /// Who decided.
    pub organizer: OrganizerKind,
    /// Which model; `builtin` if none was asked.
    pub model: String,
    /// What it took.
    pub tokens: Tokens,
    /// What that cost.
    pub cost_usd: f64,
    /// What was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
}

fn check_sample(directory: &str, files: &[FileInput], wish: Option<&str>) -> Result<(), BadRequest> {
    if directory.is_empty() {
        return bad("directory_path is empty: name the directory".to_owned());
    }
    if files.is_empty() {
        return bad("files is empty: send at least one".to_owned());
    }
    check_files("files", files)?;
    for file in files {
        if file.kind.is_none() || file.content.is_none() {
            return bad(format!(
                "files: {:?} needs a type (text or ref) and a content, which may be empty",
                file.name
            ));
        }
    }
    at_most("bytes of custom_prompt", PROMPT_BYTES, wish.map_or(0, str::len))
}
