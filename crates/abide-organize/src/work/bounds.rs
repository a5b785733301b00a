//! What is told of a directory, within its bounds.

use crate::jobs::{Judged, Planned};
use crate::limits::{
    DESCRIPTION_BYTES, GROUP_DESCRIPTION_BYTES, GROUP_ID_BYTES, MISSING_FILES, PLAN_BYTES, WARNING_BYTES,
    WARNINGS,
};

/// The plan, if what will be told of it fits a message: nothing is published that cannot be told of.
pub(super) fn fitting(mut planned: Planned) -> Judged {
    let plan = &mut planned.plan;
    cut(&mut plan.reorganization_description, DESCRIPTION_BYTES);
    for group in &mut plan.groups {
        cut(&mut group.description, GROUP_DESCRIPTION_BYTES);
    }
    planned.metrics.missing_files.truncate(MISSING_FILES);
    let ids = plan.groups.len() * GROUP_ID_BYTES;
    let bytes = serde_json::to_vec(&plan).map_or(usize::MAX, |bytes| bytes.len() + ids);
    if bytes <= PLAN_BYTES {
        return Judged::Planned(Box::new(planned));
    }
    let reason = format!(
        "what is to be told of the directory has {bytes} bytes, and may have {PLAN_BYTES}: send it in chunks"
    );
    Judged::Failed { reason }
}

/// Keeps warnings within their bounds, saying so.
pub(super) fn bound(warnings: &mut Vec<String>) {
    if warnings.len() > WARNINGS {
        let more = warnings.len() - WARNINGS;
        warnings.truncate(WARNINGS);
        warnings.push(format!("and {more} more"));
    }
    for warning in warnings {
        cut(warning, WARNING_BYTES);
    }
}

/// Cuts a text that is longer than `bytes`, and shows it.
fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
}
