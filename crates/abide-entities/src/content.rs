//! Content ids: CIDv1 of blocks, hashed with SHA2-256.

use crate::limits::CONTENT_ID_BYTES;
use cid::Cid;
use ipld_core::ipld::Ipld;
use multihash_codetable::{Code, MultihashDigest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the bytes of a block are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    Raw,
    /// A node of a file.
    DagPb,
    /// A manifest.
    DagCbor,
}

impl Codec {
    const fn code(self) -> u64 {
        match self {
            Codec::Raw => 0x55,
            Codec::DagPb => 0x70,
            Codec::DagCbor => 0x71,
        }
    }
}

/// A content id. Ordered and written as its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentId(Cid);

/// Text that is no content id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a content id: {reason}")]
pub struct BadContentId {
    /// What was given, cut.
    pub given: String,
    /// What is wrong.
    pub reason: String,
}

impl ContentId {
    /// The id of a block.
    #[must_use]
    pub fn of(codec: Codec, block: &[u8]) -> ContentId {
        ContentId(Cid::new_v1(codec.code(), Code::Sha2_256.digest(block)))
    }

    /// Checks text.
    pub fn parse(text: &str) -> Result<ContentId, BadContentId> {
        let bad = |reason: String| BadContentId { given: text.chars().take(80).collect(), reason };
        if text.len() > CONTENT_ID_BYTES {
            return Err(bad(format!("it is longer than {CONTENT_ID_BYTES} characters")));
        }
        Cid::try_from(text).map(ContentId).map_err(|error| bad(error.to_string()))
    }

    /// Whether the block is read in this way.
    #[must_use]
    pub fn is(&self, codec: Codec) -> bool {
        self.0.codec() == codec.code()
    }

    /// As a link of a manifest.
    pub(crate) fn link(self) -> Ipld {
        Ipld::Link(self.0)
    }

    /// The id in its binary form, as nodes of files have it.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        self.0.to_bytes()
    }
}

/// The bytes of a value as DAG-CBOR.
pub(crate) fn dag_cbor(value: &Ipld) -> Vec<u8> {
    serde_ipld_dagcbor::to_vec(value).expect("a value of this data model has a form in DAG-CBOR")
}

impl TryFrom<String> for ContentId {
    type Error = BadContentId;

    fn try_from(text: String) -> Result<ContentId, BadContentId> {
        ContentId::parse(&text)
    }
}

impl From<ContentId> for String {
    fn from(id: ContentId) -> String {
        id.to_string()
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
