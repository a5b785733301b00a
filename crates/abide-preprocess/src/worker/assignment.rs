//! What a worker is to do, from its environment.

use super::Work;
use crate::task::Task;
use abide_media::Preset;

/// What the environment says.
#[derive(Clone, PartialEq, Eq)]
pub struct Assignment {
    /// `TASK_ID`.
    pub task_id: String,
    /// `BATCH_ID`.
    pub batch_id: String,
    /// `INPUT_R2_KEY`.
    pub input_r2_key: String,
    /// `INPUT_FILE_NAME`, or the last part of the key.
    pub input_file_name: String,
    /// `INPUT_CONTENT_TYPE`.
    pub input_content_type: Option<String>,
    /// `INPUT_CID`.
    pub input_cid: Option<String>,
    /// `OUTPUT_R2_KEY`, where the usual one is taken.
    pub output_r2_key: Option<String>,
    /// `CALLBACK_URL`.
    pub callback_url: String,
    /// How bytes are got at.
    pub access: Access,
    /// `CDN_API_URL`.
    pub cdn_api_url: Option<String>,
    /// `CDN_PUBLIC_URL`.
    pub cdn_public_url: Option<String>,
    /// `ASSET_ID`.
    pub asset_id: Option<String>,
    /// `JPEG_PRESET`.
    pub preset: Preset,
    /// `MEMORY_MB`.
    pub memory_mb: Option<u64>,
    /// `PDF_DPI`.
    pub pdf_dpi: Option<u16>,
}

/// How bytes are got at.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// By URLs, each for one blob.
    Presigned {
        /// `INPUT_URL`.
        input: String,
        /// `OUTPUT_URL`.
        output: Option<String>,
        /// `UPLOADS_URL`: gives further ones.
        uploads: Option<String>,
    },
    /// By the credentials of the bucket.
    Bucket {
        /// `R2_ENDPOINT`, or that of the account.
        endpoint: String,
        /// `R2_ACCESS_KEY_ID`.
        access_key_id: String,
        /// `R2_SECRET_ACCESS_KEY`.
        secret_access_key: String,
        /// `R2_BUCKET`.
        staging: String,
        /// `ARCHIVE_BUCKET`.
        archive: String,
    },
}

impl std::fmt::Debug for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assignment").field("task_id", &self.task_id).finish()
    }
}

/// The environment does not say what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAssignment {
    /// A variable is missing.
    #[error("the environment has no {0}: a worker is started by a launcher, which says what is to be done")]
    Missing(&'static str),
    /// Neither URLs nor credentials.
    #[error(
        "the environment has neither INPUT_URL nor R2_ACCOUNT_ID, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY"
    )]
    NoAccess,
    /// A word that is not known.
    #[error("JPEG_PRESET is {0:?}, and default and fast are known")]
    Preset(String),
    /// A task of which nobody knows what it is.
    #[error("TASK_ID is {0:?}, which does not say what is to be done: name it, as in `abide worker tiff`")]
    Work(String),
    /// No number of dots.
    #[error("PDF_DPI is {0:?}, and a whole number up to 65535 is needed")]
    Dpi(String),
}

impl Assignment {
    /// Reads the environment.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Assignment, BadAssignment> {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let need = |name: &'static str| get(name).ok_or(BadAssignment::Missing(name));
        let input_r2_key = need("INPUT_R2_KEY")?;
        let last = input_r2_key.rsplit('/').next().unwrap_or(&input_r2_key).to_owned();
        let preset = match get("JPEG_PRESET").as_deref() {
            None | Some("default") => Preset::Default,
            Some("fast") => Preset::Fast,
            Some(other) => return Err(BadAssignment::Preset(other.to_owned())),
        };
        let pdf_dpi = get("PDF_DPI").map(|text| text.parse().map_err(|_| BadAssignment::Dpi(text)));
        Ok(Assignment {
            task_id: need("TASK_ID")?,
            batch_id: need("BATCH_ID")?,
            input_file_name: get("INPUT_FILE_NAME").unwrap_or(last),
            input_content_type: get("INPUT_CONTENT_TYPE"),
            input_cid: get("INPUT_CID"),
            output_r2_key: get("OUTPUT_R2_KEY"),
            callback_url: need("CALLBACK_URL")?,
            access: Access::read(get)?,
            cdn_api_url: get("CDN_API_URL"),
            cdn_public_url: get("CDN_PUBLIC_URL"),
            asset_id: get("ASSET_ID"),
            preset,
            pdf_dpi: pdf_dpi.transpose()?,
            memory_mb: get("MEMORY_MB").and_then(|text| text.parse().ok()),
            input_r2_key,
        })
    }

    /// What is to be done, by the id of the task: `{batch_id}_{tag}_{place}`.
    pub fn work(&self) -> Result<Work, BadAssignment> {
        let tag = self.task_id.rsplit('_').nth(1);
        tag.and_then(Work::of_tag).ok_or_else(|| BadAssignment::Work(self.task_id.clone()))
    }

    /// What variants of an image are known by. Where that is not said, it follows from the task and the life of its batch: each
    /// attempt replaces what one before it made, and nothing of a batch that was begun anew.
    #[must_use]
    pub fn asset_id(&self) -> String {
        let life = self.callback_url.split(['?', '&']).find_map(|part| part.strip_prefix("life="));
        let drawn = || match life {
            Some(life) => Task::drawn_asset_id(&format!("{}-{life}", self.task_id)),
            None => Task::drawn_asset_id(&self.task_id),
        };
        self.asset_id.clone().unwrap_or_else(drawn)
    }

    /// Where assets are served if there is no CDN: beside the callback.
    #[must_use]
    pub fn asset_url(&self, asset_id: &str) -> String {
        let base = match (&self.cdn_public_url, self.callback_url.rfind("/callback/")) {
            (Some(cdn), _) => cdn.trim_end_matches('/'),
            (None, Some(at)) => &self.callback_url[..at],
            (None, None) => "",
        };
        format!("{base}/asset/{asset_id}")
    }
}

impl Access {
    fn read(get: impl Fn(&str) -> Option<String>) -> Result<Access, BadAssignment> {
        if let Some(input) = get("INPUT_URL") {
            return Ok(Access::Presigned { input, output: get("OUTPUT_URL"), uploads: get("UPLOADS_URL") });
        }
        let account =
            get("R2_ACCOUNT_ID").map(|account| format!("https://{account}.r2.cloudflarestorage.com"));
        let endpoint = get("R2_ENDPOINT").or(account).ok_or(BadAssignment::NoAccess)?;
        Ok(Access::Bucket {
            endpoint,
            access_key_id: get("R2_ACCESS_KEY_ID").ok_or(BadAssignment::NoAccess)?,
            secret_access_key: get("R2_SECRET_ACCESS_KEY").ok_or(BadAssignment::NoAccess)?,
            staging: get("R2_BUCKET").unwrap_or_else(|| "arke-staging".to_owned()),
            archive: get("ARCHIVE_BUCKET").unwrap_or_else(|| "arke-archive".to_owned()),
        })
    }
}
