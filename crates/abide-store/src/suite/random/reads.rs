//! Random reads, and all of them at once.

use super::universe::{
    ALARMS, JOB_KEYS, JOB_KINDS, Known, QUEUES, REPLY_KEYS, ROWS, chance, ms, objects, pick, tickets,
};
use super::{commits::any_object, word};
use crate::read::{AlarmCursor, Load, Read, Want};
use crate::view::{JobFilter, TimeRange};
use abide_core::dead::DeadId;
use abide_core::event::MessageId;
use abide_core::job::{JobId, JobState};
use abide_core::log::Seq;
use abide_core::name::{AlarmName, IdempotencyKey, JobKind, Kind, LimitKey, QueueName};
use abide_core::object::ObjectKey;
use abide_core::seed::Seed;
use abide_core::time::Time;

/// One question.
pub(super) fn one(random: &mut Seed, known: &Known) -> Read {
    let limit = usize::try_from(random.below(5)).unwrap_or(0);
    match random.below(20) {
        0 => Read::Load(load(random)),
        1 => Read::Inboxes { after: maybe_object(random), limit },
        2 => {
            let after = pick(random, &known.messages).map(|message| MessageId(message.id.0 - 1));
            Read::Messages { to: any_object(random), after, limit }
        }
        3 => Read::MessagesDue { limit },
        4 => {
            let after = pick(random, &known.alarms).map(|alarm| AlarmCursor {
                due_at: alarm.due_at,
                incarnation: alarm.incarnation,
                name: alarm.name.clone(),
            });
            Read::AlarmsDue { after, limit }
        }
        5 => Read::Timers { after: pick(random, &known.alarms).map_or(Time::ZERO, |alarm| alarm.due_at) },
        6 => Read::Followers { after: maybe_object(random), limit },
        7 => Read::Entries { follower: any_object(random), limit },
        8 => Read::Log { object: any_object(random), after: Seq(ms(random, 6)), limit },
        9 => Read::Ticket(pick(random, &tickets()).expect("the world has tickets").clone()),
        10 => Read::Job(job(random, known)),
        11 => Read::Jobs(filter(random, known, limit)),
        12 | 13 => Read::Why(job(random, known)),
        14 => Read::Queues,
        15 => {
            let after = chance(random, 50).then(|| LimitKey::trusted("host:a"));
            Read::Limits { after, limit }
        }
        16 => {
            let kind = chance(random, 50).then(|| Kind::trusted("thing"));
            Read::Objects { kind, after: maybe_object(random), limit }
        }
        17 => Read::Object(any_object(random)),
        18 => Read::Dead { after: pick(random, &known.dead).map(|id| DeadId(id.0 - 1)), limit },
        _ => Read::Workers,
    }
}

/// Everything there is to ask, without bounds.
pub(super) fn all(known: &Known) -> Vec<Read> {
    let limit = 1_000_000;
    let mut reads = vec![
        Read::Inboxes { after: None, limit },
        Read::MessagesDue { limit },
        Read::AlarmsDue { after: None, limit },
        Read::Timers { after: Time::ZERO },
        Read::Followers { after: None, limit },
        Read::Jobs(JobFilter { limit, ..JobFilter::default() }),
        Read::Queues,
        Read::Limits { after: None, limit },
        Read::Objects { kind: None, after: None, limit },
        Read::NewestObjects { limit },
        Read::Dead { after: None, limit },
        Read::Workers,
    ];
    for object in objects() {
        reads.push(Read::Messages { to: object.clone(), after: None, limit });
        reads.push(Read::Entries { follower: object.clone(), limit });
        reads.push(Read::Log { object: object.clone(), after: Seq(0), limit });
        reads.push(Read::Object(object.clone()));
        for key in REPLY_KEYS {
            let scan = Want::Scan { prefix: String::new(), from: None, limit };
            let reply_for = Some(IdempotencyKey::trusted(key));
            reads.push(Read::Load(Load { object: object.clone(), wants: vec![scan], reply_for }));
        }
    }
    reads.extend(tickets().into_iter().map(Read::Ticket));
    reads.extend(known.jobs.iter().flat_map(|job| [Read::Job(*job), Read::Why(*job)]));
    reads
}

fn maybe_object(random: &mut Seed) -> Option<ObjectKey> {
    chance(random, 50).then(|| any_object(random))
}

fn job(random: &mut Seed, known: &Known) -> JobId {
    pick(random, &known.jobs).copied().unwrap_or(JobId(1))
}

fn load(random: &mut Seed) -> Load {
    let wants = vec![
        Want::Row(word(random, &ROWS).into()),
        Want::Alarm(AlarmName::trusted(word(random, &ALARMS))),
        Want::Scan {
            prefix: word(random, &["", "a", "a/", "é"]).into(),
            from: chance(random, 50).then(|| word(random, &ROWS).into()),
            limit: usize::try_from(random.below(4)).unwrap_or(0),
        },
    ];
    let reply_for = chance(random, 50).then(|| IdempotencyKey::trusted(word(random, &REPLY_KEYS)));
    Load { object: any_object(random), wants, reply_for }
}

fn filter(random: &mut Seed, known: &Known, limit: usize) -> JobFilter {
    JobFilter {
        state: pick(random, &JobState::ALL).copied().filter(|_| limit.is_multiple_of(2)),
        queue: chance(random, 30).then(|| QueueName::trusted(word(random, &QUEUES))),
        kind: chance(random, 30).then(|| JobKind::trusted(word(random, &JOB_KINDS))),
        owner: chance(random, 30).then(|| any_object(random)),
        limit_key: chance(random, 15).then(|| LimitKey::trusted(word(random, &JOB_KEYS))),
        unique_prefix: chance(random, 15).then(|| word(random, &["", "u", "u1"]).into()),
        created: range(random),
        finished: range(random),
        before: chance(random, 30).then(|| job(random, known)),
        limit,
    }
}

/// Mostly all of time, otherwise some of the first hour of the world.
fn range(random: &mut Seed) -> TimeRange {
    if !chance(random, 15) {
        return TimeRange::default();
    }
    let from = Time(1_000_000_000 + ms(random, 600_000));
    TimeRange { from, until: from.plus_ms(ms(random, 3_000_000)) }
}
