//! Seeds that must pass, the same seed twice, and stores that must be found out.

mod broken;

use abide_sim::{Failure, Plan, many, run};

/// Few enough for every change; more from the command line.
const SEEDS: u64 = 2_000;

#[test]
fn every_promise_is_kept_and_every_fault_strikes() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sum = many::run(1, SEEDS, threads, &Plan::default());
    if let Some(failure) = sum.failure {
        panic!("{failure}\nshrunk: {}", abide_sim::shrink(failure.clone(), run));
    }
    assert_eq!(sum.counts.missing(), Vec::<&str>::new(), "these never happened:\n{}", sum.counts);
    assert_eq!(sum.short, Vec::<u64>::new(), "these seeds have fewer than 500 events or 3 crashes");
    assert_eq!(sum.without, Vec::<(u64, &str)>::new(), "in these seeds something never happened");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let plan = Plan { trace: true, ..Plan::default() };
    for seed in [1, 2, 3, abide_sim::SQLITE_SEEDS] {
        let (first, second) = (run(seed, &plan).unwrap(), run(seed, &plan).unwrap());
        let differs = first.lines.iter().zip(&second.lines).find(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first, second, "seed {seed}");
        assert!(first.events >= 500 && first.crashes >= 3, "seed {seed}");
    }
    assert_ne!(run(1, &plan).unwrap().digest, run(2, &plan).unwrap().digest);
}

#[test]
fn a_failure_says_how_to_see_it_again() {
    let mut plan = Plan { steps: 12, engines: Some(2), ..Plan::default() };
    assert!(plan.leave_out("crash") && plan.leave_out("log") && !plan.leave_out("rain"));
    let violation = abide_sim::Violation { promise: "one writer per object", what: "there were two".into() };
    let failure = Failure { seed: 7, plan: plan.into(), violation, events: 99, lines: Vec::new() };
    assert_eq!(
        failure.to_string(),
        "seed 7 failed after 99 events: one writer per object: there were two\n\
         run it again with: cargo run -p abide-sim -- --seed 7 --trace --steps 12 --engines 2 --without crash,log"
    );
}
