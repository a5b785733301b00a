//! The manifest: which files a batch has, read from the bucket.

use crate::file::ProcessableFile;
use crate::limits::FILE_BYTES;
use crate::message::{BatchId, QueueMessage};
use crate::phases::Phase;
use crate::phases::image::usual_ref;
use crate::phases::pdf::{self, PdfSplitting};
use crate::phases::tiff::{self, TiffConversion};
use abide_blob::Key;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Entities of directories by path, with the topmost one: what a message or a manifest brings and is given back.
pub const TREE: [&str; 4] = ["root_pi", "node_pis", "node_tips", "node_versions"];

/// Fields of a document by their names.
pub type Fields = Map<String, Value>;

/// A manifest as it is in the bucket.
#[derive(Debug, Deserialize)]
struct Document {
    batch_id: BatchId,
    directories: Vec<Directory>,
}

#[derive(Debug, Deserialize)]
struct Directory {
    #[serde(default)]
    processing_config: Value,
    #[serde(default)]
    files: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    r2_key: String,
    logical_path: String,
    file_name: String,
    file_size: u64,
    content_type: String,
    cid: Option<String>,
    /// Its own, if it has another one than its directory.
    #[serde(default)]
    processing_config: Value,
}

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the manifest cannot be read: {0}")]
pub struct BadManifest(String);

/// What a manifest says of the entities of its directories: those of [`TREE`] that are there. They may be more than a message
/// carries.
pub fn tree(bytes: &[u8]) -> Result<Fields, BadManifest> {
    /// Everything but the files, which are most of it.
    #[derive(Deserialize)]
    struct Entities {
        #[serde(default, rename = "directories")]
        _directories: IgnoredAny,
        #[serde(flatten)]
        fields: Fields,
    }
    let document: Entities = serde_json::from_slice(bytes).map_err(|error| BadManifest(error.to_string()))?;
    let is_tree = |(name, value): &(String, Value)| TREE.contains(&name.as_str()) && !value.is_null();
    Ok(document.fields.into_iter().filter(is_tree).collect())
}

/// The files of a manifest, in its order, each key once, with names for outputs that collide with nothing.
pub fn read(bytes: &[u8], message: &QueueMessage) -> Result<Vec<ProcessableFile>, BadManifest> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| BadManifest(error.to_string()))?;
    if document.batch_id != message.batch_id {
        return Err(BadManifest(format!("it is that of batch {}", document.batch_id)));
    }
    let prefix = message.prefix();
    let mut keys = BTreeSet::new();
    let mut files = Vec::new();
    for directory in document.directories {
        for entry in directory.files {
            let bad = |reason: String| BadManifest(format!("the file {:?} {reason}", entry.r2_key));
            Key::new(&entry.r2_key).map_err(|error| bad(format!("has a wrong key: {error}")))?;
            if !entry.r2_key.starts_with(&prefix) {
                return Err(bad(format!("is outside of {prefix}")));
            }
            if !keys.insert(entry.r2_key.clone()) {
                return Err(bad("is listed twice".to_owned()));
            }
            let wrong = wrong_name(&entry.file_name)
                .map(|wrong| format!("has the file_name {wrong}"))
                .or_else(|| wrong_path(&entry.logical_path))
                .or_else(|| wrong_word("content_type", &entry.content_type))
                .or_else(|| wrong_word("cid", entry.cid.as_deref().unwrap_or_default()));
            if let Some(wrong) = wrong {
                return Err(bad(wrong));
            }
            let processing_config = match entry.processing_config {
                Value::Null => directory.processing_config.clone(),
                own => own,
            };
            let file = ProcessableFile {
                r2_key: entry.r2_key.clone(),
                logical_path: entry.logical_path,
                file_name: entry.file_name,
                file_size: entry.file_size,
                content_type: entry.content_type,
                processing_config,
                cid: entry.cid,
                ..ProcessableFile::default()
            };
            let bytes = serde_json::to_string(&file).map_or(usize::MAX, |text| text.len());
            if bytes > FILE_BYTES {
                return Err(bad(format!("has an entry of {bytes} bytes, and {FILE_BYTES} are taken")));
            }
            files.push(file);
        }
    }
    name_outputs(&mut files, &mut keys);
    Ok(files)
}

/// What is wrong with the name of a file, which names what is made of it.
pub(crate) fn wrong_name(name: &str) -> Option<String> {
    let is_name = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    (!is_name).then(|| format!("{name:?}, which is not the name of a file"))
}

/// What is wrong with what workers are told in their environment.
fn wrong_word(field: &str, word: &str) -> Option<String> {
    word.contains(char::is_control).then(|| format!("has the {field} {word:?}, with a control character"))
}

/// What is wrong with a path at which others will put things.
fn wrong_path(path: &str) -> Option<String> {
    let leaves = path.split('/').any(|part| matches!(part, "." | ".."));
    (path.is_empty() || leaves || path.contains('\0'))
        .then(|| format!("has the logical_path {path:?}, which is not a path below the root of the batch"))
}

/// The longest end that a name gets: the ref of a last page.
const LONGEST_END: &str = "-p10000.jpg.ref.json";

/// Whether everything that is made below a stem can have its name.
fn has_room(stem: &str) -> bool {
    Key::new(&format!("{stem}{LONGEST_END}")).is_ok()
}

/// A key whose name is cut so that what is made of it can have names, with digits that follow from the whole name: they are the same
/// in every batch, and another name has others. None where its folders leave no room at all.
fn shortened(key: &str) -> Option<String> {
    let name_at = key.rfind('/').map_or(0, |at| at + 1);
    let (folders, name) = key.split_at(name_at);
    // FNV-1a: nobody's secret depends on it, and a number tells two apart that have the same digits.
    let digits =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let cuts = name.char_indices().rev().map(|(at, _)| format!("{folders}{}~{digits:08x}", &name[..at]));
    let mut roomy = cuts.filter(|cut| has_room(&format!("{cut}.0000000")));
    roomy.next()
}

/// `a.tif` becomes `a.jpg` and `a.pdf` becomes `a-p0001.jpg` and on, and `a.jpg` becomes `a.jpg.ref.json`; where another file has
/// or gets such a key, outputs are named after the whole file name, and refs get a number. Names that are too long for such ends
/// are shortened.
fn name_outputs(files: &mut [ProcessableFile], keys: &mut BTreeSet<String>) {
    for file in files {
        let is_tiff = TiffConversion.takes(file);
        if !is_tiff && !PdfSplitting.takes(file) {
            file.output_r2_key = other_ref(&file.r2_key, keys);
            continue;
        }
        // A key need not end as the name of its file does.
        let stem = if is_tiff { tiff::stem(&file.r2_key) } else { pdf::stem(&file.r2_key) };
        let stem = stem.unwrap_or(&file.r2_key);
        let short = shortened(&file.r2_key);
        // Where nothing can be shortened, what is too long fails when it is put.
        let fits = |stem: &str| short.is_none() || has_room(stem);
        let whole = if fits(&file.r2_key) { None } else { short.clone() };
        let whole = whole.unwrap_or_else(|| file.r2_key.clone());
        let candidates = (1..).map(|n| match n {
            1 => stem.to_owned(),
            2 => whole.clone(),
            n if fits(&format!("{whole}.{n}")) => format!("{whole}.{n}"),
            n => format!("{}.{n}", short.as_ref().unwrap_or(&whole)),
        });
        let free = candidates.into_iter().find(|stem| {
            let pages = format!("{stem}-p");
            let named_so = keys.range(pages.clone()..).take_while(|key| key.starts_with(&pages));
            let is_page = |key: &String| key[pages.len()..].starts_with(|c: char| c.is_ascii_digit());
            let is_taken = |end: &str| keys.contains(&format!("{stem}{end}"));
            fits(stem)
                && !is_taken(".jpg")
                && !is_taken(".jpg.ref.json")
                && !named_so.into_iter().any(is_page)
        });
        let stem = free.expect("there are more names than files");
        keys.insert(format!("{stem}.jpg"));
        keys.insert(format!("{stem}-p0001.jpg"));
        file.output_r2_key = Some(if is_tiff { format!("{stem}.jpg") } else { stem });
    }
}

/// The key of a file's ref, where another file has the usual one or there can be none.
fn other_ref(key: &str, keys: &mut BTreeSet<String>) -> Option<String> {
    let is_short = Key::new(&usual_ref(key)).is_ok();
    if is_short && !keys.contains(&usual_ref(key)) {
        return None;
    }
    let short = shortened(key).filter(|_| !has_room(&format!("{key}.0000000")));
    let key = short.as_deref().unwrap_or(key);
    let free = (2..).map(|n| usual_ref(&format!("{key}.{n}"))).find(|other| !keys.contains(other));
    let free = free.expect("there are more names than files");
    keys.insert(free.clone());
    Some(free)
}
