//! Images to variants: each image is replaced by a ref that says where it is served.

use super::{Phase, tiff};
use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::Report;

/// What it takes.
const TYPES: [&str; 4] = ["image/jpeg", "image/jpg", "image/png", "image/webp"];

/// Makes variants of images.
#[derive(Debug)]
pub struct ImageProcessing;

/// A ref as it is in the bucket.
#[must_use]
pub fn ref_text(data: &crate::report::RefData) -> String {
    serde_json::to_string_pretty(data).expect("text and numbers are JSON")
}

impl Phase for ImageProcessing {
    fn name(&self) -> &'static str {
        "IMAGE_PROCESSING"
    }

    fn tag(&self) -> &'static str {
        "image"
    }

    fn takes(&self, file: &ProcessableFile) -> bool {
        let content_type = file.content_type.to_ascii_lowercase();
        TYPES.contains(&content_type.as_str())
            && !file.preprocessor_tags.iter().any(|tag| tag == tiff::SOURCE)
    }

    fn settings(&self) -> PhaseSettings {
        PhaseSettings { task_timeout_ms: 120_000, memory_mb: 2_048, ..PhaseSettings::DEFAULT }
    }

    fn may_put(&self, file: &ProcessableFile, key: &str) -> bool {
        key.strip_prefix(&file.r2_key) == Some(".ref.json")
    }

    fn accepts(&self, _: &ProcessableFile, report: &Report) -> Result<(), String> {
        if report.made.ref_json_r2_key.is_none() {
            return Err("the worker reported success without ref_json_r2_key".to_owned());
        }
        match &report.made.ref_data {
            Some(data) if !data.url.is_empty() => Ok(()),
            _ => Err("the worker reported success without the url of ref_data".to_owned()),
        }
    }

    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile> {
        vec![ProcessableFile {
            r2_key: report.made.ref_json_r2_key.clone().unwrap_or_default(),
            logical_path: format!("{}.ref.json", file.logical_path),
            file_name: format!("{}.ref.json", file.file_name),
            file_size: report.made.ref_data.as_ref().map_or(0, |data| ref_text(data).len() as u64),
            content_type: "application/json".to_owned(),
            processing_config: file.processing_config.clone(),
            source_file: Some(file.file_name.clone()),
            preprocessor_tags: vec!["ImageProcessor".to_owned()],
            ..ProcessableFile::default()
        }]
    }
}
