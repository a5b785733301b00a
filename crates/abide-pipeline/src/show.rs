//! What is said of a batch.

use crate::chunk::ChunkResult;
use crate::limits::PAGE_ITEMS;
use crate::node::{FileKind, FileRecord, NodeDocument, RefRecord, TextRecord};
use crate::refusal::No;
use crate::rows;
use crate::state::Step;
use crate::status::StatusAnswer;
use abide_engine::{Halt, Turn};
use abide_preprocess::iso;

/// Chunks that one page says something of.
const SAID: usize = 20;

pub(crate) fn status(turn: &mut Turn<'_>) -> Result<StatusAnswer, Halt<No>> {
    let state = rows::state(turn)?;
    let status = state.status();
    let error = match state.step {
        Step::Error { error } => Some(error),
        Step::Loading { .. } | Step::Phase { .. } | Step::Done => None,
    };
    Ok(StatusAnswer {
        batch_id: turn.object().name.as_str().to_owned(),
        status,
        progress: state.progress,
        root_pi: state.root_pi,
        started_at: iso(state.started_at),
        updated_at: iso(state.updated_at),
        completed_at: state.completed_at.map(iso),
        error,
        files: state.files,
        directories_failed: state.failed,
        in_flight: state.live.into(),
        cost: state.cost,
        notes: state.notes,
    })
}

pub(crate) fn node(turn: &mut Turn<'_>, place: u32) -> Result<NodeDocument, Halt<No>> {
    rows::state(turn)?;
    let node = rows::node(turn, place)?;
    let prefix = rows::kids_prefix(place);
    let mut children_paths = Vec::new();
    let kids = turn.scan::<bool>(&prefix, None, PAGE_ITEMS)?;
    let kids: Vec<u32> = kids.iter().filter_map(|(key, _)| rows::place_of(&prefix, key)).collect();
    turn.prefetch(kids.iter().map(|kid| rows::node_key(*kid)))?;
    for kid in kids {
        children_paths.push(rows::node(turn, kid)?.path);
    }
    let (mut text_files, mut refs) = (Vec::new(), Vec::new());
    for (_, file) in turn.scan::<FileRecord>(&rows::files_prefix(place), None, PAGE_ITEMS)? {
        let FileRecord { filename, kind, staging_key, ocr_complete, error, .. } = file;
        match kind {
            FileKind::Text => text_files.push(TextRecord { filename, staging_key, error }),
            FileKind::Ref => refs.push(RefRecord { filename, staging_key, ocr_complete, error }),
            FileKind::Other => {}
        }
    }
    let said = turn.scan::<ChunkResult>(&rows::said_prefix(place), None, SAID)?;
    let reorganization_result = said.into_iter().map(|(_, said)| said).collect();
    Ok(NodeDocument { node, children_paths, text_files, refs, reorganization_result })
}
