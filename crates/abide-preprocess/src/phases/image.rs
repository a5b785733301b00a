//! Images to variants: each image is replaced by a ref that says where it is served.

use super::{Phase, tiff};
use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::Report;

/// What it takes.
const TYPES: [&str; 4] = ["image/jpeg", "image/jpg", "image/png", "image/webp"];

/// How the name of a ref ends.
pub const REF: &str = ".ref.json";

/// Makes variants of images.
#[derive(Debug)]
pub struct ImageProcessing;

/// Where the ref of an image is, unless another file is there.
#[must_use]
pub fn usual_ref(key: &str) -> String {
    format!("{key}{REF}")
}

/// Where the ref of an image is.
fn ref_key(file: &ProcessableFile) -> String {
    let other = file.output_r2_key.clone().filter(|key| key.ends_with(REF));
    other.unwrap_or_else(|| usual_ref(&file.r2_key))
}

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
        key == ref_key(file)
    }

    fn accepts(&self, file: &ProcessableFile, report: &Report) -> Result<(), String> {
        let expected = ref_key(file);
        match report.made.ref_json_r2_key.as_deref() {
            None => return Err("the worker reported success without ref_json_r2_key".to_owned()),
            Some(key) if key != expected => {
                return Err(format!("the worker wrote {key}, and {expected} was expected"));
            }
            Some(_) => {}
        }
        match &report.made.ref_data {
            Some(data) if !data.url.is_empty() => Ok(()),
            _ => Err("the worker reported success without the url of ref_data".to_owned()),
        }
    }

    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile> {
        // With the number that another file's name made necessary, if one did.
        let end = ref_key(file);
        let end = end.strip_prefix(&file.r2_key).unwrap_or(REF);
        vec![ProcessableFile {
            r2_key: report.made.ref_json_r2_key.clone().unwrap_or_default(),
            logical_path: format!("{}{end}", file.logical_path),
            file_name: format!("{}{end}", file.file_name),
            file_size: report.made.ref_data.as_ref().map_or(0, |data| ref_text(data).len() as u64),
            content_type: "application/json".to_owned(),
            processing_config: file.processing_config.clone(),
            source_file: Some(file.file_name.clone()),
            preprocessor_tags: vec!["ImageProcessor".to_owned()],
            ..ProcessableFile::default()
        }]
    }
}
