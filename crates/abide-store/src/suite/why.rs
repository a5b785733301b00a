//! Why is it not running? Every cause, and two at once.

use super::probe::{Probe, concurrency, done, failed, job, job_with, kind, limit_key, queue, rates, worker};
use super::stories;
use crate::write::{Claim, WorkerCard, Write};
use abide_core::job::{CoolDown, JobId, JobState, NewJob, RetryWish};
use abide_core::limits::WORKER_SEEN_MS;
use abide_core::object::Life;
use abide_core::time::Time;
use abide_core::why::{Ahead, Cause};

stories![
    it_is_scheduled,
    it_backs_off,
    it_is_running,
    it_is_asked_to_stop,
    it_is_over,
    it_is_a_dead_letter,
    its_queue_is_paused,
    its_key_is_full,
    its_key_is_used_up_for_now,
    its_key_cools_down,
    its_queues_own_key_is_full,
    no_worker_takes_it,
    others_are_before_it,
    several_causes_hold_at_once,
];

fn ahead(count: u64) -> Ahead {
    Ahead { count, or_more: false }
}

fn staff(p: &mut Probe<'_>, name: &str, life: Option<Life>) {
    let card = WorkerCard {
        worker: worker(name),
        life,
        queues: vec![queue("q")],
        kinds: vec![kind("k")],
        seen_at: Time::ZERO,
    };
    p.set(Write::SetWorker(card));
}

/// A job with these keys in a queue with a worker.
fn staffed(p: &mut Probe<'_>, new: NewJob) -> JobId {
    let life = Some(p.life);
    staff(p, "w", life);
    p.enqueue(new)
}

fn it_is_scheduled(p: &mut Probe<'_>) {
    let run_at = p.now.plus_ms(50);
    let id = staffed(p, NewJob { run_at: Some(run_at), ..job() });
    assert_eq!(p.why(id), [Cause::Scheduled { run_at }]);
}

fn it_backs_off(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, failed(RetryWish::AfterMs(60)));
    let run_at = p.now.plus_ms(60);
    assert_eq!(p.why(id), [Cause::BackingOff { run_at, failures: 1, reason: Some("no route".into()) }]);
}

fn it_is_running(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    p.claims(1, &[id]);
    let lease_expires_at = p.now.plus_ms(5_000);
    assert_eq!(p.why(id), [Cause::Running { worker: worker("w"), attempt: 1, lease_expires_at }]);
}

fn it_is_asked_to_stop(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    p.claims(1, &[id]);
    p.write(Write::Cancel { job: id });
    assert_eq!(p.why(id)[1..], [Cause::Cancelling]);
}

fn it_is_over(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, done());
    assert_eq!(p.why(id), [Cause::Ended { state: JobState::Done }]);
    let id = p.enqueue(job());
    p.write(Write::Cancel { job: id });
    assert_eq!(p.why(id), [Cause::Ended { state: JobState::Cancelled }]);
}

fn it_is_a_dead_letter(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, failed(RetryWish::Never));
    assert_eq!(p.why(id), [Cause::DeadLetter { failures: 1, reason: Some("no route".into()) }]);
}

fn its_queue_is_paused(p: &mut Probe<'_>) {
    let id = staffed(p, job());
    p.set(Write::SetPaused { queue: queue("q"), paused: true });
    assert_eq!(p.why(id), [Cause::QueuePaused { queue: queue("q") }]);
}

fn its_key_is_full(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let running = staffed(p, job_with(&["host:a"]));
    p.claims(1, &[running]);
    let ids: Vec<JobId> = (0..3).map(|_| p.enqueue(job_with(&["host:a"]))).collect();
    for (count, id) in (0..).zip(ids) {
        let key = limit_key("host:a");
        assert_eq!(p.why(id), [Cause::Concurrency { key, limit: 1, in_use: 1, ahead: ahead(count) }]);
    }
    let urgent = p.enqueue(NewJob { priority: 1, ..job_with(&["host:a"]) });
    let key = limit_key("host:a");
    assert_eq!(p.why(urgent), [Cause::Concurrency { key, limit: 1, in_use: 1, ahead: Ahead::NONE }]);
}

fn its_key_is_used_up_for_now(p: &mut Probe<'_>) {
    p.set_limit("host:*", rates(&["1/s"], 0));
    let running = staffed(p, job_with(&["host:a"]));
    p.claims(1, &[running]);
    let id = p.enqueue(job_with(&["host:a"]));
    let (key, rate, until) = (limit_key("host:a"), "1/s".parse().expect("a rate"), p.now.plus_ms(1_000));
    assert_eq!(p.why(id), [Cause::RateLimited { key, rate, until, ahead: Ahead::NONE }]);
}

fn its_key_cools_down(p: &mut Probe<'_>) {
    let id = staffed(p, job_with(&["host:a"]));
    p.set(Write::CoolDown(CoolDown { key: limit_key("host:a"), for_ms: 40 }));
    let (key, until) = (limit_key("host:a"), p.now.plus_ms(40));
    assert_eq!(p.why(id), [Cause::CoolingDown { key, until, ahead: Ahead::NONE }]);
    p.pass(40);
    assert_eq!(p.why(id), [Cause::Waiting { ahead: Ahead::NONE }]);
}

fn its_queues_own_key_is_full(p: &mut Probe<'_>) {
    p.set_limit("queue:q", concurrency(1));
    let running = staffed(p, job());
    p.claims(1, &[running]);
    p.enqueue(NewJob { kind: kind("other"), ..job() });
    let id = p.enqueue(job());
    let key = limit_key("queue:q");
    assert_eq!(p.why(id), [Cause::Concurrency { key, limit: 1, in_use: 1, ahead: ahead(1) }]);
}

fn no_worker_takes_it(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    let nobody = [Cause::NoWorker { queue: queue("q"), kind: kind("k") }];
    assert_eq!(p.why(id), nobody);
    staff(p, "remote", None);
    assert_eq!(p.why(id), [Cause::Waiting { ahead: Ahead::NONE }]);
    p.pass(WORKER_SEEN_MS);
    assert_eq!(p.why(id), nobody, "it was not heard of for too long");
    staff(p, "remote", None);
    assert_eq!(p.why(id), [Cause::Waiting { ahead: Ahead::NONE }]);
    p.set(Write::RemoveWorker { worker: worker("remote") });
    assert_eq!(p.why(id), nobody);
    let life = Some(p.life);
    staff(p, "inside", life);
    p.pass(WORKER_SEEN_MS * 100);
    assert_eq!(p.why(id), [Cause::Waiting { ahead: Ahead::NONE }], "in the process it needs no heartbeat");
    p.begin_alone();
    assert_eq!(p.why(id), nobody, "it ended with its life");
}

fn others_are_before_it(p: &mut Probe<'_>) {
    staffed(p, job());
    p.enqueue(NewJob { kind: kind("other"), ..job() });
    p.enqueue(NewJob { priority: 1, ..job() });
    let id = p.enqueue(job());
    p.enqueue(NewJob { priority: -1, ..job() });
    assert_eq!(p.why(id), [Cause::Waiting { ahead: ahead(2) }]);
}

fn several_causes_hold_at_once(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let running = p.enqueue(job_with(&["host:a"]));
    p.claims(1, &[running]);
    let run_at = p.now.plus_ms(500);
    let id = p.enqueue(NewJob { run_at: Some(run_at), ..job_with(&["host:b", "host:a"]) });
    p.set(Write::SetPaused { queue: queue("q"), paused: true });
    p.set(Write::CoolDown(CoolDown { key: limit_key("host:b"), for_ms: 40 }));
    let until = p.now.plus_ms(40);
    let expected = [
        Cause::Scheduled { run_at },
        Cause::QueuePaused { queue: queue("q") },
        Cause::NoWorker { queue: queue("q"), kind: kind("k") },
        Cause::CoolingDown { key: limit_key("host:b"), until, ahead: Ahead::NONE },
        Cause::Concurrency { key: limit_key("host:a"), limit: 1, in_use: 1, ahead: Ahead::NONE },
    ];
    assert_eq!(p.why(id), expected);
    p.pass(500);
    let claim = Claim { queues: vec![], ..p.asks(0) };
    p.claim_as(claim);
    assert_eq!(p.why(id).len(), 3, "it is ready, and host:b has rested");
}
