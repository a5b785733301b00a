//! The upload: takes files, makes sure that they are there, has entities made and files preprocessed.

use super::abandoned;
use super::calls::{
    BatchStatus, Call, Completed, DiscoveryProgress, FileRow, FileStatus, FinalizeAnswer, Inited, Processed,
    ProcessedAnswer, Reply, State, StatusAnswer, ToIntake,
};
use super::files;
use super::jobs::{self, Discovered, DiscoveryOrder, QUEUE};
use super::refusal::No;
use super::request::Init;
use super::{manifest_key, prefix};
use crate::calls::ToPipeline;
use crate::limits::{MESSAGE_BYTES, PAGE_ITEMS};
use crate::message::IngestMessage;
use crate::pipeline::Pipeline;
use crate::prompts::CustomPrompts;
use abide_core::event::{Event, Sender};
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::name::UniqueKey;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Turn};
use abide_preprocess::{Batch, QueueMessage, ToBatch, iso};
use serde_json::{Value, json};

pub(super) const STATE: &str = "state";
const PROMPTS: &str = "prompts";
pub(super) const FILE: &str = "file/";
/// Bytes of a part.
pub const PART_BYTES: u64 = 10 << 20;
/// With fewer directories and text files than these a client that finalizes waits for the entities.
const FEW: (u64, u64) = (50, 100);
/// Endings of files that become components at once.
pub(super) const TEXT: [&str; 7] = [".md", ".txt", ".json", ".xml", ".csv", ".html", ".htm"];

/// A kind of object that takes uploads.
#[derive(Debug, Clone, Copy)]
pub struct Intake;

impl Object for Intake {
    const KIND: &'static str = "ingest";
    type Call = Call;
    type Reply = Reply;
    type Message = ToIntake;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        Ok(match call {
            Call::Init { init, session_id } => Reply::Inited(begin(turn, *init, session_id)?).into(),
            Call::Start(file) => Reply::Started(files::start(turn, *file)?).into(),
            Call::Complete(complete) => return files::complete_file(turn, complete),
            Call::Withdraw(file) => Reply::Completed(files::withdraw(turn, &file.r2_key)?).into(),
            Call::Expects { upload_id, part } => {
                Reply::Expected(files::expects(turn, &upload_id, part)?).into()
            }
            Call::Finalize => return finalize(turn),
            Call::Status => Reply::Status(Box::new(status(turn)?)).into(),
            Call::Files { after } => Reply::Files(files::files(turn, after.as_deref())?).into(),
            Call::Progress { life, progress } => {
                let mut state = state(turn)?;
                if life == turn.incarnation() && state.status == BatchStatus::Discovery {
                    state.progress = Some(progress);
                    turn.put(STATE, &state)?;
                }
                Reply::Completed(Completed { success: true }).into()
            }
            Call::Processed(processed) => Reply::Processed(enqueue(turn, processed)?).into(),
        })
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: ToIntake,
    ) -> Result<(), Halt<No>> {
        match message {
            ToIntake::Taken => taken(turn),
            ToIntake::MayEmpty(finishes) => may_empty(turn, finishes),
        }
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        match outcome.kind.as_str() {
            jobs::COMPLETE => files::completed(turn, outcome),
            jobs::DISCOVERY => discovered(turn, outcome),
            jobs::SWEEP => abandoned::swept(turn, outcome),
            _ => Ok(()),
        }
    }

    fn alarm(&self, turn: &mut Turn<'_>, _name: &str, _due: Time) -> Result<(), Halt<No>> {
        abandoned::wake(turn)
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Call { .. }
            | Event::Message { .. }
            | Event::Alarm { .. }
            | Event::Outcome(_)
            | Event::Entries { .. } => vec![STATE.to_owned()],
        }
    }
}

pub(super) fn name(turn: &Turn<'_>) -> String {
    turn.object().name.as_str().to_owned()
}

pub(super) fn state(turn: &mut Turn<'_>) -> Result<State, Halt<No>> {
    let batch = name(turn);
    turn.get(STATE)?.ok_or_else(|| No::UnknownBatch(batch).into())
}

pub(super) fn in_status(turn: &mut Turn<'_>, wanted: BatchStatus) -> Result<State, Halt<No>> {
    let state = state(turn)?;
    if state.status != wanted {
        return Err(No::WrongStatus(state.status.as_str(), wanted.as_str()).into());
    }
    Ok(state)
}

fn begin(turn: &mut Turn<'_>, mut init: Init, session_id: String) -> Result<Inited, Halt<No>> {
    let batch_id = name(turn);
    if turn.get::<State>(STATE)?.is_some() {
        return Err(No::Taken(batch_id).into());
    }
    // They may be long, and the state is written with each file.
    if let Some(prompts) = init.custom_prompts.take() {
        turn.put(PROMPTS, &prompts)?;
    }
    let state = State {
        status: BatchStatus::Uploading,
        session_id: session_id.clone(),
        init,
        files: 0,
        bytes: 0,
        files_uploaded: 0,
        bytes_uploaded: 0,
        text_files: 0,
        directories: 0,
        created_at: turn.now(),
        finalized_at: None,
        enqueued_at: None,
        root_pi: None,
        progress: None,
        error: None,
        ticket: None,
        finalizes: 0,
        processed: None,
    };
    turn.put(STATE, &state)?;
    abandoned::watch(turn)?;
    Ok(Inited { batch_id, session_id })
}

/// The pipeline has the batch.
fn taken(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let Some(mut state) = turn.get::<State>(STATE)? else { return Ok(()) };
    if state.status == BatchStatus::Preprocessing {
        state.status = BatchStatus::Enqueued;
        state.enqueued_at = Some(turn.now());
        turn.put(STATE, &state)?;
    }
    Ok(())
}

/// Whether anybody here still reads the files that preprocessing delivered. The pipeline says so if they were delivered here: what it
/// hears of them comes before this. Nobody does if they were delivered elsewhere.
fn may_empty(turn: &mut Turn<'_>, finishes: u32) -> Result<(), Halt<No>> {
    let is_here = turn.get::<State>(STATE)?.is_some_and(|state| state.processed.is_some());
    if is_here {
        let pipeline = ObjectKey::new(Pipeline::KIND, name(turn))?;
        return Ok(turn.send(&pipeline, &ToPipeline::MayEmpty { finishes })?);
    }
    let batch = ObjectKey::new(Batch::KIND, turn.object().name.as_str())?;
    Ok(turn.send(&batch, &ToBatch::Empty { finishes })?)
}

fn finalize(turn: &mut Turn<'_>) -> Result<Answer<Reply>, Halt<No>> {
    let mut state = state(turn)?;
    match state.status {
        BatchStatus::Discovery | BatchStatus::Preprocessing | BatchStatus::Enqueued => {
            if let Some(ticket) = &state.ticket {
                return Ok(Answer::Later(ticket.clone()));
            }
            return Ok(Reply::Finalized(Box::new(finalized(turn, &state))).into());
        }
        BatchStatus::Uploading | BatchStatus::Failed => {}
    }
    if state.files == 0 {
        return Err(No::Empty.into());
    }
    if state.files_uploaded < state.files {
        return Err(incomplete(turn, state.files - state.files_uploaded)?.into());
    }
    state.status = BatchStatus::Discovery;
    state.finalized_at = Some(turn.now());
    state.finalizes += 1;
    state.error = None;
    let phase = "UPLOADING".to_owned();
    state.progress = Some(DiscoveryProgress { total: state.directories, published: 0, phase });
    let order = DiscoveryOrder {
        batch_id: name(turn),
        life: turn.incarnation(),
        parent_pi: state.init.parent().cloned(),
    };
    let job = NewJob::of(QUEUE, jobs::DISCOVERY, &order)?;
    let unique_key = Some(UniqueKey::new(format!("discovery/{}", state.finalizes))?);
    turn.enqueue(NewJob { unique_key, max_attempts: Some(6), ..job })?;
    let answer = if state.directories < FEW.0 && state.text_files < FEW.1 {
        let ticket = turn.open_ticket();
        state.ticket = Some(ticket.clone());
        Answer::Later(ticket)
    } else {
        Reply::Finalized(Box::new(finalized(turn, &state))).into()
    };
    turn.put(STATE, &state)?;
    Ok(answer)
}

fn incomplete(turn: &mut Turn<'_>, count: u64) -> Result<No, Halt<No>> {
    const NAMED: usize = 20;
    let mut names = Vec::new();
    let mut after: Option<String> = None;
    while names.len() < NAMED {
        let page = turn.scan::<FileRow>(FILE, after.as_deref(), PAGE_ITEMS)?;
        let open = page.iter().filter(|(_, row)| row.status == FileStatus::Uploading);
        names.extend(open.map(|(_, row)| row.file.file_name.clone()));
        match page.last() {
            Some((key, _)) if page.len() == PAGE_ITEMS => after = Some(key.clone()),
            _ => break,
        }
    }
    names.truncate(NAMED);
    Ok(No::Incomplete { count, names })
}

fn finalized(turn: &Turn<'_>, state: &State) -> FinalizeAnswer {
    let is_on_its_way = state.status == BatchStatus::Discovery;
    FinalizeAnswer {
        batch_id: name(turn),
        status: state.status,
        files_uploaded: state.files_uploaded,
        total_bytes: state.bytes_uploaded,
        r2_prefix: prefix(turn.object().name.as_str()),
        root_pi: state.root_pi.clone(),
        discovery_progress: state.progress.clone().filter(|_| is_on_its_way),
    }
}

/// Entities are made, or could not be.
fn discovered(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let mut state = state(turn)?;
    if state.status != BatchStatus::Discovery {
        return Ok(());
    }
    let result = match (&outcome.state, &outcome.result) {
        (JobState::Done, Some(result)) => result.decode::<Discovered>().map_err(|error| error.0),
        _ => Err(outcome.reason.clone().unwrap_or_else(|| "its job was cancelled".to_owned())),
    };
    let ticket = state.ticket.take();
    match result {
        Ok(found) => {
            state.status = BatchStatus::Preprocessing;
            state.root_pi = Some(found.root_pi.clone());
            let total = state.progress.as_ref().map_or(state.directories, |progress| progress.total);
            state.progress = Some(DiscoveryProgress { total, published: total, phase: "DONE".to_owned() });
            let batch = ObjectKey::new(Batch::KIND, turn.object().name.as_str())?;
            let message = queue_message(turn, &state, found)?;
            turn.send(&batch, &ToBatch::Start(Box::new(message)))?;
            if let Some(ticket) = ticket {
                let answer = finalized(turn, &state);
                turn.resolve(&ticket, &answer)?;
            }
        }
        Err(reason) => {
            state.status = BatchStatus::Failed;
            if let Some(progress) = &mut state.progress {
                progress.phase = "ERROR".to_owned();
            }
            if let Some(ticket) = ticket {
                turn.resolve_refused(&ticket, "discovery_failed", &reason);
            }
            state.error = Some(reason);
        }
    }
    Ok(turn.put(STATE, &state)?)
}

/// What preprocessing is told. Entities by path go along if they fit; they are in the manifest in any case.
fn queue_message(turn: &mut Turn<'_>, state: &State, found: Discovered) -> Result<QueueMessage, Halt<No>> {
    let batch = name(turn);
    let now = iso(turn.now());
    let mut message = json!({
        "batch_id": batch,
        "manifest_r2_key": manifest_key(&batch),
        "r2_prefix": prefix(&batch),
        "uploader": state.init.uploader,
        "root_path": state.init.root_path,
        "parent_pi": state.init.parent_pi,
        "total_files": state.files,
        "total_bytes": state.bytes,
        "uploaded_at": state.finalized_at.map_or_else(|| now.clone(), iso),
        "finalized_at": now,
        "metadata": state.init.metadata,
        "root_pi": found.root_pi,
    });
    if let Some(prompts) = turn.get::<CustomPrompts>(PROMPTS)? {
        message["custom_prompts"] = json!(prompts);
    }
    if let Some(node_pis) = found.node_pis {
        let node_pis = json!(node_pis);
        if message.to_string().len() + node_pis.to_string().len() + 1_000 < MESSAGE_BYTES {
            message["node_pis"] = node_pis;
        }
    }
    QueueMessage::read(&message).map_err(|error| No::TooMuch(error.to_string()).into())
}

/// The files are processed: the pipeline gets the batch. A list that comes again is answered as the first time, and another one,
/// for a file that was tried again, is taken too.
fn enqueue(turn: &mut Turn<'_>, processed: Processed) -> Result<ProcessedAnswer, Halt<No>> {
    let mut state = state(turn)?;
    let batch_id = name(turn);
    let answer = ProcessedAnswer {
        success: true,
        batch_id: batch_id.clone(),
        status: BatchStatus::Enqueued,
        total_files: processed.total_files,
    };
    match (state.status, &state.processed) {
        (BatchStatus::Enqueued, Some(list)) if *list == processed.list_r2_key => return Ok(answer),
        (BatchStatus::Preprocessing, _) | (BatchStatus::Enqueued, Some(_)) => {}
        // The pipeline got it in another way.
        (BatchStatus::Enqueued, None)
        | (BatchStatus::Uploading | BatchStatus::Discovery | BatchStatus::Failed, _) => {
            let wanted = BatchStatus::Preprocessing.as_str();
            return Err(No::WrongStatus(state.status.as_str(), wanted).into());
        }
    }
    let prompts: Option<CustomPrompts> = turn.get(PROMPTS)?;
    let message: Value = json!({
        "batch_id": batch_id,
        "manifest_r2_key": processed.list_r2_key,
        "r2_prefix": prefix(&batch_id),
        "root_pi": processed.root_pi.or_else(|| state.root_pi.clone()),
        "parent_pi": state.init.parent_pi,
        "custom_prompts": prompts,
        "uploader": state.init.uploader,
        "root_path": state.init.root_path,
        "metadata": state.init.metadata,
        "institution": state.init.metadata.get("institution").and_then(Value::as_str),
    });
    let message = IngestMessage::read(&message).map_err(|error| No::TooMuch(error.to_string()))?;
    let pipeline = ObjectKey::new(Pipeline::KIND, &batch_id)?;
    turn.send(&pipeline, &ToPipeline::Listed(Box::new(message)))?;
    state.status = BatchStatus::Enqueued;
    state.enqueued_at = state.enqueued_at.or(Some(turn.now()));
    state.processed = Some(processed.list_r2_key);
    turn.put(STATE, &state)?;
    Ok(answer)
}

fn status(turn: &mut Turn<'_>) -> Result<StatusAnswer, Halt<No>> {
    let state = state(turn)?;
    let init = state.init;
    Ok(StatusAnswer {
        batch_id: name(turn),
        session_id: state.session_id,
        status: state.status,
        uploader: init.uploader,
        root_path: init.root_path,
        parent_pi: init.parent_pi,
        file_count: init.file_count,
        files_uploaded: state.files_uploaded,
        total_size: init.total_size,
        total_bytes_uploaded: state.bytes_uploaded,
        created_at: iso(state.created_at),
        enqueued_at: state.enqueued_at.map(iso),
        metadata: init.metadata,
        custom_prompts: turn.get(PROMPTS)?,
        root_pi: state.root_pi,
        discovery_progress: state.progress,
        error: state.error,
    })
}
