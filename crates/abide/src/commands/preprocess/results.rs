//! The folder of results: each file comes into it whole or not at all, nothing of others is replaced, and no link leads out of it.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abide_blob::{BlobError, Bucket, Key};
use futures_util::TryStreamExt;
use tokio::io::AsyncWriteExt;

use super::STATE_DIR;
use super::folder::File;
use super::ledger::{Ledger, Made};
use crate::failure::Failure;

/// Smaller copies of images are in this folder, by size.
pub(super) const VARIANTS: &str = "variants";
/// What is being written, in the folder of what is needed to go on.
const PART: &str = "part";
/// Bytes that are compared at a time.
const PIECE: usize = 256 * 1024;

/// Where results go.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) out: PathBuf,
    /// Whether files that we did not write are replaced.
    pub(super) overwrite: bool,
}

/// Why a result did not come to its place.
#[derive(Debug)]
pub(super) enum Unplaced {
    /// Something is in the way of this one.
    InTheWay(String),
    /// Nothing can be placed.
    Failed(Failure),
}

impl From<BlobError> for Unplaced {
    fn from(error: BlobError) -> Unplaced {
        Unplaced::Failed(error.into())
    }
}

/// A result in its place.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) made: Made,
    /// Or it was there already.
    pub(super) is_written: bool,
}

impl Results {
    fn part(&self) -> PathBuf {
        self.out.join(STATE_DIR).join(PART)
    }

    /// Whether there is something in the place of a result.
    pub(super) fn is_there(&self, made: &Made) -> bool {
        fs::symlink_metadata(self.out.join(&made.path)).is_ok()
    }

    /// Whether a result is as we wrote it.
    pub(super) fn is_ours(&self, made: &Made) -> bool {
        let found = fs::symlink_metadata(self.out.join(&made.path));
        found.is_ok_and(|found| {
            found.is_file() && found.len() == made.bytes && modified_ms(&found) == made.modified_ms
        })
    }

    /// Removes a result and the folders that are empty without it, unless somebody changed it. Whether it is gone.
    pub(super) fn remove(&self, made: &Made) -> bool {
        let path = self.out.join(&made.path);
        if !self.is_ours(made) || fs::remove_file(&path).is_err() {
            return !self.is_there(made);
        }
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.out);
        // One with something in it stays.
        folders.map(fs::remove_dir).take_while(Result::is_ok).for_each(drop);
        true
    }

    /// Files of others that have the names of results, as far as these are known before anything is converted.
    pub(super) fn foreign(&self, files: &[File], ledger: &Ledger) -> Vec<String> {
        let names = files.iter().filter(|file| file.is_convertible()).flat_map(names);
        let is_foreign = |name: &String| {
            let found = fs::symlink_metadata(self.out.join(name));
            found.is_ok_and(|found| !found.is_dir())
                && !ledger.owner(name).is_some_and(|(_, made)| self.is_ours(made))
        };
        names.filter(is_foreign).collect()
    }

    /// Brings a blob to its place. `replaced` is what we wrote there for what it replaces; `bring` is told what comes there, before
    /// it does.
    pub(super) async fn place(
        &self,
        bucket: &Bucket,
        key: &str,
        to: &str,
        replaced: Option<&Made>,
        bring: impl FnOnce(&Made) -> Result<(), Failure>,
    ) -> Result<Placed, Unplaced> {
        let key = Key::new(key).map_err(BlobError::from)?;
        self.way_to(to)?;
        let path = self.out.join(to);
        let in_the_way = |what: &str| Unplaced::InTheWay(format!("{to} {what}"));
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(in_the_way(&format!("cannot be looked at: {error}"))),
            Ok(found) if found.is_dir() => {
                return Err(in_the_way("among the results is a folder: move it away"));
            }
            Ok(found) => {
                let is_same = found.is_file() && is_same(bucket, &key, &path).await?;
                if is_same {
                    return Ok(Placed { made: made(to, &found), is_written: false });
                }
                if !self.overwrite && !replaced.is_some_and(|made| self.is_ours(made)) {
                    return Err(in_the_way(
                        "is there already and was not written by this command: move it away, choose another --out, or say \
                         --overwrite",
                    ));
                }
            }
        }
        let made = made(to, &self.write(bucket, &key).await?);
        bring(&made).map_err(Unplaced::Failed)?;
        fs::rename(self.part(), &path).map_err(|error| of_write(&path, error))?;
        Ok(Placed { made, is_written: true })
    }

    /// Makes the folders to a result. What is no folder is not gone through: a link might lead anywhere.
    fn way_to(&self, to: &str) -> Result<(), Unplaced> {
        let folders: Vec<&Path> = Path::new(to).ancestors().skip(1).collect();
        for folder in folders.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
            let in_the_way =
                |what: String| Unplaced::InTheWay(format!("{} among the results {what}", folder.display()));
            if folder == Path::new(STATE_DIR) {
                return Err(in_the_way(
                    "is for what is needed to go on: rename the folder of this file".to_owned(),
                ));
            }
            let path = self.out.join(folder);
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match fs::symlink_metadata(&path) {
                        Ok(found) if found.is_dir() => {}
                        Ok(found) if found.is_symlink() => {
                            return Err(in_the_way(
                                "is a link, and links are not followed: move it away".to_owned(),
                            ));
                        }
                        _ => return Err(in_the_way("is no folder: move it away".to_owned())),
                    }
                }
                Err(error) => return Err(of_write(&path, error)),
            }
        }
        Ok(())
    }

    /// Writes a blob beside the results.
    async fn write(&self, bucket: &Bucket, key: &Key) -> Result<Metadata, Unplaced> {
        let part = self.part();
        let of_part = |error| Unplaced::Failed(Failure::Unwritten { path: part.clone(), error });
        let (_, mut pieces) = bucket.get(key).await?;
        let mut file = tokio::fs::File::create(&part).await.map_err(of_part)?;
        while let Some(piece) = pieces.try_next().await? {
            file.write_all(&piece).await.map_err(of_part)?;
        }
        file.flush().await.map_err(of_part)?;
        file.sync_all().await.map_err(of_part)?;
        file.metadata().await.map_err(of_part)
    }
}

/// What cannot be written for want of room is in the way of everything, and for anything else of this one alone.
fn of_write(path: &Path, error: io::Error) -> Unplaced {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Unplaced::Failed(Failure::Unwritten { path: path.to_owned(), error })
        }
        _ => Unplaced::InTheWay(format!("{} cannot be written: {error}", path.display())),
    }
}

/// Whether a file holds what a blob does.
async fn is_same(bucket: &Bucket, key: &Key, path: &Path) -> Result<bool, BlobError> {
    let (found, mut pieces) = bucket.get(key).await?;
    let Ok(mut file) = fs::File::open(path) else { return Ok(false) };
    if !file.metadata().is_ok_and(|metadata| metadata.len() == found.bytes) {
        return Ok(false);
    }
    let mut held = vec![0; PIECE];
    while let Some(piece) = pieces.try_next().await? {
        for part in piece.chunks(PIECE) {
            let held = &mut held[..part.len()];
            if file.read_exact(held).is_err() || held != part {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn modified_ms(metadata: &Metadata) -> i64 {
    metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000
}

fn made(path: &str, metadata: &Metadata) -> Made {
    Made { path: path.to_owned(), bytes: metadata.len(), modified_ms: modified_ms(metadata) }
}

/// The place of a smaller copy of the image at `path`.
pub(super) fn variant(name: &str, path: &str) -> String {
    let end = if path.ends_with(".jpg") { "" } else { ".jpg" };
    format!("{VARIANTS}/{name}/{path}{end}")
}

/// What a file most likely becomes.
fn names(file: &File) -> Vec<String> {
    let stem = file.path.rsplit_once('.').map_or(file.path.as_str(), |(stem, _)| stem);
    let (image, is_made) = match file.content_type {
        "image/tiff" => (format!("{stem}.jpg"), true),
        "application/pdf" => (format!("{stem}-p0001.jpg"), true),
        _ => (file.path.clone(), false),
    };
    let variants = ["thumb", "medium", "large"].map(|name| variant(name, &image));
    is_made.then_some(image).into_iter().chain(variants).collect()
}
