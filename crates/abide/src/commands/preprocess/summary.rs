//! What a run came to.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use serde::Serialize;

use super::Left;
use super::export::Written;
use super::folder::Folder;
use super::ledger::{End, Ledger};
use crate::failure::Failure;
use crate::output::{Output, counted, in_a_line};

/// What a run came to, with what was done before it.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    out: String,
    /// Each is converted, passed through or failed. Those that cannot be used are among them, and folders that cannot be looked into.
    files: usize,
    bytes: u64,
    converted: u64,
    /// Of these, converted by earlier runs.
    already_done: u64,
    passed_through: Vec<Left>,
    skipped: Vec<Left>,
    failed: Vec<Left>,
    /// Of these, tried again by the same command.
    to_be_tried_again: u64,
    /// Files that are gone, and of which results are there.
    gone: Vec<Left>,
    /// Results of such files that were removed.
    removed: u64,
    /// Results that are there.
    results: u64,
    result_bytes: u64,
    /// Of these, written by this run.
    written: u64,
    written_bytes: u64,
    seconds: f64,
}

/// What a run did itself.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) already_done: u64,
    pub(super) written: Written,
    pub(super) gone: Vec<Left>,
    pub(super) removed: u64,
    pub(super) took: Duration,
}

impl Summary {
    pub(super) fn of(folder: &Folder, ledger: &Ledger, out: String, ran: Ran) -> Summary {
        let mut summary = Summary {
            out,
            files: folder.files.len() + folder.unusable.len() + folder.closed.len(),
            bytes: folder.bytes,
            converted: 0,
            already_done: ran.already_done,
            passed_through: Vec::new(),
            skipped: folder.skipped.clone(),
            failed: Vec::new(),
            to_be_tried_again: 0,
            gone: ran.gone,
            removed: ran.removed,
            results: 0,
            result_bytes: 0,
            written: ran.written.files,
            written_bytes: ran.written.bytes,
            seconds: ran.took.as_secs_f64(),
        };
        for file in &folder.files {
            let left = |reason: &str| Left { file: file.path.clone(), reason: reason.to_owned() };
            let Some(entry) = ledger.entries.get(&file.path) else {
                summary.failed.push(left("it was not brought to its end"));
                summary.to_be_tried_again += 1;
                continue;
            };
            summary.results += entry.made.len() as u64;
            summary.result_bytes += entry.made.iter().map(|made| made.bytes).sum::<u64>();
            match &entry.end {
                End::Converted => summary.converted += 1,
                End::PassedThrough { reason } => summary.passed_through.push(left(reason)),
                End::Failed { reason, again } => {
                    summary.failed.push(left(reason));
                    summary.to_be_tried_again += u64::from(*again);
                }
            }
        }
        for left in [&folder.unusable, &folder.closed] {
            summary.failed.extend_from_slice(left);
        }
        summary
    }

    /// Prints it; what failed makes a failure.
    pub(super) fn finish(&self, output: Output) -> Result<(), Failure> {
        output.data(&self.text(), self)?;
        partly(self.failed.len(), self.to_be_tried_again)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Left { file, reason } in &self.passed_through {
            by_reason.entry(reason).or_default().push(file);
        }
        for (reason, files) in by_reason {
            text.push_str(&format!("passed through, not among the results: {}\n", in_a_line(reason)));
            files.iter().for_each(|file| text.push_str(&format!("  {}\n", in_a_line(file))));
        }
        for (title, left) in [("skipped", &self.skipped), ("gone", &self.gone), ("failed", &self.failed)] {
            left.iter().for_each(|left| text.push_str(&format!("{}\n", left.line(title))));
        }
        let done = match self.already_done {
            0 => String::new(),
            done => format!("  {done} by earlier runs"),
        };
        let not_files = if self.skipped.is_empty() { "" } else { "  links and others that are no files" };
        let rows = [
            ("files", self.files as u64, format!("  {}", HumanBytes(self.bytes))),
            ("converted", self.converted, done),
            ("passed through", self.passed_through.len() as u64, String::new()),
            ("failed", self.failed.len() as u64, String::new()),
            ("skipped", self.skipped.len() as u64, not_files.to_owned()),
            ("results", self.results, format!("  {} in {}", HumanBytes(self.result_bytes), self.out)),
            (
                "written now",
                self.written,
                format!(
                    "  {} in {}",
                    HumanBytes(self.written_bytes),
                    HumanDuration(Duration::from_secs_f64(self.seconds.ceil()))
                ),
            ),
        ];
        for (title, count, more) in rows {
            text.push_str(&format!("{title:<15} {count:>8}{more}\n"));
        }
        if self.removed > 0 {
            text.push_str(&format!("{:<15} {:>8}  of files that are gone\n", "removed", self.removed));
        }
        text
    }
}

/// Whether anything failed.
pub(super) fn partly(failed: usize, again: u64) -> Result<(), Failure> {
    if failed == 0 {
        return Ok(());
    }
    let tried = match again {
        0 => String::new(),
        again => format!("; the same command tries {again} of them again"),
    };
    Err(Failure::Partly(format!(
        "{} failed, each with its reason above{tried}",
        counted(failed as u64, "file")
    )))
}
