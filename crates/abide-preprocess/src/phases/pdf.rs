//! PDF to pages: each page an image, and its text beside it.

use super::{Phase, is_page};
use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::Report;

/// The tag of a PDF that was split.
pub const SOURCE: &str = "PdfSplitter:source";

/// Splits PDFs into pages.
#[derive(Debug)]
pub struct PdfSplitting;

/// What is before `.pdf`, in any case, if that is how a name ends.
#[must_use]
pub fn stem(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(".pdf".len())?;
    name.get(at..)?.eq_ignore_ascii_case(".pdf").then(|| &name[..at])
}

impl Phase for PdfSplitting {
    fn name(&self) -> &'static str {
        "PDF_SPLITTING"
    }

    fn tag(&self) -> &'static str {
        "pdf"
    }

    fn takes(&self, file: &ProcessableFile) -> bool {
        stem(&file.file_name).is_some() || file.content_type.eq_ignore_ascii_case("application/pdf")
    }

    fn settings(&self) -> PhaseSettings {
        PhaseSettings { task_timeout_ms: 600_000, memory_mb: 2_048, ..PhaseSettings::DEFAULT }
    }

    fn may_put(&self, file: &ProcessableFile, key: &str) -> bool {
        is_page(file.output_r2_key.as_deref().or_else(|| stem(&file.r2_key)).unwrap_or(&file.r2_key), key)
    }

    fn accepts(&self, _: &ProcessableFile, report: &Report) -> Result<(), String> {
        report.check_pages(0)
    }

    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile> {
        let folder =
            file.logical_path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let made = |r2_key: String, file_name: String, file_size: u64, content_type: &str| ProcessableFile {
            r2_key,
            logical_path: format!("{folder}{file_name}"),
            file_name,
            file_size,
            content_type: content_type.to_owned(),
            processing_config: file.processing_config.clone(),
            source_file: Some(file.file_name.clone()),
            preprocessor_tags: vec!["PdfSplitter".to_owned()],
            ..ProcessableFile::default()
        };
        let mut files = vec![file.clone().tagged(SOURCE)];
        for page in report.pages() {
            let text = page.text_r2_key.map(|key| {
                let name = key.rsplit('/').next().unwrap_or(&key).to_owned();
                made(key, name, page.text_file_size.unwrap_or(0), "text/plain").tagged("PdfSplitter:text")
            });
            files.push(made(page.r2_key, page.file_name, page.file_size, "image/jpeg"));
            files.extend(text);
        }
        files
    }
}
