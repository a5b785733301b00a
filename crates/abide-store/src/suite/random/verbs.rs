//! Random writes, weighted so that much of what can happen does.

use super::commits::{any_object, commit, json, object_and_fence};
use super::jobs::{
    card, claim, cool_down, finish, lease, limit_policy, new_job, queue, queue_policy, worker,
};
use super::universe::{Known, POLICY_KEYS, chance, ms, pick};
use super::word;
use crate::write::{AfterFailure, Begin, FailEvent, Write};
use abide_core::dead::DeadId;
use abide_core::event::{EventRef, MessageId};
use abide_core::job::JobId;
use abide_core::name::LimitKey;
use abide_core::seed::Seed;
use abide_core::time::Time;

/// One write.
pub(super) fn one(random: &mut Seed, known: &mut Known, now: Time) -> Write {
    match random.below(100) {
        0..28 => Write::Commit(Box::new(commit(random, known, now))),
        28..31 => Write::Send { to: any_object(random), body: json(random) },
        31..40 => Write::Enqueue { jobs: (0..=random.below(3)).map(|_| new_job(random, now)).collect() },
        40..54 => Write::Claim(claim(random, known)),
        54..66 => {
            Write::Finish { lease: lease(random, known), finish: finish(random), seed: random.next_u64() }
        }
        66..69 => {
            let leases = (0..random.below(3)).map(|_| lease(random, known)).collect();
            Write::Renew { leases, lease_ms: ms(random, 6_000) }
        }
        69 => Write::Progress { lease: lease(random, known), progress: json(random) },
        70..72 => Write::Vacate { lease: lease(random, known) },
        72..74 => Write::ReleaseExpired,
        74..78 => fail(random, known, now),
        78..80 => Write::CountCrash { event: first_event(random, known) },
        80..83 => Write::Cancel { job: job(random, known) },
        83..86 => Write::Retry { job: job(random, known) },
        86..89 => {
            let key = LimitKey::trusted(word(random, &POLICY_KEYS));
            Write::SetLimit { key, policy: limit_policy(random) }
        }
        _ => seldom(random, known),
    }
}

fn seldom(random: &mut Seed, known: &mut Known) -> Write {
    match random.below(13) {
        0 => Write::SetQueue { queue: queue(random), policy: queue_policy(random) },
        1 | 2 => Write::SetPaused { queue: queue(random), paused: chance(random, 30) },
        3 => Write::CoolDown(cool_down(random)),
        4 => Write::SetWorker(card(random, known)),
        5 => match random.below(3) {
            0 => Write::RemoveWorker { worker: worker(random) },
            _ => Write::SetWorker(card(random, known)),
        },
        6 | 7 => {
            let id = pick(random, &known.dead).copied().unwrap_or(DeadId(1));
            if chance(random, 80) { Write::ReplayDead { id } } else { Write::DropDead { id } }
        }
        8 => Write::Sweep { max: 1 + usize::try_from(random.below(20)).unwrap_or(0) },
        9 | 10 => Write::Prune { max: 10_000 },
        11 => match random.below(4) {
            0 => Write::Regrant { lease_ms: ms(random, 6_000) },
            1 => Write::Disown {
                life: known.life,
                held: (0..random.below(3)).map(|_| lease(random, known)).collect(),
            },
            _ => Write::Begin(Begin { alone: chance(random, 70) }),
        },
        _ => {
            let (object, fence) = object_and_fence(random, known);
            Write::Check { object, fence }
        }
    }
}

fn job(random: &mut Seed, known: &Known) -> JobId {
    pick(random, &known.jobs).copied().unwrap_or(JobId(1))
}

fn fail(random: &mut Seed, known: &Known, now: Time) -> Write {
    let then = match random.below(3) {
        0 => AfterFailure::Dead,
        _ => AfterFailure::RetryAt(now.plus_ms(ms(random, 3_000) - 200)),
    };
    Write::FailEvent(FailEvent { event: event(random, known), error: "it broke".into(), then })
}

/// Often the same event as before, so that crashes add up.
fn first_event(random: &mut Seed, known: &Known) -> EventRef {
    match known.messages.first().filter(|_| chance(random, 60)) {
        Some(message) => EventRef::Message(message.id),
        None => event(random, known),
    }
}

/// Mostly an event that is there.
fn event(random: &mut Seed, known: &Known) -> EventRef {
    let message = pick(random, &known.messages).map(|message| EventRef::Message(message.id));
    let alarm = pick(random, &known.alarms).map(|alarm| EventRef::Alarm {
        incarnation: alarm.incarnation,
        name: alarm.name.clone(),
        set_version: alarm.set_version,
    });
    let page = pick(random, &known.pages)
        .map(|(_, page)| EventRef::Entries { incarnation: page.incarnation, source: page.source.clone() });
    let there: Vec<EventRef> = [message, alarm, page].into_iter().flatten().collect();
    let gone = EventRef::Message(MessageId(1));
    if chance(random, 5) { gone } else { pick(random, &there).cloned().unwrap_or(gone) }
}
