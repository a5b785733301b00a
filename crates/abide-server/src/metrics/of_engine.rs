//! What the engine counted.

use super::family::{Family, Sort};
use abide_core::job::{AttemptWord, JobState};
use abide_engine::meter::{Counts, JobCounts, TurnEnd};

/// Families of the engine's counts.
pub(super) fn families(counts: &Counts) -> Vec<Family> {
    let mut families = of_jobs(counts);
    families.extend(of_turns(counts));
    families.extend(of_the_store(counts));
    families
}

type CountOf = fn(&JobCounts) -> u64;

fn of_jobs(counts: &Counts) -> Vec<Family> {
    let by_queue: [(&'static str, &'static str, CountOf); 6] = [
        ("abide_jobs_enqueued_total", "Jobs that were new.", |jobs| jobs.enqueued),
        ("abide_jobs_started_total", "Attempts that began.", |jobs| jobs.started),
        ("abide_jobs_retried_total", "Attempts that failed and are followed by another.", |jobs| {
            jobs.retried
        }),
        ("abide_lease_expiries_total", "Leases that ran out.", |jobs| jobs.ended_as(AttemptWord::Expired)),
        ("contentdownload_jobs_completed_total", "Jobs that were done or skipped.", |jobs| {
            jobs.finished_as(JobState::Done) + jobs.finished_as(JobState::Skipped)
        }),
        ("contentdownload_jobs_failed_total", "Jobs that used up their attempts.", |jobs| {
            jobs.finished_as(JobState::Failed)
        }),
    ];
    let mut families: Vec<Family> = by_queue
        .into_iter()
        .map(|(name, help, count)| {
            let mut family = Family::new(name, Sort::Counter, help);
            counts.queues.iter().for_each(|(queue, jobs)| family.add(&[("queue", queue)], count(jobs)));
            family
        })
        .collect();
    let mut finished =
        Family::new("abide_jobs_finished_total", Sort::Counter, "Jobs that were over, by state.");
    let mut attempts = Family::new("abide_attempts_total", Sort::Counter, "Attempts that ended, by how.");
    let mut waits =
        Family::new("abide_job_wait_seconds", Sort::Times, "From when a job might run until it was leased.");
    let mut starts = Family::new(
        "abide_job_start_seconds",
        Sort::Times,
        "From lease to the worker's first step, of jobs in this process.",
    );
    let mut runs = Family::new("abide_job_run_seconds", Sort::Times, "From lease to the end of an attempt.");
    for (queue, jobs) in &counts.queues {
        for state in JobState::ALL.into_iter().filter(|state| state.is_over()) {
            finished.add(&[("queue", queue), ("state", state.as_str())], jobs.finished_as(state));
        }
        for word in AttemptWord::ALL {
            attempts.add(&[("queue", queue), ("end", word.as_str())], jobs.ended_as(word));
        }
        waits.add(&[("queue", queue)], &jobs.waits);
        starts.add(&[("queue", queue)], &jobs.starts);
        runs.add(&[("queue", queue)], &jobs.runs);
    }
    families.extend([finished, attempts, waits, starts, runs]);
    families
}

fn of_turns(counts: &Counts) -> [Family; 4] {
    let mut turns = Family::new("abide_turns_total", Sort::Counter, "Turns of objects, by how they ended.");
    let mut times = Family::new("abide_turn_seconds", Sort::Times, "How long handlers of objects ran.");
    for (kind, counted) in &counts.kinds {
        for (end, count) in TurnEnd::ALL.into_iter().zip(counted.ended) {
            turns.add(&[("kind", kind), ("result", end.as_str())], count);
        }
        times.add(&[("kind", kind)], &counted.times);
    }
    let late = "How long after their time alarms ran.";
    let waiting = "Calls that have no reply yet.";
    [
        turns,
        times,
        Family::single("abide_alarm_lateness_seconds", Sort::Times, late, &counts.alarm_lateness),
        Family::single("abide_calls_waiting", Sort::Gauge, waiting, counts.calls_waiting),
    ]
}

fn of_the_store(counts: &Counts) -> [Family; 7] {
    use Sort::{Counter, Sizes, Times};
    let synced = "How long batches took to become durable once applied.";
    let refused = "Commits that the store refused: their turns run again, or their events were gone.";
    [
        Family::single("abide_commits_total", Counter, "Commits of turns that are durable.", counts.commits),
        Family::single("abide_commits_refused_total", Counter, refused, counts.refused_commits),
        Family::single("abide_batch_writes", Sizes, "Writes in each batch.", &counts.batch_sizes),
        Family::single("abide_batch_seconds", Times, "How long batches took, synced.", &counts.batch_times),
        Family::single("abide_sync_seconds", Times, synced, &counts.sync_times),
        Family::single(
            "abide_batches_failed_total",
            Counter,
            "Batches that the store could not write.",
            counts.failed_batches,
        ),
        Family::single(
            "abide_dead_letters_total",
            Counter,
            "Events that became dead letters.",
            counts.dead_letters,
        ),
    ]
}
