//! Causes in words: why a job is not running, for people.

use abide_core::limit::Blocked;
use abide_core::name::LimitKey;
use abide_core::time::Time;
use abide_core::why::{Ahead, Cause};

/// One cause as a sentence, at `now`.
pub(crate) fn sentence(cause: &Cause, now: Time) -> String {
    match cause {
        Cause::Ended { state } => format!("It is {state}: nothing is left to do."),
        Cause::DeadLetter { failures: 0, reason } => {
            format!("It is a dead letter{}. Retry it to run it again.", last(reason))
        }
        Cause::DeadLetter { failures, reason } => {
            format!(
                "It is a dead letter after {}{}. Retry it to run it again.",
                times(*failures),
                last(reason)
            )
        }
        Cause::Running { worker, attempt, lease_expires_at } => format!(
            "It is running: attempt {attempt}, by {worker}, whose lease ends {} unless it is renewed.",
            moment(*lease_expires_at, now)
        ),
        Cause::Cancelling => "It was cancelled and waits for its worker to stop.".to_owned(),
        Cause::Scheduled { run_at } => {
            format!("Its time has not come: it may start {}.", moment(*run_at, now))
        }
        Cause::BackingOff { run_at, failures: 0, reason } => {
            format!("It was put off{} and is tried again {}.", last(reason), moment(*run_at, now))
        }
        Cause::BackingOff { run_at, failures, reason } => format!(
            "It had {}{} and is tried again {}.",
            times(*failures),
            last(reason),
            moment(*run_at, now)
        ),
        Cause::QueuePaused { queue } => {
            format!("The queue {queue} is paused. Resume it to let its jobs start.")
        }
        Cause::Concurrency { key, limit, in_use, ahead } => format!(
            "The limit {key} allows {limit} at a time and {in_use} run now; {} at it.",
            before(*ahead)
        ),
        Cause::RateLimited { key, rate, until, ahead } => format!(
            "The limit {key} allows {rate}, which is used up; it opens {}, and {} at it.",
            moment(*until, now),
            before(*ahead)
        ),
        Cause::CoolingDown { key, until, ahead } => format!(
            "The limit {key} was told to rest{}; it opens {}, and {} at it.",
            why_it_rests(key),
            moment(*until, now),
            before(*ahead)
        ),
        Cause::NoWorker { queue, kind } => {
            format!("No worker takes jobs of the kind {kind} from the queue {queue}. Start one.")
        }
        Cause::Waiting { ahead } => format!("It starts when a worker is free; {}.", before(*ahead)),
    }
}

/// Why a limit allows no more, as a sentence, at `now`.
pub(crate) fn blocked(why: Blocked, now: Time) -> String {
    match why {
        Blocked::Concurrency { limit } => format!("As many run as it allows at a time: {limit}."),
        Blocked::Rate { rate, until } => format!("Its {rate} are used up; it opens {}.", moment(until, now)),
        Blocked::Cooldown { until } => format!("It was told to rest; it opens {}.", moment(until, now)),
    }
}

/// Why a limit rests that is one of hosts: whoever fetches tells it to, and has only these reasons.
fn why_it_rests(key: &LimitKey) -> &'static str {
    if key.as_str().starts_with("host:") {
        ", because the host failed several times in a row, asked to be left alone or wants its requests further apart"
    } else {
        ""
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "1 failure".to_owned(),
        count => format!("{count} failures"),
    }
}

fn last(reason: &Option<String>) -> String {
    reason.as_ref().map_or_else(String::new, |reason| format!(" (the last: {reason})"))
}

fn before(ahead: Ahead) -> String {
    match ahead {
        Ahead { count: 0, or_more: false } => "nothing waits before it".to_owned(),
        Ahead { count: 0, or_more: true } => "others may wait before it".to_owned(),
        Ahead { count: 1, or_more: false } => "1 waits before it".to_owned(),
        Ahead { count, or_more: false } => format!("{count} wait before it"),
        Ahead { count, or_more: true } => format!("{count} or more wait before it"),
    }
}

/// An instant relative to now: "in 3.2 s", "in 5 min".
fn moment(at: Time, now: Time) -> String {
    let ms = at.since(now);
    match ms {
        ..=0 => "now".to_owned(),
        1..=999 => format!("in {ms} ms"),
        1_000..=59_999 => format!("in {}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..=3_599_999 => format!("in {} min", ms / 60_000),
        3_600_000..=172_799_999 => format!("in {} h", ms / 3_600_000),
        _ => format!("in {} days", ms / 86_400_000),
    }
}
