//! The process itself and the room that its store takes.

use super::family::{Family, Sort};
use std::path::Path;

/// Bytes in a page of memory, as the kernel counts resident memory on the machines we know.
const PAGE_BYTES: u64 = 4_096;

/// Families of the process; what cannot be found out is left out.
pub(super) fn families(store_dir: Option<&Path>) -> Vec<Family> {
    let rss = "Memory that is resident.";
    let fds = "Files that are open.";
    let size = "Bytes of the files in the data directory.";
    let values = [
        ("process_resident_memory_bytes", rss, resident_bytes()),
        ("process_open_fds", fds, open_files()),
        ("abide_store_bytes", size, store_dir.and_then(bytes_in)),
    ];
    let family = |(name, help, value): (_, _, Option<u64>)| {
        value.map(|value| Family::single(name, Sort::Gauge, help, value))
    };
    values.into_iter().filter_map(family).collect()
}

fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

fn open_files() -> Option<u64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}

fn bytes_in(dir: &Path) -> Option<u64> {
    let files = std::fs::read_dir(dir).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
    Some(files.filter(std::fs::Metadata::is_file).map(|found| found.len()).sum())
}
