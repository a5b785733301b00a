//! A directory to download into, and a server that knows tags and ranges.

use crate::world::{World, one_address};
use abide_fetch::download::Saved;
use abide_fetch::testing::{Act, Request, reply};
use abide_fetch::{Download, DownloadError, Downloaded};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes that differ everywhere, so that a hole or a repetition shows.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).take(len).collect()
}

/// The file that there must be, with the bytes that are said of it.
pub(crate) fn saved(result: Result<Downloaded, DownloadError>) -> Saved {
    match result {
        Ok(Downloaded::Saved(saved)) => {
            let there = fs::read(&saved.path).unwrap();
            assert_eq!((there.len() as u64, sha256(&there)), (saved.size, saved.sha256.clone()));
            saved
        }
        other => panic!("{other:?}"),
    }
}

/// The visible files of a directory and their bytes.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name() != ".abide")
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// What is kept for later: names in `.abide` without their keys.
pub(crate) fn notes(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir.join(".abide"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap()[16..].to_owned())
        .collect();
    names.sort();
    names
}

/// Serves `body` with a tag, and ranges of it if the tag is the same.
pub(crate) fn ranged(request: &Request, body: &[u8], etag: &str) -> Act {
    let range = request.header("range").filter(|_| request.header("if-range").is_none_or(|tag| tag == etag));
    match range
        .map(|range| range.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().unwrap())
    {
        Some(start) => {
            let range = format!("bytes {start}-{}/{}", body.len() - 1, body.len());
            reply(206, &[("ETag", etag), ("Content-Range", &range)], &body[start..])
        }
        None if request.header("if-none-match") == Some(etag) => reply(304, &[("ETag", etag)], b""),
        None => reply(200, &[("ETag", etag), ("Content-Type", "application/pdf")], body),
    }
}

/// Cuts what `act` would send after `keep` bytes of body.
pub(crate) fn cut(act: Act, keep: usize) -> Act {
    let Act::Raw(all) = act else { panic!("only whole replies can be cut") };
    let body = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    Act::RawThenReset(all[..body + keep].to_vec())
}

pub(crate) struct Case {
    pub(crate) world: World,
    pub(crate) dir: TempDir,
}

impl Case {
    pub(crate) fn new() -> Case {
        Case { world: one_address(), dir: TempDir::new().unwrap() }
    }

    pub(crate) fn of(&self, url: impl Into<String>) -> Download {
        Download { disk_floor: 0, ..Download::new(url, self.dir.path()) }
    }

    pub(crate) async fn run(&self, url: impl Into<String>) -> Result<Downloaded, DownloadError> {
        self.of(url).run(&self.world.fetcher).await
    }

    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.dir.path())
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        notes(self.dir.path())
    }
}
