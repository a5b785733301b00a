//! How a worker gets at bytes: by URLs or by credentials.

use super::Trouble;
use super::assignment::{Access, Assignment};
use crate::buckets::Which;
use crate::limits::INPUT_BYTES;
use abide_blob::{Bucket, Key, S3Options};
use futures_util::StreamExt;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
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
    /// In the order of the request; each takes one PUT. An empty one is for what is there already.
    pub urls: Vec<String>,
}

/// Bytes of an upload that are held at a time.
const PIECE_BYTES: usize = 256 * 1024;
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
                let failed = |error: reqwest::Error| Trouble::Download(error.without_url().to_string());
                let response = client.get(*input).send().await.map_err(failed)?;
                if !response.status().is_success() {
                    return Err(Trouble::Download(response.status().to_string()));
                }
                let mut file = tokio::fs::File::create(to).await?;
                let (mut stream, mut bytes) = (response.bytes_stream(), 0_u64);
                while let Some(piece) = stream.next().await {
                    let piece = piece.map_err(failed)?;
                    bytes += piece.len() as u64;
                    if bytes > INPUT_BYTES {
                        return Err(Trouble::Download(format!("it has more than {INPUT_BYTES} bytes")));
                    }
                    file.write_all(&piece).await?;
                }
                Ok(file.flush().await?)
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
                    let key = Key::new(&file.key).map_err(|error| failed(error.to_string()))?;
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
    let sent = client.post(url).json(&request).send().await;
    let response = sent.map_err(|error| failed(error.without_url().to_string()))?;
    if !response.status().is_success() {
        let status = response.status();
        let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
        return Err(failed(format!("no URL was given for it: {status}: {said}")));
    }
    let answer: UploadsAnswer =
        response.json().await.map_err(|error| failed(error.without_url().to_string()))?;
    if answer.urls.len() == files.len() {
        Ok(answer.urls)
    } else {
        Err(failed("not every URL was given".to_owned()))
    }
}

async fn put(client: &reqwest::Client, url: &str, file: &Upload) -> Result<(), Trouble> {
    let failed = |reason: String| Trouble::Upload { key: file.key.clone(), reason };
    let source = tokio::fs::File::open(&file.path).await?;
    let length = source.metadata().await?.len();
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
    let sent = request.send().await;
    let response = sent.map_err(|error| failed(error.without_url().to_string()))?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
    Err(failed(format!("{status}: {said}")))
}
