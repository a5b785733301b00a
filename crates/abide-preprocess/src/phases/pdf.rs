//! PDF to pages: each page an image, and its text beside it.

use super::Phase;
use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::{PageOutput, Report};

/// The tag of a PDF that was split.
pub const SOURCE: &str = "PdfSplitter:source";

/// Splits PDFs into pages.
#[derive(Debug)]
pub struct PdfSplitting;

/// The pages of a report in their order; `output_*` is the only page of a report without `outputs`.
fn pages(report: &Report) -> Vec<PageOutput> {
    match (&report.outputs, &report.output_r2_key, &report.output_file_name) {
        (Some(outputs), ..) => {
            let mut outputs = outputs.clone();
            outputs.sort_by_key(|output| output.page);
            outputs
        }
        (None, Some(r2_key), Some(file_name)) => {
            let file_size = report.output_file_size.unwrap_or(0);
            let (r2_key, file_name) = (r2_key.clone(), file_name.clone());
            vec![PageOutput {
                page: 1,
                r2_key,
                file_name,
                file_size,
                text_r2_key: None,
                text_file_size: None,
            }]
        }
        (None, ..) => Vec::new(),
    }
}

impl Phase for PdfSplitting {
    fn name(&self) -> &'static str {
        "PDF_SPLITTING"
    }

    fn tag(&self) -> &'static str {
        "pdf"
    }

    fn takes(&self, file: &ProcessableFile) -> bool {
        let name = file.file_name.to_ascii_lowercase();
        name.ends_with(".pdf") || file.content_type.eq_ignore_ascii_case("application/pdf")
    }

    fn settings(&self) -> PhaseSettings {
        PhaseSettings { task_timeout_ms: 600_000, memory_mb: 2_048, ..PhaseSettings::DEFAULT }
    }

    fn accepts(&self, _: &ProcessableFile, report: &Report) -> Result<(), String> {
        let pages = pages(report);
        if pages.is_empty() {
            return Err("the worker reported success without a page".to_owned());
        }
        if let Some(empty) = pages.iter().find(|page| page.file_size == 0) {
            return Err(format!("page {} has no bytes", empty.page));
        }
        let in_order = pages.iter().zip(1_u32..).all(|(page, number)| page.page == number);
        if !in_order {
            return Err("the pages of the report are not 1, 2, 3 … each once".to_owned());
        }
        match report.page_count {
            Some(count) if count as usize != pages.len() => {
                Err(format!("the file has {count} pages, and the worker reported {}", pages.len()))
            }
            _ => Ok(()),
        }
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
        for page in pages(report) {
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
