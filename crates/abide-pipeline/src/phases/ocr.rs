//! Images are read: one job for each, and one version of the directory's entity when all of them are.

use super::{Order, Phase, Taken, lost, published};
use crate::away;
use crate::flow::{End, Flow, JobKey};
use crate::node::{FileRecord, Node};
use crate::options::Options;
use crate::orders::{OCR, OcrDone, OcrOrder, SNAPSHOT, SnapshotOrder};
use crate::refusal::No;
use crate::rows;
use crate::status::PhaseName;
use abide_core::job::{JobOutcome, JobState};
use abide_core::limits::cut_reason;
use abide_engine::Halt;

/// The job that makes the version.
const PUBLISH: &str = "publish";
/// What the keys of jobs about one image begin with.
const IMAGE: &str = "image/";
/// Files that one turn looks at.
const PAGE: usize = 500;

pub(crate) struct OcrPhase;

impl Phase for OcrPhase {
    fn order(&self) -> Order {
        Order::Any
    }

    fn window(&self, options: &Options) -> u32 {
        options.batch_size_ocr * options.ocr_chunk_size
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, room: u32) -> Result<Taken, Halt<No>> {
        if let Some(lost) = lost(node) {
            return Ok(lost);
        }
        if !node.processing_config.ocr {
            return Ok(Taken::Through(End::Skipped(Some("ocr is false".to_owned()))));
        }
        if flow.options.away.ocr {
            return self.elsewhere(flow, node);
        }
        let prefix = rows::files_prefix(node.place);
        let after = node.after.as_ref().map(|name| rows::file_key(node.place, name));
        let page = flow.turn.scan::<FileRecord>(&prefix, after.as_deref(), PAGE)?;
        let is_last = page.len() < PAGE;
        let mut begun = 0;
        for (_, file) in page {
            if begun == room {
                return Ok(Taken::InPart);
            }
            node.after = Some(file.filename.clone());
            let (true, Some(cid)) = (file.is_unread(), file.cid) else { continue };
            let order = OcrOrder { node: flow.order(node)?, filename: file.filename.clone(), cid };
            let key = JobKey::new(PhaseName::Ocr, node, format!("{IMAGE}{}", file.filename));
            flow.enqueue(&key, OCR, &order)?;
            node.open += 1;
            begun += 1;
        }
        match (is_last, node.open) {
            (false, _) => Ok(Taken::InPart),
            (true, 0) if node.changed => {
                self.publish(flow, node)?;
                Ok(Taken::InHand)
            }
            (true, 0) => Ok(Taken::Through(end_of(node))),
            (true, _) => Ok(Taken::InHand),
        }
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        mut node: Node,
        key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        if key.which == PUBLISH {
            let end = match published(outcome) {
                Ok(published) => {
                    node.current_tip = Some(published.tip);
                    node.current_version = Some(published.ver);
                    end_of(&node)
                }
                Err(reason) => End::Failed(reason),
            };
            return flow.through(&mut node, PhaseName::Ocr, end);
        }
        let filename = key.which.strip_prefix(IMAGE).unwrap_or_default();
        self.image_ended(flow, &mut node, filename, outcome)?;
        node.open = node.open.saturating_sub(1);
        let waits = flow.turn.get::<bool>(&rows::todo_key(node.place))?.is_some();
        if node.open > 0 || waits {
            return rows::put_node(flow.turn, &node);
        }
        if !node.changed {
            let end = end_of(&node);
            return flow.through(&mut node, PhaseName::Ocr, end);
        }
        self.publish(flow, &mut node)?;
        rows::put_node(flow.turn, &node)
    }
}

impl OcrPhase {
    /// Somebody else reads all images of a directory that has some.
    fn elsewhere(&self, flow: &mut Flow<'_, '_>, node: &Node) -> Result<Taken, Halt<No>> {
        let mut after: Option<String> = None;
        loop {
            let prefix = rows::files_prefix(node.place);
            let page = flow.turn.scan::<FileRecord>(&prefix, after.as_deref(), PAGE)?;
            if page.iter().any(|(_, file)| file.is_unread()) {
                away::send(flow, node, PhaseName::Ocr)?;
                return Ok(Taken::InHand);
            }
            match page.last() {
                Some((key, _)) if page.len() == PAGE => after = Some(key.clone()),
                _ => return Ok(Taken::Through(End::Done)),
            }
        }
    }

    /// Makes a version with everything that was read.
    fn publish(&self, flow: &mut Flow<'_, '_>, node: &mut Node) -> Result<(), Halt<No>> {
        node.changed = false;
        let order = SnapshotOrder { node: flow.order(node)?, phase: PhaseName::Ocr };
        flow.enqueue(&JobKey::new(PhaseName::Ocr, node, PUBLISH), SNAPSHOT, &order)
    }

    /// What became of one image. One that cannot be read is through as well, with the reason; one that could not be read this
    /// time makes the directory one that failed.
    fn image_ended(
        &self,
        flow: &mut Flow<'_, '_>,
        node: &mut Node,
        filename: &str,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        let row = rows::file_key(node.place, filename);
        let Some(mut file) = flow.turn.get::<FileRecord>(&row)? else { return Ok(()) };
        let done = match (&outcome.state, &outcome.result) {
            (JobState::Done, Some(result)) => result.decode::<OcrDone>().map_err(|error| error.0),
            (state, _) => Err(outcome.reason.clone().unwrap_or_else(|| format!("its job was {state}"))),
        };
        file.ocr_complete = true;
        match done {
            Ok(OcrDone::Read { cid, spent, .. }) => {
                flow.state.cost.add(&spent);
                node.changed |= file.cid != Some(cid);
                file.cid = Some(cid);
                flow.state.files.ocr_read += 1;
            }
            Ok(OcrDone::Already) => flow.state.files.ocr_read += 1,
            Ok(OcrDone::Unreadable { reason }) => {
                file.error = Some(cut_reason(&reason).to_owned());
                flow.state.files.ocr_failed += 1;
            }
            Err(reason) => {
                let reason = cut_reason(&reason);
                node.phase_errors.insert(PhaseName::Ocr.as_str().to_owned(), reason.to_owned());
                file.error = Some(reason.to_owned());
                flow.state.files.ocr_failed += 1;
            }
        }
        Ok(flow.turn.put(&row, &file)?)
    }
}

/// How reading the images of a directory ended.
fn end_of(node: &Node) -> End {
    match node.phase_errors.get(PhaseName::Ocr.as_str()) {
        Some(reason) => End::Failed(format!("images could not be read: {reason}")),
        None => End::Done,
    }
}
