//! The work of a run: batches that were begun are brought to their end, and what is in none of them is one more.

use std::collections::{BTreeMap, BTreeSet};

use abide_preprocess::Service;
use abide_preprocess::calls::StatusAnswer;
use abide_sqlite::DataDir;
use serde_json::Value;

use super::batch::convert;
use super::export::{Exporter, Job, Written};
use super::folder::{File, Folder};
use super::ledger::{Ledger, Pending, Seen};
use super::plan::{How, Plan, begun, gone};
use super::results::Results;
use super::summary::Ran;
use super::{Left, STATE_DIR};
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{Client, Path};

/// What a run works with.
pub(super) struct Work<'a> {
    pub(super) client: &'a Client,
    pub(super) service: &'a Service,
    pub(super) folder: &'a Folder,
    pub(super) how: &'a How,
    pub(super) results: &'a Results,
    /// Attempts of a task.
    pub(super) attempts: u32,
    pub(super) output: Output,
}

impl Work<'_> {
    pub(super) async fn all(&self, ledger: &mut Ledger) -> Result<Written, Failure> {
        ledger.root = Some(self.folder.root.display().to_string());
        ledger.rewrite()?;
        let gone: BTreeSet<String> = gone(self.folder, ledger).into_iter().collect();
        let now: BTreeMap<&str, Seen> =
            self.folder.files.iter().map(|file| (file.path.as_str(), self.how.seen(file))).collect();
        let mut written = Written::default();
        for mut pending in ledger.pending.clone() {
            let path = Path::of(["preprocess", "status", &pending.id]);
            let status: Option<StatusAnswer> = self.client.find(&path).await?;
            let part = self.folder.part(begun(&pending.files));
            pending.files.retain(|path, seen| now.get(path.as_str()) == Some(&*seen));
            let is_error = status.as_ref().is_some_and(|status| status.status == "ERROR");
            if is_error || pending.files.is_empty() {
                self.abandon(&pending, &part, &gone, status.is_some(), ledger).await?;
            } else {
                written.add(self.batch(&pending, &part, &gone, ledger).await?);
            }
        }
        // What failed in these for something that is not in the file is tried once more with what is new.
        let plan = Plan::of(self.folder, ledger, self.how, self.results);
        if !plan.fresh.is_empty() {
            let seen = |file: &File| (file.path.clone(), self.how.seen(file));
            let pending = Pending { id: drawn_id()?, files: plan.fresh.iter().map(seen).collect() };
            ledger.begin(pending.clone())?;
            let part = self.folder.part(plan.fresh);
            written.add(self.batch(&pending, &part, &gone, ledger).await?);
        }
        Ok(written)
    }

    /// Brings a batch to its end.
    async fn batch(
        &self,
        pending: &Pending,
        part: &Folder,
        gone: &BTreeSet<String>,
        ledger: &mut Ledger,
    ) -> Result<Written, Failure> {
        let mut exporter = Exporter::new(self.service, self.job(pending, part, gone)).await;
        let staging = &self.service.buckets().staging;
        tokio::select! {
            done = convert(self.client, staging, part, &pending.id, self.output) => drop(done?),
            failure = exporter.keep_up(ledger) => return Err(failure),
        }
        exporter.finish(ledger).await
    }

    /// Stops a batch of which nothing is wanted any more, and removes what it made.
    async fn abandon(
        &self,
        pending: &Pending,
        part: &Folder,
        gone: &BTreeSet<String>,
        is_begun: bool,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        if is_begun {
            let reset = Path::of(["preprocess", "admin", "reset", &pending.id]);
            self.client.act::<Value>(&reset).await?;
        }
        Exporter::new(self.service, self.job(pending, part, gone)).await.abandon(ledger).await
    }

    fn job<'a>(&'a self, pending: &'a Pending, part: &'a Folder, gone: &'a BTreeSet<String>) -> Job<'a> {
        let (results, attempts) = (self.results, self.attempts);
        Job { batch: &pending.id, part, wanted: &pending.files, results, gone, attempts }
    }
}

/// A name for a batch that no other has.
fn drawn_id() -> Result<String, Failure> {
    let mut drawn = [0_u8; 8];
    getrandom::fill(&mut drawn).map_err(|error| Failure::System(std::io::Error::other(error.to_string())))?;
    Ok(format!("folder-{:016x}", u64::from_be_bytes(drawn)))
}

/// Names or removes what was made of files that are gone.
pub(super) fn look_after_gone(
    folder: &Folder,
    ledger: &mut Ledger,
    results: &Results,
    prune: bool,
    ran: &mut Ran,
) -> Result<(), Failure> {
    let gone = gone(folder, ledger);
    if gone.is_empty() {
        return Ok(());
    }
    // Whoever is at it now looks after them.
    let Ok(_owned) = DataDir::open(&results.out.join(STATE_DIR)) else { return Ok(()) };
    for source in gone {
        let made = ledger.results_of(&source).into_iter();
        let there: Vec<_> = made.filter(|made| results.is_there(made)).cloned().collect();
        let removed = if prune { there.iter().filter(|made| results.remove(made)).count() } else { 0 };
        ran.removed += removed as u64;
        let reason = match (there.len() - removed, prune) {
            (0, _) => None,
            (left, true) => {
                Some(format!("it is gone, and results of it that somebody changed are left ({left})"))
            }
            (left, false) => {
                Some(format!("it is gone, and its results are left ({left}): --prune removes them"))
            }
        };
        if prune || reason.is_none() {
            ledger.forget(&source);
        }
        ran.gone.extend(reason.map(|reason| Left { file: source, reason }));
    }
    ledger.rewrite()
}
