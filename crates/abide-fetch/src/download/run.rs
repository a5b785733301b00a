//! One run of a download: ask, judge the reply, stream, and again if that can help.

use super::disk::on_disk;
use super::folder::Folder;
use super::part::{Notes, Part};
use super::plan::{Plan, Validators, Verdict, judge};
use super::record::Record;
use super::{Download, DownloadError, Downloaded, Progress, file_name};
use crate::ask::Ask;
use crate::error::FetchError;
use crate::fetcher::{Fetcher, host};
use crate::limits::{CHECKPOINT_MS, CHUNK_BYTES, STREAM_RETRIES};
use crate::reason::Class;
use crate::reply::Reply;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::Instrument;
use tracing::field::Empty;

/// Time between two syncs of what comes slowly.
const CHECKPOINT: Duration = Duration::from_millis(CHECKPOINT_MS);

/// What one run works with.
pub(super) struct Run<'a> {
    pub(super) download: &'a Download,
    pub(super) fetcher: &'a Fetcher,
    pub(super) stop: Pin<&'a mut (dyn Future<Output = ()> + Send)>,
    pub(super) progress: &'a mut (dyn FnMut(Progress) + Send),
}

/// What earlier runs left.
pub(super) enum Found {
    /// Nothing: there is no part, and no record.
    Nothing(Folder),
    /// A part, which may be empty, and the record of a file that is as it was recorded.
    Something(Box<Part>, Option<Record>),
}

/// How a stream ended: the part as it now is on disk, and what broke it off.
struct Streamed {
    part: Part,
    broken_by: Option<DownloadError>,
}

impl Run<'_> {
    /// Asks until the file is there, trying again will not help, or only later. A part of no use is removed.
    pub(super) async fn passes(mut self, found: Found) -> Result<Downloaded, DownloadError> {
        let (part, mut record, mut first) = match found {
            Found::Nothing(folder) => {
                let (part, reply) = self.ask_while_opening(folder).await?;
                (part, None, Some((Plan::Fresh, reply)))
            }
            Found::Something(part, record) => (*part, record, None),
        };
        let mut resumed_from = part.len();
        let mut part = part.asked_for_by(self.download.asked_by.clone());
        let (mut stream_failures, mut broken_by) = (0, None);
        let mut has_discarded = false;
        loop {
            if part.notes().whole.is_some() {
                return finalize(on_disk(move || part.finish(resumed_from))).await.map(Downloaded::Saved);
            }
            let (plan, reply) = match first.take() {
                Some(asked) => asked,
                None => {
                    let plan = Plan::of(&part, record.as_ref());
                    let reply = self.ask(&plan).await;
                    (plan, reply)
                }
            };
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => return give_up(part, error).await,
            };
            part = match judge(&plan, reply.status(), reply.headers()) {
                Verdict::NotModified => match record {
                    Some(record) => return finalize(on_disk(move || part.keep_old(record))).await,
                    None => return give_up(part, reply.status_error().into()).await,
                },
                Verdict::Discard if !has_discarded => {
                    (has_discarded, resumed_from, record) = (true, 0, None);
                    part = on_disk(move || part.clear()).await?;
                    continue;
                }
                // The file broke off, and only the rest of it is what the server cannot give.
                Verdict::Discard if let Some(error) = broken_by.take() => {
                    return on_disk(move || part.clear()).await.and(Err(error));
                }
                Verdict::Discard | Verdict::Fail => return give_up(part, reply.status_error().into()).await,
                Verdict::Append { total } => {
                    part.is_to_have(total);
                    part
                }
                Verdict::Restart => {
                    resumed_from = 0;
                    begin(part, self.notes(&reply)).await?
                }
            };
            let streaming = tracing::info_span!(target: "fetch", "stream", bytes = Empty);
            let streamed = self.stream(part, reply).instrument(streaming.clone()).await?;
            streaming.record("bytes", streamed.part.len());
            part = streamed.part;
            match streamed.broken_by {
                None => {
                    let finish = on_disk(move || part.finish(resumed_from));
                    return finalize(finish).await.map(Downloaded::Saved);
                }
                Some(error) if stream_failures < STREAM_RETRIES && error.is_worth_resuming() => {
                    stream_failures += 1;
                    broken_by = Some(error);
                }
                Some(error) => return give_up(part, error).await,
            }
        }
    }

    /// Makes the part of a new download while its host is asked: the host's place is not kept waiting for the disk. If the
    /// part cannot be made, or another attempt has it, what was asked for is not waited for.
    async fn ask_while_opening(
        &mut self,
        folder: Folder,
    ) -> Result<(Part, Result<Reply, DownloadError>), DownloadError> {
        let url = self.download.url.clone();
        let opening = on_disk(move || Part::open(&folder, &url));
        tokio::try_join!(opening, async { Ok(self.ask(&Plan::Fresh).await) })
    }

    async fn ask(&mut self, plan: &Plan) -> Result<Reply, DownloadError> {
        let ask = Ask {
            headers: plan.headers(),
            bytes_max: self.download.bytes_max,
            bytes_before: plan.offset(),
            total_ms: self.download.total_ms,
            resolver: self.download.resolver.clone(),
            ..Ask::file(self.download.url.clone())
        };
        tokio::select! {
            biased;
            () = &mut self.stop => Err(DownloadError::Stopped),
            reply = self.fetcher.open(&ask) => Ok(reply?),
        }
    }

    /// What is to be remembered of a reply that begins the file, if it is what was wanted.
    fn notes(&self, reply: &Reply) -> Result<Notes, DownloadError> {
        let content_type = reply.header(CONTENT_TYPE).map(str::to_owned);
        if let Some(expected) = &self.download.content_type
            && !is_of_type(content_type.as_deref(), expected)
        {
            let found = content_type.unwrap_or_else(|| "no content type".to_owned());
            return Err(DownloadError::UnexpectedType { expected: expected.clone(), found });
        }
        Ok(Notes {
            url: self.download.url.clone(),
            final_url: reply.url().to_string(),
            status: reply.status(),
            validators: Validators::of(reply.headers()),
            content_type,
            content_encoding: reply.header(CONTENT_ENCODING).map(str::to_owned),
            file: file_name(self.download.stem.as_deref(), reply.url(), reply.headers()),
            total: reply.announced(),
            durable: 0,
            whole: None,
            asked_by: self.download.asked_by.clone(),
            is_complete: false,
        })
    }

    /// Writes the body behind what the part has. If it breaks off, what came is durable.
    async fn stream(&mut self, mut part: Part, mut reply: Reply) -> Result<Streamed, DownloadError> {
        let mut buffer = Vec::new();
        let mut keep = interval_at(Instant::now() + CHECKPOINT, CHECKPOINT);
        keep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let broken_by = loop {
            let piece = {
                let mut coming = pin!(reply.chunk());
                loop {
                    tokio::select! {
                        biased;
                        () = &mut self.stop => break Err(DownloadError::Stopped),
                        piece = coming.as_mut() => break piece.map_err(DownloadError::from),
                        _ = keep.tick() => {
                            let came = std::mem::take(&mut buffer);
                            part = on_disk(move || part.keep(&came)).await?;
                        }
                    }
                }
            };
            match piece {
                Ok(Some(piece)) => buffer.extend_from_slice(&piece),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            if buffer.len() >= CHUNK_BYTES {
                let full = std::mem::take(&mut buffer);
                part = on_disk(move || part.append(&full)).await?;
                let (bytes, total, latency) = (part.len(), part.notes().total, reply.latency());
                (self.progress)(Progress { bytes, total, has_arrived: false, latency });
            }
        };
        let received = part.len() + buffer.len() as u64;
        let total = part.notes().total;
        let broken_by = broken_by.or_else(|| missing(total, received, &reply));
        // The host is free before the disk has the last piece.
        let (has_arrived, latency) = (broken_by.is_none(), reply.latency());
        (self.progress)(Progress { bytes: received, total, has_arrived, latency });
        let mut part = on_disk(move || part.append(&buffer)).await?;
        if broken_by.is_some() {
            part = on_disk(move || part.checkpoint()).await?;
        }
        Ok(Streamed { part, broken_by })
    }
}

fn missing(announced: Option<u64>, received: u64, reply: &Reply) -> Option<DownloadError> {
    let (announced, host) = (announced?, host(reply.url()));
    (announced != received).then(|| FetchError::Cut { host, announced, received }.into())
}

/// Makes the part that of the file of which `notes` are known, if it is what was wanted.
async fn begin(mut part: Part, notes: Result<Notes, DownloadError>) -> Result<Part, DownloadError> {
    let notes = match notes {
        Ok(notes) => notes,
        Err(error) => return give_up(part, error).await,
    };
    let comes_at_once = notes.total.is_some_and(|total| part.has_room_for_all(total));
    part.begin(notes);
    // The host's place is not kept waiting for the disk with what is written in one go.
    if comes_at_once { Ok(part) } else { on_disk(move || part.emptied()).await }
}

/// Puts the file in its place, in a span of its own.
async fn finalize<T>(work: impl Future<Output = T>) -> T {
    work.instrument(tracing::info_span!(target: "fetch", "finalize")).await
}

/// Ends a run without a file. The part stays for the next run if there may be one.
async fn give_up<T>(part: Part, error: DownloadError) -> Result<T, DownloadError> {
    match error.reason().class() {
        Class::Retryable | Class::Done => {}
        Class::Final | Class::Skipped => on_disk(move || part.remove()).await?,
    }
    Err(error)
}

fn is_of_type(found: Option<&str>, expected: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (found, expected) = (essence(found.unwrap_or_default()), essence(expected));
    match expected.strip_suffix("/*") {
        Some(class) => found.split('/').next() == Some(class),
        None => found == expected,
    }
}
