//! Calls and answers: what can be asked of an upload.

use crate::prompts::CustomPrompts;
use crate::upload::request::{Init, StartFile};
use abide_core::object::Incarnation;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_engine::Record;
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What can be asked of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Begin.
    Init {
        /// With this.
        init: Box<Init>,
        /// Under this session.
        session_id: String,
    },
    /// A file is about to come.
    Start(Box<StartFile>),
    /// A file has come.
    Complete(CompleteFile),
    /// A file does not come after all.
    Withdraw(WithdrawFile),
    /// How many bytes a part of a file may have.
    Expects {
        /// Of which upload.
        upload_id: String,
        /// Which part, from 1.
        part: u32,
    },
    /// All files have come.
    Finalize,
    /// How far it is.
    Status,
    /// Files, in the order of their paths.
    Files {
        /// After this path.
        after: Option<String>,
    },
    /// A worker says how far it is with making entities.
    Progress {
        /// In which life.
        life: Incarnation,
        /// How far.
        progress: DiscoveryProgress,
    },
    /// The files are processed and listed where the pipeline finds them.
    Processed(Processed),
}

/// What is sent to an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToIntake {
    /// The pipeline has taken the batch.
    Taken,
    /// By preprocessing, which delivered the batch: may its staging be emptied, as it was finished for the how manieth time?
    MayEmpty(u32),
}

/// A file has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompleteFile {
    /// Where it is.
    pub r2_key: String,
    /// Of which upload.
    #[serde(default)]
    pub upload_id: Option<String>,
    /// Its parts.
    #[serde(default)]
    pub parts: Option<Vec<Part>>,
}

/// A file does not come after all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithdrawFile {
    /// Where it would be.
    pub r2_key: String,
}

/// A part that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which, from 1.
    pub part_number: u32,
    /// What the bucket said of it.
    #[serde(default)]
    pub etag: String,
}

/// The files are processed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processed {
    /// How many there are.
    pub total_files: u64,
    /// The topmost entity.
    pub root_pi: Option<EntityId>,
    /// Where they are listed.
    pub list_r2_key: String,
}

/// Where an upload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchStatus {
    /// Files come.
    Uploading,
    /// Entities are made.
    Discovery,
    /// Files are preprocessed.
    Preprocessing,
    /// The pipeline has it.
    Enqueued,
    /// It ended.
    Failed,
}

impl BatchStatus {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            BatchStatus::Uploading => "uploading",
            BatchStatus::Discovery => "discovery",
            BatchStatus::Preprocessing => "preprocessing",
            BatchStatus::Enqueued => "enqueued",
            BatchStatus::Failed => "failed",
        }
    }
}

/// How a file comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UploadType {
    /// In one piece.
    Simple,
    /// In parts.
    Multipart,
}

/// Whether a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// Not yet.
    Uploading,
    /// It is.
    Completed,
}

/// A file's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileRow {
    pub(crate) file: StartFile,
    pub(crate) r2_key: String,
    pub(crate) upload_type: UploadType,
    pub(crate) upload_id: String,
    pub(crate) parts: u32,
    pub(crate) status: FileStatus,
    pub(crate) completed_at: Option<Time>,
    /// Who waits for it to be there.
    pub(crate) ticket: Option<Ticket>,
}

impl Record for FileRow {}

/// The state of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) status: BatchStatus,
    pub(crate) session_id: String,
    pub(crate) init: Init,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) files_uploaded: u64,
    pub(crate) bytes_uploaded: u64,
    pub(crate) text_files: u64,
    pub(crate) directories: u64,
    pub(crate) created_at: Time,
    pub(crate) finalized_at: Option<Time>,
    pub(crate) enqueued_at: Option<Time>,
    pub(crate) root_pi: Option<EntityId>,
    pub(crate) progress: Option<DiscoveryProgress>,
    pub(crate) error: Option<String>,
    /// Who waits for entities.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) finalizes: u32,
    /// Where the processed files are listed that the pipeline got last, if they were delivered.
    #[serde(default)]
    pub(crate) processed: Option<String>,
}

impl Record for State {}

/// How far entities are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryProgress {
    /// Directories.
    pub total: u64,
    /// Of them with an entity.
    pub published: u64,
    /// `UPLOADING`, `PUBLISHING`, `DONE` or `ERROR`.
    pub phase: String,
}

/// What an upload answers. Whoever asks knows which of these to read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To [`Call::Init`].
    Inited(Inited),
    /// To [`Call::Start`].
    Started(StartedFile),
    /// To [`Call::Complete`] and [`Call::Withdraw`].
    Completed(Completed),
    /// To [`Call::Expects`].
    Expected(Expected),
    /// To [`Call::Finalize`].
    Finalized(Box<FinalizeAnswer>),
    /// To [`Call::Status`].
    Status(Box<StatusAnswer>),
    /// To [`Call::Files`].
    Files(FilePage),
    /// To [`Call::Processed`].
    Processed(ProcessedAnswer),
}

/// A batch has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inited {
    /// Its id.
    pub batch_id: String,
    /// Its session.
    pub session_id: String,
}

/// A file may come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedFile {
    /// Where it will be.
    pub r2_key: String,
    /// How it comes.
    pub upload_type: UploadType,
    /// Of which upload.
    pub upload_id: String,
    /// How many parts it has; one if it comes in one piece.
    pub parts: u32,
}

/// A file is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// That it is.
    pub success: bool,
}

/// What is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// So many bytes.
    pub bytes: u64,
}

/// A batch is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalizeAnswer {
    /// Which.
    pub batch_id: String,
    /// Where it is.
    pub status: BatchStatus,
    /// How many files.
    pub files_uploaded: u64,
    /// Their bytes.
    pub total_bytes: u64,
    /// Where they are.
    pub r2_prefix: String,
    /// The topmost entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_pi: Option<EntityId>,
    /// How far entities are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_progress: Option<DiscoveryProgress>,
}

/// How far an upload is. Its files come by page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// Which.
    pub batch_id: String,
    /// Its session.
    pub session_id: String,
    /// Where it is.
    pub status: BatchStatus,
    /// Who uploads.
    pub uploader: String,
    /// Where the files were.
    pub root_path: String,
    /// What the topmost entity is put under.
    pub parent_pi: EntityId,
    /// How many files there are to be.
    pub file_count: u64,
    /// How many there are.
    pub files_uploaded: u64,
    /// Bytes there are to be.
    pub total_size: u64,
    /// Bytes there are.
    pub total_bytes_uploaded: u64,
    /// When it began.
    pub created_at: String,
    /// When the pipeline got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enqueued_at: Option<String>,
    /// Anything else.
    pub metadata: Map<String, Value>,
    /// Words for the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompts: Option<CustomPrompts>,
    /// The topmost entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_pi: Option<EntityId>,
    /// How far entities are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_progress: Option<DiscoveryProgress>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A page of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilePage {
    /// The files.
    pub files: Vec<FileDocument>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<String>,
}

/// A file as the routes show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileDocument {
    /// Where it is.
    pub r2_key: String,
    /// What was said of it.
    #[serde(flatten)]
    pub file: StartFile,
    /// How it comes.
    pub upload_type: UploadType,
    /// Whether it is there.
    pub status: FileStatus,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
}

/// The pipeline has the batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessedAnswer {
    /// That it has.
    pub success: bool,
    /// Which.
    pub batch_id: String,
    /// Where it is.
    pub status: BatchStatus,
    /// How many files.
    pub total_files: u64,
}
