//! The files of an upload: begun, withdrawn, complete.

use super::abandoned;
use super::calls::{
    BatchStatus, CompleteFile, Completed, Expected, FileDocument, FilePage, FileRow, FileStatus, Reply,
    StartedFile, State, UploadType,
};
use super::intake::{FILE, PART_BYTES, STATE, TEXT, in_status, name, state};
use super::jobs::{self, CompleteOrder, QUEUE};
use super::refusal::No;
use super::request::StartFile;
use crate::limits::PAGE_ITEMS;
use crate::tree::parent_of;
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::name::UniqueKey;
use abide_engine::{Answer, Halt, Turn};
use abide_preprocess::iso;

/// Files from this size on come in parts.
const MULTIPART_BYTES: u64 = 5 << 20;

/// A file is about to come. One that did not arrive is begun anew.
pub(super) fn start(turn: &mut Turn<'_>, file: StartFile) -> Result<StartedFile, Halt<No>> {
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
pub(super) fn withdraw(turn: &mut Turn<'_>, r2_key: &str) -> Result<Completed, Halt<No>> {
    let mut state = in_status(turn, BatchStatus::Uploading)?;
    let (key, row) = file_at(turn, r2_key)?;
    take_back(turn, &mut state, &row)?;
    state.text_files -= u64::from(is_text(&row.file.logical_path));
    turn.delete(&key);
    turn.put(STATE, &state)?;
    Ok(Completed { success: true })
}

/// How many bytes are awaited as a part of an upload.
pub(super) fn expects(turn: &mut Turn<'_>, upload_id: &str, part: u32) -> Result<Expected, Halt<No>> {
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
pub(super) fn complete_file(turn: &mut Turn<'_>, complete: CompleteFile) -> Result<Answer<Reply>, Halt<No>> {
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
pub(super) fn completed(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
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

pub(super) fn files(turn: &mut Turn<'_>, after: Option<&str>) -> Result<FilePage, Halt<No>> {
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
