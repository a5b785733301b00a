//! Random commits: mostly accepted.

use super::jobs::new_job;
use super::universe::{
    ALARMS, Known, REPLY_KEYS, ROWS, UNIQUE_KEYS, chance, ms, objects, pick, some, tickets,
};
use super::word;
use abide_core::commit::{AlarmWrite, Commit, Ending, FollowWrite, KeyedReply, Outgoing, Reply, TicketWrite};
use abide_core::event::Consumes;
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_core::name::{AlarmName, IdempotencyKey, UniqueKey};
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::row::{Row, RowWrite};
use abide_core::seed::Seed;
use abide_core::ticket::Resolution;
use abide_core::time::Time;

pub(super) fn commit(random: &mut Seed, known: &mut Known, now: Time) -> Commit {
    let (object, consumes) = event(random, known);
    let fence = fence(random, known, &object);
    let mut commit = Commit::new(object, fence, known.life, now, consumes);
    if chance(random, 10) {
        commit.keyed_reply = Some(keyed_reply(random));
    }
    if chance(random, 60) {
        commit.rows = some(random, 30, &ROWS).into_iter().map(|key| row(random, key)).collect();
    }
    if chance(random, 30) {
        commit.alarms = some(random, 50, &ALARMS).into_iter().map(|name| alarm(random, name, now)).collect();
    }
    if chance(random, 20) {
        commit.follows =
            some(random, 40, &objects()).into_iter().map(|source| follow(random, source)).collect();
    }
    if chance(random, 30) {
        commit.log = (0..=random.below(2)).map(|_| json(random)).collect();
    }
    if chance(random, 20) {
        commit.tickets = some(random, 40, &tickets())
            .into_iter()
            .map(|ticket| {
                if chance(random, 50) {
                    TicketWrite::Open(ticket)
                } else {
                    TicketWrite::Resolve(ticket, Resolution::Reply(json(random)))
                }
            })
            .collect();
    }
    if chance(random, 15) {
        commit.cancels = some(random, 50, &UNIQUE_KEYS).into_iter().map(UniqueKey::trusted).collect();
    }
    if chance(random, 25) {
        commit.jobs = (0..=random.below(2)).map(|_| new_job(random, now)).collect();
    }
    if chance(random, 30) {
        commit.messages = (0..=random.below(2)).map(|_| outgoing(random, known)).collect();
    }
    if chance(random, 8) {
        commit.ending = Ending::Deleted;
    }
    commit
}

/// Checks are made of fences alone.
pub(super) fn object_and_fence(random: &mut Seed, known: &mut Known) -> (ObjectKey, Fence) {
    let object = any_object(random);
    let fence = fence(random, known, &object);
    (object, fence)
}

pub(super) fn any_object(random: &mut Seed) -> ObjectKey {
    pick(random, &objects()).expect("the world has objects").clone()
}

pub(super) fn json(random: &mut Seed) -> Json {
    Json::trusted(format!("{{\"n\":{}}}", random.below(1_000)))
}

fn fence(random: &mut Seed, known: &mut Known, object: &ObjectKey) -> Fence {
    known.lives_named += 1;
    let begin = Incarnation::nth_of(known.life, known.lives_named);
    let header = known.objects.get(object).copied().flatten();
    match header.filter(|_| !chance(random, 2)) {
        None => Fence::Absent { begin },
        Some(header) => {
            let stale = i64::from(chance(random, 4));
            let by = if chance(random, 2) { Life(header.by.0 + 1) } else { header.by };
            let version = Version(header.version.0 - stale);
            Fence::At { incarnation: header.incarnation, version, by }
        }
    }
}

/// What a turn runs for, and whose turn it is: mostly an event that is there.
fn event(random: &mut Seed, known: &Known) -> (ObjectKey, Consumes) {
    let elsewhere = chance(random, 4).then(|| any_object(random));
    let (object, consumes) = match random.below(10) {
        0..3 => pick(random, &known.messages)
            .map(|message| (message.to.clone(), Consumes::Message(message.id)))
            .unwrap_or_else(|| (any_object(random), Consumes::Call)),
        3..5 => pick(random, &known.alarms)
            .map(|alarm| {
                let consumes = Consumes::Alarm { name: alarm.name.clone(), set_version: alarm.set_version };
                (alarm.object.clone(), consumes)
            })
            .unwrap_or_else(|| (any_object(random), Consumes::Call)),
        5..7 => entries(random, known).unwrap_or_else(|| (any_object(random), Consumes::Call)),
        _ => (any_object(random), Consumes::Call),
    };
    (elsewhere.unwrap_or(object), consumes)
}

fn entries(random: &mut Seed, known: &Known) -> Option<(ObjectKey, Consumes)> {
    let (follower, page) = pick(random, &known.pages)?;
    let wrong = i64::from(chance(random, 5)) * 100;
    let from = Seq(page.cursor.0 + wrong);
    let taken = 1 + ms(random, page.entries.len() as u64);
    let consumes = Consumes::Entries {
        source: page.source.clone(),
        source_incarnation: page.source_incarnation,
        from,
        to: Seq(from.0 + taken),
    };
    Some((follower.clone(), consumes))
}

fn keyed_reply(random: &mut Seed) -> KeyedReply {
    let reply = match pick(random, &tickets()).filter(|_| random.below(2) == 0) {
        Some(ticket) => Reply::Later(ticket.clone()),
        None => Reply::Now(json(random)),
    };
    KeyedReply { key: IdempotencyKey::trusted(word(random, &REPLY_KEYS)), request: random.next_u64(), reply }
}

fn row(random: &mut Seed, key: &str) -> RowWrite {
    if chance(random, 25) {
        RowWrite::Delete { key: key.into() }
    } else {
        RowWrite::Put { key: key.into(), row: Row { schema: 3, value: json(random) } }
    }
}

fn alarm(random: &mut Seed, name: &str, now: Time) -> AlarmWrite {
    let name = AlarmName::trusted(name);
    if chance(random, 25) {
        AlarmWrite::Clear { name }
    } else {
        AlarmWrite::Set { name, at: now.plus_ms(ms(random, 4_000) - 1_000) }
    }
}

fn follow(random: &mut Seed, source: ObjectKey) -> FollowWrite {
    if chance(random, 25) {
        FollowWrite::Leave { source }
    } else {
        FollowWrite::Follow { source, after: Seq(ms(random, 3)) }
    }
}

fn outgoing(random: &mut Seed, known: &Known) -> Outgoing {
    let to = any_object(random);
    let present = known.objects.get(&to).copied().flatten().map(|header| header.incarnation);
    let to_incarnation = match random.below(10) {
        0..3 => present,
        3 => Some(Incarnation(7)),
        _ => None,
    };
    let trace =
        chance(random, 25).then(|| "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    Outgoing { to, to_incarnation, body: json(random), trace }
}
