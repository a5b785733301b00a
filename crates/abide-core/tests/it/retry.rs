//! The bounds of backoff.

use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use std::collections::BTreeSet;

/// The least and the most of many waits.
fn bounds(backoff: Backoff, failures: u32) -> (i64, i64) {
    let mut seed = Seed::new(u64::from(failures));
    let waits: BTreeSet<i64> = (0..2_000).map(|_| backoff.delay_ms(failures, &mut seed)).collect();
    waits.first().copied().zip(waits.last().copied()).expect("there are waits")
}

#[test]
fn waits_double_and_move_by_a_tenth_either_way() {
    let job = Backoff { base_ms: 1_000, cap_ms: 600_000 };
    for (failures, whole) in [(1, 1_000), (2, 2_000), (3, 4_000), (9, 256_000)] {
        let (least, most) = bounds(job, failures);
        let tenth = whole / 10;
        assert!(least >= whole - tenth && most <= whole + tenth, "{failures}: {least}..{most}");
        assert!(least < whole - tenth / 2 && most > whole + tenth / 2, "{failures}: {least}..{most}");
    }
}

#[test]
fn waits_stay_under_the_cap() {
    let (least, most) = bounds(Backoff { base_ms: 1_000, cap_ms: 5_000 }, 4);
    assert!(least >= 4_500 && most == 5_000, "{least}..{most}");
    assert_eq!(bounds(Backoff::JOB, u32::MAX).1, Backoff::JOB.cap_ms);
    assert!(bounds(Backoff { base_ms: i64::MAX, cap_ms: i64::MAX / 4 }, 41).0 > 0);
}

#[test]
fn odd_numbers_are_no_trouble() {
    assert_eq!(bounds(Backoff { base_ms: 0, cap_ms: 10 }, 3), (0, 0));
    assert_eq!(bounds(Backoff { base_ms: -5, cap_ms: 10 }, 3), (0, 0));
    assert_eq!(bounds(Backoff { base_ms: 5, cap_ms: -1 }, 3), (0, 0));
    let (least, most) = bounds(Backoff { base_ms: 100, cap_ms: 1_000 }, 0);
    assert!(least >= 90 && most <= 110);
}

#[test]
fn the_same_seed_waits_as_long() {
    let wait = |seed| Backoff::TURN.delay_ms(4, &mut Seed::new(seed));
    assert_eq!(wait(3), wait(3));
}
