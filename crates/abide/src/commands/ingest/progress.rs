//! How far a batch is: a bar for each phase at a terminal, a line now and then elsewhere.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use abide_pipeline::contract::{Status, StatusAnswer};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;

use crate::output::Output;

/// A line is said each so many parts of a phase.
const PARTS: u64 = 10;

pub(super) struct Progress {
    output: Output,
    /// Whether somebody reads images; what nobody reads is through at once, and not shown.
    reads_images: bool,
    bars: Option<MultiProgress>,
    of_phases: BTreeMap<&'static str, ProgressBar>,
    said: BTreeMap<&'static str, u64>,
}

/// A phase as people see it.
struct Phase {
    name: &'static str,
    /// The batch is in it then.
    status: Status,
    /// What is counted.
    unit: &'static str,
    /// How many of them are through, and how many there are.
    count: fn(&StatusAnswer) -> (u64, u64),
}

const FOLDERS: &str = "folders and groups";

const PHASES: [Phase; 4] = [
    Phase {
        name: "reading images",
        status: Status::OcrInProgress,
        unit: "images",
        count: |status| (status.files.ocr_read + status.files.ocr_failed, status.files.ocr_total),
    },
    Phase {
        name: "grouping",
        status: Status::Reorganization,
        unit: FOLDERS,
        count: |status| of_all(status, status.progress.directories_reorganization_complete),
    },
    Phase {
        name: "writing records",
        status: Status::PinaxExtraction,
        unit: FOLDERS,
        count: |status| of_all(status, status.progress.directories_pinax_complete),
    },
    Phase {
        name: "describing",
        status: Status::Description,
        unit: FOLDERS,
        count: |status| of_all(status, status.progress.directories_description_complete),
    },
];

fn of_all(status: &StatusAnswer, done: u64) -> (u64, u64) {
    (done, status.progress.directories_total)
}

impl Progress {
    pub(super) fn new(output: Output, reads_images: bool) -> Progress {
        let shown = output == Output::Text && io::stderr().is_terminal();
        Progress {
            output,
            reads_images,
            bars: shown.then(MultiProgress::new),
            of_phases: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    pub(super) fn show(&mut self, status: &StatusAnswer) {
        for phase in &PHASES {
            let (done, total) = (phase.count)(status);
            let is_begun = status.status == phase.status || done > 0 || status.status == Status::Done;
            let is_done_by_nobody = phase.status == Status::OcrInProgress && !self.reads_images;
            if total == 0 || !is_begun || is_done_by_nobody {
                continue;
            }
            match &self.bars {
                Some(bars) => {
                    let bar = self.of_phases.entry(phase.name).or_insert_with(|| bar(bars, phase));
                    bar.set_length(total);
                    bar.set_position(done);
                }
                None => self.say(phase, done, total),
            }
        }
    }

    fn say(&mut self, phase: &Phase, done: u64, total: u64) {
        let Phase { name, unit, .. } = *phase;
        let part = done * PARTS / total;
        // There are more groups in the end than at first: what was said is not said again.
        if self.said.get(name).is_none_or(|said| *said < part) {
            self.said.insert(name, part);
            let document = json!({ "phase": name, "done": done, "total": total, "unit": unit });
            self.output.message(&format!("{name}: {done} of {total} {unit}"), &document);
        }
    }

    /// Nothing has moved for a while.
    pub(super) fn waits(&self, why: &str) {
        let say = || {
            let text = format!("waiting: {why}; it is tried again");
            self.output.message(&text, &json!({ "waiting": why }));
        };
        match &self.bars {
            Some(bars) => bars.suspend(say),
            None => say(),
        }
    }

    pub(super) fn end(self) {
        for bar in self.of_phases.values() {
            bar.finish();
        }
    }
}

fn bar(bars: &MultiProgress, phase: &Phase) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:17} [{bar:30}] {pos}/{len} {msg} {eta}");
    let bar = bars.add(ProgressBar::new(0).with_prefix(phase.name).with_message(phase.unit));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar
}
