//! Limits that time opens: rates, bursts, refunds, cool-downs.

use super::probe::{Probe, concurrency, done, failed, job_with, kind, limit_key, queue, rates};
use super::stories;
use crate::write::{Claim, Write};
use abide_core::job::{CoolDown, Finish, JobId, Lease, NewJob, RetryWish};
use abide_core::limit::LimitPolicy;

stories![
    a_rate_opens_start_by_start,
    a_burst_comes_on_top_once,
    every_window_holds,
    a_key_opens_by_time_for_every_queue,
    a_rate_and_a_concurrency_hold_together,
    a_refund_gives_the_start_back,
    a_refund_is_for_keys_of_the_job_once,
    a_cool_down_rests_the_key_and_not_just_the_job,
    a_shorter_cool_down_changes_nothing,
    a_cool_down_from_outside_rests_a_key_without_a_policy,
    removing_a_policy_ends_a_rest,
    a_wake_time_is_reported_when_it_changes,
    what_was_to_open_stays_so_until_a_claim,
    room_that_grew_is_used_by_the_same_claim,
    nobody_waits_so_nothing_wakes,
    a_policy_set_while_parked_moves_the_wake_time,
    a_rested_key_is_forgotten,
];

fn enqueue(p: &mut Probe<'_>, count: usize, keys: &[&str]) -> Vec<JobId> {
    (0..count).map(|_| p.enqueue(job_with(keys))).collect()
}

fn finish_all(p: &mut Probe<'_>, leases: &[Lease]) {
    for lease in leases {
        p.finish(lease, done());
    }
}

fn a_rate_opens_start_by_start(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["2/s"], 0));
    let ids = enqueue(p, 5, &["host:a"]);
    let leases = p.claims(9, &ids[..2]);
    let opens_at = p.now.plus_ms(500);
    assert_eq!((p.woken.job_at, p.timers().job_at), (Some(opens_at), Some(opens_at)));
    finish_all(p, &leases);
    let claimed = p.claim(9);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, false, Some(opens_at)));
    assert_eq!(p.limit_of("host:a").until, Some(opens_at));
    p.pass(499);
    p.claims(9, &[]);
    p.pass(1);
    p.claims(0, &[]);
    assert_eq!(p.timers().job_at, None, "one was brought forward: nothing is left for time to do");
    p.claims(9, &ids[2..3]);
    p.pass(1_000);
    p.claims(9, &ids[3..]);
}

fn a_burst_comes_on_top_once(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/s"], 3));
    let ids = enqueue(p, 8, &["host:a"]);
    p.claims(9, &ids[..4]);
    p.pass(1_000);
    p.claims(9, &ids[4..5]);
    p.pass(1_000);
    p.claims(9, &ids[5..6]);
}

fn every_window_holds(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["2/s", "3/min"], 0));
    let ids = enqueue(p, 6, &["host:a"]);
    p.claims(9, &ids[..2]);
    p.pass(1_000);
    p.claims(9, &ids[2..3]);
    let claimed = p.claim(9);
    assert_eq!(claimed.leases.len(), 0);
    let opens_at = claimed.next_at.expect("time opens it");
    assert_eq!(opens_at, p.now.plus_ms(19_000), "three a minute is one every 20 s");
    p.now = opens_at;
    p.claims(9, &ids[3..4]);
}

fn a_key_opens_by_time_for_every_queue(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/s"], 0));
    let ids = enqueue(p, 2, &["host:a"]);
    let other = p.enqueue(NewJob { queue: queue("r"), priority: 1, ..job_with(&["host:a"]) });
    p.claims(9, &ids[..1]);
    p.pass(1_000);
    let both = Claim { queues: vec![queue("r"), queue("q")], ..p.asks(9) };
    let claimed = p.claim_as(both);
    assert_eq!(claimed.leases.iter().map(|lease| lease.lease.job).collect::<Vec<_>>(), [other]);
    assert_eq!(claimed.next_at, Some(p.now.plus_ms(1_000)));
}

fn a_rate_and_a_concurrency_hold_together(p: &mut Probe<'_>) {
    p.set_limit("host:a", LimitPolicy { concurrency: Some(1), ..rates(&["2/s"], 0) });
    let ids = enqueue(p, 4, &["host:a"]);
    let first = p.claims(9, &ids[..1]);
    assert_eq!(p.claim(9).next_at, None, "a lease must end");
    finish_all(p, &first);
    let second = p.claims(9, &ids[1..2]);
    finish_all(p, &second);
    assert_eq!(p.claim(9).next_at, Some(p.now.plus_ms(500)), "now the rate holds it");
    p.pass(500);
    p.claims(9, &ids[2..3]);
}

fn a_refund_gives_the_start_back(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/h"], 0));
    let ids = enqueue(p, 3, &["host:a"]);
    let lease = p.claims(9, &ids[..1]).remove(0);
    p.claims(9, &[]);
    p.finish(&lease, Finish { refund: vec![limit_key("host:a")], ..done().into() });
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let lease = p.claims(9, &ids[1..2]).remove(0);
    p.finish(&lease, done());
    p.claims(9, &[]);
}

fn a_refund_is_for_keys_of_the_job_once(p: &mut Probe<'_>) {
    p.set_limit("host:*", rates(&["2/h"], 0));
    let a = enqueue(p, 4, &["host:a"]);
    let b = enqueue(p, 3, &["host:b"]);
    let leases = p.claims(9, &[a[0], a[1], b[0], b[1]]);
    let refund = ["host:a", "host:a", "host:b"].map(limit_key).to_vec();
    p.finish(&leases[0], Finish { refund, ..done().into() });
    p.claims(9, &a[2..3]);
}

fn a_cool_down_rests_the_key_and_not_just_the_job(p: &mut Probe<'_>) {
    let ids = enqueue(p, 2, &["host:a"]);
    let other = enqueue(p, 1, &["host:b"]);
    let lease = p.claims(1, &ids[..1]).remove(0);
    let rest = CoolDown { key: limit_key("host:a"), for_ms: 30_000 };
    let end = failed(RetryWish::AfterMs(10));
    p.finish(&lease, Finish { cool_down: vec![rest], ..end.into() });
    p.pass(10);
    p.claims(9, &other);
    let opens_at = p.now.plus_ms(29_990);
    assert_eq!((p.claim(9).next_at, p.timers().job_at), (Some(opens_at), Some(opens_at)));
    assert_eq!((p.limit_of("host:a").until, p.limit_of("host:a").waiting), (Some(opens_at), 2));
    p.now = opens_at;
    p.claims(9, &[ids[1], ids[0]]);
}

fn a_shorter_cool_down_changes_nothing(p: &mut Probe<'_>) {
    let rest = |for_ms| Write::CoolDown(CoolDown { key: limit_key("host:a"), for_ms });
    p.set(rest(9_000));
    p.set(rest(1_000));
    assert_eq!(p.limit_of("host:a").until, Some(p.now.plus_ms(9_000)));
    p.set(rest(20_000));
    assert_eq!(p.limit_of("host:a").until, Some(p.now.plus_ms(20_000)));
}

fn a_cool_down_from_outside_rests_a_key_without_a_policy(p: &mut Probe<'_>) {
    let ids = enqueue(p, 1, &["host:a"]);
    p.set(Write::CoolDown(CoolDown { key: limit_key("host:a"), for_ms: 700 }));
    p.claims(9, &[]);
    assert_eq!(p.woken.job_at, Some(p.now.plus_ms(700)), "the claim parked it");
    p.pass(700);
    p.claims(9, &ids);
}

fn removing_a_policy_ends_a_rest(p: &mut Probe<'_>) {
    let ids = enqueue(p, 1, &["host:a"]);
    p.set(Write::CoolDown(CoolDown { key: limit_key("host:a"), for_ms: 9_000 }));
    p.claims(9, &[]);
    p.set_limit("host:a", rates(&["1/s"], 0));
    p.claims(9, &[]);
    p.set(Write::SetLimit { key: limit_key("host:a"), policy: None });
    p.claims(9, &ids);
}

fn a_wake_time_is_reported_when_it_changes(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/s"], 0));
    let ids = enqueue(p, 2, &["host:a"]);
    p.claims(9, &ids[..1]);
    let opens_at = p.now.plus_ms(1_000);
    assert_eq!(p.woken.job_at, Some(opens_at));
    enqueue(p, 1, &["host:a"]);
    assert_eq!(p.woken.job_at, None, "it is known");
    p.set(Write::CoolDown(CoolDown { key: limit_key("host:a"), for_ms: 5_000 }));
    assert_eq!(p.woken.job_at, Some(p.now.plus_ms(5_000)));
}

fn what_was_to_open_stays_so_until_a_claim(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["2/s"], 0));
    let ids = enqueue(p, 3, &["host:a"]);
    p.claims(9, &ids[..2]);
    let opens_at = p.now.plus_ms(500);
    p.pass(500);
    let others = vec![NewJob { kind: kind("other"), ..job_with(&["host:a"]) }; 2];
    p.enqueue_all(others);
    assert_eq!(p.timers().job_at, Some(opens_at), "one of another kind was parked, but the key is open");
    p.claims(9, &ids[2..]);
}

fn room_that_grew_is_used_by_the_same_claim(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["4/s"], 0));
    let ids = enqueue(p, 6, &["host:a"]);
    p.claims(2, &ids[..2]);
    p.pass(500);
    p.claims(9, &ids[2..]);
}

fn nobody_waits_so_nothing_wakes(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/s"], 0));
    let ids = enqueue(p, 2, &["host:a"]);
    p.claims(9, &ids[..1]);
    assert!(p.timers().job_at.is_some());
    p.write(Write::Cancel { job: ids[1] });
    assert_eq!((p.timers().job_at, p.claim(9).next_at), (None, None));
}

fn a_policy_set_while_parked_moves_the_wake_time(p: &mut Probe<'_>) {
    p.set_limit("host:a", rates(&["1/h"], 0));
    let ids = enqueue(p, 3, &["host:a"]);
    let leases = p.claims(9, &ids[..1]);
    assert_eq!(p.timers().job_at, Some(p.now.plus_ms(3_600_000)));
    p.set_limit("host:a", concurrency(1));
    assert_eq!(p.timers().job_at, None, "now a lease must end");
    p.claims(9, &[]);
    finish_all(p, &leases);
    p.claims(9, &ids[1..2]);
}

fn a_rested_key_is_forgotten(p: &mut Probe<'_>) {
    p.set_limit("host:*", rates(&["1/s"], 0));
    let ids = enqueue(p, 1, &["host:a"]);
    let leases = p.claims(9, &ids);
    finish_all(p, &leases);
    assert_eq!(p.limit_of("host:a").until, Some(p.now.plus_ms(1_000)));
    p.pass(1_000);
    assert_eq!(p.limits().len(), 1, "only the class is left");
    p.set_limit("host:*", rates(&["1/s"], 2));
    let ids = enqueue(p, 4, &["host:a"]);
    p.claims(9, &ids[..3]);
}
