//! The history of a run: a digest of every line, and the lines themselves if they are wanted.

use abide_core::time::Time;
use std::fmt;

/// What happened, in order.
#[derive(Debug)]
pub(crate) struct History {
    digest: u64,
    events: u64,
    lines: Option<Vec<String>>,
    began: Time,
}

impl History {
    pub(crate) fn new(began: Time, keeps_lines: bool) -> History {
        History { digest: 0xcbf2_9ce4_8422_2325, events: 0, lines: keeps_lines.then(Vec::new), began }
    }

    /// Notes one thing that happened.
    pub(crate) fn note(&mut self, at: Time, what: fmt::Arguments<'_>) {
        let line = format!("{:>9} {what}", at.since(self.began));
        for byte in line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(line);
        }
    }

    /// Counts one event.
    pub(crate) fn count(&mut self) {
        self.events += 1;
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        self.lines.take().unwrap_or_default()
    }
}
