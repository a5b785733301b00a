//! Random jobs, claims and ends of attempts.

use super::universe::{
    CLAIM_KEYS, JOB_KEYS, JOB_KINDS, Known, QUEUES, UNIQUE_KEYS, WORKERS, chance, limit_keys, ms, pick, some,
};
use super::{commits::json, word};
use crate::write::{Claim, WorkerCard};
use abide_core::job::{AttemptEnd, CoolDown, Finish, JobId, LeaseRef, LeaseToken, NewJob, RetryWish};
use abide_core::limit::{LimitPolicy, Rate};
use abide_core::name::{IdempotencyKey, JobKind, LimitKey, QueueName, UniqueKey, WorkerId};
use abide_core::queue::QueuePolicy;
use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use abide_core::time::Time;

pub(super) fn queue(random: &mut Seed) -> QueueName {
    QueueName::trusted(word(random, &QUEUES))
}

pub(super) fn new_job(random: &mut Seed, now: Time) -> NewJob {
    let kind = JobKind::trusted(word(random, &JOB_KINDS));
    let mut job = NewJob::new(queue(random), kind, json(random));
    job.priority = i32::try_from(random.below(3)).unwrap_or(0) - 1;
    job.limit_keys = limit_keys(random, 3);
    if chance(random, 25) {
        job.run_at = Some(now.plus_ms(ms(random, 4_000) - 500));
    }
    if chance(random, 30) {
        job.unique_key = Some(UniqueKey::trusted(word(random, &UNIQUE_KEYS)));
    }
    if chance(random, 30) {
        job.max_attempts = u32::try_from(random.below(3)).ok();
    }
    if chance(random, 20) {
        job.backoff = Some(Backoff { base_ms: ms(random, 500), cap_ms: 2_000 });
    }
    if chance(random, 10) {
        job.trace = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
    }
    job
}

pub(super) fn claim(random: &mut Seed, known: &Known) -> Claim {
    Claim {
        worker: worker(random),
        life: chance(random, 50).then_some(known.life),
        queues: some(random, 80, &QUEUES).into_iter().map(QueueName::trusted).collect(),
        kinds: some(random, 80, &JOB_KINDS).into_iter().map(JobKind::trusted).collect(),
        max: usize::try_from(random.below(5)).unwrap_or(0),
        lease_ms: 100 + ms(random, 8_000),
        seed: random.next_u64(),
        key: chance(random, 15).then(|| IdempotencyKey::trusted(word(random, &CLAIM_KEYS))),
    }
}

/// Mostly a lease that was given and may be current.
pub(super) fn lease(random: &mut Seed, known: &Known) -> LeaseRef {
    let forged = LeaseRef { job: JobId(1), attempt: 1, token: LeaseToken::draw(9, JobId(9), 9) };
    let mut lease = pick(random, &known.leases).copied().unwrap_or(forged);
    if chance(random, 3) {
        lease.attempt += 1;
    }
    if chance(random, 2) {
        lease.token = forged.token;
    }
    lease
}

pub(super) fn finish(random: &mut Seed) -> Finish {
    let reason = || "it was not to be".to_owned();
    let retry = match random.below(5) {
        0 => RetryWish::Never,
        1 => RetryWish::AfterMs(ms(random, 3_000) - 100),
        2 => RetryWish::UncountedAfterMs(ms(random, 3_000) - 100),
        _ => RetryWish::ByPolicy,
    };
    let end = match random.below(8) {
        0..3 => AttemptEnd::Done { result: json(random) },
        3 => AttemptEnd::Skipped { reason: reason() },
        4..7 => AttemptEnd::Error { reason: reason(), retry },
        _ => AttemptEnd::HandedBack,
    };
    let refund = if chance(random, 20) { limit_keys(random, 3) } else { Vec::new() };
    let cool_down = if chance(random, 12) { vec![cool_down(random)] } else { Vec::new() };
    Finish { end, refund, cool_down }
}

pub(super) fn cool_down(random: &mut Seed) -> CoolDown {
    CoolDown { key: LimitKey::trusted(word(random, &JOB_KEYS)), for_ms: ms(random, 3_000) - 100 }
}

pub(super) fn limit_policy(random: &mut Seed) -> Option<LimitPolicy> {
    if chance(random, 20) {
        return None;
    }
    let rates = [
        Rate { starts: 1, window_ms: 1_000 },
        Rate { starts: 3, window_ms: 1_000 },
        Rate { starts: 7, window_ms: 60_000 },
    ];
    Some(LimitPolicy {
        concurrency: chance(random, 60).then(|| u32::try_from(random.below(4)).unwrap_or(0)),
        rates: some(random, 30, &rates),
        burst: u32::try_from(random.below(3)).unwrap_or(0),
    })
}

pub(super) fn queue_policy(random: &mut Seed) -> QueuePolicy {
    let mut often = |most_ms: u64| chance(random, 50).then(|| ms(random, most_ms));
    QueuePolicy {
        retain_ms: often(60_000),
        retain_failed_ms: often(60_000),
        forget_keys_after_ms: often(60_000),
        paused: chance(random, 20),
        max_attempts: 1 + u32::try_from(random.below(3)).unwrap_or(0),
        backoff: Backoff { base_ms: 100, cap_ms: 5_000 },
    }
}

pub(super) fn worker(random: &mut Seed) -> WorkerId {
    WorkerId::trusted(word(random, &WORKERS))
}

pub(super) fn card(random: &mut Seed, known: &Known) -> WorkerCard {
    WorkerCard {
        worker: worker(random),
        life: chance(random, 40).then_some(known.life),
        queues: some(random, 70, &QUEUES).into_iter().map(QueueName::trusted).collect(),
        kinds: some(random, 70, &JOB_KINDS).into_iter().map(JobKind::trusted).collect(),
        seen_at: Time::ZERO,
    }
}
