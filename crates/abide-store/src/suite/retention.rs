//! Retention: what is pruned, and what is kept.

use super::probe::{Probe, done, failed, job, json, queue, ticket, unique_key};
use super::{answer, stories};
use crate::read::{Answer, Read};
use crate::write::{Enqueued, LeaseLost, Removed, Write, Written};
use abide_core::commit::{Commit, KeyedReply, Reply, TicketWrite};
use abide_core::job::{JobId, JobState, NewJob, RetryWish};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::name::IdempotencyKey;
use abide_core::queue::{QueueCounts, QueuePolicy};
use abide_core::ticket::Resolution;
use abide_core::time::Time;

stories![
    a_finished_job_is_pruned_after_its_time,
    a_pruned_job_leaves_its_key,
    a_forgotten_key_can_be_used_again,
    a_key_may_be_forgotten_before_its_job,
    dead_letters_are_kept_unless_the_queue_says_otherwise,
    what_is_not_over_is_never_pruned,
    a_retried_job_is_not_pruned,
    a_new_policy_counts_for_old_jobs,
    pruning_goes_in_steps,
    replies_and_tickets_are_pruned_after_a_day,
];

fn policy(retain_ms: Option<i64>, forget_keys_after_ms: Option<i64>) -> QueuePolicy {
    QueuePolicy { retain_ms, forget_keys_after_ms, ..QueuePolicy::default() }
}

fn set_policy(p: &mut Probe<'_>, policy: QueuePolicy) {
    p.set(Write::SetQueue { queue: queue("q"), policy });
}

fn prune(p: &mut Probe<'_>) -> usize {
    let removed = answer!(p.write(Write::Prune { max: 1_000 }), Written::Removed(removed) => removed);
    assert!(!removed.more);
    removed.count
}

fn with_key() -> NewJob {
    NewJob { unique_key: Some(unique_key("u")), ..job() }
}

fn is_there(p: &mut Probe<'_>, id: JobId) -> bool {
    answer!(p.read(Read::Job(id)), Answer::Job(view) => view.is_some())
}

fn run(p: &mut Probe<'_>, new: NewJob) -> JobId {
    let id = p.enqueue(new);
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, done());
    id
}

fn prune_at(p: &mut Probe<'_>) -> Option<Time> {
    p.timers().prune_at
}

fn a_finished_job_is_pruned_after_its_time(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(1_000), None));
    let id = p.enqueue(job());
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, done());
    let ends_at = Some(p.now.plus_ms(1_000));
    assert_eq!((p.woken.prune_at, prune_at(p)), (ends_at, ends_at));
    p.pass(999);
    assert_eq!(prune(p), 0);
    p.pass(1);
    assert_eq!(prune(p), 1);
    assert_eq!((is_there(p, id), prune_at(p)), (false, None));
    assert_eq!(p.queues()[0].counts, QueueCounts::default());
    assert_eq!(p.try_finish(lease.lease, done()), Err(LeaseLost::NoJob));
    assert_eq!(p.read(Read::Why(id)), Answer::Why(None));
}

fn a_pruned_job_leaves_its_key(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(0), None));
    let id = run(p, with_key());
    assert_eq!(prune(p), 1);
    assert!(!is_there(p, id));
    p.pass(REPLY_KEPT_MS * 1_000);
    assert_eq!(prune(p), 0);
    assert_eq!(p.enqueue_all(vec![with_key()]), [Enqueued::Duplicate(id)]);
}

fn a_forgotten_key_can_be_used_again(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(100), Some(5_000)));
    let id = run(p, with_key());
    p.pass(100);
    assert_eq!(prune(p), 1);
    assert_eq!(prune_at(p), Some(p.now.plus_ms(4_900)));
    p.pass(4_899);
    assert_eq!((prune(p), p.enqueue_all(vec![with_key()])), (0, vec![Enqueued::Duplicate(id)]));
    p.pass(1);
    assert_eq!(prune(p), 1);
    assert!(matches!(p.enqueue_all(vec![with_key()])[0], Enqueued::New(new) if new > id));
}

fn a_key_may_be_forgotten_before_its_job(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(5_000), Some(100)));
    let first = run(p, with_key());
    p.pass(100);
    assert_eq!(prune(p), 1);
    assert_eq!(p.job(first).unique_key, Some(unique_key("u")));
    let second = p.enqueue(with_key());
    p.pass(4_900);
    assert_eq!(prune(p), 1);
    assert_eq!(p.enqueue_all(vec![with_key()]), [Enqueued::Duplicate(second)], "the key is the second's");
}

fn dead_letters_are_kept_unless_the_queue_says_otherwise(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(0), None));
    let id = p.enqueue(job());
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, failed(RetryWish::Never));
    p.pass(REPLY_KEPT_MS * 100);
    assert_eq!((prune(p), p.state_of(id)), (0, JobState::Failed));
    set_policy(p, QueuePolicy { retain_failed_ms: Some(10), ..policy(None, None) });
    assert_eq!((prune(p), is_there(p, id)), (1, false));
}

fn what_is_not_over_is_never_pruned(p: &mut Probe<'_>) {
    set_policy(p, QueuePolicy { retain_failed_ms: Some(0), ..policy(Some(0), Some(0)) });
    let running = p.enqueue(NewJob { unique_key: Some(unique_key("v")), ..job() });
    p.claims(1, &[running]);
    let ready = p.enqueue(with_key());
    let later = p.enqueue(NewJob { run_at: Some(p.now.plus_ms(REPLY_KEPT_MS)), ..job() });
    p.pass(REPLY_KEPT_MS / 2);
    assert_eq!((prune(p), prune_at(p)), (0, None));
    assert!([running, ready, later].into_iter().all(|id| is_there(p, id)));
    assert_eq!(p.enqueue_all(vec![with_key()]), [Enqueued::Duplicate(ready)]);
}

fn a_retried_job_is_not_pruned(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(100), Some(100)));
    let id = p.enqueue(with_key());
    p.write(Write::Cancel { job: id });
    p.write(Write::Retry { job: id });
    p.pass(1_000);
    assert_eq!((prune(p), is_there(p, id)), (0, true));
    assert_eq!(p.enqueue_all(vec![with_key()]), [Enqueued::Duplicate(id)]);
}

fn a_new_policy_counts_for_old_jobs(p: &mut Probe<'_>) {
    set_policy(p, policy(None, None));
    run(p, job());
    assert_eq!((p.woken.prune_at, prune_at(p)), (None, None));
    let ends_at = Some(p.now.plus_ms(50));
    set_policy(p, policy(Some(50), None));
    assert_eq!((p.woken.prune_at, prune_at(p)), (ends_at, ends_at));
    p.pass(50);
    assert_eq!(prune(p), 1);
}

fn pruning_goes_in_steps(p: &mut Probe<'_>) {
    set_policy(p, policy(Some(0), None));
    for _ in 0..5 {
        run(p, job());
    }
    let mut steps = Vec::new();
    loop {
        let step = answer!(p.write(Write::Prune { max: 2 }), Written::Removed(removed) => removed);
        steps.push(step);
        if !step.more {
            break;
        }
    }
    let expected = [(2, true), (2, true), (1, false)].map(|(count, more)| Removed { count, more });
    assert_eq!(steps, expected);
}

fn replies_and_tickets_are_pruned_after_a_day(p: &mut Probe<'_>) {
    let reply = KeyedReply { key: IdempotencyKey::trusted("once"), request: 1, reply: Reply::Now(json("1")) };
    let tickets = vec![TicketWrite::Open(ticket(1)), TicketWrite::Open(ticket(2))];
    let commit = Commit { keyed_reply: Some(reply), tickets, ..p.call("thing/a") };
    p.commit(commit);
    p.pass(10);
    let tickets = vec![TicketWrite::Resolve(ticket(1), Resolution::Reply(json("1")))];
    let commit = Commit { tickets, ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(prune_at(p), Some(p.now.plus_ms(REPLY_KEPT_MS - 10)));
    p.pass(REPLY_KEPT_MS - 10);
    assert_eq!(prune(p), 1, "the reply");
    p.pass(10);
    assert_eq!((prune(p), prune_at(p)), (1, None), "the ticket; an open one stays");
}
