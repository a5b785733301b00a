//! What is printed at the end.

use super::Summary;
use super::look::line;
use crate::commands::collection::{Exported, print};
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn finish(summary: &Summary, exported: Option<&Exported>, output: Output) -> Result<(), Failure> {
    let mut text = print::tree(&summary.tree);
    text.push_str(&format!(
        "\n{} new, {} edited, {} removed, {} unchanged\n",
        summary.new, summary.edited, summary.removed, summary.unchanged
    ));
    if summary.tokens > 0 {
        text.push_str(&format!("model: {} tokens, {:.4} USD\n", summary.tokens, summary.cost_usd));
    }
    if let Some(exported) = exported {
        text.push_str(&format!("exported: {} files to {}\n", exported.files, exported.dir));
        for left in &exported.left {
            text.push_str(&format!("not exported: {}: {}\n", left.file, left.reason));
        }
    }
    for note in &summary.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for left in &summary.failed {
        text.push_str(&format!("failed: {}\n", line(left)));
    }
    output.data(&text, summary)?;
    match (summary.failed.len(), summary.unfinished) {
        (0, 0) => exported.map_or(Ok(()), Exported::all_done),
        (failed, 0) => Err(Failure::Partly(format!("{failed} files failed, each with its reason above"))),
        (_, parts) => Err(Failure::Partly(format!(
            "something failed for {parts} folders and groups: the notes above say what; the same command tries again"
        ))),
    }
}
