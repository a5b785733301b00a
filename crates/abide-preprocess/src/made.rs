//! What a worker says that it made, looked for where it says that it is.

use crate::buckets::{Buckets, Which};
use crate::limits::LOOKS_AT_A_TIME;
use crate::report::{Report, ReportStatus};
use abide_blob::{BlobError, Bucket, Key};
use futures_util::{StreamExt, stream};

/// One blob that a report names.
struct Named {
    bucket: Bucket,
    key: String,
    /// How large it is said to be, if that is said.
    bytes: Option<u64>,
}

/// Why a report of success cannot be believed: something that it names is not in its bucket, or of another size. An error is
/// that of a bucket that does not answer.
pub(crate) async fn wrong_with(buckets: &Buckets, report: &Report) -> Result<Option<String>, BlobError> {
    if report.status == ReportStatus::Error {
        return Ok(None);
    }
    let looks: Vec<_> = named(buckets, report).into_iter().map(look).collect();
    let mut looks = stream::iter(looks).buffer_unordered(LOOKS_AT_A_TIME);
    while let Some(wrong) = looks.next().await {
        if let Some(wrong) = wrong? {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}

/// Everything that it names: its pages or only output, the ref and the original.
fn named(buckets: &Buckets, report: &Report) -> Vec<Named> {
    let made = &report.made;
    let pages = report.outputs.iter().flatten().flat_map(|page| {
        [
            (Which::Staging, Some(&page.r2_key), Some(page.file_size)),
            (Which::Staging, page.text_r2_key.as_ref(), page.text_file_size),
        ]
    });
    // The first page again, where there are pages.
    let only = made.output_r2_key.as_ref().filter(|_| report.outputs.is_none());
    let others = [
        (Which::Staging, only, made.output_file_size),
        (Which::Staging, made.ref_json_r2_key.as_ref(), None),
        (Which::Archive, made.archive_r2_key.as_ref(), None),
    ];
    let all = others.into_iter().chain(pages);
    all.filter_map(|(which, key, bytes)| {
        Some(Named { bucket: buckets.get(which).clone(), key: key?.clone(), bytes })
    })
    .collect()
}

async fn look(blob: Named) -> Result<Option<String>, BlobError> {
    let Named { bucket, key, bytes } = blob;
    let found = match Key::new(&key) {
        Ok(key) => bucket.head(&key).await,
        Err(error) => return Ok(Some(error.to_string())),
    };
    match (found, bytes) {
        (Ok(found), Some(bytes)) if found.bytes != bytes => Ok(Some(format!(
            "the worker reported {bytes} bytes of {key}, and {} are in the bucket",
            found.bytes
        ))),
        (Ok(_), _) => Ok(None),
        (Err(BlobError::NotFound(_)), _) => Ok(Some(format!("{key} was reported but not uploaded"))),
        (Err(error), _) => Err(error),
    }
}
