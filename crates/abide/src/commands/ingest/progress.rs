//! How far a batch is: a bar for each phase at a terminal, a line now and then elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use abide_pipeline::contract::{Status, StatusAnswer};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;

use crate::output::Output;

pub(super) struct Progress {
    output: Output,
    bars: Option<MultiProgress>,
    of_phases: BTreeMap<&'static str, ProgressBar>,
    said: BTreeMap<&'static str, u64>,
}

/// A phase: what it is called, where it is in the order, how many directories are through.
type Phase = (&'static str, Status, fn(&StatusAnswer) -> u64);

const PHASES: [Phase; 4] = [
    ("reading images", Status::OcrInProgress, |status| status.progress.directories_ocr_complete),
    ("grouping", Status::Reorganization, |status| status.progress.directories_reorganization_complete),
    ("metadata", Status::PinaxExtraction, |status| status.progress.directories_pinax_complete),
    ("describing", Status::Description, |status| status.progress.directories_description_complete),
];

impl Progress {
    pub(super) fn new(output: Output) -> Progress {
        let shown = output == Output::Text && io::stderr().is_terminal();
        Progress {
            output,
            bars: shown.then(MultiProgress::new),
            of_phases: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    pub(super) fn show(&mut self, status: &StatusAnswer) {
        let total = status.progress.directories_total;
        for (name, phase, done) in PHASES {
            let done = done(status);
            let begun = status.status == phase || done > 0 || status.status == Status::Done;
            if total == 0 || !begun {
                continue;
            }
            match &self.bars {
                Some(bars) => {
                    let bar = self.of_phases.entry(name).or_insert_with(|| bar(bars, name, total));
                    bar.set_length(total);
                    bar.set_position(done);
                }
                None => {
                    if self.said.insert(name, done).is_none_or(|said| said < done) {
                        let document = json!({ "phase": name, "done": done, "total": total });
                        self.output
                            .message(&format!("{name}: {done} of {total} folders and groups"), &document);
                    }
                }
            }
        }
    }

    pub(super) fn end(self) {
        for bar in self.of_phases.values() {
            bar.finish();
        }
    }
}

fn bar(bars: &MultiProgress, name: &'static str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:17} [{bar:30}] {pos}/{len} {per_sec} {eta}");
    let bar = bars.add(ProgressBar::new(total).with_prefix(name));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar
}
