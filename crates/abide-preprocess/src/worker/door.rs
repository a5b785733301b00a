//! How a worker gets at bytes: by URLs or by credentials.

use super::Trouble;
use super::assignment::{Access, Assignment};
use crate::buckets::Which;
use crate::limits::INPUT_BYTES;
use abide_blob::{Bucket, Key, S3Options};
use futures_util::StreamExt;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A file that is to be put.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) which: Which,
    pub(super) key: String,
    pub(super) path: PathBuf,
    pub(super) content_type: String,
    /// It is the input, which whoever has both buckets need not be sent again.
    pub(super) is_input: bool,
}

impl Upload {
    /// What the worker made.
    pub(super) fn made(which: Which, key: String, path: PathBuf, content_type: &str) -> Upload {
        Upload { which, key, path, content_type: content_type.to_owned(), is_input: false }
    }
}

/// Names a blob for which a URL is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// In which bucket.
    pub bucket: Which,
    /// Its key.
    pub key: String,
    /// It is the task's input: if it can be had from staging, no URL is needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_input: bool,
}

/// What is asked of `UPLOADS_URL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadsRequest {
    /// For these.
    pub files: Vec<Wanted>,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadsAnswer {
    /// In the order of the request, each to PUT one key while the attempt is under way. An empty one is for what is there.
    pub urls: Vec<String>,
}

/// Bytes of an upload that are held at a time.
const PIECE_BYTES: usize = 256 * 1024;
/// How often whoever has or takes bytes is asked, over about a minute: a server that is started anew is away for a while.
const TRIES: u32 = 8;
/// Characters of an answer that are told.
const SAID_CHARS: usize = 300;
/// URLs that are asked for at a time.
const AT_A_TIME: usize = 200;

pub(super) enum Door<'a> {
    Urls { client: reqwest::Client, input: &'a str, output: Option<&'a str>, uploads: Option<&'a str> },
    Buckets { staging: Bucket, archive: Bucket },
}

impl<'a> Door<'a> {
    pub(super) fn new(assignment: &'a Assignment, client: reqwest::Client) -> Result<Door<'a>, String> {
        match &assignment.access {
            Access::Presigned { input, output, uploads } => {
                Ok(Door::Urls { client, input, output: output.as_deref(), uploads: uploads.as_deref() })
            }
            Access::Bucket { endpoint, access_key_id, secret_access_key, staging, archive } => {
                let bucket = |name: &str| {
                    Bucket::s3(&S3Options {
                        bucket: name.to_owned(),
                        endpoint: endpoint.clone(),
                        region: "auto".to_owned(),
                        access_key_id: access_key_id.clone(),
                        secret_access_key: secret_access_key.clone(),
                        path_style: true,
                    })
                };
                let staging = bucket(staging).map_err(|error| error.to_string())?;
                let archive = bucket(archive).map_err(|error| error.to_string())?;
                Ok(Door::Buckets { staging, archive })
            }
        }
    }

    /// Brings the input to a file.
    pub(super) async fn download(&self, key: &str, to: &Path) -> Result<(), Trouble> {
        match self {
            Door::Buckets { staging, .. } => {
                let failed = |error: abide_blob::BlobError| Trouble::Download(error.to_string());
                let key = Key::new(key).map_err(|error| failed(error.into()))?;
                staging.get_file(&key, to, INPUT_BYTES).await.map(drop).map_err(failed)
            }
            Door::Urls { client, input, .. } => {
                let mut attempt = 1;
                loop {
                    match get_once(client, input, to).await {
                        Ok(()) => return Ok(()),
                        Err(NotDone::Now(_)) if attempt < TRIES => wait(&mut attempt).await,
                        Err(NotDone::Now(trouble) | NotDone::Ever(trouble)) => return Err(trouble),
                    }
                }
            }
        }
    }

    /// Puts every output.
    pub(super) async fn upload(&self, files: &[Upload]) -> Result<(), Trouble> {
        match self {
            Door::Buckets { staging, archive } => {
                for file in files {
                    let bucket = match file.which {
                        Which::Staging => staging,
                        Which::Archive => archive,
                    };
                    let failed = |reason: String| Trouble::Upload { key: file.key.clone(), reason };
                    let key = Key::new(&file.key).map_err(|error| Trouble::BadKey {
                        key: file.key.clone(),
                        reason: error.to_string(),
                    })?;
                    let put = bucket.put_file(&key, &file.path, &file.content_type).await;
                    put.map_err(|error| failed(error.to_string()))?;
                }
                Ok(())
            }
            Door::Urls { client, output, uploads, .. } => match (files, output) {
                ([file], Some(url)) => put(client, url, file).await,
                (files, _) => {
                    for part in files.chunks(AT_A_TIME) {
                        let urls = further(client, *uploads, part).await?;
                        for (file, url) in part.iter().zip(&urls).filter(|(_, url)| !url.is_empty()) {
                            put(client, url, file).await?;
                        }
                    }
                    Ok(())
                }
            },
        }
    }
}

/// Waits for the next attempt, longer each time.
async fn wait(attempt: &mut u32) {
    tokio::time::sleep(Duration::from_millis(250 << *attempt)).await;
    *attempt += 1;
}

/// Asks for URLs.
async fn further(
    client: &reqwest::Client,
    uploads: Option<&str>,
    files: &[Upload],
) -> Result<Vec<String>, Trouble> {
    let first = files.first().map_or(String::new(), |file| file.key.clone());
    let failed = |reason: String| Trouble::Upload { key: first.clone(), reason };
    let Some(url) = uploads else { return Err(failed("the environment has no UPLOADS_URL".to_owned())) };
    let wanted = files.iter().map(|file| Wanted {
        bucket: file.which,
        key: file.key.clone(),
        is_input: file.is_input,
    });
    let request = UploadsRequest { files: wanted.collect() };
    let mut attempt = 1;
    let response = loop {
        match client.post(url).json(&request).send().await {
            Ok(response) if is_away(response.status()) && attempt < TRIES => wait(&mut attempt).await,
            Ok(response) => break response,
            Err(_) if attempt < TRIES => wait(&mut attempt).await,
            Err(error) => return Err(failed(because(error))),
        }
    };
    if !response.status().is_success() {
        let no = Refused::of(response).await;
        // Whoever gives URLs knows every key before it gives the first.
        return Err(match no.status {
            StatusCode::BAD_REQUEST => Trouble::BadKey { key: first, reason: no.reason() },
            _ => no.for_upload(&first),
        });
    }
    let answer: UploadsAnswer = response.json().await.map_err(|error| failed(because(error)))?;
    if answer.urls.len() == files.len() {
        Ok(answer.urls)
    } else {
        Err(failed("not every URL was given".to_owned()))
    }
}

/// What went wrong with a request, down to its cause, without the URL, which is a secret.
fn because(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(std::error::Error::source(&error), |&cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

/// Why bytes did not come or go.
enum NotDone {
    /// Whoever has or takes them may be back in a moment.
    Now(Trouble),
    /// It is of no use to ask again.
    Ever(Trouble),
}

/// Puts a file, and again if whoever takes it was away: the same attempt may put the same key again.
async fn put(client: &reqwest::Client, url: &str, file: &Upload) -> Result<(), Trouble> {
    let mut attempt = 1;
    loop {
        match put_once(client, url, file).await {
            Ok(()) => return Ok(()),
            Err(NotDone::Now(_)) if attempt < TRIES => wait(&mut attempt).await,
            Err(NotDone::Now(trouble) | NotDone::Ever(trouble)) => return Err(trouble),
        }
    }
}

async fn put_once(client: &reqwest::Client, url: &str, file: &Upload) -> Result<(), NotDone> {
    let unread = |error: std::io::Error| NotDone::Ever(error.into());
    let source = tokio::fs::File::open(&file.path).await.map_err(unread)?;
    let length = source.metadata().await.map_err(unread)?.len();
    let pieces = futures_util::stream::try_unfold(source, |mut source| async move {
        let mut piece = vec![0; PIECE_BYTES];
        let read = source.read(&mut piece).await?;
        piece.truncate(read);
        Ok::<_, std::io::Error>((read > 0).then_some((piece, source)))
    });
    let request = client
        .put(url)
        .header(CONTENT_TYPE, &file.content_type)
        // Buckets take no body whose length is not said.
        .header(CONTENT_LENGTH, length)
        .body(reqwest::Body::wrap_stream(pieces));
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => {
            let (key, reason) = (file.key.clone(), because(error));
            return Err(NotDone::Now(Trouble::Upload { key, reason }));
        }
    };
    if response.status().is_success() {
        return Ok(());
    }
    let refused = Refused::of(response).await;
    let is_away = is_away(refused.status);
    let trouble = refused.for_upload(&file.key);
    Err(if is_away { NotDone::Now(trouble) } else { NotDone::Ever(trouble) })
}

/// Whether an answer is that of somebody who is not there now, or of what is before them.
fn is_away(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504)
}

/// Gets the input from its beginning: what broke off is of no use.
async fn get_once(client: &reqwest::Client, input: &str, to: &Path) -> Result<(), NotDone> {
    let away = |error: reqwest::Error| NotDone::Now(Trouble::Download(because(error)));
    let unwritten = |error: std::io::Error| NotDone::Ever(error.into());
    let response = client.get(input).send().await.map_err(away)?;
    if !response.status().is_success() {
        let refused = Refused::of(response).await;
        let is_away = is_away(refused.status);
        let trouble = Trouble::Download(refused.reason());
        return Err(if is_away { NotDone::Now(trouble) } else { NotDone::Ever(trouble) });
    }
    let mut file = tokio::fs::File::create(to).await.map_err(unwritten)?;
    let (mut stream, mut bytes) = (response.bytes_stream(), 0_u64);
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(away)?;
        bytes += piece.len() as u64;
        if bytes > INPUT_BYTES {
            let reason = format!("it has more than {INPUT_BYTES} bytes");
            return Err(NotDone::Ever(Trouble::Download(reason)));
        }
        file.write_all(&piece).await.map_err(unwritten)?;
    }
    file.flush().await.map_err(unwritten)
}

/// An answer that is none.
struct Refused {
    status: StatusCode,
    said: String,
}

impl Refused {
    /// What it says: the sentence of one of our servers, or as much as anybody needs of another's.
    async fn of(response: Response) -> Refused {
        #[derive(Deserialize)]
        struct Document {
            error: Content,
        }
        #[derive(Deserialize)]
        struct Content {
            message: String,
        }
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        let said = serde_json::from_str(&text).map_or(text, |document: Document| document.error.message);
        Refused { status, said: said.chars().take(SAID_CHARS).collect() }
    }

    fn reason(self) -> String {
        let Refused { status, said } = self;
        if said.is_empty() { status.to_string() } else { format!("{status}: {said}") }
    }

    /// What it means for whoever was to upload `key`.
    fn for_upload(self, key: &str) -> Trouble {
        let (is_full, key) = (self.status == StatusCode::INSUFFICIENT_STORAGE, key.to_owned());
        let reason = self.reason();
        if is_full { Trouble::NoRoom { key, reason } } else { Trouble::Upload { key, reason } }
    }
}
