//! The worker: one file, one process. Environment in, download, convert, upload, callback, exit code.
//!
//! It obeys the contract that every worker of the service does, so that one of ours and one of somebody else's can stand in
//! for each other: with URLs (`INPUT_URL`, `OUTPUT_URL`) or with the credentials of the bucket.

mod assignment;
mod convert;
mod door;
mod trial;

pub use assignment::{Access, Assignment, BadAssignment};
pub use door::{UploadsAnswer, UploadsRequest, Wanted};
pub use trial::{Trial, Tried};

use crate::phases::{Phase, image::ImageProcessing, pdf::PdfSplitting, tiff::TiffConversion};
use crate::report::{Hindrance, Report, ReportStatus};
use abide_fetch::certificates;
use door::Door;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A TIFF to a JPEG.
    Tiff,
    /// A PDF to pages.
    Pdf,
    /// An image to variants.
    Image,
}

impl Work {
    /// What the phase with this tag has done.
    #[must_use]
    pub fn of_tag(tag: &str) -> Option<Work> {
        let works: [(&dyn Phase, Work); 3] =
            [(&TiffConversion, Work::Tiff), (&PdfSplitting, Work::Pdf), (&ImageProcessing, Work::Image)];
        works.into_iter().find(|(phase, _)| phase.tag() == tag).map(|(_, work)| work)
    }
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The file cannot be converted.
    #[error(transparent)]
    Media(#[from] abide_media::MediaError),
    /// The input could not be had.
    #[error("Failed to download the input: {0}")]
    Download(String),
    /// The bucket is full.
    #[error("Failed to upload {key}: {reason}")]
    NoRoom {
        /// For which output.
        key: String,
        /// What the bucket says.
        reason: String,
    },
    /// There can be no blob of that name.
    #[error("Failed to upload {key}: {reason}")]
    BadKey {
        /// Which.
        key: String,
        /// Why.
        reason: String,
    },
    /// An output could not be put.
    #[error("Failed to upload {key}: {reason}")]
    Upload {
        /// Which.
        key: String,
        /// Why.
        reason: String,
    },
    /// The CDN did not take the asset.
    #[error("the CDN did not take the asset: {0}")]
    Cdn(String),
    /// Something of this machine failed.
    #[error("{0}")]
    Machine(#[from] std::io::Error),
}

impl Trouble {
    fn is_retryable(&self) -> bool {
        match self {
            Trouble::Media(error) => error.is_retryable(),
            // The next attempt would name it the same.
            Trouble::BadKey { .. } => false,
            Trouble::Download(_)
            | Trouble::NoRoom { .. }
            | Trouble::Upload { .. }
            | Trouble::Cdn(_)
            | Trouble::Machine(_) => true,
        }
    }

    /// What kept the worker from its task, if it is not the task's own failure.
    #[must_use]
    pub fn hindered_by(&self) -> Option<Hindrance> {
        match self {
            Trouble::NoRoom { .. } => Some(Hindrance::Bucket),
            Trouble::Media(abide_media::MediaError::Io { source, .. }) | Trouble::Machine(source) => {
                is_full(source).then_some(Hindrance::Machine)
            }
            Trouble::Media(_)
            | Trouble::Download(_)
            | Trouble::BadKey { .. }
            | Trouble::Upload { .. }
            | Trouble::Cdn(_) => None,
        }
    }
}

/// Whether an error is that of a disk that takes nothing.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

/// The worker could not say how it went.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The environment does not say what is to be done.
    #[error(transparent)]
    Assignment(#[from] BadAssignment),
    /// Nobody takes the callback.
    #[error("the callback to {url} was not taken: {reason}")]
    Callback {
        /// Where.
        url: String,
        /// Why.
        reason: String,
    },
    /// The task failed, and that was said.
    #[error("{0}")]
    Task(String),
    /// There can be no HTTP.
    #[error("no request can be made: {0}")]
    Client(String),
}

/// How often a callback is tried, over about two minutes: what was made counts only if it is heard.
const CALLBACKS: u32 = 9;
/// How long a connection may have been idle that is used again.
const REUSED: Duration = Duration::from_secs(5);
/// How long a server may take to begin to answer, and between two pieces of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Does what the environment says. An error is exit code 1; whether the task failed or not, it was said if that was possible.
pub async fn run(work: Work, assignment: Assignment) -> Result<(), WorkerError> {
    // A connection that was idle while a file was converted has been closed, most likely, by whoever it leads to.
    let patient = || reqwest::Client::builder().connect_timeout(PATIENCE).read_timeout(PATIENCE);
    let client = certificates::client(|| patient().pool_idle_timeout(REUSED));
    let client = client.map_err(|error| WorkerError::Client(error.to_string()))?;
    let report = match attempt(work, &assignment, &client).await {
        Ok(report) => report,
        Err(trouble) => Report {
            retryable: Some(trouble.is_retryable()),
            hindered_by: trouble.hindered_by(),
            ..Report::error(trouble.to_string())
        },
    };
    let report = Report {
        task_id: Some(assignment.task_id.clone()),
        batch_id: Some(assignment.batch_id.clone()),
        ..report
    };
    call_back(&client, &assignment.callback_url, &report).await?;
    match report.status {
        ReportStatus::Success => Ok(()),
        ReportStatus::Error => Err(WorkerError::Task(report.error.unwrap_or_default())),
    }
}

async fn attempt(work: Work, assignment: &Assignment, client: &reqwest::Client) -> Result<Report, Trouble> {
    let began = Instant::now();
    let dir = tempfile::tempdir()?;
    let input = dir.path().join("input");
    let door = Door::new(assignment, client.clone()).map_err(Trouble::Download)?;
    door.download(&assignment.input_r2_key, &input).await?;
    let downloaded = began.elapsed();
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut of_images = Vec::new();
    let (made, converted) = match work {
        Work::Tiff => (convert::tiff(assignment, &input, dir.path())?, began.elapsed()),
        Work::Pdf => (convert::pdf(assignment, &input, dir.path())?, began.elapsed()),
        Work::Image => {
            let pictured = convert::image(assignment, &input, dir.path())?;
            let converted = began.elapsed();
            door.upload(&pictured.uploads).await?;
            let archived = began.elapsed();
            let made = convert::refer(assignment, pictured, dir.path(), client).await?;
            of_images.push(("archive_time_ms", ms(archived - converted)));
            of_images.push(("cdn_upload_time_ms", ms(began.elapsed() - archived)));
            (made, converted)
        }
    };
    door.upload(&made.uploads).await?;
    let total = began.elapsed();
    let mut performance = json!({
        "total_time_ms": ms(total),
        "download_time_ms": ms(downloaded),
        "upload_time_ms": ms(total - converted),
        "pixels": made.pixels,
    });
    let middle = match work {
        Work::Tiff | Work::Pdf => "conversion_time_ms",
        Work::Image => "resize_time_ms",
    };
    performance[middle] = json!(ms(converted - downloaded));
    for (name, time_ms) in of_images {
        performance[name] = json!(time_ms);
    }
    let mut report = made.report;
    report.made.performance = Some(performance);
    Ok(report)
}

/// Says how it went, until somebody takes it.
async fn call_back(client: &reqwest::Client, url: &str, report: &Report) -> Result<(), WorkerError> {
    let mut reason = String::new();
    for attempt in 0..CALLBACKS {
        if attempt > 0 {
            tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
        }
        match client.post(url).json(report).send().await {
            Ok(response) if response.status().is_success() => return Ok(()),
            Ok(response) => {
                let status = response.status();
                let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
                reason = format!("{status}: {said}");
                // What is refused for what it is will be refused again.
                if status.is_client_error() && status.as_u16() != 429 && status.as_u16() != 408 {
                    break;
                }
            }
            Err(error) => reason = error.to_string(),
        }
    }
    let url = url.split('?').next().unwrap_or(url).to_owned();
    Err(WorkerError::Callback { url, reason })
}
