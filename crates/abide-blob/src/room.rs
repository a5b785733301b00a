//! How much a disk still takes.

use std::path::Path;

/// Bytes that can still be written where `path` is; none if that cannot be said.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
