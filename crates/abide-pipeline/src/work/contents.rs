//! A request as an organizer of somebody else takes it, who may not read our entities: with the texts of files, and with the
//! components that groups are made from.

use super::{WorkError, context};
use crate::limits::{CONTEXT_BYTES, CONTEXT_FILE_BYTES, REF_BYTES};
use crate::node::FileKind;
use abide_entities::EntityStore;
use abide_entities::answer::Shown;
use abide_organize::contract::{FileInput, FileMetadata, ProcessRequest};
use abide_organize::{FileKind as InputKind, InputFile};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Files that are read at a time.
const AT_A_TIME: usize = 8;

/// The request with all that the entities know.
pub(super) async fn filled(
    entities: &dyn EntityStore,
    mut request: ProcessRequest,
) -> Result<ProcessRequest, WorkError> {
    request.r2_prefix.get_or_insert_default();
    for asked in &mut request.pis {
        let shown = entities.get(&asked.pi).await?;
        if let Some(files) = asked.files.take() {
            asked.files = Some(with_texts(entities, &shown, files).await?);
        }
        asked.current_tip = Some(shown.tip);
        asked.parent_components = Some(shown.components);
    }
    if let Some(input) = &mut request.strategize
        && let Some(pi) = &input.pi
    {
        let shown = entities.get(pi).await?;
        input.files = with_texts(entities, &shown, std::mem::take(&mut input.files)).await?;
    }
    Ok(request)
}

/// Files with what is in them, all of them alike within their share of what a request may carry.
async fn with_texts(
    entities: &dyn EntityStore,
    shown: &Shown,
    files: Vec<FileInput>,
) -> Result<Vec<FileInput>, WorkError> {
    let most = (CONTEXT_BYTES / files.len().max(1)).min(CONTEXT_FILE_BYTES);
    let reads = files.into_iter().map(|file| async move {
        let read = read(entities, shown, &file.name, most).await?;
        let InputFile { kind, mut content, original_filename, mime_type, size, .. } = read;
        cut(&mut content, most);
        let is_known = mime_type.is_some() || size.is_some();
        Ok::<_, WorkError>(FileInput {
            kind: Some(kind),
            content: Some(content),
            original_filename,
            metadata: is_known.then_some(FileMetadata { mime_type, size }),
            ..file
        })
    });
    stream::iter(reads).buffered(AT_A_TIME).try_collect().await
}

/// A file of an entity; one that nobody can read has no text.
async fn read(
    entities: &dyn EntityStore,
    shown: &Shown,
    name: &str,
    most: usize,
) -> Result<InputFile, WorkError> {
    let bound = match FileKind::of(name) {
        FileKind::Text => most,
        FileKind::Ref => REF_BYTES,
        FileKind::Other => return Ok(InputFile::text(name, "")),
    };
    let Some(cid) = shown.components.get(name) else { return Ok(nothing(name)) };
    match context::read(entities, *cid, bound).await {
        Ok(bytes) => Ok(context::input(name.to_owned(), &bytes)),
        // It goes by its name.
        Err(WorkError::Never(_)) => Ok(nothing(name)),
        Err(error) => Err(error),
    }
}

fn nothing(name: &str) -> InputFile {
    InputFile { kind: InputKind::of(name), ..InputFile::text(name, "") }
}

/// Cuts a text so that it has at most so many bytes as it is written in a request.
fn cut(text: &mut String, most: usize) {
    loop {
        let written = serde_json::to_string(text).map_or(0, |written| written.len());
        if written <= most {
            return;
        }
        let share = text.len().saturating_mul(most) / written;
        text.truncate(text.floor_char_boundary(share));
    }
}
