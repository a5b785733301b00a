//! What launchers and workers say about an attempt of a task: only about the present one does it count.

use crate::batch::Batch;
use crate::calls::{AttemptRef, BeginAnswer, CheckAnswer, HaveAnswer, HeardAnswer, Reply};
use crate::jobs;
use crate::limits::PAGES_PER_PART;
use crate::parts;
use crate::refusal::No;
use crate::report::{PageOutput, Report, ReportStatus};
use crate::rows;
use crate::state::Step;
use crate::task::{Task, TaskEvent};
use abide_core::limits::cut_reason;
use abide_engine::{Halt, Turn};

impl Batch {
    /// A launcher is about to make an attempt, or has a machine for it.
    pub(crate) fn begin(
        &self,
        turn: &mut Turn<'_>,
        attempt: &AttemptRef,
        machine_id: Option<String>,
    ) -> Result<Reply, Halt<No>> {
        rows::state(turn)?;
        let over = Reply::Begin(BeginAnswer { go: false, machine_id: None });
        if attempt.life != turn.incarnation() {
            return Ok(over);
        }
        let task = rows::task(turn, self.phases, &attempt.task_id)?;
        if !is_live(turn, attempt, &task)? {
            return Ok(over);
        }
        let machine_id = machine_id.or_else(|| task.machine_id.clone());
        let begun = TaskEvent::Begun { machine_id: machine_id.clone() };
        let mut flow = self.flow(turn)?;
        if flow.apply(turn, &task, attempt.attempt, begun)? {
            flow.save(turn)?;
        }
        Ok(Reply::Begin(BeginAnswer { go: true, machine_id }))
    }

    fn proven(&self, turn: &mut Turn<'_>, attempt: &AttemptRef, signature: &str) -> Result<Task, Halt<No>> {
        rows::state(turn)?;
        let batch = turn.object().name.as_str().to_owned();
        let task = rows::task(turn, self.phases, &attempt.task_id)?;
        if !jobs::verify(&self.options.signer, &batch, attempt, signature) {
            let AttemptRef { task_id, attempt, .. } = attempt.clone();
            return Err(No::Forged { task_id, attempt }.into());
        }
        Ok(task)
    }

    /// A worker says how its task went. What is late or repeated changes nothing and is answered like the first.
    pub(crate) fn callback(
        &self,
        turn: &mut Turn<'_>,
        attempt: &AttemptRef,
        signature: &str,
        report: Report,
        in_parts: u32,
    ) -> Result<Reply, Halt<No>> {
        let heard = |counted, took_ms| Reply::Heard(HeardAnswer { ok: true, counted, took_ms });
        let task = self.proven(turn, attempt, signature)?;
        if let Some(other) = report.task_id.as_ref().filter(|other| **other != task.task_id) {
            return Err(No::OtherTask(other.clone()).into());
        }
        let batch = turn.object().name.as_str();
        if let Some(other) = report.batch_id.as_ref().filter(|other| *other != batch) {
            return Err(No::OtherTask(other.clone()).into());
        }
        if let Some(pages) = report.outputs.as_ref().map(Vec::len).filter(|pages| *pages > PAGES_PER_PART) {
            return Err(No::LongReport(pages).into());
        }
        if !is_live(turn, attempt, &task)? {
            return Ok(heard(false, 0));
        }
        let took_ms = task.started_at.map_or(0, |at| turn.now().since(at).max(0).unsigned_abs());
        let mut flow = self.flow(turn)?;
        let report = match in_parts {
            0 => Ok(report),
            count => parts::first(turn, &task, report, count)?,
        };
        let event = match report {
            Ok(report) => self.judge(&task, report, in_parts, &flow.state.prefix),
            Err(reason) => TaskEvent::Failed { reason, retryable: true },
        };
        let counted = flow.apply(turn, &task, attempt.attempt, event)?;
        if counted {
            flow.state.phase_retry_count = 0;
            self.advance(turn, &mut flow)?;
            flow.save(turn)?;
        }
        Ok(heard(counted, took_ms))
    }

    /// What a report makes of a task: what is not complete, or outside of the batch, is a failure with that reason.
    fn judge(&self, task: &Task, report: Report, in_parts: u32, prefix: &str) -> TaskEvent {
        match report.status {
            ReportStatus::Error => {
                let reason = report.error.as_deref().filter(|reason| !reason.is_empty());
                let reason = cut_reason(reason.unwrap_or("the worker gave no reason")).to_owned();
                match report.hindered_by {
                    Some(by) if by.is_waited_for(self.options.shares_disk) => TaskEvent::NotNow { reason },
                    Some(_) | None => {
                        TaskEvent::Failed { reason, retryable: report.retryable.unwrap_or(true) }
                    }
                }
            }
            ReportStatus::Success => match self.wrong_with(task, &report, in_parts, prefix) {
                None => TaskEvent::Completed { report: Box::new(report), in_parts },
                Some(reason) => TaskEvent::Failed { reason, retryable: true },
            },
        }
    }

    fn wrong_with(&self, task: &Task, report: &Report, in_parts: u32, prefix: &str) -> Option<String> {
        let pages = match in_parts {
            0 => report.outputs.as_ref().map(Vec::len),
            count => Some(count as usize),
        };
        let paged = pages.map_or(Ok(()), |pages| {
            report.check_pages(0)?;
            report.check_first()?;
            report.check_count(pages)
        });
        let phase = self.phases[task.phase];
        let sound = paged
            .and_then(|()| phase.accepts(&task.input, report))
            .and_then(|()| report.check_names())
            .and_then(|()| report.check_keys(|key| phase.may_put(&task.input, key)));
        report.outside_of(prefix).or_else(|| sound.err())
    }

    /// Pages of a report that is too long for one call. Those of an attempt that is over are not taken.
    pub(crate) fn pages(
        &self,
        turn: &mut Turn<'_>,
        attempt: &AttemptRef,
        signature: &str,
        from: u32,
        pages: Vec<PageOutput>,
    ) -> Result<Reply, Halt<No>> {
        let task = self.proven(turn, attempt, signature)?;
        if !is_live(turn, attempt, &task)? {
            return Ok(Reply::Have(HaveAnswer { have: None }));
        }
        let prefix = rows::state(turn)?.prefix;
        let have = parts::keep(turn, &task, self.phases[task.phase], from, pages, &prefix)?;
        Ok(Reply::Have(HaveAnswer { have: Some(have.into()) }))
    }

    pub(crate) fn check(
        &self,
        turn: &mut Turn<'_>,
        attempt: &AttemptRef,
        signature: &str,
    ) -> Result<Reply, Halt<No>> {
        let task = self.proven(turn, attempt, signature)?;
        if !is_live(turn, attempt, &task)? {
            let AttemptRef { task_id, attempt, .. } = attempt.clone();
            return Err(No::Over { task_id, attempt }.into());
        }
        Ok(Reply::Check(Box::new(CheckAnswer { input: task.input, asset_id: task.asset_id })))
    }
}

/// Whether an attempt is the present one of its task, which is not over.
fn is_live(turn: &mut Turn<'_>, attempt: &AttemptRef, task: &Task) -> Result<bool, Halt<No>> {
    Ok(attempt.life == turn.incarnation()
        && task.attempt == attempt.attempt
        && !task.status.is_over()
        && !matches!(rows::state(turn)?.step, Step::Error { .. }))
}
