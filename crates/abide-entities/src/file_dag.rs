//! The id of a file: leaves of raw bytes under a balanced tree of UnixFS nodes, as an IPFS node makes it.

use crate::content::{Codec, ContentId};
use crate::limits::{CHUNK_BYTES, NODE_LINKS};

/// Takes the bytes of a file as they come and gives its id.
#[derive(Debug, Default)]
pub struct FileHasher {
    chunk: Vec<u8>,
    leaves: Vec<Link>,
    bytes: u64,
}

/// A file that was hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedFile {
    /// Its id.
    pub id: ContentId,
    /// Its size.
    pub bytes: u64,
    /// Its root node, if it has more than one leaf.
    pub root: Option<FileNode>,
}

/// A node of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNode {
    /// What it says about itself, in the form of UnixFS.
    pub data: Vec<u8>,
    /// What it is made of.
    pub links: Vec<Link>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Which block.
    pub id: ContentId,
    /// Bytes of all blocks under it, nodes included.
    pub total_bytes: u64,
    /// Bytes of the file under it.
    pub file_bytes: u64,
}

impl FileHasher {
    /// The next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = CHUNK_BYTES - self.chunk.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if self.chunk.len() == CHUNK_BYTES {
                self.end_chunk();
            }
        }
    }

    fn end_chunk(&mut self) {
        let bytes = self.chunk.len() as u64;
        let id = ContentId::of(Codec::Raw, &self.chunk);
        self.leaves.push(Link { id, total_bytes: bytes, file_bytes: bytes });
        self.chunk.clear();
    }

    /// The file, complete.
    #[must_use]
    pub fn finish(mut self) -> HashedFile {
        if !self.chunk.is_empty() || self.leaves.is_empty() {
            self.end_chunk();
        }
        let (mut layer, mut root) = (self.leaves, None);
        while layer.len() > 1 {
            let nodes: Vec<FileNode> = layer.chunks(NODE_LINKS).map(FileNode::over).collect();
            layer = nodes.iter().map(FileNode::link).collect();
            root = nodes.into_iter().next_back();
        }
        HashedFile { id: layer[0].id, bytes: self.bytes, root }
    }
}

impl FileNode {
    fn over(links: &[Link]) -> FileNode {
        let mut data = vec![0x08, 0x02, 0x18];
        varint(&mut data, links.iter().map(|link| link.file_bytes).sum());
        for link in links {
            data.push(0x20);
            varint(&mut data, link.file_bytes);
        }
        FileNode { data, links: links.to_vec() }
    }

    /// Its bytes: links before data, as the format of nodes wants it.
    #[must_use]
    pub fn block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        for link in &self.links {
            let mut entry = Vec::new();
            field(&mut entry, 0x0a, &link.id.to_bytes());
            field(&mut entry, 0x12, b"");
            entry.push(0x18);
            varint(&mut entry, link.total_bytes);
            field(&mut block, 0x12, &entry);
        }
        field(&mut block, 0x0a, &self.data);
        block
    }

    fn link(&self) -> Link {
        let block = self.block();
        let below: u64 = self.links.iter().map(|link| link.total_bytes).sum();
        Link {
            id: ContentId::of(Codec::DagPb, &block),
            total_bytes: below + block.len() as u64,
            file_bytes: self.links.iter().map(|link| link.file_bytes).sum(),
        }
    }
}

fn field(to: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    to.push(tag);
    varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
