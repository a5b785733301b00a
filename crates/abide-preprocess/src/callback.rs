//! Callbacks on their way in: what a report names is looked for, the report goes to its batch, in parts if it is long, and
//! whoever waits for it gets a hint.

use crate::calls::{AttemptRef, Call, HaveAnswer, HeardAnswer, OkAnswer};
use crate::jobs;
use crate::limits::{PAGES_PER_PART, PART_BYTES, PERFORMANCE_BYTES, REPORT_PAGES};
use crate::made;
use crate::report::{PageOutput, Report, ReportStatus};
use crate::service::Service;
use crate::site::Site;
use abide_blob::BlobError;
use abide_core::limits::cut_reason;
use abide_engine::CallError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Who waits for the callback of which task. A hint: what is true, the batch says.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    // Locked for a lookup at a time: callbacks come on any thread.
    waiting: Mutex<HashMap<String, Arc<Notify>>>,
}

/// Waits for callbacks of one task until it is dropped.
pub(crate) struct Waiting<'a> {
    heard: &'a Heard,
    task_id: String,
    notify: Arc<Notify>,
}

impl Heard {
    pub(crate) fn wait_for(&self, task_id: &str) -> Waiting<'_> {
        let notify = Arc::new(Notify::new());
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(task_id.to_owned(), Arc::clone(&notify));
        drop(waiting);
        Waiting { heard: self, task_id: task_id.to_owned(), notify }
    }

    fn came(&self, task_id: &str) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiting.get(task_id) {
            notify.notify_one();
        }
    }
}

impl Waiting<'_> {
    /// One came since this was last asked.
    pub(crate) async fn came(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waiting = self.heard.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Another attempt of the task may wait already.
        if waiting.get(&self.task_id).is_some_and(|notify| Arc::ptr_eq(notify, &self.notify)) {
            waiting.remove(&self.task_id);
        }
    }
}

/// A report did not reach its batch.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    /// The batch does not take it, or cannot now.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Whether its outputs are there cannot be seen now.
    #[error(transparent)]
    Bucket(#[from] BlobError),
}

impl Service {
    /// Brings a worker's report to its batch. A success whose outputs are not there is brought as a failure.
    pub async fn call_back(
        &self,
        batch: &str,
        attempt: AttemptRef,
        signature: String,
        report: Report,
    ) -> Result<OkAnswer, CallbackError> {
        // Nobody else is told what is in the buckets; the batch says what is wrong with such a report.
        let is_proven = jobs::verify(&self.buckets().signer, batch, &attempt, &signature);
        let report = if is_proven { self.believable(report).await? } else { report };
        let report = cut(report);
        let succeeded = report.status == ReportStatus::Success;
        let pixels = report.made.performance.as_ref().and_then(|numbers| numbers.get("pixels")?.as_u64());
        let about = attempt.clone();
        let hindered = report.hindered_by.filter(|by| by.is_waited_for(self.shares_disk()));
        let hindrance = hindered.and(report.error.clone());
        let heard = bring(&self.site().await, batch, attempt, signature, report).await?;
        if heard.counted {
            self.metrics().called_back(&about, succeeded, pixels.unwrap_or(0), heard.took_ms);
        }
        self.heard().came(&about.task_id);
        self.note_hindrance(hindrance.as_deref());
        Ok(OkAnswer { ok: heard.ok, message: None })
    }

    /// The report, or what is wrong with it.
    async fn believable(&self, report: Report) -> Result<Report, BlobError> {
        let pages = report.outputs.as_ref().map_or(0, Vec::len);
        let failure = |reason: String, retryable: bool| Report {
            task_id: report.task_id.clone(),
            batch_id: report.batch_id.clone(),
            retryable: Some(retryable),
            ..Report::error(reason)
        };
        if pages > REPORT_PAGES {
            return Ok(failure(
                format!("the worker reported {pages} pages, and {REPORT_PAGES} are taken"),
                false,
            ));
        }
        match made::wrong_with(self.buckets(), &report).await? {
            Some(reason) => Ok(failure(reason, true)),
            None => Ok(report),
        }
    }
}

/// A report without what is longer than anybody reads, and than a call takes.
fn cut(mut report: Report) -> Report {
    report.error = report.error.map(|reason| cut_reason(&reason).to_owned());
    report.made.performance =
        report.made.performance.filter(|numbers| numbers.to_string().len() <= PERFORMANCE_BYTES);
    report
}

async fn bring(
    site: &Site,
    batch: &str,
    attempt: AttemptRef,
    signature: String,
    mut report: Report,
) -> Result<HeardAnswer, CallError> {
    let mut in_parts = 0;
    let pages = report.outputs.as_deref().unwrap_or_default();
    if fitting(pages) < pages.len() {
        let pages = report.pages();
        report.outputs = None;
        in_parts = bring_pages(site, batch, &attempt, &signature, &pages).await?;
    }
    let report = Box::new(report);
    site.ask(batch, &Call::Callback { attempt, signature, report, in_parts }).await
}

/// Brings pages part by part; how many the callback is to name.
async fn bring_pages(
    site: &Site,
    batch: &str,
    attempt: &AttemptRef,
    signature: &str,
    pages: &[PageOutput],
) -> Result<u32, CallError> {
    let total = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    let mut from = 0;
    loop {
        let rest = pages.get(from as usize..).unwrap_or_default();
        let part = rest[..fitting(rest)].to_vec();
        let (attempt, signature) = (attempt.clone(), signature.to_owned());
        let call = Call::Pages { attempt, signature, from, pages: part };
        let have = site.ask::<HaveAnswer>(batch, &call).await?.have;
        match have.and_then(|have| u32::try_from(have).ok()) {
            Some(have) if have > from && have < total => from = have,
            // All are there, or no more are taken: what the callback then says, the batch judges.
            Some(_) | None => return Ok(total),
        }
    }
}

/// As many of the first pages as one part holds.
fn fitting(pages: &[PageOutput]) -> usize {
    let mut bytes = 0;
    let fits = pages.iter().take(PAGES_PER_PART).take_while(|page| {
        bytes += serde_json::to_string(page).map_or(PART_BYTES, |text| text.len());
        bytes <= PART_BYTES
    });
    fits.count().max(1).min(pages.len())
}
