//! Calls and answers: what can be asked of a batch.

use crate::away::ServiceCallback;
use crate::config::ProcessingConfig;
use crate::message::IngestMessage;
use crate::node::{FileRecord, Node, NodeDocument};
use crate::rows::MadeRow;
use crate::status::{PhaseName, StatusAnswer};
use crate::work::Spent;
use abide_core::object::Incarnation;
use abide_entities::{ContentId, EntityId};
use abide_organize::contract::{CallbackPayload, ExistingGroup, Phase};
use abide_preprocess::jobs::Finished;
use serde::{Deserialize, Serialize};

/// What can be asked of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Begin, if it is not begun.
    Start(Box<IngestMessage>),
    /// How far it is.
    Status,
    /// Stop everything and mark it as ended.
    Reset,
    /// Directories and files, from the worker that finds them.
    Items {
        /// In which life.
        life: Incarnation,
        /// How many came before.
        from: u64,
        /// These.
        items: Vec<Item>,
        /// Whether there are no more.
        last: bool,
    },
    /// What a worker needs to know of a node.
    Brief {
        /// In which life.
        life: Incarnation,
        /// Which node.
        place: u32,
        /// For which phase.
        phase: PhaseName,
    },
    /// Files of a node, in the order of their names.
    Files {
        /// Which node.
        place: u32,
        /// After this name.
        after: Option<String>,
    },
    /// Entities of the children of a node.
    Kids {
        /// Which node.
        place: u32,
        /// After this place.
        after: Option<u32>,
    },
    /// A worker has put files where entities find them, or could not.
    Stored {
        /// In which life.
        life: Incarnation,
        /// Of which node.
        place: u32,
        /// By name.
        files: Vec<StoredFile>,
    },
    /// A worker has made something for a node: it is not made again.
    Keep {
        /// In which life.
        life: Incarnation,
        /// For which node.
        place: u32,
        /// In which phase.
        phase: PhaseName,
        /// What.
        made: MadeRow,
    },
    /// A worker has paid for something that came to nothing.
    Spent {
        /// In which life.
        life: Incarnation,
        /// What.
        spent: Spent,
    },
    /// A worker has found groups of a node that the batch may not know.
    Found {
        /// In which life.
        life: Incarnation,
        /// Of which node.
        place: u32,
        /// Its children.
        children: Vec<FoundGroup>,
    },
    /// A service outside calls back.
    Callback {
        /// Which.
        service: String,
        /// What it says.
        payload: Box<CallbackPayload>,
        /// What of it does not count, and why.
        #[serde(default)]
        ignored: Vec<String>,
    },
    /// A service of somebody else that reads, extracts or describes calls back.
    Answered {
        /// Which.
        service: String,
        /// What it says.
        payload: Box<ServiceCallback>,
    },
    /// Nodes, in the order of their places.
    Nodes {
        /// After this place.
        after: Option<u32>,
        /// At most so many.
        limit: Option<usize>,
    },
    /// One node with its files.
    Node {
        /// Which.
        place: u32,
    },
}

/// What is sent to a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToPipeline {
    /// Begin, if it is not begun.
    Start(Box<IngestMessage>),
    /// The batch is preprocessed: begin, or take what is new if it is begun.
    Preprocessed(Box<Finished>),
    /// The files of a batch are listed anew: take what is new.
    Listed(Box<IngestMessage>),
    /// By preprocessing: may its staging be emptied, now or when the batch is through?
    MayEmpty {
        /// As it was finished for the how manieth time.
        finishes: u32,
    },
    /// The organizer answers.
    OrganizerCallback(Box<CallbackPayload>),
    /// The organizer says how far a request is.
    OrganizerPhase {
        /// Which.
        chunk_id: String,
        /// Where it is; none if it knows of none.
        phase: Option<Phase>,
    },
    /// Go on.
    Tick,
    /// Cancel what is under way, and go on until nothing is.
    Cancel,
}

/// A directory or a file, as it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A directory. Its parent comes before it.
    Node(Box<NewNode>),
    /// A file of a directory that came before.
    File {
        /// Which directory.
        place: u32,
        /// The file.
        file: FileRecord,
    },
}

/// A directory as it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewNode {
    /// Where its parent is in the batch.
    pub parent: Option<u32>,
    /// Where it is.
    pub path: String,
    /// Its entity, there or to be made.
    pub pi: EntityId,
    /// What is to be done with it.
    pub config: ProcessingConfig,
    /// The newest version, if its entity is there and needs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<(ContentId, u32)>,
    /// Groups that it has from before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing_groups: Vec<ExistingGroup>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its name.
    pub filename: String,
    /// Its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cid: Option<ContentId>,
    /// Why it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A child of an entity that a batch may not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundGroup {
    /// Its entity.
    pub pi: EntityId,
    /// What people call it.
    pub label: String,
    /// Its newest manifest.
    pub tip: ContentId,
    /// Its newest version.
    pub ver: u32,
    /// Its files.
    pub files: Vec<(String, ContentId)>,
}

/// What a batch answers. Whoever asks knows which of these to read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To [`Call::Status`].
    Status(Box<StatusAnswer>),
    /// To [`Call::Start`].
    Started(StartAnswer),
    /// To [`Call::Items`].
    Have(HaveAnswer),
    /// To [`Call::Brief`].
    Brief(Box<BriefAnswer>),
    /// To [`Call::Files`].
    Files(FilesAnswer),
    /// To [`Call::Kids`].
    Kids(KidsAnswer),
    /// To [`Call::Callback`] and [`Call::Answered`].
    Callback(CallbackAnswer),
    /// To [`Call::Nodes`].
    Nodes(NodesAnswer),
    /// To [`Call::Node`].
    Node(Box<NodeDocument>),
    /// To what is simply done.
    Ok(OkAnswer),
}

/// Whether a message began a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartAnswer {
    /// Which.
    pub batch_id: String,
    /// Whether this message began it; it was begun before otherwise.
    pub started: bool,
}

/// How many directories and files have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaveAnswer {
    /// So many; none if no more are taken.
    pub have: Option<u64>,
}

/// What a worker needs to know of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefAnswer {
    /// The node; none if nothing is to be done with it any more.
    pub node: Option<Node>,
    /// What was made for it and is only to be published.
    pub made: Option<MadeRow>,
    /// What people want of the phase.
    pub custom_prompt: Option<String>,
    /// The note of the version.
    pub custom_note: Option<String>,
    /// The institution, if it is given.
    pub institution: Option<String>,
    /// The entity that the topmost node is put under.
    pub parent_pi: Option<EntityId>,
}

/// A page of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilesAnswer {
    /// The files.
    pub files: Vec<FileRecord>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<String>,
}

/// A page of children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KidsAnswer {
    /// Their entities.
    pub kids: Vec<EntityId>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<u32>,
}

/// What came of a callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackAnswer {
    /// That it was taken.
    pub success: bool,
    /// How many results counted.
    pub processed: usize,
    /// What did not count, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// A page of nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodesAnswer {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<u32>,
}

/// It is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OkAnswer {
    /// That it is.
    pub ok: bool,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
