//! The skeleton of a TIFF: header, chain of directories, entries and their values.

use std::collections::HashSet;

use crate::error::{MediaError, within};
use crate::input::Input;

/// Entries that one directory may have. Those of cameras have about fifty.
const ENTRIES: u64 = 1000;

/// In which order the bytes of a number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn bytes_of_u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn bytes_of_u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// A TIFF whose header was read.
pub(super) struct Reader<'a> {
    pub(super) input: &'a Input,
    pub(super) order: Order,
    big: bool,
    first: u64,
}

/// One directory: its entries, values still in the file.
pub(super) struct Directory {
    entries: Vec<Entry>,
}

struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Where the values begin.
    at: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn open(input: &'a Input) -> Result<Reader<'a>, MediaError> {
        let head = input.read(0, 8)?;
        let order = match &head[..2] {
            b"II" => Order::Little,
            b"MM" => Order::Big,
            _ => return Err(MediaError::damaged("its first bytes are not those of a TIFF")),
        };
        match order.u16([head[2], head[3]]) {
            42 => {
                let first = u64::from(order.u32([head[4], head[5], head[6], head[7]]));
                Ok(Reader { input, order, big: false, first })
            }
            43 => {
                let first = order.u64(eight(&input.read(8, 8)?));
                Ok(Reader { input, order, big: true, first })
            }
            version => Err(MediaError::damaged(format!("its version is {version}, not 42 or 43"))),
        }
    }

    /// All directories of the chain. A chain that returns to itself is refused.
    pub(super) fn directories(&self, most: u32) -> Result<Vec<Directory>, MediaError> {
        let mut seen = HashSet::new();
        let mut directories = Vec::new();
        let mut at = self.first;
        while at != 0 {
            if !seen.insert(at) {
                return Err(MediaError::damaged(format!("its directories form a cycle at byte {at}")));
            }
            // Thumbnails and masks stand in the chain beside the pages.
            within("the number of directories", seen.len() as u64, u64::from(most).saturating_mul(3))?;
            let (directory, next) = self.directory(at)?;
            directories.push(directory);
            at = next;
        }
        Ok(directories)
    }

    fn directory(&self, at: u64) -> Result<(Directory, u64), MediaError> {
        let (head, entry_size, link) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let head_bytes = self.input.read(at, head)?;
        let count = if self.big {
            self.order.u64(eight(&head_bytes))
        } else {
            u64::from(self.order.u16([head_bytes[0], head_bytes[1]]))
        };
        within("the number of entries of a directory", count, ENTRIES)?;
        let start = at + head;
        let bytes = self.input.read(start, count * entry_size + link)?;
        let mut entries = Vec::with_capacity(count as usize);
        for (index, entry) in bytes.chunks_exact(entry_size as usize).take(count as usize).enumerate() {
            entries.push(self.entry(entry, start + index as u64 * entry_size));
        }
        let next = &bytes[(count * entry_size) as usize..];
        let next = if self.big { self.order.u64(eight(next)) } else { u64::from(self.order.u32(four(next))) };
        Ok((Directory { entries }, next))
    }

    fn entry(&self, bytes: &[u8], at: u64) -> Entry {
        let tag = self.order.u16([bytes[0], bytes[1]]);
        let kind = self.order.u16([bytes[2], bytes[3]]);
        let (count, inline_at, inline) = if self.big {
            (self.order.u64(eight(&bytes[4..])), at + 12, 8)
        } else {
            (u64::from(self.order.u32(four(&bytes[4..]))), at + 8, 4)
        };
        let fits = size_of(kind).is_some_and(|size| count.saturating_mul(size) <= inline);
        let elsewhere = if self.big {
            self.order.u64(eight(&bytes[12..]))
        } else {
            u64::from(self.order.u32(four(&bytes[8..])))
        };
        Entry { tag, kind, count, at: if fits { inline_at } else { elsewhere } }
    }

    /// The first `most` numbers of a tag; none if the directory does not have it.
    pub(super) fn numbers(&self, directory: &Directory, tag: u16, most: u64) -> Result<Vec<u64>, MediaError> {
        let Some(entry) = directory.find(tag) else { return Ok(Vec::new()) };
        let size = match entry.kind {
            1 | 3 | 4 | 13 | 16 | 18 => size_of(entry.kind).unwrap_or(1),
            kind => {
                return Err(MediaError::damaged(format!("tag {tag} is of type {kind}, not a whole number")));
            }
        };
        let bytes = self.input.read(entry.at, entry.count.min(most) * size)?;
        let number = |bytes: &[u8]| match size {
            1 => u64::from(bytes[0]),
            2 => u64::from(self.order.u16([bytes[0], bytes[1]])),
            4 => u64::from(self.order.u32(four(bytes))),
            _ => self.order.u64(eight(bytes)),
        };
        Ok(bytes.chunks_exact(size as usize).map(number).collect())
    }

    /// The first number of a tag.
    pub(super) fn number(&self, directory: &Directory, tag: u16) -> Result<Option<u64>, MediaError> {
        Ok(self.numbers(directory, tag, 1)?.first().copied())
    }

    /// The bytes of a tag, at most so many.
    pub(super) fn bytes(
        &self,
        directory: &Directory,
        tag: u16,
        what: &'static str,
        most: u64,
    ) -> Result<Option<Vec<u8>>, MediaError> {
        let Some(entry) = directory.find(tag) else { return Ok(None) };
        if !matches!(entry.kind, 1 | 7) {
            return Err(MediaError::damaged(format!("tag {tag} is of type {}, not bytes", entry.kind)));
        }
        within(what, entry.count, most)?;
        self.input.read(entry.at, entry.count).map(Some)
    }

    /// The first `most` values of a tag as fractions: rationals, floats or whole numbers.
    pub(super) fn fractions(
        &self,
        directory: &Directory,
        tag: u16,
        most: u64,
    ) -> Result<Vec<f64>, MediaError> {
        let Some(entry) = directory.find(tag) else { return Ok(Vec::new()) };
        let count = entry.count.min(most);
        match entry.kind {
            5 => {
                let bytes = self.input.read(entry.at, count * 8)?;
                let fraction = |bytes: &[u8]| {
                    f64::from(self.order.u32(four(bytes))) / f64::from(self.order.u32(four(&bytes[4..])))
                };
                Ok(bytes.chunks_exact(8).map(fraction).collect())
            }
            11 => {
                let bytes = self.input.read(entry.at, count * 4)?;
                Ok(bytes
                    .chunks_exact(4)
                    .map(|bytes| f64::from(f32::from_bits(self.order.u32(four(bytes)))))
                    .collect())
            }
            12 => {
                let bytes = self.input.read(entry.at, count * 8)?;
                Ok(bytes.chunks_exact(8).map(|bytes| f64::from_bits(self.order.u64(eight(bytes)))).collect())
            }
            _ => Ok(self.numbers(directory, tag, most)?.into_iter().map(|number| number as f64).collect()),
        }
    }
}

impl Directory {
    fn find(&self, tag: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tag == tag)
    }

    pub(super) fn has(&self, tag: u16) -> bool {
        self.find(tag).is_some()
    }
}

/// The size of one value of a type; none for types that are not known.
fn size_of(kind: u16) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16..=18 => Some(8),
        _ => None,
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]
}
