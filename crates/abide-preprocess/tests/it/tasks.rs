//! The life of a task: every status × every event.

use abide_core::time::Time;
use abide_preprocess::file::{Place, ProcessableFile};
use abide_preprocess::{Moved, Report, Task, TaskEvent, TaskStatus};

const NOW: Time = Time(5_000);

/// A task in its second attempt of three.
fn task(status: TaskStatus) -> Task {
    let over = status.is_over();
    Task {
        task_id: "b1_tiff_0000001".to_owned(),
        phase: 0,
        place: Place::of_input(0),
        status,
        attempt: 2,
        last_attempt: 3,
        put_off: 0,
        asset_id: "A".to_owned(),
        input: ProcessableFile::default(),
        started_at: (status != TaskStatus::Pending).then_some(Time(1_000)),
        completed_at: over.then_some(Time(2_000)),
        error: (status == TaskStatus::Failed).then(|| "no".to_owned()),
        machine_id: (status == TaskStatus::Processing).then(|| "m1".to_owned()),
        report: (status == TaskStatus::Completed).then(Report::success),
        in_parts: 0,
        passed_on: false,
    }
}

/// Every event, each under the name that the table uses.
fn events() -> [(&'static str, TaskEvent); 8] {
    let failed = |retryable| TaskEvent::Failed { reason: "why".to_owned(), retryable };
    [
        ("begun", TaskEvent::Begun { machine_id: None }),
        ("machine", TaskEvent::Begun { machine_id: Some("m2".to_owned()) }),
        ("completed", TaskEvent::Completed { report: Box::new(Report::success()), in_parts: 0 }),
        ("failed", failed(true)),
        ("hopeless", failed(false)),
        ("not now", TaskEvent::NotNow { reason: "no room".to_owned() }),
        ("stopped", TaskEvent::Stopped),
        ("again", TaskEvent::Again { attempts: 4 }),
    ]
}

/// Where it goes, in one line: what follows, status, attempt of how many, and what else it holds.
fn shown(moved: Option<Moved>) -> String {
    let (word, task) = match moved {
        None => return "-".to_owned(),
        Some(Moved::Same(task)) => ("same", task),
        Some(Moved::Another(task)) => ("another", task),
        Some(Moved::Over(task)) => ("over", task),
    };
    let mut line = format!("{word}: {:?} {}/{}", task.status, task.attempt, task.last_attempt);
    for (name, time) in [("started", task.started_at), ("ended", task.completed_at)] {
        line += &time.map_or_else(String::new, |time| format!(" {name} {}", time.0));
    }
    line += &task.machine_id.map_or_else(String::new, |machine| format!(" on {machine}"));
    line += &task.error.map_or_else(String::new, |error| format!(" because {error}"));
    line + if task.report.is_some() { " with a report" } else { "" }
}

fn check(task: &Task, expected: [&str; 8]) {
    let found: Vec<(&str, String)> = events()
        .into_iter()
        .map(|(name, event)| (name, shown(task.after(task.attempt, event, NOW))))
        .collect();
    let names = events().map(|(name, _)| name);
    let expected: Vec<(&str, String)> = names.into_iter().zip(expected.map(str::to_owned)).collect();
    assert_eq!(found, expected, "{:?}", task.status);
}

#[test]
fn a_pending_task() {
    check(
        &task(TaskStatus::Pending),
        [
            "same: Processing 2/3 started 5000",
            "same: Processing 2/3 started 5000 on m2",
            "over: Completed 2/3 ended 5000 with a report",
            "another: Pending 3/3 because why",
            "over: Failed 2/3 ended 5000 because why",
            "another: Pending 3/4 because no room",
            "-",
            "-",
        ],
    );
}

#[test]
fn a_task_that_is_processed() {
    check(
        &task(TaskStatus::Processing),
        [
            "-",
            "same: Processing 2/3 started 1000 on m2",
            "over: Completed 2/3 started 1000 ended 5000 on m1 with a report",
            "another: Pending 3/3 because why",
            "over: Failed 2/3 started 1000 ended 5000 on m1 because why",
            "another: Pending 3/4 because no room",
            "same: Pending 2/3",
            "-",
        ],
    );
}

#[test]
fn a_task_in_its_last_attempt() {
    check(
        &Task { attempt: 3, ..task(TaskStatus::Processing) },
        [
            "-",
            "same: Processing 3/3 started 1000 on m2",
            "over: Completed 3/3 started 1000 ended 5000 on m1 with a report",
            "over: Failed 3/3 started 1000 ended 5000 on m1 because why",
            "over: Failed 3/3 started 1000 ended 5000 on m1 because why",
            "another: Pending 4/4 because no room",
            "same: Pending 3/3",
            "-",
        ],
    );
}

#[test]
fn a_task_that_is_over() {
    check(&task(TaskStatus::Completed), ["-"; 8]);
    check(&task(TaskStatus::Failed), ["-", "-", "-", "-", "-", "-", "-", "another: Pending 3/6 because no"]);
}

#[test]
fn an_attempt_that_could_not_be_made_does_not_count() {
    let not_now = || TaskEvent::NotNow { reason: "no room".to_owned() };
    let mut waiting = task(TaskStatus::Processing);
    for _ in 0..10 {
        let moved = waiting.after(waiting.attempt, not_now(), NOW);
        let Some(Moved::Another(next)) = moved else { panic!("it is tried again: {moved:?}") };
        assert_eq!((next.attempt, next.retries()), (waiting.attempt + 1, 1));
        waiting = next;
    }
    assert_eq!(waiting.last_attempt - waiting.attempt, 1, "as many are left as before");
}

#[test]
fn what_is_about_another_attempt_changes_nothing() {
    for status in [TaskStatus::Pending, TaskStatus::Processing, TaskStatus::Completed, TaskStatus::Failed] {
        for attempt in [1, 3] {
            for (name, event) in events() {
                assert_eq!(task(status).after(attempt, event, NOW), None, "{status:?} {name} {attempt}");
            }
        }
    }
}
