//! What stands before a run begins: what the collection is called, that nobody else works on it, and that nothing is written to
//! the source.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use super::super::preprocess::folder::{Folder, real};
use crate::cli::IngestArgs;
use crate::config::Config;
use crate::failure::Failure;

/// Looks at the folder. What is in a part that cannot be looked into is neither brought in nor taken for removed.
pub(super) fn folder(dir: &Path) -> Result<Folder, Failure> {
    let mut folder = Folder::read(dir)?;
    let closed = std::mem::take(&mut folder.closed);
    let folder = Folder { closed, ..folder.for_a_collection()? };
    if folder.files.is_empty() {
        let left = folder.unusable.iter().chain(&folder.closed).next();
        let left = left.map(|left| format!(" that can be used: {}: {}", left.file, left.reason));
        let (root, left) = (folder.root.display(), left.unwrap_or_default());
        return Err(Failure::Unusable(format!("{root} has no files{left}")));
    }
    Ok(folder)
}

pub(super) fn name(args: &IngestArgs, folder: &Folder) -> Result<String, Failure> {
    let of_folder = || folder.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = args.name.clone().or_else(of_folder);
    let name =
        name.ok_or_else(|| Failure::Unusable(format!("{} has no name: say --name", folder.root.display())))?;
    match abide_collections::check_name(&name) {
        Ok(()) => Ok(name),
        Err(no) => Err(Failure::Unusable(format!("{no}: say another --name"))),
    }
}

/// What says that a run works on a data directory: two would take each other's files for what was stopped. Held as long as it
/// lives, and let go of by a process that is killed.
pub(super) struct Alone(#[expect(dead_code, reason = "it is held, not used")] File);

impl Alone {
    /// Takes a data directory for this run.
    pub(super) fn on(data_dir: &Path) -> Result<Alone, Failure> {
        let path = data_dir.join("ingest.lock");
        let unusable = |error| Failure::KeyFile { path: path.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = open.map_err(unusable)?;
        match lock(&mut file) {
            Ok(()) => {
                let pid = std::process::id().to_string();
                file.set_len(0).and_then(|()| file.write_all(pid.as_bytes())).map_err(unusable)?;
                Ok(Alone(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // It is only said; who has just begun has not written it yet.
                let said = file.read_to_string(&mut pid).is_ok() && !pid.is_empty();
                let who = if said { format!(" (process {pid})") } else { String::new() };
                Err(Failure::Unusable(format!(
                    "another `abide ingest`{who} runs on {}: wait until it is through",
                    data_dir.display()
                )))
            }
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// The same if there is a data directory already.
    pub(super) fn early(data_dir: &Path) -> Result<Option<Alone>, Failure> {
        if data_dir.is_dir() { Alone::on(data_dir).map(Some) } else { Ok(None) }
    }
}

/// How often it is tried to take what a process had that is gone, and the pause between.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// Takes a file for this process. Of one that was killed, a child that has just been begun may have it for a moment longer.
fn lock(file: &mut File) -> Result<(), TryLockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if is_gone(file) => std::thread::park_timeout(PAUSE),
            taken => return taken,
        }
    }
    file.try_lock()
}

/// Whether the process that is named in a file is not there any more.
fn is_gone(file: &mut File) -> bool {
    let mut pid = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut pid)).and_then(|_| file.rewind());
    let named = read.is_ok() && !pid.is_empty() && pid.bytes().all(|digit| digit.is_ascii_digit());
    let processes = Path::new("/proc");
    named && processes.join("self").exists() && !processes.join(pid).exists()
}

/// Nothing is written to a source.
pub(super) fn apart(folder: &Folder, config: &Config) -> Result<(), Failure> {
    let data_dir = ("the data directory", config.store.data_dir.as_path(), "--data-dir");
    let buckets = ("the directory of buckets", Path::new(&config.buckets.dir), "buckets.dir");
    for (what, path, option) in
        [data_dir, buckets].into_iter().filter(|(_, path, _)| !path.as_os_str().is_empty())
    {
        let real = real(path).map_err(Failure::System)?;
        if real.starts_with(&folder.root) {
            return Err(Failure::Unusable(format!(
                "{what} {} is in {}, and nothing is written to a source: choose another {option}",
                real.display(),
                folder.root.display()
            )));
        }
    }
    Ok(())
}

/// If this process owns the data directory, everything happens here: workers and routes of this process. Services of others
/// could not call it back; gives the options that name some.
pub(super) fn settle(config: &mut Config) -> Vec<&'static str> {
    let mut unused = Vec::new();
    config.launcher.kind = "local";
    config.launcher.credentials = "presigned";
    config.preprocess.orchestrator_url = String::new();
    config.preprocess.worker_url = String::new();
    let pipeline = &mut config.pipeline;
    for (name, url) in [
        ("pipeline.organizer_url", &mut pipeline.organizer_url),
        ("pipeline.ocr_url", &mut pipeline.ocr_url),
        ("pipeline.pinax_url", &mut pipeline.pinax_url),
        ("pipeline.description_url", &mut pipeline.description_url),
    ] {
        if !std::mem::take(url).is_empty() {
            unused.push(name);
        }
    }
    if config.preprocess.cdn_public_url.is_empty() {
        // Wherever a server is on this data: what is written into a collection names no address that may change.
        config.preprocess.cdn_public_url = "/preprocess".to_owned();
    }
    unused
}
