//! How far a batch is: a bar for each phase at a terminal, a line now and then elsewhere; and what it waits for.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use abide_preprocess::calls::{PhaseProgress, StatusAnswer};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::time::Instant;

use crate::output::Output;

/// A line is said each so many parts of a phase.
const PARTS: u64 = 10;
/// What is waited for is said at once, and again so much later if that is still so.
const STILL_WAITS: Duration = Duration::from_secs(60);

pub(in crate::commands) struct Progress {
    output: Output,
    bars: Option<MultiProgress>,
    of_phases: BTreeMap<String, ProgressBar>,
    said: BTreeMap<String, u64>,
    /// When it was last said what is waited for.
    said_waits: Option<Instant>,
}

impl Progress {
    pub(in crate::commands) fn new(output: Output) -> Progress {
        let shown = output == Output::Text && io::stderr().is_terminal();
        Progress {
            output,
            bars: shown.then(MultiProgress::new),
            of_phases: BTreeMap::new(),
            said: BTreeMap::new(),
            said_waits: None,
        }
    }

    pub(in crate::commands) fn show(&mut self, status: &StatusAnswer) {
        // What later phases have to do is only known when those before are over.
        let now = status.phases.iter().position(|phase| phase.phase == status.status);
        let known = now.map_or(status.phases.len(), |now| now + 1);
        for phase in status.phases.iter().take(known).filter(|phase| phase.progress.tasks_total > 0) {
            match &self.bars {
                Some(bars) => {
                    let bar = self.of_phases.entry(phase.phase.clone()).or_insert_with(|| bar(bars, phase));
                    bar.set_length(phase.progress.tasks_total);
                    bar.set_position(over(phase));
                }
                None => self.say(phase),
            }
        }
        if let Some(waits) = &status.waits {
            self.say_waits(waits);
        }
    }

    fn say_waits(&mut self, waits: &str) {
        if self.said_waits.is_some_and(|said| said.elapsed() < STILL_WAITS) {
            return;
        }
        self.said_waits = Some(Instant::now());
        let text = format!("waiting for room, and going on when there is some: {waits}");
        let say = || self.output.message(&text, &json!({ "waits": waits }));
        match &self.bars {
            Some(bars) => bars.suspend(say),
            None => say(),
        }
    }

    fn say(&mut self, phase: &PhaseProgress) {
        let (over, total) = (over(phase), phase.progress.tasks_total);
        let part = over * PARTS / total;
        if self.said.insert(phase.phase.clone(), part).is_none_or(|said| said < part) {
            self.output.message(&format!("{}: {over} of {total}", title(phase)), phase);
        }
    }

    pub(in crate::commands) fn end(self) {
        for bar in self.of_phases.values() {
            bar.finish();
        }
    }
}

fn over(phase: &PhaseProgress) -> u64 {
    phase.progress.tasks_completed + phase.progress.tasks_failed
}

/// What a phase does, for people.
fn title(phase: &PhaseProgress) -> &str {
    match phase.phase.as_str() {
        "TIFF_CONVERSION" => "converting TIFFs",
        "PDF_SPLITTING" => "splitting PDFs",
        "IMAGE_PROCESSING" => "resizing images",
        other => other,
    }
}

fn bar(bars: &MultiProgress, phase: &PhaseProgress) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:17} [{bar:30}] {pos}/{len} {per_sec} {eta}");
    let bar = bars.add(ProgressBar::new(phase.progress.tasks_total).with_prefix(title(phase).to_owned()));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar
}
