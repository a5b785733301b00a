//! The upload: takes files, makes sure that they are there, has entities made and files preprocessed.

use super::abandoned;
use super::calls::{
    BatchStatus, Call, CompleteFile, Completed, DiscoveryProgress, Expected, FileDocument, FilePage, FileRow,
    FileStatus, FinalizeAnswer, Inited, Processed, ProcessedAnswer, Reply, StartedFile, State, StatusAnswer,
    ToIntake, UploadType,
};
use super::jobs::{self, CompleteOrder, Discovered, DiscoveryOrder, QUEUE};
use super::refusal::No;
use super::request::{Init, StartFile};
use super::{manifest_key, prefix, processed_key};
use crate::calls::ToPipeline;
use crate::limits::{MESSAGE_BYTES, PAGE_ITEMS};
use crate::message::IngestMessage;
use crate::pipeline::Pipeline;
use crate::prompts::CustomPrompts;
use crate::tree::parent_of;
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
const FILE: &str = "file/";
/// Files from this size on come in parts.
const MULTIPART_BYTES: u64 = 5 << 20;
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
            Call::Start(file) => Reply::Started(start(turn, *file)?).into(),
            Call::Complete(complete) => return complete_file(turn, complete),
            Call::Withdraw(file) => Reply::Completed(withdraw(turn, &file.r2_key)?).into(),
            Call::Expects { upload_id, part } => Reply::Expected(expects(turn, &upload_id, part)?).into(),
            Call::Finalize => return finalize(turn),
            Call::Status => Reply::Status(Box::new(status(turn)?)).into(),
            Call::Files { after } => Reply::Files(files(turn, after.as_deref())?).into(),
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
        let ToIntake::Taken = message;
        let Some(mut state) = turn.get::<State>(STATE)? else { return Ok(()) };
        if state.status == BatchStatus::Preprocessing {
            state.status = BatchStatus::Enqueued;
            state.enqueued_at = Some(turn.now());
            turn.put(STATE, &state)?;
        }
        Ok(())
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        match outcome.kind.as_str() {
            jobs::COMPLETE => completed(turn, outcome),
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

fn name(turn: &Turn<'_>) -> String {
    turn.object().name.as_str().to_owned()
}

fn state(turn: &mut Turn<'_>) -> Result<State, Halt<No>> {
    let batch = name(turn);
    turn.get(STATE)?.ok_or_else(|| No::UnknownBatch(batch).into())
}

fn in_status(turn: &mut Turn<'_>, wanted: BatchStatus) -> Result<State, Halt<No>> {
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
    };
    turn.put(STATE, &state)?;
    abandoned::watch(turn)?;
    Ok(Inited { batch_id, session_id })
}

/// A file is about to come. One that did not arrive is begun anew.
fn start(turn: &mut Turn<'_>, file: StartFile) -> Result<StartedFile, Halt<No>> {
    let mut state = in_status(turn, BatchStatus::Uploading)?;
    if !state.init.has(&file.logical_path) {
        return Err(No::Outside(file.logical_path, state.init.root_path).into());
    }
    let key = format!("{FILE}{}", file.logical_path);
    match turn.get::<FileRow>(&key)? {
        Some(there) => take_back(turn, &mut state, &there)?,
        None => note_directory(turn, &mut state, &file.logical_path)?,
    }
    state.files += 1;
    state.bytes += file.file_size;
    let (count, size) = (state.init.file_count, state.init.total_size);
    if state.files > count || state.bytes > size {
        return Err(No::TooMuch(format!(
            "the batch was said to have {count} files with {size} bytes together"
        ))
        .into());
    }
    let upload_type =
        if file.file_size >= MULTIPART_BYTES { UploadType::Multipart } else { UploadType::Simple };
    let parts = u32::try_from(file.file_size.div_ceil(PART_BYTES)).unwrap_or(u32::MAX);
    let upload_id = format!("{:016x}", turn.seed().next_u64());
    let r2_key = format!("staging/{}{}", name(turn), file.logical_path);
    let answer = StartedFile { r2_key: r2_key.clone(), upload_type, upload_id: upload_id.clone(), parts };
    turn.put(&upload_key(&upload_id), &file.logical_path)?;
    let row = FileRow {
        file,
        r2_key,
        upload_type,
        upload_id,
        parts,
        status: FileStatus::Uploading,
        completed_at: None,
        ticket: None,
    };
    turn.put(&key, &row)?;
    turn.put(STATE, &state)?;
    abandoned::watch(turn)?;
    Ok(answer)
}

/// The row of the file that comes by an upload.
fn upload_key(upload_id: &str) -> String {
    format!("upload/{upload_id}")
}

/// A file that was begun is not awaited any more.
fn take_back(turn: &mut Turn<'_>, state: &mut State, row: &FileRow) -> Result<(), Halt<No>> {
    let path = || row.file.logical_path.clone();
    if row.status == FileStatus::Completed {
        return Err(No::FileThere(path()).into());
    }
    if row.ticket.is_some() {
        return Err(No::Completing(path()).into());
    }
    turn.delete(&upload_key(&row.upload_id));
    state.files -= 1;
    state.bytes -= row.file.file_size;
    Ok(())
}

/// The file at a place in staging.
fn file_at(turn: &mut Turn<'_>, r2_key: &str) -> Result<(String, FileRow), Halt<No>> {
    let unknown = || No::UnknownFile(r2_key.chars().take(200).collect());
    let path = r2_key.strip_prefix(&format!("staging/{}", name(turn))).ok_or_else(unknown)?;
    let key = format!("{FILE}{path}");
    let row = turn.get::<FileRow>(&key)?.ok_or_else(unknown)?;
    Ok((key, row))
}

/// A file does not come after all. What came of it is deleted with whatever else nobody needs.
fn withdraw(turn: &mut Turn<'_>, r2_key: &str) -> Result<Completed, Halt<No>> {
    let mut state = in_status(turn, BatchStatus::Uploading)?;
    let (key, row) = file_at(turn, r2_key)?;
    take_back(turn, &mut state, &row)?;
    state.text_files -= u64::from(is_text(&row.file.logical_path));
    turn.delete(&key);
    turn.put(STATE, &state)?;
    Ok(Completed { success: true })
}

/// How many bytes are awaited as a part of an upload.
fn expects(turn: &mut Turn<'_>, upload_id: &str, part: u32) -> Result<Expected, Halt<No>> {
    let unknown = || No::UnknownUpload(upload_id.chars().take(80).collect());
    in_status(turn, BatchStatus::Uploading)?;
    let path = turn.get::<String>(&upload_key(upload_id))?.ok_or_else(unknown)?;
    let row = turn.get::<FileRow>(&format!("{FILE}{path}"))?.ok_or_else(unknown)?;
    if row.ticket.is_some() || !(1..=row.parts).contains(&part) {
        return Err(unknown().into());
    }
    let before = u64::from(part - 1) * PART_BYTES;
    Ok(Expected { bytes: (row.file.file_size - before).min(PART_BYTES) })
}

fn note_directory(turn: &mut Turn<'_>, state: &mut State, path: &str) -> Result<(), Halt<No>> {
    let directory = format!("dir/{}", parent_of(path).unwrap_or("/"));
    if turn.get::<bool>(&directory)?.is_none() {
        turn.put(&directory, &true)?;
        state.directories += 1;
    }
    state.text_files += u64::from(is_text(path));
    Ok(())
}

fn is_text(path: &str) -> bool {
    let lower = path.to_lowercase();
    TEXT.iter().any(|ending| lower.ends_with(ending))
}

/// A file has come: a worker makes sure of it, and the answer waits for that.
fn complete_file(turn: &mut Turn<'_>, complete: CompleteFile) -> Result<Answer<Reply>, Halt<No>> {
    state(turn)?;
    let batch_id = name(turn);
    let (key, mut row) = file_at(turn, &complete.r2_key)?;
    if row.status == FileStatus::Completed {
        return Ok(Reply::Completed(Completed { success: true }).into());
    }
    in_status(turn, BatchStatus::Uploading)?;
    if row.upload_type == UploadType::Multipart {
        if complete.upload_id.as_ref() != Some(&row.upload_id) {
            return Err(No::OtherUpload("upload_id is not that of the file's upload".to_owned()).into());
        }
        let mut numbers: Vec<u32> = complete.parts.iter().flatten().map(|part| part.part_number).collect();
        numbers.sort_unstable();
        if numbers != (1..=row.parts).collect::<Vec<_>>() {
            let message = format!("parts are not 1 to {}, each once", row.parts);
            return Err(No::OtherUpload(message).into());
        }
    }
    let ticket = match &row.ticket {
        Some(ticket) => ticket.clone(),
        None => {
            let ticket = turn.open_ticket();
            row.ticket = Some(ticket.clone());
            let job = NewJob::of(QUEUE, jobs::COMPLETE, &CompleteOrder { batch_id, file: row.clone() })?;
            let unique_key = Some(UniqueKey::new(format!("complete/{ticket}"))?);
            turn.enqueue(NewJob { unique_key, ..job })?;
            turn.put(&format!("waits/{ticket}"), &row.file.logical_path)?;
            turn.put(&key, &row)?;
            ticket
        }
    };
    Ok(Answer::Later(ticket))
}

/// A worker has looked for a file.
fn completed(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let Some(ticket) = outcome.unique_key.as_ref().and_then(|key| key.as_str().strip_prefix("complete/"))
    else {
        return Ok(());
    };
    let waits = format!("waits/{ticket}");
    let Some(path) = turn.get::<String>(&waits)? else { return Ok(()) };
    turn.delete(&waits);
    let key = format!("{FILE}{path}");
    let Some(mut row) = turn.get::<FileRow>(&key)? else { return Ok(()) };
    let Some(ticket) = row.ticket.take() else { return Ok(()) };
    if outcome.state == JobState::Done {
        let mut state = state(turn)?;
        state.files_uploaded += 1;
        state.bytes_uploaded += row.file.file_size;
        row.status = FileStatus::Completed;
        turn.delete(&upload_key(&row.upload_id));
        row.completed_at = Some(turn.now());
        turn.put(STATE, &state)?;
        turn.resolve(&ticket, &Completed { success: true })?;
    } else {
        let reason = outcome.reason.clone().unwrap_or_else(|| "its job was cancelled".to_owned());
        turn.resolve_refused(&ticket, "not_uploaded", &reason);
    }
    Ok(turn.put(&key, &row)?)
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

/// What preprocessing is told. Entities by path go along if they fit; who does not get them derives them.
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

/// The files are processed: the pipeline gets the batch.
fn enqueue(turn: &mut Turn<'_>, processed: Processed) -> Result<ProcessedAnswer, Halt<No>> {
    let mut state = in_status(turn, BatchStatus::Preprocessing)?;
    let batch_id = name(turn);
    let prompts: Option<CustomPrompts> = turn.get(PROMPTS)?;
    let message: Value = json!({
        "batch_id": batch_id,
        "manifest_r2_key": processed_key(&batch_id),
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
    turn.send(&pipeline, &ToPipeline::Start(Box::new(message)))?;
    state.status = BatchStatus::Enqueued;
    state.enqueued_at = Some(turn.now());
    turn.put(STATE, &state)?;
    let total_files = processed.total_files;
    Ok(ProcessedAnswer { success: true, batch_id, status: BatchStatus::Enqueued, total_files })
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

fn files(turn: &mut Turn<'_>, after: Option<&str>) -> Result<FilePage, Halt<No>> {
    state(turn)?;
    let after = after.map(|path| format!("{FILE}{path}"));
    let page = turn.scan::<FileRow>(FILE, after.as_deref(), PAGE_ITEMS)?;
    let is_full = page.len() == PAGE_ITEMS;
    let files: Vec<FileDocument> = page
        .into_iter()
        .map(|(_, row)| FileDocument {
            r2_key: row.r2_key,
            file: row.file,
            upload_type: row.upload_type,
            status: row.status,
            completed_at: row.completed_at.map(iso),
        })
        .collect();
    let next = is_full.then(|| files.last().map(|file| file.file.logical_path.clone())).flatten();
    Ok(FilePage { files, next })
}
