//! Claims: what is taken, in which order, and what the lease says.

use super::probe::{Probe, done, job, json, kind, queue, unique_key, worker};
use super::stories;
use crate::write::{Claim, Write, Written};
use abide_core::job::{JobId, JobState, Lease, LeaseRef, LeaseToken, NewJob};
use abide_core::limits::PAGE_BYTES;
use abide_core::name::IdempotencyKey;

stories![
    a_claim_gives_what_the_worker_needs,
    a_job_is_claimed_once,
    the_best_comes_first,
    priority_counts_across_queues_and_kinds,
    only_the_queues_and_kinds_asked_for_are_taken,
    a_claim_takes_at_most_what_it_asks_for,
    a_claim_of_large_jobs_takes_fewer,
    due_jobs_keep_their_time,
    a_claim_says_when_to_ask_again,
    a_claim_makes_due_what_others_wait_for,
    a_claim_for_nothing_takes_nothing,
    tokens_differ,
    asking_again_under_a_key_gives_what_is_held,
    a_key_is_a_workers_own,
    a_key_that_holds_nothing_any_more_gives_new_jobs,
];

fn jobs(leases: &[Lease]) -> Vec<JobId> {
    leases.iter().map(|lease| lease.lease.job).collect()
}

fn a_claim_gives_what_the_worker_needs(p: &mut Probe<'_>) {
    let new = NewJob {
        unique_key: Some(unique_key("u")),
        max_attempts: Some(9),
        trace: Some("trace".into()),
        ..job()
    };
    let id = p.enqueue(new);
    p.pass(30);
    let claim = Claim { worker: worker("here"), lease_ms: 700, seed: 42, ..p.asks(1) };
    let claimed = p.claim_as(claim);
    let expires_at = p.now.plus_ms(700);
    let expected = Lease {
        lease: LeaseRef { job: id, attempt: 1, token: LeaseToken::draw(42, id, 1) },
        queue: queue("q"),
        kind: kind("k"),
        payload: json(r#"{"n":1}"#),
        unique_key: Some(unique_key("u")),
        failures: 0,
        max_attempts: 9,
        lease_expires_at: expires_at,
        trace: Some("trace".into()),
    };
    assert_eq!((claimed.leases, claimed.more, claimed.next_at), (vec![expected], false, None));
    assert_eq!((p.woken.lease_at, p.timers().lease_at), (Some(expires_at), Some(expires_at)));
    let view = p.job(id);
    assert_eq!((view.state, view.attempt, view.updated_at), (JobState::Running, 1, p.now));
    assert_eq!((view.worker, view.lease_expires_at), (Some(worker("here")), Some(expires_at)));
}

fn a_job_is_claimed_once(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    p.claims(10, &[id]);
    p.claims(10, &[]);
}

fn the_best_comes_first(p: &mut Probe<'_>) {
    let early = p.enqueue(job());
    p.pass(1);
    let low = p.enqueue(NewJob { priority: -1, ..job() });
    let high = p.enqueue(NewJob { priority: 5, ..job() });
    let same_time = p.enqueue(job());
    p.pass(1);
    let late = p.enqueue(job());
    p.claims(10, &[high, early, same_time, late, low]);
}

fn priority_counts_across_queues_and_kinds(p: &mut Probe<'_>) {
    let of =
        |name: &str, sort: &str, priority| NewJob { queue: queue(name), kind: kind(sort), priority, ..job() };
    let ids: Vec<JobId> =
        [of("a", "x", 1), of("a", "y", 3), of("b", "x", 2), of("b", "y", 4), of("a", "x", 5)]
            .into_iter()
            .map(|new| p.enqueue(new))
            .collect();
    let both = Claim { queues: vec![queue("b"), queue("a")], kinds: vec![kind("y"), kind("x")], ..p.asks(4) };
    let claimed = p.claim_as(both);
    assert_eq!(jobs(&claimed.leases), [ids[4], ids[3], ids[1], ids[2]]);
    assert!(claimed.more);
}

fn only_the_queues_and_kinds_asked_for_are_taken(p: &mut Probe<'_>) {
    let other_kind = p.enqueue(NewJob { kind: kind("other"), ..job() });
    let other_queue = p.enqueue(NewJob { queue: queue("other"), ..job() });
    p.claims(10, &[]);
    let claim = Claim { kinds: vec![kind("other")], ..p.asks(10) };
    assert_eq!(jobs(&p.claim_as(claim).leases), [other_kind]);
    let claim = Claim { queues: vec![queue("none"), queue("other")], ..p.asks(10) };
    assert_eq!(jobs(&p.claim_as(claim).leases), [other_queue]);
}

fn a_claim_takes_at_most_what_it_asks_for(p: &mut Probe<'_>) {
    let ids: Vec<JobId> = (0..3).map(|_| p.enqueue(job())).collect();
    let claimed = p.claim(2);
    assert_eq!((jobs(&claimed.leases), claimed.more, claimed.next_at), (ids[..2].to_vec(), true, None));
    let claimed = p.claim(1);
    assert_eq!((jobs(&claimed.leases), claimed.more), (ids[2..].to_vec(), false), "nothing is left");
}

fn a_claim_of_large_jobs_takes_fewer(p: &mut Probe<'_>) {
    let large = json(&format!("\"{}\"", "x".repeat(PAGE_BYTES / 4 - 2)));
    let ids: Vec<JobId> = (0..6).map(|_| p.enqueue(NewJob { payload: large.clone(), ..job() })).collect();
    let first = p.claim(100);
    assert_eq!((jobs(&first.leases), first.more), (ids[..4].to_vec(), true));
    let rest = p.claim(100);
    assert_eq!((jobs(&rest.leases), rest.more), (ids[4..].to_vec(), false));
}

fn due_jobs_keep_their_time(p: &mut Probe<'_>) {
    let later = p.enqueue(NewJob { run_at: Some(p.now.plus_ms(20)), ..job() });
    let sooner = p.enqueue(NewJob { run_at: Some(p.now.plus_ms(10)), ..job() });
    p.pass(15);
    let between = p.enqueue(job());
    p.pass(85);
    p.claims(10, &[sooner, between, later]);
    assert_eq!(p.job(sooner).run_at, p.now.plus_ms(-90));
}

fn a_claim_says_when_to_ask_again(p: &mut Probe<'_>) {
    let at = p.now.plus_ms(300);
    let run_at = Some(at);
    p.enqueue(NewJob { run_at, ..job() });
    p.enqueue(NewJob { run_at: Some(at.plus_ms(-100)), kind: kind("other"), ..job() });
    p.enqueue(NewJob { run_at: Some(at.plus_ms(-200)), queue: queue("other"), ..job() });
    assert_eq!(p.claim(1).next_at, Some(at), "only what was asked for counts");
    assert_eq!(p.timers().job_at, Some(at.plus_ms(-200)));
}

fn a_claim_makes_due_what_others_wait_for(p: &mut Probe<'_>) {
    let new = NewJob { run_at: Some(p.now.plus_ms(10)), queue: queue("other"), ..job() };
    let id = p.enqueue(new);
    p.pass(10);
    p.claims(1, &[]);
    assert_eq!(p.state_of(id), JobState::Ready);
    assert!(p.woken.ready.contains(&(queue("other"), kind("k"))));
}

fn a_claim_for_nothing_takes_nothing(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    let claimed = p.claim(0);
    assert_eq!((claimed.leases.len(), claimed.more), (0, true));
    let none = Claim { queues: vec![], ..p.asks(1) };
    let claimed = p.claim_as(none);
    assert_eq!((claimed.leases.len(), claimed.more, claimed.next_at), (0, false, None));
    assert_eq!(p.state_of(id), JobState::Ready);
}

fn tokens_differ(p: &mut Probe<'_>) {
    let (first, second) = (p.enqueue(job()), p.enqueue(job()));
    let leases = p.claims(2, &[first, second]);
    assert_ne!(leases[0].lease.token, leases[1].lease.token);
    p.pass(5_000);
    p.write(Write::ReleaseExpired);
    let again = p.claims(1, &[first]);
    assert_ne!(leases[0].lease.token, again[0].lease.token);
}

fn under(p: &mut Probe<'_>, key: &str, max: usize) -> Claim {
    Claim { key: Some(IdempotencyKey::trusted(key)), ..p.asks(max) }
}

fn asking_again_under_a_key_gives_what_is_held(p: &mut Probe<'_>) {
    let ids: Vec<JobId> = (0..3).map(|_| p.enqueue(job())).collect();
    let claim = under(p, "a", 2);
    let first = p.claim_as(claim);
    assert_eq!((jobs(&first.leases), first.more), (ids[..2].to_vec(), true));
    p.pass(3_000);
    // Whatever else it asks for: the answer that was lost is what it needs.
    let claim = Claim { kinds: vec![kind("other")], ..under(p, "a", 9) };
    let again = p.claim_as(claim);
    let until = p.now.plus_ms(5_000);
    let expected = first.leases.iter().map(|lease| Lease { lease_expires_at: until, ..lease.clone() });
    assert_eq!(again.leases, expected.collect::<Vec<_>>());
    assert_eq!((again.more, again.next_at, p.job(ids[0]).attempt), (false, None, 1));
    // They are as good as new, and no lease is shortened.
    p.pass(4_000);
    assert_eq!(p.write(Write::ReleaseExpired), Written::Released(Vec::new()));
    let claim = Claim { lease_ms: 1, ..under(p, "a", 9) };
    assert_eq!(p.claim_as(claim).leases[1].lease_expires_at, until);
    let other = under(p, "b", 9);
    assert_eq!(jobs(&p.claim_as(other).leases), ids[2..]);
}

fn a_key_is_a_workers_own(p: &mut Probe<'_>) {
    let ids: Vec<JobId> = (0..3).map(|_| p.enqueue(job())).collect();
    let mine = under(p, "a", 1);
    assert_eq!(jobs(&p.claim_as(mine).leases), ids[..1]);
    let theirs = Claim { worker: worker("other"), ..under(p, "a", 1) };
    assert_eq!(jobs(&p.claim_as(theirs).leases), ids[1..2]);
    p.claims(9, &ids[2..]);
}

fn a_key_that_holds_nothing_any_more_gives_new_jobs(p: &mut Probe<'_>) {
    let (over, expired, next) = (p.enqueue(job()), p.enqueue(job()), p.enqueue(job()));
    let claim = under(p, "a", 2);
    let leases = p.claim_as(claim).leases;
    p.finish(&leases[0], done());
    let claim = under(p, "a", 2);
    assert_eq!(jobs(&p.claim_as(claim).leases), [expired]);
    p.pass(5_000);
    assert_eq!(p.write(Write::ReleaseExpired), Written::Released(vec![expired]));
    let claim = under(p, "a", 1);
    assert_eq!(jobs(&p.claim_as(claim).leases), [next]);
    assert_eq!((p.job(over).state, p.job(expired).failures), (JobState::Done, 1));
}
