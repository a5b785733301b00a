//! `POST /organizer/process`.

use super::callback::ProcessingConfig;
use crate::file::{FileKind, InputFile};
use crate::limits::{EXISTING_GROUPS, FILES, ID_BYTES, PIS, PROMPT_BYTES};
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessRequest {
    /// Which batch.
    #[serde(default)]
    pub batch_id: String,
    /// Which part of it.
    #[serde(default)]
    pub chunk_id: String,
    /// Where the batch's files are staged; not used here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_prefix: Option<String>,
    /// What to do; organize if it does not say.
    #[serde(default)]
    pub operation: Operation,
    /// What the owner wants beside what is always wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompt: Option<String>,
    /// What all parts of a large directory go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy_guidance: Option<String>,
    /// To organize: which directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pis: Vec<PiRequest>,
    /// To strategize: a sample of a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategize: Option<StrategizeInput>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Group the files of directories.
    #[default]
    Organize,
    /// Say how a large directory is best grouped in parts; entities are left alone.
    Strategize,
}

/// A directory: its entity's id alone, or with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct PiRequest {
    /// Its entity.
    pub pi: EntityId,
    /// The tip that the sender knows. The newest one counts; another one here is a warning.
    pub current_tip: Option<ContentId>,
    /// How people know it; the end of its id if nobody says.
    pub directory_path: Option<String>,
    /// Its files or those of a chunk; none means all that the entity has.
    pub files: Option<Vec<FileInput>>,
    /// The entity's components as the sender knows them. The newest ones count.
    pub parent_components: Option<BTreeMap<String, ContentId>>,
    /// Groups of earlier runs: files that belong to one are added to it.
    pub existing_groups: Vec<ExistingGroup>,
    /// What is to be done with the directory, from which groups inherit.
    pub processing_config: Option<ProcessingConfig>,
    /// Which part of the directory this is, if it is organized in parts: what two parts say differently, the first says,
    /// whichever was asked about first.
    pub part: Option<u32>,
}

impl PiRequest {
    /// An entity, all of it.
    #[must_use]
    pub fn whole(pi: EntityId) -> PiRequest {
        PiRequest {
            pi,
            current_tip: None,
            directory_path: None,
            files: None,
            parent_components: None,
            existing_groups: Vec::new(),
            processing_config: None,
            part: None,
        }
    }
}

/// A group that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistingGroup {
    /// Its name.
    pub group_name: String,
    /// Its entity.
    pub pi: EntityId,
    /// What is in it.
    #[serde(default)]
    pub description: String,
}

/// A file as a client names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInput {
    /// Its name, unique in the directory.
    pub name: String,
    /// What it is; by its name if nobody says.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<FileKind>,
    /// Its text, which may be empty; none if it is to be read off the entity's component of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The name that it had before it was converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_filename: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<FileMetadata>,
    /// Whether an earlier run left it in no group: it comes into one only together with a file that is new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former: bool,
}

/// More about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileMetadata {
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl FileInput {
    /// A file by its name: the rest is read off the entity.
    #[must_use]
    pub fn named(name: impl Into<String>) -> FileInput {
        FileInput {
            name: name.into(),
            kind: None,
            content: None,
            original_filename: None,
            metadata: None,
            former: false,
        }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind.unwrap_or_else(|| FileKind::of(&self.name))
    }

    /// The file as it is organized, with no text if none was sent.
    #[must_use]
    pub fn into_file(self) -> InputFile {
        let kind = self.kind();
        let FileMetadata { mime_type, size } = self.metadata.unwrap_or_default();
        InputFile {
            name: self.name,
            kind,
            content: self.content.unwrap_or_default(),
            original_filename: self.original_filename,
            mime_type,
            size,
        }
    }
}

/// A sample of a directory, to say how all of it is best grouped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategizeInput {
    /// The entity that the sample is of: files without content are read off it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pi: Option<EntityId>,
    /// The directory.
    pub directory_path: String,
    /// Some of its files.
    pub files: Vec<FileInput>,
    /// How many it has.
    pub total_file_count: u64,
    /// In how many parts they are organized.
    pub chunk_count: u64,
}

/// A request that cannot be done, by the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRequest(pub String);

impl ProcessRequest {
    /// Checks everything that does not depend on entities.
    pub fn check(&self) -> Result<(), BadRequest> {
        let missing: Vec<&str> = [("batch_id", &self.batch_id), ("chunk_id", &self.chunk_id)]
            .iter()
            .filter(|(_, id)| id.is_empty())
            .map(|(name, _)| *name)
            .collect();
        if !missing.is_empty() {
            return bad(format!("Missing required fields: {}", missing.join(", ")));
        }
        check_id("batch_id", &self.batch_id)?;
        check_id("chunk_id", &self.chunk_id)?;
        for (name, text) in
            [("custom_prompt", &self.custom_prompt), ("strategy_guidance", &self.strategy_guidance)]
        {
            at_most(&format!("bytes of {name}"), PROMPT_BYTES, text.as_ref().map_or(0, String::len))?;
        }
        match self.operation {
            Operation::Organize => self.check_pis(),
            Operation::Strategize => {
                let Some(input) = &self.strategize else {
                    return bad("Missing required fields: strategize".to_owned());
                };
                input.check()
            }
        }
    }

    fn check_pis(&self) -> Result<(), BadRequest> {
        if self.pis.is_empty() {
            return bad("Missing required fields: pis (at least one)".to_owned());
        }
        at_most("pis of one request", PIS, self.pis.len())?;
        for pi in &self.pis {
            check_files(&format!("files of {}", pi.pi), pi.files.as_deref().unwrap_or_default())?;
            let groups = pi.existing_groups.len();
            at_most(&format!("existing_groups of {}", pi.pi), EXISTING_GROUPS, groups)?;
        }
        Ok(())
    }
}

impl StrategizeInput {
    /// Checks everything that does not depend on entities.
    pub fn check(&self) -> Result<(), BadRequest> {
        if self.directory_path.is_empty() {
            return bad("directory_path is empty: name the directory".to_owned());
        }
        if self.files.is_empty() {
            return bad("files is empty: send a sample of the directory".to_owned());
        }
        check_files("files", &self.files)?;
        for (name, number) in [("total_file_count", self.total_file_count), ("chunk_count", self.chunk_count)]
        {
            if number == 0 {
                return bad(format!("{name} is 0: it is at least 1"));
            }
        }
        if let (None, Some(file)) = (&self.pi, self.files.iter().find(|file| file.content.is_none())) {
            return bad(format!("files: {:?} has no content, and there is no pi to read it off", file.name));
        }
        Ok(())
    }
}

/// Names are there once and not empty.
pub(crate) fn check_files(what: &str, files: &[FileInput]) -> Result<(), BadRequest> {
    at_most(what, FILES, files.len())?;
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    if names.first().is_some_and(|name| name.is_empty()) {
        return bad(format!("{what}: a file has no name"));
    }
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => bad(format!("{what}: {:?} is there twice", pair[0])),
        None => Ok(()),
    }
}

fn check_id(name: &str, id: &str) -> Result<(), BadRequest> {
    let shown: String = id.chars().take(80).collect();
    if id.contains(':') {
        return bad(format!(
            "{name} {shown:?} has a colon, which stands between batch and chunk: leave it out"
        ));
    }
    if id.chars().any(char::is_control) {
        return bad(format!("{name} {shown:?} has a control character"));
    }
    at_most(&format!("bytes of {name}"), ID_BYTES, id.len())
}

pub(crate) fn at_most(what: &str, bound: usize, given: usize) -> Result<(), BadRequest> {
    if given <= bound {
        return Ok(());
    }
    bad(format!("{what} may be at most {bound}, and the request has {given}"))
}

pub(crate) fn bad<T>(message: String) -> Result<T, BadRequest> {
    Err(BadRequest(message))
}

/// The long form of [`PiRequest`].
#[derive(Serialize, Deserialize)]
struct Long {
    pi: EntityId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current_tip: Option<ContentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileInput>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_components: Option<BTreeMap<String, ContentId>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    existing_groups: Vec<ExistingGroup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processing_config: Option<ProcessingConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<u32>,
}

impl<'de> Deserialize<'de> for PiRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PiRequest, D::Error> {
        use serde::de::Error;
        let value = serde_json::Value::deserialize(deserializer)?;
        if let serde_json::Value::String(pi) = value {
            return EntityId::parse(&pi).map(PiRequest::whole).map_err(D::Error::custom);
        }
        let long: Long = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(PiRequest {
            pi: long.pi,
            current_tip: long.current_tip,
            directory_path: long.directory_path,
            files: long.files,
            parent_components: long.parent_components,
            existing_groups: long.existing_groups,
            processing_config: long.processing_config,
            part: long.part,
        })
    }
}

impl Serialize for PiRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == PiRequest::whole(self.pi.clone()) {
            return self.pi.serialize(serializer);
        }
        let PiRequest {
            pi,
            current_tip,
            directory_path,
            files,
            parent_components,
            existing_groups,
            processing_config,
            part,
        } = self.clone();
        Long {
            pi,
            current_tip,
            directory_path,
            files,
            parent_components,
            existing_groups,
            processing_config,
            part,
        }
        .serialize(serializer)
    }
}
