//! Jobs from outside and from commits: new, duplicate, scheduled.

use super::probe::{Probe, done, job, json, kind, object, queue, unique_key};
use super::stories;
use crate::read::{Answer, Read};
use crate::write::{Enqueued, JobRefused, Write, Written};
use abide_core::commit::Commit;
use abide_core::event::MessageBody;
use abide_core::job::{JobId, JobOutcome, JobState, Misfit, NewJob, Owner};
use abide_core::name::LimitKey;
use abide_core::queue::QueuePolicy;
use abide_core::retry::Backoff;

stories![
    a_new_job_is_ready,
    a_job_for_later_is_scheduled,
    a_time_that_is_past_is_now,
    a_job_takes_what_its_queue_says,
    a_unique_key_is_unique_in_its_queue,
    a_unique_key_of_an_owner_is_its_own,
    a_unique_key_outlives_the_jobs_end,
    limit_keys_are_kept_once,
    a_commit_enqueues_for_its_object,
    a_commit_cancels_its_own_jobs_by_key,
    a_waiting_job_is_cancelled_at_once,
    a_scheduled_job_is_cancelled_at_once,
    a_job_that_is_over_cannot_be_cancelled,
    a_job_that_is_not_there_cannot_be_moved,
    only_a_job_that_is_over_and_not_done_is_retried,
];

fn with_key(key: &str) -> NewJob {
    NewJob { unique_key: Some(unique_key(key)), ..job() }
}

fn cancel(p: &mut Probe<'_>, job: JobId) -> Written {
    p.write(Write::Cancel { job })
}

fn retry(p: &mut Probe<'_>, job: JobId) -> Written {
    p.write(Write::Retry { job })
}

fn a_new_job_is_ready(p: &mut Probe<'_>) {
    let new = NewJob { priority: -3, trace: Some("00-ab-cd-01".into()), ..with_key("u") };
    let id = p.enqueue(new);
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let view = p.job(id);
    assert_eq!((view.job, view.state, view.queue, view.kind), (id, JobState::Ready, queue("q"), kind("k")));
    assert_eq!(
        (view.priority, view.payload, view.trace.as_deref()),
        (-3, json(r#"{"n":1}"#), Some("00-ab-cd-01"))
    );
    assert_eq!((view.run_at, view.created_at, view.updated_at), (p.now, p.now, p.now));
    assert_eq!((view.attempt, view.failures, view.restarts), (0, 0, 0));
    assert_eq!((view.unique_key, view.owner, view.finished_at), (Some(unique_key("u")), None, None));
    assert_eq!((view.worker, view.lease_expires_at, view.result, view.reason), (None, None, None, None));
}

fn a_job_for_later_is_scheduled(p: &mut Probe<'_>) {
    let at = p.now.plus_ms(500);
    let id = p.enqueue(NewJob { run_at: Some(at), ..job() });
    assert_eq!((p.woken.job_at, p.woken.ready.len()), (Some(at), 0));
    assert_eq!((p.state_of(id), p.timers().job_at), (JobState::Scheduled, Some(at)));
    let claimed = p.claim(10);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, false, Some(at)));
    p.pass(499);
    p.claims(10, &[]);
    p.pass(1);
    p.claims(10, &[id]);
    assert_eq!(p.timers().job_at, None);
}

fn a_time_that_is_past_is_now(p: &mut Probe<'_>) {
    for late_ms in [500, 0] {
        let id = p.enqueue(NewJob { run_at: Some(p.now.plus_ms(-late_ms)), ..job() });
        assert_eq!((p.state_of(id), p.job(id).run_at), (JobState::Ready, p.now));
    }
}

fn a_job_takes_what_its_queue_says(p: &mut Probe<'_>) {
    let first = p.enqueue(job());
    assert_eq!(p.job(first).max_attempts, QueuePolicy::default().max_attempts);
    let backoff = Backoff { base_ms: 10_000, cap_ms: 10_000 };
    let policy = QueuePolicy { max_attempts: 7, backoff, ..QueuePolicy::default() };
    p.set(Write::SetQueue { queue: queue("q"), policy });
    let second = p.enqueue(job());
    let third = p.enqueue(NewJob { max_attempts: Some(1), ..job() });
    let attempts = [first, second, third].map(|id| p.job(id).max_attempts);
    assert_eq!(attempts, [QueuePolicy::default().max_attempts, 7, 1]);
    let own = Backoff { base_ms: 0, cap_ms: 0 };
    let fourth = p.enqueue(NewJob { backoff: Some(own), ..job() });
    let leases = p.claims(4, &[first, second, third, fourth]);
    let failed = super::probe::failed(abide_core::job::RetryWish::ByPolicy);
    let by_policy = p.finish(&leases[1], failed.clone()).run_at.expect("it is retried");
    assert!((9_000..=11_000).contains(&by_policy.since(p.now)));
    assert_eq!(p.finish(&leases[3], failed).run_at, Some(p.now));
}

fn a_unique_key_is_unique_in_its_queue(p: &mut Probe<'_>) {
    let other_queue = NewJob { queue: queue("r"), ..with_key("u") };
    let jobs = vec![with_key("u"), with_key("u"), with_key("v"), other_queue, job(), job()];
    let enqueued = p.enqueue_all(jobs);
    let ids: Vec<JobId> = enqueued.iter().map(|enqueued| enqueued.job()).collect();
    let is_new: Vec<bool> = enqueued.iter().map(|enqueued| matches!(enqueued, Enqueued::New(_))).collect();
    assert_eq!(is_new, [true, false, true, true, true, true]);
    assert_eq!(ids[0], ids[1]);
    let again = NewJob { priority: 9, payload: json("2"), kind: kind("other"), ..with_key("u") };
    assert_eq!(p.enqueue_all(vec![again]), [Enqueued::Duplicate(ids[0])]);
    assert!(p.woken.ready.is_empty());
    assert_eq!((p.job(ids[0]).priority, p.job(ids[0]).payload), (0, json(r#"{"n":1}"#)));
}

fn a_unique_key_of_an_owner_is_its_own(p: &mut Probe<'_>) {
    let outside = p.enqueue(with_key("u"));
    let elsewhere = NewJob { queue: queue("other"), ..with_key("u") };
    let commit = Commit { jobs: vec![with_key("u"), elsewhere], ..p.call("thing/a") };
    let of_a = p.commit(commit).jobs;
    assert!(matches!(of_a[0], Enqueued::New(id) if id != outside));
    assert_eq!(of_a[1], Enqueued::Duplicate(of_a[0].job()), "whatever the queue");
    assert_eq!(p.queues().len(), 1, "a duplicate makes no queue");
    let commit = Commit { jobs: vec![with_key("u")], ..p.call("thing/b") };
    assert!(matches!(p.commit(commit).jobs[0], Enqueued::New(_)));
    p.delete("thing/a");
    let commit = Commit { jobs: vec![with_key("u")], ..p.call("thing/a") };
    assert!(matches!(p.commit(commit).jobs[0], Enqueued::New(_)), "another life, another owner");
}

fn a_unique_key_outlives_the_jobs_end(p: &mut Probe<'_>) {
    let id = p.enqueue(with_key("u"));
    let leases = p.claims(1, &[id]);
    p.finish(&leases[0], done());
    assert_eq!(p.enqueue_all(vec![with_key("u")]), [Enqueued::Duplicate(id)]);
}

fn limit_keys_are_kept_once(p: &mut Probe<'_>) {
    let keys = ["host:b", "queue:q", "host:a", "host:b"].map(LimitKey::trusted);
    let id = p.enqueue(NewJob { limit_keys: keys.to_vec(), ..job() });
    assert_eq!(p.job(id).limit_keys, [keys[0].clone(), keys[2].clone()]);
    p.claims(1, &[id]);
    let in_use: Vec<_> = p.limits().into_iter().map(|view| (view.key, view.in_use)).collect();
    assert_eq!(in_use, [(keys[2].clone(), 1), (keys[0].clone(), 1), (keys[1].clone(), 1)]);
}

fn a_commit_enqueues_for_its_object(p: &mut Probe<'_>) {
    let commit = Commit { jobs: vec![with_key("u")], ..p.call("thing/a") };
    let receipt = p.commit(commit);
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let id = receipt.jobs[0].job();
    let incarnation = p.life_of("thing/a");
    assert_eq!(p.job(id).owner, Some(Owner { object: object("thing/a"), incarnation }));
    let leases = p.claims(1, &[id]);
    assert_eq!(leases[0].unique_key, Some(unique_key("u")));
    p.finish(&leases[0], done());
    let messages = p.messages("thing/a");
    assert_eq!(p.woken.messages, messages);
    let outcome = JobOutcome {
        job: id,
        unique_key: Some(unique_key("u")),
        kind: kind("k"),
        attempt: 1,
        state: JobState::Done,
        result: Some(json(r#""made""#)),
        reason: None,
    };
    assert_eq!(messages[0].body, MessageBody::Outcome(outcome));
    assert_eq!((messages[0].to_incarnation, &messages[0].from), (Some(incarnation), &None));
}

fn a_commit_cancels_its_own_jobs_by_key(p: &mut Probe<'_>) {
    let outside = p.enqueue(with_key("u"));
    let commit = Commit { jobs: vec![with_key("u"), with_key("v")], ..p.call("thing/a") };
    let jobs = p.commit(commit).jobs;
    let cancels = vec![unique_key("u"), unique_key("none")];
    let commit = Commit { cancels: cancels.clone(), ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(p.state_of(jobs[0].job()), JobState::Cancelled);
    assert_eq!((p.state_of(jobs[1].job()), p.state_of(outside)), (JobState::Ready, JobState::Ready));
    let outcomes: Vec<(JobState, u32)> = p
        .messages("thing/a")
        .into_iter()
        .map(|message| super::answer!(message.body, MessageBody::Outcome(outcome) => (outcome.state, outcome.attempt)))
        .collect();
    assert_eq!(outcomes, [(JobState::Cancelled, 0)]);
    let commit = Commit { cancels, ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(p.messages("thing/a").len(), 1, "it is over already");
}

fn a_waiting_job_is_cancelled_at_once(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    p.pass(7);
    assert_eq!(cancel(p, id), Written::Moved(Ok(JobState::Cancelled)));
    assert!(p.woken.prune_at.is_some() && p.woken.cancelling.is_empty());
    let view = p.job(id);
    assert_eq!((view.state, view.reason.as_deref()), (JobState::Cancelled, Some("cancelled")));
    assert_eq!((view.finished_at, view.updated_at, view.attempts.len()), (Some(p.now), p.now, 0));
    p.claims(1, &[]);
}

fn a_scheduled_job_is_cancelled_at_once(p: &mut Probe<'_>) {
    let id = p.enqueue(NewJob { run_at: Some(p.now.plus_ms(50)), ..job() });
    assert_eq!(cancel(p, id), Written::Moved(Ok(JobState::Cancelled)));
    assert_eq!(p.timers().job_at, None);
    p.pass(50);
    p.claims(1, &[]);
}

fn a_job_that_is_over_cannot_be_cancelled(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    let leases = p.claims(1, &[id]);
    p.finish(&leases[0], done());
    let refused = JobRefused::Misfit(Misfit::Over(JobState::Done));
    assert_eq!(cancel(p, id), Written::Moved(Err(refused)));
    assert_eq!(p.state_of(id), JobState::Done);
}

fn a_job_that_is_not_there_cannot_be_moved(p: &mut Probe<'_>) {
    assert_eq!(cancel(p, JobId(404)), Written::Moved(Err(JobRefused::NoJob)));
    assert_eq!(retry(p, JobId(404)), Written::Moved(Err(JobRefused::NoJob)));
    assert_eq!(p.read(Read::Job(JobId(404))), Answer::Job(None));
}

fn only_a_job_that_is_over_and_not_done_is_retried(p: &mut Probe<'_>) {
    let refused = |misfit| Written::Moved(Err(JobRefused::Misfit(misfit)));
    let id = p.enqueue(job());
    assert_eq!(retry(p, id), refused(Misfit::NotOver(JobState::Ready)));
    let leases = p.claims(1, &[id]);
    assert_eq!(retry(p, id), refused(Misfit::NotOver(JobState::Running)));
    p.finish(&leases[0], done());
    assert_eq!(retry(p, id), refused(Misfit::DoneAlready));
    let other = p.enqueue(job());
    cancel(p, other);
    p.pass(9);
    assert_eq!(retry(p, other), Written::Moved(Ok(JobState::Ready)));
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let view = p.job(other);
    assert_eq!((view.run_at, view.finished_at, view.reason), (p.now, None, None));
    p.claims(1, &[other]);
}
