//! What routes of uploads use: requests are checked, ids drawn, and the upload asked.

use super::calls::{
    Call, Expected, FileDocument, FilePage, Inited, Processed, ProcessedAnswer, StartedFile, StatusAnswer,
};
use super::intake::Intake;
use super::processed_key;
use super::request::{BadUpload, Init, ProcessedBody, StartFile};
use crate::config::ProcessingConfig;
use crate::service::Service;
use crate::tree::parent_of;
use abide_blob::Key;
use abide_engine::{CallError, Object};
use abide_entities::{Codec, ContentId, EntityError};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A request about an upload that was not done.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The request is wrong.
    #[error(transparent)]
    Bad(#[from] BadUpload),
    /// The parent does not exist, or cannot be looked for.
    #[error("parent_pi: {0}")]
    Parent(EntityError),
    /// The upload says no.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What is outside of the engine failed.
    #[error("{0}")]
    Failed(String),
}

impl Service {
    /// Begins an upload under a new id.
    pub async fn init_upload(&self, init: Init) -> Result<Inited, UploadError> {
        init.check(self.limits())?;
        let site = self.site().await;
        if let Some(parent) = init.parent() {
            site.entities.resolve(parent).await.map_err(UploadError::Parent)?;
        }
        let now_ms = site.engine.now().0.unsigned_abs();
        let (batch, session) = (draw(now_ms)?, format!("sess_{}", draw(now_ms)?));
        let call = Call::Init { init: Box::new(init), session_id: session };
        Ok(site.call(Intake::KIND, &batch, &call).await?)
    }

    /// A file is about to come.
    pub async fn start_file(&self, batch: &str, file: StartFile) -> Result<StartedFile, UploadError> {
        file.check(self.limits())?;
        let key = format!("staging/{batch}{}", file.logical_path);
        Key::new(&key).map_err(|error| BadUpload(format!("logical_path: {error}")))?;
        Ok(self.site().await.call(Intake::KIND, batch, &Call::Start(Box::new(file))).await?)
    }

    /// How many bytes may be put at a place in staging, if that is a part of an upload: nothing where none is awaited.
    pub async fn awaited_bytes(&self, key: &str) -> Result<Option<u64>, UploadError> {
        let Some(rest) = key.strip_prefix("uploads/") else { return Ok(None) };
        let mut segments = rest.split('/');
        let (batch, upload_id, part) = (segments.next(), segments.next(), segments.next());
        let part = part.and_then(|part| part.parse().ok());
        let (Some(batch), Some(upload_id), Some(part)) = (batch, upload_id, part) else {
            return Err(BadUpload(format!("{key:?} is no part of an upload")).into());
        };
        let call = Call::Expects { upload_id: upload_id.to_owned(), part };
        let expected: Expected = self.site().await.call(Intake::KIND, batch, &call).await?;
        Ok(Some(expected.bytes))
    }

    /// How far an upload is, with all of its files.
    pub async fn upload_status(&self, batch: &str) -> Result<(StatusAnswer, Vec<FileDocument>), UploadError> {
        let site = self.site().await;
        let status = site.call(Intake::KIND, batch, &Call::Status).await?;
        let (mut files, mut after) = (Vec::new(), None);
        loop {
            let page: FilePage = site.call(Intake::KIND, batch, &Call::Files { after }).await?;
            files.extend(page.files);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok((status, files)),
            }
        }
    }

    /// Takes the processed files of an upload: their list is written, and the pipeline gets the batch.
    pub async fn take_processed(
        &self,
        batch: &str,
        body: ProcessedBody,
    ) -> Result<ProcessedAnswer, UploadError> {
        let bad = |message: &str| UploadError::Bad(BadUpload(message.to_owned()));
        if body.files.is_empty() {
            return Err(bad("files is empty"));
        }
        let site = self.site().await;
        let status: StatusAnswer = site.call(Intake::KIND, batch, &Call::Status).await?;
        let root_pi = body.root_pi.or(status.root_pi).ok_or_else(|| bad("root_pi is missing"))?;
        let total_files = body.files.len() as u64;
        let node_pis = body.node_pis.unwrap_or_default();
        let mut directories: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for mut file in body.files {
            let path = file.get("logical_path").and_then(Value::as_str);
            let path = path.ok_or_else(|| bad("a file has no logical_path"))?;
            let directory = parent_of(path).unwrap_or("/").to_owned();
            if ProcessingConfig::of_value(&file["processing_config"]).is_none() {
                file["processing_config"] = json!(ProcessingConfig::NOTHING);
            }
            directories.entry(directory).or_default().push(file);
        }
        let directories: Vec<Value> = directories
            .into_iter()
            .map(|(path, files)| {
                json!({"existing_pi": node_pis.get(&path), "directory_path": path, "files": files})
            })
            .collect();
        let manifest = json!({"batch_id": batch, "directories": directories});
        let failed = |error: String| UploadError::Failed(error);
        let bytes = serde_json::to_vec(&manifest).map_err(|error| failed(error.to_string()))?;
        let list_r2_key = processed_key(batch, &ContentId::of(Codec::Raw, &bytes));
        let key = Key::new(&list_r2_key).map_err(|error| failed(error.to_string()))?;
        let written = self.staging().put(&key, bytes.into(), "application/json").await;
        written.map_err(|error| failed(error.to_string()))?;
        let call = Call::Processed(Processed { total_files, root_pi: Some(root_pi), list_r2_key });
        Ok(site.call(Intake::KIND, batch, &call).await?)
    }
}

fn draw(now_ms: u64) -> Result<String, UploadError> {
    let mut random = [0; 16];
    let drawn = getrandom::fill(&mut random);
    drawn.map_err(|error| UploadError::Failed(format!("no randomness for an id: {error}")))?;
    Ok(ulid::Ulid::from_parts(now_ms, u128::from_be_bytes(random)).to_string())
}
