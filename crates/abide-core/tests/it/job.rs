//! The lifecycle of a job: every state × every event.

use abide_core::job::{AttemptEnd, AttemptWord, JobEvent, JobState, Misfit, Next, RetryWish, Standing};
use abide_core::json::Json;
use abide_core::limits::JOB_RESTARTS;
use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use abide_core::time::Time;

const NOW: Time = Time(5_000);

fn standing(state: JobState) -> Standing {
    let backoff = Backoff { base_ms: 100, cap_ms: 100 };
    Standing { state, failures: 1, restarts: 1, max_attempts: 3, backoff, cancel_asked: false }
}

fn error(retry: RetryWish) -> AttemptEnd {
    AttemptEnd::Error { reason: "no".into(), retry }
}

/// Every event, each under the name that the table uses.
fn events() -> Vec<(&'static str, Option<AttemptEnd>)> {
    vec![
        ("due", None),
        ("claimed", None),
        ("done", Some(AttemptEnd::Done { result: Json::null() })),
        ("skipped", Some(AttemptEnd::Skipped { reason: "old".into() })),
        ("error", Some(error(RetryWish::AfterMs(70)))),
        ("uncounted", Some(error(RetryWish::UncountedAfterMs(40)))),
        ("never", Some(error(RetryWish::Never))),
        ("back", Some(AttemptEnd::HandedBack)),
        ("expired", None),
        ("restarted", None),
        ("cancel", None),
        ("retry", None),
    ]
}

fn event<'a>(name: &str, end: &'a Option<AttemptEnd>) -> JobEvent<'a> {
    match (name, end) {
        (_, Some(end)) => JobEvent::Finished(end),
        ("due", None) => JobEvent::Due,
        ("claimed", None) => JobEvent::Claimed,
        ("expired", None) => JobEvent::Expired,
        ("restarted", None) => JobEvent::Restarted,
        ("cancel", None) => JobEvent::CancelAsked,
        ("retry", None) => JobEvent::RetryAsked,
        (other, None) => panic!("no event {other}"),
    }
}

/// Where it goes, in one line: state, failures and restarts, what else.
fn shown(outcome: Result<Next, Misfit>) -> String {
    match outcome {
        Err(Misfit::Over(_)) => "over".into(),
        Err(Misfit::NotOver(_)) => "not over".into(),
        Err(Misfit::DoneAlready) => "done already".into(),
        Err(Misfit::NotRunning(_)) => "not running".into(),
        Err(Misfit::NotWaiting(_)) => "not waiting".into(),
        Ok(next) => {
            let mut line = format!("{} {}/{}", next.state, next.failures, next.restarts);
            if let Some(run_at) = next.run_at {
                line += &format!(" at +{}", run_at.since(NOW));
            }
            if next.cancel_asked {
                line += " cancelling";
            }
            if let Some((word, _)) = next.ended {
                line += &format!(" [{}]", word.as_str());
            }
            line
        }
    }
}

fn check(standing: Standing, expected: &[(&str, &str)]) {
    let events = events();
    let found: Vec<(&str, String)> = events
        .iter()
        .map(|(name, end)| (*name, shown(standing.after(event(name, end), NOW, &mut Seed::new(1)))))
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(name, line)| (*name, line.as_str())).collect();
    assert_eq!(found, expected, "{standing:?}");
}

#[test]
fn a_scheduled_job() {
    check(
        standing(JobState::Scheduled),
        &[
            ("due", "ready 1/1"),
            ("claimed", "not waiting"),
            ("done", "not running"),
            ("skipped", "not running"),
            ("error", "not running"),
            ("uncounted", "not running"),
            ("never", "not running"),
            ("back", "not running"),
            ("expired", "not running"),
            ("restarted", "not running"),
            ("cancel", "cancelled 1/1"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn a_ready_job() {
    check(
        standing(JobState::Ready),
        &[
            ("due", "not waiting"),
            ("claimed", "running 1/1"),
            ("done", "not running"),
            ("skipped", "not running"),
            ("error", "not running"),
            ("uncounted", "not running"),
            ("never", "not running"),
            ("back", "not running"),
            ("expired", "not running"),
            ("restarted", "not running"),
            ("cancel", "cancelled 1/1"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn a_running_job() {
    check(
        standing(JobState::Running),
        &[
            ("due", "not waiting"),
            ("claimed", "not waiting"),
            ("done", "done 1/1 [done]"),
            ("skipped", "skipped 1/1 [skipped]"),
            ("error", "scheduled 2/1 at +70 [error]"),
            ("uncounted", "scheduled 1/1 at +40 [error]"),
            ("never", "failed 2/1 [error]"),
            ("back", "ready 1/1 [handed_back]"),
            ("expired", "ready 2/1 [expired]"),
            ("restarted", "ready 1/2 [restarted]"),
            ("cancel", "running 1/1 cancelling"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn a_running_job_that_was_asked_to_stop() {
    check(
        Standing { cancel_asked: true, ..standing(JobState::Running) },
        &[
            ("due", "not waiting"),
            ("claimed", "not waiting"),
            ("done", "cancelled 1/1 [done]"),
            ("skipped", "cancelled 1/1 [skipped]"),
            ("error", "cancelled 1/1 [error]"),
            ("uncounted", "cancelled 1/1 [error]"),
            ("never", "cancelled 1/1 [error]"),
            ("back", "cancelled 1/1 [handed_back]"),
            ("expired", "cancelled 2/1 [expired]"),
            ("restarted", "cancelled 1/2 [restarted]"),
            ("cancel", "running 1/1 cancelling"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn the_last_attempt() {
    check(
        Standing { failures: 2, ..standing(JobState::Running) },
        &[
            ("due", "not waiting"),
            ("claimed", "not waiting"),
            ("done", "done 2/1 [done]"),
            ("skipped", "skipped 2/1 [skipped]"),
            ("error", "failed 3/1 [error]"),
            ("uncounted", "scheduled 2/1 at +40 [error]"),
            ("never", "failed 3/1 [error]"),
            ("back", "ready 2/1 [handed_back]"),
            ("expired", "failed 3/1 [expired]"),
            ("restarted", "ready 2/2 [restarted]"),
            ("cancel", "running 2/1 cancelling"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn the_last_restart() {
    check(
        Standing { restarts: JOB_RESTARTS - 1, ..standing(JobState::Running) },
        &[
            ("due", "not waiting"),
            ("claimed", "not waiting"),
            ("done", "done 1/9 [done]"),
            ("skipped", "skipped 1/9 [skipped]"),
            ("error", "scheduled 2/9 at +70 [error]"),
            ("uncounted", "scheduled 1/9 at +40 [error]"),
            ("never", "failed 2/9 [error]"),
            ("back", "ready 1/9 [handed_back]"),
            ("expired", "ready 2/9 [expired]"),
            ("restarted", "failed 1/10 [restarted]"),
            ("cancel", "running 1/9 cancelling"),
            ("retry", "not over"),
        ],
    );
}

#[test]
fn a_job_that_is_over() {
    let over = |retry| {
        let mut expected = vec![("due", "not waiting"), ("claimed", "not waiting")];
        expected.extend(
            ["done", "skipped", "error", "uncounted", "never", "back"].map(|name| (name, "not running")),
        );
        expected.extend(["expired", "restarted"].map(|name| (name, "not running")));
        expected.extend([("cancel", "over"), ("retry", retry)]);
        expected
    };
    check(standing(JobState::Done), &over("done already"));
    for state in [JobState::Skipped, JobState::Failed, JobState::Cancelled] {
        check(standing(state), &over("ready 0/0"));
    }
}

#[test]
fn a_job_without_attempts_fails_at_its_first_error() {
    let standing = Standing { failures: 0, max_attempts: 0, ..standing(JobState::Running) };
    let end = error(RetryWish::ByPolicy);
    let next = standing.after(JobEvent::Finished(&end), NOW, &mut Seed::new(1));
    assert_eq!(shown(next), "failed 1/1 [error]");
}

#[test]
fn a_retry_by_policy_waits_for_the_backoff() {
    let end = error(RetryWish::ByPolicy);
    let next = standing(JobState::Running).after(JobEvent::Finished(&end), NOW, &mut Seed::new(1));
    let run_at = next.unwrap().run_at.unwrap();
    assert!((90..=100).contains(&run_at.since(NOW)), "capped at 100: {run_at}");
    let end = error(RetryWish::AfterMs(-5));
    let next = standing(JobState::Running).after(JobEvent::Finished(&end), NOW, &mut Seed::new(1));
    assert_eq!(next.unwrap().run_at, Some(NOW));
}

#[test]
fn every_end_but_done_has_a_reason() {
    for (name, end) in events() {
        let next = standing(JobState::Running).after(event(name, &end), NOW, &mut Seed::new(1));
        if let Ok(Next { ended: Some((word, reason)), .. }) = next {
            assert_eq!(reason.is_none(), word == AttemptWord::Done, "{name}");
            assert!(reason.is_none_or(|reason| !reason.is_empty()), "{name}");
        }
    }
}

#[test]
fn words_round_trip() {
    for state in JobState::ALL {
        assert_eq!(JobState::parse(state.as_str()), Some(state));
        assert_eq!(Json::encode(&state).unwrap().as_str(), format!("\"{state}\""));
    }
    for word in AttemptWord::ALL {
        assert_eq!(AttemptWord::parse(word.as_str()), Some(word));
        assert_eq!(Json::encode(&word).unwrap().as_str(), format!("\"{}\"", word.as_str()));
    }
    assert_eq!((JobState::parse("queued"), AttemptWord::parse("")), (None, None));
}
