//! Limits that count leases: keys, classes, several keys at once, backlogs.

use super::probe::{Probe, concurrency, done, failed, job, job_with, kind, limit_key, queue};
use super::stories;
use crate::write::{Claim, LeaseLost, Write, Written};
use abide_core::job::{JobId, JobState, NewJob, RetryWish};
use abide_core::lane::OFFERED;
use abide_core::limit::LimitPolicy;
use abide_core::limits::CLAIM_LOOKS;

stories![
    a_key_lets_as_many_run_as_it_allows,
    a_class_is_the_default_of_its_keys,
    a_key_may_have_a_policy_of_its_own,
    without_a_policy_leases_are_only_counted,
    all_keys_are_taken_or_none,
    one_keys_backlog_does_not_hold_up_another,
    a_backlog_does_not_hold_up_other_kinds,
    the_best_of_a_backlog_comes_first,
    a_job_that_turns_out_to_be_blocked_lets_the_next_one_forward,
    a_long_backlog_comes_forward_bit_by_bit,
    a_claim_looks_at_a_bounded_number_of_jobs,
    a_retried_job_waits_behind_better_ones,
    ends_of_every_sort_free_the_key,
    a_job_that_vacates_frees_its_keys_and_runs_on,
    a_cancelled_job_lets_the_next_one_forward,
    a_parked_job_can_be_cancelled,
    raising_a_limit_wakes_the_backlog,
    removing_a_limit_wakes_the_backlog,
    changing_a_class_wakes_the_backlogs_of_its_keys,
    lowering_a_limit_stops_nobody_who_runs,
    a_key_counts_across_queues,
    a_limit_of_none_lets_nothing_start,
    limits_are_listed_while_they_matter,
];

fn enqueue(p: &mut Probe<'_>, count: usize, keys: &[&str]) -> Vec<JobId> {
    (0..count).map(|_| p.enqueue(job_with(keys))).collect()
}

fn a_key_lets_as_many_run_as_it_allows(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(2));
    let ids = enqueue(p, 4, &["host:a"]);
    let leases = p.claims(9, &ids[..2]);
    let claimed = p.claim(9);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, false, None));
    let view = p.limit_of("host:a");
    assert_eq!((view.in_use, view.waiting, view.until), (2, 2, None));
    p.finish(&leases[0], done());
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    p.claims(9, &ids[2..3]);
    assert_eq!(p.limit_of("host:a").in_use, 2);
}

fn a_job_that_vacates_frees_its_keys_and_runs_on(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    p.set_limit("queue:q", concurrency(2));
    let ids = enqueue(p, 4, &["host:a"]);
    let first = p.claims(9, &ids[..1]).remove(0);
    for _ in 0..2 {
        assert_eq!(p.write(Write::Vacate { lease: first.lease }), Written::Vacated(Ok(())));
        assert_eq!((p.limit_of("host:a").in_use, p.limit_of("queue:q").in_use), (0, 1), "once");
    }
    assert_eq!(p.job(ids[0]).state, JobState::Running);
    let second = p.claims(9, &ids[1..2]).remove(0);
    p.claims(9, &[]);
    p.finish(&first, done());
    assert_eq!((p.limit_of("host:a").in_use, p.limit_of("queue:q").in_use), (1, 1), "its place is another's");
    p.finish(&second, failed(RetryWish::AfterMs(0)));
    let third = p.claims(1, &ids[2..3]).remove(0);
    assert_eq!(p.write(Write::Vacate { lease: third.lease }), Written::Vacated(Ok(())));
    let lease_ms = p.asks(1).lease_ms;
    p.pass(lease_ms);
    assert_eq!(p.write(Write::ReleaseExpired), Written::Released(vec![ids[2]]));
    assert_eq!(p.limit_of("host:a").in_use, 0, "an end of any sort frees what is held and no more");
    let stale = Written::Vacated(Err(LeaseLost::Stale(p.state_of(ids[2]))));
    assert_eq!(p.write(Write::Vacate { lease: third.lease }), stale);
    assert_eq!(p.claim(1).leases.len(), 1);
    assert_eq!(p.limit_of("host:a").in_use, 1, "another attempt holds it again");
}

fn a_class_is_the_default_of_its_keys(p: &mut Probe<'_>) {
    p.set_limit("host:*", concurrency(1));
    let a = enqueue(p, 2, &["host:a"]);
    let b = enqueue(p, 2, &["host:b"]);
    let other = enqueue(p, 2, &["model:a"]);
    p.claims(9, &[a[0], b[0], other[0], other[1]]);
    assert_eq!(p.limit_of("host:a").policy, Some(concurrency(1)));
}

fn a_key_may_have_a_policy_of_its_own(p: &mut Probe<'_>) {
    p.set_limit("host:*", concurrency(1));
    p.set_limit("host:a", concurrency(2));
    let a = enqueue(p, 3, &["host:a"]);
    let b = enqueue(p, 2, &["host:b"]);
    p.claims(9, &[a[0], a[1], b[0]]);
    p.set(Write::SetLimit { key: limit_key("host:a"), policy: None });
    assert_eq!(p.limit_of("host:a").policy, Some(concurrency(1)));
}

fn without_a_policy_leases_are_only_counted(p: &mut Probe<'_>) {
    let ids = enqueue(p, 3, &["host:a"]);
    let leases = p.claims(9, &ids);
    assert_eq!(p.limit_of("host:a").in_use, 3);
    p.set_limit("host:a", concurrency(1));
    let more = enqueue(p, 1, &["host:a"]);
    p.claims(9, &[]);
    for lease in &leases {
        p.finish(lease, done());
    }
    p.claims(9, &more);
}

fn all_keys_are_taken_or_none(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    p.set_limit("model:m", concurrency(1));
    let blocker = enqueue(p, 1, &["model:m"]);
    let both = enqueue(p, 1, &["host:a", "model:m"]);
    let leases = p.claims(9, &blocker);
    assert_eq!(p.limits().iter().find(|view| view.key.as_str() == "host:a").map(|view| view.in_use), Some(0));
    let alone = enqueue(p, 1, &["host:a"]);
    let held = p.claims(9, &alone);
    p.finish(&leases[0], done());
    p.claims(9, &[]);
    let view = p.limit_of("model:m");
    assert_eq!(view.in_use, 0, "the blocked job holds nothing");
    p.finish(&held[0], done());
    p.claims(9, &both);
    assert_eq!((p.limit_of("host:a").in_use, p.limit_of("model:m").in_use), (1, 1));
}

fn one_keys_backlog_does_not_hold_up_another(p: &mut Probe<'_>) {
    p.set_limit("host:*", concurrency(1));
    let slow = enqueue(p, 50, &["host:slow"]);
    let fast = enqueue(p, 1, &["host:fast"]);
    let free = p.enqueue(job());
    p.claims(9, &[slow[0], fast[0], free]);
    assert_eq!(p.limit_of("host:slow").waiting, 49);
}

fn a_backlog_does_not_hold_up_other_kinds(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ks = enqueue(p, 3, &["host:a"]);
    let other = p.enqueue(NewJob { kind: kind("other"), ..job_with(&["host:a"]) });
    let lease = p.claims(9, &ks[..1]).remove(0);
    p.finish(&lease, done());
    let claim = Claim { kinds: vec![kind("other")], ..p.asks(9) };
    assert_eq!(p.claim_as(claim).leases[0].lease.job, other, "its lane is refilled too");
    p.claims(9, &[]);
}

fn the_best_of_a_backlog_comes_first(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let running = enqueue(p, 1, &["host:a"]);
    let lease = p.claims(9, &running).remove(0);
    let low = enqueue(p, 2, &["host:a"]);
    let high = p.enqueue(NewJob { priority: 3, ..job_with(&["host:a"]) });
    p.finish(&lease, done());
    let lease = p.claims(9, &[high]).remove(0);
    p.finish(&lease, done());
    p.claims(9, &low[..1]);
}

fn a_job_that_turns_out_to_be_blocked_lets_the_next_one_forward(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let both = enqueue(p, 1, &["host:a", "model:m"]);
    let next = enqueue(p, 1, &["host:a"]);
    p.set_limit("model:m", concurrency(0));
    p.claims(9, &next);
    assert_eq!((p.limit_of("model:m").waiting, p.limit_of("host:a").waiting), (1, 0));
    p.set_limit("model:m", concurrency(1));
    p.claims(9, &[]);
    p.set_limit("host:a", concurrency(2));
    p.claims(9, &both);
}

fn a_long_backlog_comes_forward_bit_by_bit(p: &mut Probe<'_>) {
    let count = usize::try_from(OFFERED).unwrap_or(0) + 5;
    p.set_limit("host:a", concurrency(0));
    p.enqueue_all(vec![job_with(&["host:a"]); count]);
    assert_eq!(p.limit_of("host:a").waiting, OFFERED + 5);
    p.set(Write::SetLimit { key: limit_key("host:a"), policy: None });
    assert_eq!(p.limit_of("host:a").waiting, 5);
    assert_eq!(p.claim(3).leases.len(), 3);
    assert_eq!(p.limit_of("host:a").waiting, 2, "each that starts lets one forward");
    let claimed = p.claim(count);
    assert_eq!((claimed.leases.len(), claimed.more), (count - 3, false));
}

fn a_claim_looks_at_a_bounded_number_of_jobs(p: &mut Probe<'_>) {
    p.enqueue_all(vec![job_with(&["host:a"]); CLAIM_LOOKS + 2]);
    let free = p.enqueue(job());
    p.set_limit("host:a", concurrency(0));
    let claimed = p.claim(9);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, true, None));
    assert_eq!(p.limit_of("host:a").waiting, CLAIM_LOOKS as u64);
    p.claims(9, &[free]);
}

fn a_retried_job_waits_behind_better_ones(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 2, &["host:a"]);
    let urgent = p.enqueue(NewJob { priority: 9, ..job_with(&["host:a"]) });
    let lease = p.claims(9, &ids[..1]).remove(0);
    p.pass(1);
    p.finish(&lease, abide_core::job::AttemptEnd::HandedBack);
    let lease = p.claims(9, &[urgent]).remove(0);
    p.finish(&lease, done());
    let lease = p.claims(9, &ids[1..]).remove(0);
    p.finish(&lease, done());
    p.claims(9, &ids[..1]);
}

fn ends_of_every_sort_free_the_key(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 5, &["host:a"]);
    let lease = p.claims(9, &ids[..1]).remove(0);
    p.finish(&lease, failed(RetryWish::Never));
    let lease = p.claims(9, &ids[1..2]).remove(0);
    p.write(Write::Cancel { job: lease.lease.job });
    p.finish(&lease, done());
    p.claims(9, &ids[2..3]);
    p.pass(5_000);
    p.write(Write::ReleaseExpired);
    let claim = Claim { life: Some(p.life), ..p.asks(9) };
    let next = p.claim_as(claim).leases[0].lease.job;
    assert_eq!(next, ids[3], "the expired one became ready later");
    p.begin_alone();
    assert_eq!(p.limits()[0].in_use, 0);
    p.claims(9, &ids[4..]);
}

fn a_cancelled_job_lets_the_next_one_forward(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 3, &["host:a"]);
    p.write(Write::Cancel { job: ids[0] });
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    p.claims(9, &ids[1..2]);
}

fn a_parked_job_can_be_cancelled(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 3, &["host:a"]);
    let lease = p.claims(9, &ids[..1]).remove(0);
    p.write(Write::Cancel { job: ids[1] });
    assert_eq!(p.limit_of("host:a").waiting, 1);
    p.finish(&lease, done());
    p.claims(9, &ids[2..]);
}

fn raising_a_limit_wakes_the_backlog(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 5, &["host:a"]);
    p.claims(9, &ids[..1]);
    p.set_limit("host:a", concurrency(3));
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    p.claims(9, &ids[1..3]);
}

fn removing_a_limit_wakes_the_backlog(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let ids = enqueue(p, 5, &["host:a"]);
    p.claims(9, &ids[..1]);
    p.set(Write::SetLimit { key: limit_key("host:a"), policy: None });
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    p.claims(9, &ids[1..]);
}

fn changing_a_class_wakes_the_backlogs_of_its_keys(p: &mut Probe<'_>) {
    p.set_limit("host:*", concurrency(1));
    p.set_limit("host:c", concurrency(1));
    let a = enqueue(p, 2, &["host:a"]);
    let b = enqueue(p, 2, &["host:b"]);
    let c = enqueue(p, 2, &["host:c"]);
    p.claims(9, &[a[0], b[0], c[0]]);
    p.set_limit("host:*", concurrency(2));
    p.claims(9, &[a[1], b[1]]);
    p.set(Write::SetLimit { key: limit_key("host:*"), policy: None });
    let more = enqueue(p, 3, &["host:a"]);
    p.claims(9, &more);
}

fn lowering_a_limit_stops_nobody_who_runs(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(3));
    let ids = enqueue(p, 4, &["host:a"]);
    let leases = p.claims(9, &ids[..3]);
    p.set_limit("host:a", concurrency(1));
    assert_eq!(p.limit_of("host:a").in_use, 3);
    p.finish(&leases[0], done());
    p.finish(&leases[1], done());
    p.claims(9, &[]);
    p.finish(&leases[2], done());
    p.claims(9, &ids[3..]);
}

fn a_key_counts_across_queues(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(1));
    let first = p.enqueue(NewJob { queue: queue("r"), ..job_with(&["host:a"]) });
    let second = p.enqueue(job_with(&["host:a"]));
    let claim = Claim { queues: vec![queue("r")], ..p.asks(9) };
    let lease = p.claim_as(claim).leases.remove(0);
    assert_eq!(lease.lease.job, first);
    p.claims(9, &[]);
    p.finish(&lease, done());
    p.claims(9, &[second]);
}

fn a_limit_of_none_lets_nothing_start(p: &mut Probe<'_>) {
    p.set_limit("host:a", concurrency(0));
    let ids = enqueue(p, 2, &["host:a"]);
    p.claims(9, &[]);
    assert_eq!(p.state_of(ids[0]), JobState::Ready);
    p.set_limit("host:a", LimitPolicy::default());
    p.claims(9, &ids);
}

fn limits_are_listed_while_they_matter(p: &mut Probe<'_>) {
    p.set_limit("host:*", concurrency(1));
    let ids = enqueue(p, 2, &["host:a"]);
    let lease = p.claims(9, &ids[..1]).remove(0);
    let keys = |p: &mut Probe<'_>| {
        let views = p.limits();
        views
            .into_iter()
            .map(|view| (view.key.as_str().to_owned(), view.in_use, view.waiting))
            .collect::<Vec<_>>()
    };
    let expected = [("host:*", 0, 0), ("host:a", 1, 1), ("queue:q", 1, 0)];
    assert_eq!(keys(p), expected.map(|(key, in_use, waiting)| (key.to_owned(), in_use, waiting)));
    p.finish(&lease, done());
    let lease = p.claims(9, &ids[1..]).remove(0);
    p.finish(&lease, done());
    assert_eq!(keys(p), [("host:*".to_owned(), 0, 0)]);
}
