//! Bringing a file into a directory without copying its bytes, where the file system can.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// What a file may be, in a bucket, where blocks cannot be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Another name of its source.
    Name,
    /// A link to its source, of which the source knows nothing.
    Reference,
}

/// How a file came into a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brought {
    /// It shares blocks with its source until one of them is written to.
    Reflinked,
    /// It is another name of its source, or a link to it.
    Linked,
    /// Its bytes were copied.
    Copied,
}

/// Brings `source` to `temporary`, which must not exist: shared if possible, copied otherwise.
pub(crate) fn bring(source: &Path, temporary: &Path, sharing: Sharing) -> io::Result<Brought> {
    let from = File::open(source)?;
    let to = File::create_new(temporary)?;
    if rustix::fs::ioctl_ficlone(&to, &from).is_ok() {
        to.sync_all()?;
        return Ok(Brought::Reflinked);
    }
    drop(to);
    fs::remove_file(temporary)?;
    // A blob is replaced by a rename and never written to, so the other name of the file stays as it is.
    let linked = match sharing {
        Sharing::Name => fs::hard_link(source, temporary),
        Sharing::Reference => fs::canonicalize(source).and_then(|source| symlink(source, temporary)),
    };
    if linked.is_ok() {
        return Ok(Brought::Linked);
    }
    fs::copy(source, temporary)?;
    File::open(temporary)?.sync_all()?;
    Ok(Brought::Copied)
}
