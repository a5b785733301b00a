//! The arithmetic of limits.

use abide_core::limit::{Blocked, KeyState, LimitPolicy, Rate, Room, first_opening};
use abide_core::seed::Seed;
use abide_core::time::Time;

fn rates(texts: &[&str], burst: u32) -> LimitPolicy {
    LimitPolicy {
        concurrency: None,
        rates: texts.iter().map(|text| text.parse().expect("a rate")).collect(),
        burst,
    }
}

fn take(policy: &LimitPolicy, state: &mut KeyState, now: Time) -> bool {
    let has_room = matches!(policy.room(state, now), Room::For(_));
    if has_room {
        policy.take(state, now);
    }
    has_room
}

#[test]
fn nothing_bounds_a_key_without_a_policy() {
    let policy = LimitPolicy::default();
    let mut state = KeyState::default();
    for starts in 1..100 {
        assert_eq!(policy.room(&state, Time(1)), Room::For(u32::MAX));
        policy.take(&mut state, Time(1));
        assert_eq!(state.in_use, starts);
    }
}

#[test]
fn concurrency_counts_leases() {
    let policy = LimitPolicy { concurrency: Some(2), ..LimitPolicy::default() };
    let mut state = KeyState::default();
    assert_eq!(policy.room(&state, Time(1)), Room::For(2));
    assert!(take(&policy, &mut state, Time(1)) && take(&policy, &mut state, Time(1)));
    let full = Blocked::Concurrency { limit: 2 };
    assert_eq!((policy.room(&state, Time(9_999_999)), full.until()), (Room::Full(full), None));
    state.free();
    assert_eq!(policy.room(&state, Time(1)), Room::For(1));
    state.free();
    state.free();
    assert_eq!(state.in_use, 0);
}

#[test]
fn a_rate_says_when_it_opens() {
    let policy = rates(&["3/s"], 0);
    let mut state = KeyState::default();
    let start = Time(10_000);
    assert_eq!(policy.room(&state, start), Room::For(3));
    while take(&policy, &mut state, start) {}
    let rate = policy.rates[0];
    let until = start.plus_ms(334);
    for now in [start, start.plus_ms(1), start.plus_ms(333)] {
        assert_eq!(
            policy.room(&state, now),
            Room::Full(Blocked::Rate { rate, until }),
            "whenever it is asked"
        );
    }
    assert_eq!(policy.room(&state, until), Room::For(1));
    assert_eq!(
        policy.room(&state, start.plus_ms(-5_000)),
        Room::Full(Blocked::Rate { rate, until: start.plus_ms(-4_666) })
    );
}

#[test]
fn of_several_rates_the_longest_wait_is_given() {
    let policy = rates(&["2/s", "2/min"], 0);
    let mut state = KeyState::default();
    while take(&policy, &mut state, Time(0)) {}
    let blocked = Blocked::Rate { rate: policy.rates[1], until: Time(30_000) };
    assert_eq!(policy.room(&state, Time(0)), Room::Full(blocked));
    assert_eq!(state.in_use, 2);
}

#[test]
fn a_cool_down_comes_before_everything_and_only_grows() {
    let policy = LimitPolicy { concurrency: Some(0), ..rates(&["1/s"], 0) };
    let mut state = KeyState::default();
    state.cool_down(Time(500));
    state.cool_down(Time(400));
    assert_eq!(policy.room(&state, Time(499)), Room::Full(Blocked::Cooldown { until: Time(500) }));
    assert_eq!(policy.room(&state, Time(500)), Room::Full(Blocked::Concurrency { limit: 0 }));
}

#[test]
fn a_refund_gives_one_start_back_and_no_more() {
    let policy = rates(&["2/s"], 1);
    let mut state = KeyState::default();
    let now = Time(1);
    while take(&policy, &mut state, now) {}
    policy.refund(&mut state, now);
    assert_eq!(policy.room(&state, now), Room::For(1));
    for _ in 0..9 {
        policy.refund(&mut state, now);
    }
    assert_eq!(policy.room(&state, now), Room::For(3), "never past what a rested key has");
}

#[test]
fn a_rested_key_has_nothing_to_remember() {
    let policy = rates(&["1/s"], 0);
    let mut state = KeyState::default();
    assert!(policy.is_rested(&state, Time(0)));
    policy.take(&mut state, Time(0));
    assert!(!policy.is_rested(&state, Time(1_000)), "a lease lives");
    state.free();
    assert!(!policy.is_rested(&state, Time(999)) && policy.is_rested(&state, Time(1_000)));
    state.cool_down(Time(5_000));
    assert!(!policy.is_rested(&state, Time(4_999)) && policy.is_rested(&state, Time(5_000)));
}

#[test]
fn another_rate_begins_with_a_full_bucket() {
    let mut state = KeyState::default();
    let (slow, fast) = (rates(&["1/h"], 0), rates(&["1/s", "1/h"], 0));
    slow.take(&mut state, Time(0));
    assert!(
        matches!(fast.room(&state, Time(0)), Room::Full(Blocked::Rate { rate, .. }) if rate == slow.rates[0])
    );
    assert_eq!(rates(&["1/s"], 0).room(&state, Time(0)), Room::For(1));
}

#[test]
fn the_first_opening_counts() {
    let at = |until| Blocked::Cooldown { until: Time(until) };
    let lease = Blocked::Concurrency { limit: 1 };
    assert_eq!(first_opening([at(9), lease, at(5)]), Some(Time(5)));
    assert_eq!(first_opening([lease]), None);
}

/// The times of random starts: somebody asks at random times, and as often as there is room.
fn starts(policy: &LimitPolicy, seed: &mut Seed) -> Vec<i64> {
    let mut state = KeyState::default();
    let mut now = Time(1_000_000);
    let mut starts = Vec::new();
    for _ in 0..400 {
        match policy.room(&state, now) {
            Room::For(_) => {
                for _ in 0..=seed.below(4) {
                    if take(policy, &mut state, now) {
                        starts.push(now.0);
                    }
                }
            }
            Room::Full(blocked) if seed.below(3) == 0 => now = blocked.until().unwrap_or(now).max(now),
            Room::Full(_) => {}
        }
        let pause_ms = match seed.below(20) {
            0 => 20_000,
            1..5 => 1_000,
            _ => 40,
        };
        now = now.plus_ms(seed.below(pause_ms) as i64);
    }
    starts
}

#[test]
fn starts_in_any_interval_are_bounded() {
    let mut seed = Seed::new(42);
    for _ in 0..60 {
        let window_ms = [1_000, 333, 60_000, 7][seed.below(4) as usize];
        let rate = Rate { starts: 1 + seed.below(9) as u32, window_ms };
        let policy = LimitPolicy { concurrency: None, rates: vec![rate], burst: seed.below(5) as u32 };
        let starts = starts(&policy, &mut seed);
        assert!(starts.len() > 10);
        let (n, b, w) = (i64::from(rate.starts), i64::from(policy.burst), rate.window_ms);
        for (first, from) in starts.iter().enumerate() {
            for (last, to) in starts.iter().enumerate().skip(first) {
                let count = (last - first + 1) as i64;
                let most = (n + b) * w + n * (to - from);
                assert!(count * w <= most, "{count} starts from {from} to {to} at {rate} with burst {b}");
            }
        }
    }
}

#[test]
fn nobody_waits_longer_than_the_rate_asks() {
    let policy = rates(&["7/3s"], 2);
    let mut state = KeyState::default();
    let mut now = Time(0);
    let mut count = 0;
    for _ in 0..10_000 {
        match policy.room(&state, now) {
            _ if now > Time(300_000) => break,
            Room::For(_) => {
                policy.take(&mut state, now);
                count += 1;
            }
            Room::Full(blocked) => now = blocked.until().unwrap(),
        }
    }
    assert_eq!(count, 700 + 7 + 2, "all that N + b + N·t/W allows");
}
