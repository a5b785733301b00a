//! `abide-sim`: runs seeds and says what it saw.

use abide_sim::{Plan, many, run, shrink};
use std::process::ExitCode;

const USAGE: &str = "usage: abide-sim [--seeds N] [--from S] [--seed S] [--trace] [--threads T] [--steps N] \
[--engines N] [--without fault-or-work,…] [--no-shrink]";

/// What was asked for.
struct Options {
    from: u64,
    seeds: u64,
    threads: usize,
    shrinks: bool,
    plan: Plan,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Some(options) => go(&options),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Option<Options> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { from: 1, seeds: 1_000, threads, shrinks: true, plan: Plan::default() };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--trace" => options.plan.trace = true,
            "--no-shrink" => options.shrinks = false,
            "--seeds" => options.seeds = arguments.next()?.parse().ok()?,
            "--from" => options.from = arguments.next()?.parse().ok()?,
            "--threads" => options.threads = arguments.next()?.parse().ok()?,
            "--steps" => options.plan.steps = arguments.next()?.parse().ok()?,
            "--engines" => options.plan.engines = Some(arguments.next()?.parse().ok()?),
            "--seed" => (options.from, options.seeds) = (arguments.next()?.parse().ok()?, 1),
            "--without" => {
                let words = arguments.next()?;
                words.split(',').all(|word| options.plan.leave_out(word)).then_some(())?;
            }
            _ => return None,
        }
    }
    Some(options)
}

fn go(options: &Options) -> ExitCode {
    let sum = many::run(options.from, options.seeds, options.threads, &options.plan);
    if options.plan.trace && options.seeds == 1 {
        let lines = match run(options.from, &options.plan) {
            Ok(report) => report.lines,
            Err(failure) => failure.lines,
        };
        lines.iter().for_each(|line| println!("{line}"));
    }
    println!("{}", sum.counts);
    println!("{} seeds, {} events, {} crashes", sum.seeds, sum.events, sum.crashes);
    if let Some(failure) = sum.failure {
        eprintln!("{failure}");
        if options.shrinks {
            eprintln!("shrunk: {}", shrink(failure, run));
        }
        return ExitCode::FAILURE;
    }
    if options.plan == (Plan { trace: options.plan.trace, ..Plan::default() })
        && !(sum.short.is_empty() && sum.without.is_empty())
    {
        eprintln!("fewer events or crashes than there must be: {:?}", sum.short);
        eprintln!("something never happened in: {:?}", sum.without);
        return ExitCode::FAILURE;
    }
    let missing = sum.counts.missing();
    if options.seeds >= many::ENOUGH && !missing.is_empty() && options.plan.is_whole() {
        eprintln!("never happened: {missing:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
