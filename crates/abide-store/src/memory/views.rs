//! What people see of jobs, queues, limits and objects.

use super::jobs::Job;
use super::objects::Object;
use super::state::State;
use crate::view::{JobFacts, JobFilter, JobPage, JobView, LimitView, ObjectView, QueueView};
use abide_core::limits::PAGE_ITEMS;
use abide_core::name::{Kind, LimitKey, UniqueKey};
use abide_core::object::ObjectKey;
use abide_core::queue::QueueCounts;
use abide_core::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;

impl Job {
    fn view(&self) -> JobView {
        JobView {
            job: self.id,
            queue: self.queue.clone(),
            kind: self.kind.clone(),
            state: self.state,
            priority: self.priority,
            payload: self.payload.clone(),
            unique_key: self.unique_key.clone(),
            limit_keys: self.limit_keys.clone(),
            owner: self.owner.clone(),
            run_at: self.run_at,
            attempt: self.attempt,
            failures: self.failures,
            restarts: self.restarts,
            max_attempts: self.max_attempts,
            cancel_asked: self.cancel_asked,
            worker: self.running.as_ref().map(|running| running.worker.clone()),
            lease_expires_at: self.running.as_ref().map(|running| running.expires_at),
            progress: self.progress.clone(),
            result: self.result.clone(),
            reason: self.reason.clone(),
            trace: self.trace.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            finished_at: self.finished_at,
            attempts: Vec::new(),
        }
    }

    pub(super) fn view_with_attempts(&self) -> JobView {
        JobView { attempts: self.attempts.clone(), ..self.view() }
    }

    fn passes(&self, filter: &JobFilter) -> bool {
        let owner = self.owner.as_ref().map(|owner| &owner.object);
        let facts = JobFacts {
            state: self.state,
            queue: self.queue.as_str(),
            kind: self.kind.as_str(),
            owner: owner.map(|object| (object.kind.as_str(), object.name.as_str())),
            limit_keys: &self.limit_keys,
            unique_key: self.unique_key.as_ref().map(UniqueKey::as_str),
            created_at: self.created_at,
            finished_at: self.finished_at,
        };
        filter.before.is_none_or(|before| self.id < before) && filter.passes(&facts)
    }
}

impl State {
    pub(super) fn job_page(&self, filter: &JobFilter) -> JobPage {
        let mut rest = self.jobs.values().rev().filter(|job| job.passes(filter));
        let found: Vec<&Job> = rest.by_ref().take(filter.limit).collect();
        let next = found.last().map(|job| job.id).filter(|_| rest.next().is_some());
        let views = found.into_iter().map(|job| Ok::<_, Infallible>(job.view()));
        JobPage::of(views, next).unwrap_or_else(|never| match never {})
    }

    pub(super) fn queue_views(&self) -> Vec<QueueView> {
        let view = |(queue, policy): (&_, &abide_core::queue::QueuePolicy)| {
            let mut counts = QueueCounts::default();
            for job in self.jobs.values().filter(|job| job.queue == *queue) {
                *counts.of_mut(job.state) += 1;
            }
            QueueView { queue: queue.clone(), policy: policy.clone(), counts }
        };
        self.queues.iter().map(view).collect()
    }

    /// Keys and classes that have a policy of their own, or are in use, waited for or shut.
    pub(super) fn limit_views(&self, after: Option<&LimitKey>, limit: usize, now: Time) -> Vec<LimitView> {
        let with_policy = self.limits.policies.keys();
        let waited_at = self.lanes.lanes.keys().map(|lane| &lane.key);
        let keys: BTreeSet<&LimitKey> = with_policy.chain(self.limits.used.keys()).chain(waited_at).collect();
        let views = keys.into_iter().filter(|key| after.is_none_or(|after| *key > after)).map(|key| {
            let blocked = self.limits.room(key, now).blocked();
            LimitView {
                key: key.clone(),
                policy: self.limits.policy(key).cloned(),
                in_use: self.limits.in_use(key),
                waiting: self.lanes.parked_under(key),
                blocked,
                until: blocked.and_then(|blocked| blocked.until()),
            }
        });
        let is_shown = |view: &LimitView| {
            self.limits.policies.contains_key(&view.key)
                || view.in_use > 0
                || view.waiting > 0
                || view.until.is_some()
        };
        views.filter(is_shown).take(limit).collect()
    }

    pub(super) fn object_views(
        &self,
        kind: Option<&Kind>,
        after: Option<&ObjectKey>,
        limit: usize,
    ) -> Vec<ObjectView> {
        self.objects
            .iter()
            .filter(|(key, _)| kind.is_none_or(|kind| key.kind == *kind))
            .filter(|(key, _)| after.is_none_or(|after| *key > after))
            .take(limit)
            .map(|(key, object)| object.view(key))
            .collect()
    }

    pub(super) fn newest_object_views(&self, limit: usize) -> Vec<ObjectView> {
        let mut views: Vec<ObjectView> = self.objects.iter().map(|(key, object)| object.view(key)).collect();
        views.sort_by_key(|view| Reverse(view.incarnation));
        views.truncate(limit);
        views
    }

    pub(super) fn object_view(&self, key: &ObjectKey) -> Option<ObjectView> {
        let object = self.objects.get(key)?;
        let alarms = self.alarms.of(object.incarnation).take(PAGE_ITEMS);
        let alarms = alarms.map(|alarm| (alarm.name.clone(), alarm.at));
        Some(ObjectView { alarms: alarms.collect(), ..object.view(key) })
    }
}

impl Object {
    fn view(&self, key: &ObjectKey) -> ObjectView {
        ObjectView {
            object: key.clone(),
            incarnation: self.incarnation,
            version: self.version,
            log_head: self.log_head,
            created_at: self.created_at,
            updated_at: self.turn_at,
            alarms: Vec::new(),
        }
    }
}
