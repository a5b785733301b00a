//! Seeded numbers.

use abide_core::job::{JobId, LeaseToken};
use abide_core::seed::{Seed, mix};
use abide_core::ticket::Ticket;
use std::collections::BTreeSet;

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let numbers =
        |seed| (0..4).map(move |_| seed).map(|seed: u64| Seed::new(seed).next_u64()).collect::<Vec<_>>();
    assert_eq!(numbers(7), numbers(7));
    let mut zero = Seed::new(0);
    let known = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
    assert_eq!(known.map(|_| zero.next_u64()), known, "SplitMix64 from 0");
}

#[test]
fn numbers_stay_below_their_bound() {
    let mut seed = Seed::new(3);
    assert_eq!((seed.below(0), seed.below(1)), (0, 0));
    let seen: BTreeSet<u64> = (0..1_000).map(|_| seed.below(7)).collect();
    assert_eq!(seen, (0..7).collect());
}

#[test]
fn a_uuid_is_of_version_4() {
    let mut seed = Seed::new(11);
    for _ in 0..1_000 {
        let uuid = seed.uuid();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert_eq!(&uuid[14..15], "4", "{uuid}");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
        assert!(uuid.chars().all(|c| c == '-' || matches!(c, '0'..='9' | 'a'..='f')), "{uuid}");
    }
}

#[test]
fn tickets_and_tokens_have_their_form() {
    let mut seed = Seed::new(5);
    let (first, second) = (Ticket::draw(&mut seed), Ticket::draw(&mut seed));
    assert_ne!(first, second);
    assert_eq!(Ticket::parse(first.as_str()), Ok(first));
    let token = LeaseToken::draw(1, JobId(2), 3);
    assert_eq!(LeaseToken::from_hex(&token.to_hex()), Some(token));
    assert_eq!(token.to_hex().len(), 16);
    for bad in ["", "xyz", "00000000000000001", "+000000000000001"] {
        assert_eq!(LeaseToken::from_hex(bad), None, "{bad}");
    }
}

#[test]
fn tokens_of_claims_jobs_and_attempts_differ() {
    let draw = |seed, job, attempt| LeaseToken::draw(seed, JobId(job), attempt);
    let mut tokens = BTreeSet::new();
    for seed in 0..10 {
        for job in 0..10 {
            for attempt in 0..10 {
                tokens.insert(draw(seed, job, attempt));
            }
        }
    }
    assert_eq!(tokens.len(), 1_000);
    assert_ne!(mix(1, 2), mix(2, 1));
}

#[test]
fn a_fork_goes_its_own_way() {
    let mut seed = Seed::new(1);
    let mut fork = seed.fork();
    assert_ne!(fork.next_u64(), seed.next_u64());
}
