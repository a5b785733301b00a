//! Queues: pause, own limits, counts.

use super::probe::{Probe, concurrency, done, job, kind, queue, rates};
use super::stories;
use crate::write::{Claim, Write};
use abide_core::job::{JobState, NewJob};
use abide_core::limit::LimitPolicy;
use abide_core::queue::{QueueCounts, QueuePolicy};

stories![
    a_queue_exists_from_its_first_job_or_setting_on,
    a_paused_queue_gives_nothing_and_loses_nothing,
    a_paused_queue_does_not_hold_up_others,
    resuming_by_policy_wakes_too,
    a_queues_own_concurrency_holds_across_kinds,
    a_queues_own_rate_says_when_to_ask_again,
    a_queue_freed_within_its_used_up_rate_says_when_it_opens,
    counts_follow_the_states,
];

fn pause(p: &mut Probe<'_>, name: &str, paused: bool) {
    p.set(Write::SetPaused { queue: queue(name), paused });
}

fn a_queue_exists_from_its_first_job_or_setting_on(p: &mut Probe<'_>) {
    assert_eq!(p.queues(), []);
    p.claims(1, &[]);
    assert_eq!(p.queues(), [], "asking makes no queue");
    p.enqueue(job());
    pause(p, "b", true);
    let policy = QueuePolicy { max_attempts: 2, ..QueuePolicy::default() };
    p.set(Write::SetQueue { queue: queue("a"), policy: policy.clone() });
    let views = p.queues();
    let names: Vec<&str> = views.iter().map(|view| view.queue.as_str()).collect();
    assert_eq!(names, ["a", "b", "q"]);
    assert_eq!(views[0].policy, policy);
    assert_eq!(views[1].policy, QueuePolicy { paused: true, ..QueuePolicy::default() });
    assert_eq!(views[2].policy, QueuePolicy::default());
}

fn a_paused_queue_gives_nothing_and_loses_nothing(p: &mut Probe<'_>) {
    pause(p, "q", true);
    let id = p.enqueue(job());
    let claimed = p.claim(1);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, false, None));
    pause(p, "q", false);
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    p.claims(1, &[id]);
    pause(p, "q", false);
    assert!(p.woken.ready.is_empty());
}

fn a_paused_queue_does_not_hold_up_others(p: &mut Probe<'_>) {
    p.enqueue(NewJob { queue: queue("slow"), priority: 9, ..job() });
    let id = p.enqueue(job());
    pause(p, "slow", true);
    let claim = Claim { queues: vec![queue("slow"), queue("q")], ..p.asks(5) };
    let claimed = p.claim_as(claim);
    let jobs: Vec<_> = claimed.leases.iter().map(|lease| lease.lease.job).collect();
    assert_eq!((jobs, claimed.more), (vec![id], false));
}

fn resuming_by_policy_wakes_too(p: &mut Probe<'_>) {
    pause(p, "q", true);
    p.enqueue(job());
    p.enqueue(NewJob { kind: kind("other"), ..job() });
    p.set(Write::SetQueue { queue: queue("q"), policy: QueuePolicy::default() });
    let ready: Vec<_> = p.woken.ready.iter().cloned().collect();
    assert_eq!(ready, [(queue("q"), kind("k")), (queue("q"), kind("other"))]);
}

fn a_queues_own_concurrency_holds_across_kinds(p: &mut Probe<'_>) {
    p.set_limit("queue:q", concurrency(2));
    let first = p.enqueue(job());
    let second = p.enqueue(NewJob { kind: kind("other"), ..job() });
    let third = p.enqueue(job());
    let elsewhere = p.enqueue(NewJob { queue: queue("r"), ..job() });
    let kinds = vec![kind("k"), kind("other")];
    let all = |p: &mut Probe<'_>| {
        let claim = Claim { queues: vec![queue("q"), queue("r")], kinds: kinds.clone(), ..p.asks(9) };
        p.claim_as(claim)
    };
    let claimed = all(p);
    let jobs: Vec<_> = claimed.leases.iter().map(|lease| lease.lease.job).collect();
    assert_eq!((jobs, claimed.more), (vec![first, second, elsewhere], false));
    assert_eq!(p.state_of(third), JobState::Ready);
    assert_eq!(p.limit_of("queue:q").in_use, 2);
    p.finish(&claimed.leases[1], done());
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))), "its own key has room again");
    assert_eq!(all(p).leases[0].lease.job, third);
    p.enqueue(job());
    p.set_limit("queue:q", concurrency(3));
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    assert_eq!(all(p).leases.len(), 1);
}

fn a_queues_own_rate_says_when_to_ask_again(p: &mut Probe<'_>) {
    p.set_limit("queue:*", rates(&["2/s"], 0));
    let ids: Vec<_> = (0..5).map(|_| p.enqueue(job())).collect();
    p.claims(9, &ids[..2]);
    let claimed = p.claim(9);
    assert_eq!((claimed.leases.len(), claimed.more), (0, false));
    assert_eq!(claimed.next_at, Some(p.now.plus_ms(500)));
    p.pass(500);
    p.claims(9, &ids[2..3]);
}

fn a_queue_freed_within_its_used_up_rate_says_when_it_opens(p: &mut Probe<'_>) {
    p.set_limit("queue:q", LimitPolicy { concurrency: Some(1), ..rates(&["1/10s"], 0) });
    let ids: Vec<_> = (0..2).map(|_| p.enqueue(job())).collect();
    let lease = p.claims(9, &ids[..1]).remove(0);
    let opens_at = p.now.plus_ms(10_000);
    assert_eq!(p.claim(9).next_at, None, "a lease must end first");
    p.pass(1_000);
    p.finish(&lease, done());
    assert_eq!(p.woken.job_at, Some(opens_at));
    p.pass(9_000);
    p.claims(9, &ids[1..]);
}

fn counts_follow_the_states(p: &mut Probe<'_>) {
    let counts = |p: &mut Probe<'_>| p.queues()[0].counts;
    p.enqueue(NewJob { run_at: Some(p.now.plus_ms(10)), ..job() });
    let first = p.enqueue(job());
    let second = p.enqueue(job());
    assert_eq!(counts(p), QueueCounts { scheduled: 1, ready: 2, ..QueueCounts::default() });
    let leases = p.claims(2, &[first, second]);
    assert_eq!(counts(p), QueueCounts { scheduled: 1, running: 2, ..QueueCounts::default() });
    p.finish(&leases[0], done());
    p.write(Write::Cancel { job: second });
    p.pass(10);
    p.claims(0, &[]);
    let expected = QueueCounts { ready: 1, running: 1, done: 1, ..QueueCounts::default() };
    assert_eq!(counts(p), expected);
    p.finish(&leases[1], done());
    assert_eq!(counts(p), QueueCounts { ready: 1, done: 1, cancelled: 1, ..QueueCounts::default() });
}
