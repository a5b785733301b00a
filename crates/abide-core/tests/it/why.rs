//! Why is it not running? Every cause, alone and in pairs.

use abide_core::job::JobState;
use abide_core::limit::{Blocked, Rate, Room};
use abide_core::name::{JobKind, LimitKey, QueueName, WorkerId};
use abide_core::time::Time;
use abide_core::why::{Ahead, Cause, KeyFacts, WhyFacts, why};

const AHEAD: Ahead = Ahead { count: 4, or_more: false };
const RATE: Rate = Rate { starts: 1, window_ms: 1_000 };

fn facts(state: JobState) -> WhyFacts {
    WhyFacts {
        state,
        queue: QueueName::trusted("q"),
        kind: JobKind::trusted("k"),
        run_at: Time(70),
        failures: 0,
        reason: None,
        cancel_asked: false,
        lease: None,
        paused: false,
        keys: vec![key("queue:q", Room::For(1))],
        has_worker: true,
        ahead: AHEAD,
    }
}

fn key(key: &str, room: Room) -> KeyFacts {
    KeyFacts { key: LimitKey::trusted(key), room, in_use: 3, ahead: Ahead { count: 2, or_more: true } }
}

fn words(facts: &WhyFacts) -> String {
    let word = |cause: &Cause| {
        let json = serde_json::to_value(cause).expect("a cause is JSON");
        json["cause"].as_str().expect("a cause has a word").to_owned()
    };
    why(facts).iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_job_that_is_over_says_so_and_nothing_else() {
    for state in [JobState::Done, JobState::Skipped, JobState::Cancelled] {
        let facts = WhyFacts { paused: true, has_worker: false, ..facts(state) };
        assert_eq!(why(&facts), [Cause::Ended { state }]);
    }
    let facts = WhyFacts { failures: 3, reason: Some("no".into()), paused: true, ..facts(JobState::Failed) };
    assert_eq!(why(&facts), [Cause::DeadLetter { failures: 3, reason: Some("no".into()) }]);
}

#[test]
fn a_running_job_says_who_runs_it() {
    let lease = Some((WorkerId::trusted("w"), 2, Time(99)));
    let facts = WhyFacts { lease, paused: true, ..facts(JobState::Running) };
    let running = Cause::Running { worker: WorkerId::trusted("w"), attempt: 2, lease_expires_at: Time(99) };
    assert_eq!(why(&facts), std::slice::from_ref(&running));
    assert_eq!(why(&WhyFacts { cancel_asked: true, ..facts }), [running, Cause::Cancelling]);
}

#[test]
fn a_scheduled_job_waits_for_its_time() {
    let scheduled = facts(JobState::Scheduled);
    assert_eq!(why(&scheduled), [Cause::Scheduled { run_at: Time(70) }]);
    let failed = WhyFacts { failures: 2, reason: Some("no".into()), ..scheduled };
    assert_eq!(
        why(&failed),
        [Cause::BackingOff { run_at: Time(70), failures: 2, reason: Some("no".into()) }]
    );
    let put_off = WhyFacts { failures: 0, ..failed };
    assert_eq!(
        why(&put_off),
        [Cause::BackingOff { run_at: Time(70), failures: 0, reason: Some("no".into()) }]
    );
}

#[test]
fn a_ready_job_without_an_obstacle_waits_for_others() {
    assert_eq!(why(&facts(JobState::Ready)), [Cause::Waiting { ahead: AHEAD }]);
}

#[test]
fn a_full_key_says_how_it_is_full() {
    let full =
        |blocked| WhyFacts { keys: vec![key("host:a", Room::Full(blocked))], ..facts(JobState::Ready) };
    let (name, ahead) = (LimitKey::trusted("host:a"), Ahead { count: 2, or_more: true });
    assert_eq!(
        why(&full(Blocked::Concurrency { limit: 3 })),
        [Cause::Concurrency { key: name.clone(), limit: 3, in_use: 3, ahead }]
    );
    assert_eq!(
        why(&full(Blocked::Rate { rate: RATE, until: Time(8) })),
        [Cause::RateLimited { key: name.clone(), rate: RATE, until: Time(8), ahead }]
    );
    assert_eq!(
        why(&full(Blocked::Cooldown { until: Time(8) })),
        [Cause::CoolingDown { key: name, until: Time(8), ahead }]
    );
}

/// One thing that holds a job up.
type Obstacle = fn(&mut WhyFacts);

#[test]
fn every_pair_of_obstacles_is_told() {
    let obstacles: [(&str, Obstacle); 5] = [
        ("queue_paused", |facts| facts.paused = true),
        ("no_worker", |facts| facts.has_worker = false),
        ("concurrency", |facts| facts.keys.push(key("a", Room::Full(Blocked::Concurrency { limit: 1 })))),
        ("rate_limited", |facts| {
            facts.keys.push(key("b", Room::Full(Blocked::Rate { rate: RATE, until: Time(1) })));
        }),
        ("cooling_down", |facts| facts.keys.push(key("c", Room::Full(Blocked::Cooldown { until: Time(1) })))),
    ];
    for (index, (first, set_first)) in obstacles.iter().enumerate() {
        for (second, set_second) in &obstacles[index + 1..] {
            for state in [JobState::Ready, JobState::Scheduled] {
                let mut facts = facts(state);
                set_first(&mut facts);
                set_second(&mut facts);
                let time = if state == JobState::Scheduled { "scheduled " } else { "" };
                assert_eq!(words(&facts), format!("{time}{first} {second}"));
            }
        }
    }
}

#[test]
fn there_is_always_a_cause() {
    for state in JobState::ALL {
        let lease = (state == JobState::Running).then(|| (WorkerId::trusted("w"), 1, Time(1)));
        assert!(!why(&WhyFacts { lease, ..facts(state) }).is_empty(), "{state}");
    }
}
