//! Everything that others agree with the pipeline on, in one place: what starts a batch, what is said of it, what its jobs
//! are told and answer, and who does them.

pub use crate::calls::NodesAnswer;
pub use crate::config::ProcessingConfig;
pub use crate::message::{BadMessage, IngestMessage, PiNode};
pub use crate::node::{FileKind, FileRecord, Node, NodeDocument, NodeType, RefRecord, TextRecord};
pub use crate::orders::{
    DESCRIBE, NodeOrder, OCR, OcrDone, OcrOrder, PINAX, Published, QUEUE, SNAPSHOT, SnapshotOrder,
};
pub use crate::prompts::{BadPrompts, CustomPrompts};
pub use crate::status::{PhaseName, Progress, Status, StatusAnswer};
pub use crate::work::{
    ChildSaid, ChildText, Describe, DescribeRequest, Described, Doing, Extracted, Image, Images, Metadata,
    MetadataRequest, NO_OCR, Ocr, OcrText, Paying, Spent, Undone, WorkError,
};
