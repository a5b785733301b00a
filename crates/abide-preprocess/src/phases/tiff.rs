//! TIFF to JPEG: each TIFF gets a JPEG beside it, or one for each of its pages.

use super::{Phase, is_page};
use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::Report;

/// The tag of a TIFF that was converted.
pub const SOURCE: &str = "TiffConverter:source";

/// Converts TIFFs to JPEGs.
#[derive(Debug)]
pub struct TiffConversion;

/// What is before `.tif` or `.tiff`, in any case, if that is how a name ends.
#[must_use]
pub fn stem(name: &str) -> Option<&str> {
    [".tiff", ".tif"].into_iter().find_map(|end| {
        let at = name.len().checked_sub(end.len())?;
        name.get(at..)?.eq_ignore_ascii_case(end).then(|| &name[..at])
    })
}

impl Phase for TiffConversion {
    fn name(&self) -> &'static str {
        "TIFF_CONVERSION"
    }

    fn tag(&self) -> &'static str {
        "tiff"
    }

    fn takes(&self, file: &ProcessableFile) -> bool {
        stem(&file.file_name).is_some()
    }

    fn settings(&self) -> PhaseSettings {
        PhaseSettings { memory_mb: 1_024, ..PhaseSettings::DEFAULT }
    }

    fn may_put(&self, file: &ProcessableFile, key: &str) -> bool {
        let named = file.output_r2_key.as_deref().and_then(|named| named.strip_suffix(".jpg"));
        is_page(named.or_else(|| stem(&file.r2_key)).unwrap_or(&file.r2_key), key)
    }

    fn accepts(&self, file: &ProcessableFile, report: &Report) -> Result<(), String> {
        let Some(key) = report.made.output_r2_key.as_deref() else {
            return Err("the worker reported success without output_r2_key".to_owned());
        };
        if report.made.output_file_name.as_deref().is_none_or(str::is_empty) {
            return Err("the worker reported success without output_file_name".to_owned());
        }
        if report.made.output_file_size.is_none_or(|bytes| bytes == 0) {
            return Err("the worker reported an output of no bytes".to_owned());
        }
        match file.output_r2_key.as_deref() {
            Some(expected) if !report.is_paged() && expected != key => {
                Err(format!("the worker wrote {key}, and {expected} was expected: another file has that key"))
            }
            _ => Ok(()),
        }
    }

    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile> {
        let path = stem(&file.logical_path).unwrap_or(&file.logical_path);
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        // Under a name of its own, where another file has the usual one.
        let usual = format!("{}.jpg", stem(&file.r2_key).unwrap_or(&file.r2_key));
        let is_named = report.is_paged() || file.output_r2_key.as_ref().is_some_and(|key| *key != usual);
        let jpegs = report.pages().into_iter().map(|page| {
            let logical_path =
                if is_named { format!("{folder}{}", page.file_name) } else { format!("{path}.jpg") };
            let jpeg = ProcessableFile {
                r2_key: page.r2_key,
                logical_path,
                file_name: page.file_name,
                file_size: page.file_size,
                content_type: "image/jpeg".to_owned(),
                processing_config: file.processing_config.clone(),
                source_file: Some(file.file_name.clone()),
                ..ProcessableFile::default()
            };
            jpeg.tagged("TiffConverter")
        });
        std::iter::once(file.clone().tagged(SOURCE)).chain(jpegs).collect()
    }
}
