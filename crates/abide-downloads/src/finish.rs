//! What a download that ended means for its job: pure.

use crate::patience::put_off_ms;
use abide_core::job::{AttemptEnd, CoolDown, Finish, JobId, Lease, LeaseRef, RetryWish};
use abide_core::name::LimitKey;
use abide_engine::worker::{done, skipped};
use abide_fetch::download::Saved;
use abide_fetch::reason::{Class, Reason};
use abide_fetch::{DownloadError, Downloaded};
use serde::Serialize;

/// What is recorded of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DownloadResult {
    /// Of which artifact.
    pub artifact_id: String,
    /// `ok`.
    pub reason: &'static str,
    /// Where the file is.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
    /// The HTTP status.
    pub status: u16,
    /// The URL after redirects.
    pub url: String,
    /// The server's name for this version.
    pub etag: Option<String>,
    /// When the server says it was changed.
    pub last_modified: Option<String>,
    /// What the server says it is.
    pub content_type: Option<String>,
    /// How the bytes are coded, if they are.
    pub content_encoding: Option<String>,
    /// Bytes that an earlier attempt had brought.
    pub resumed_from: u64,
}

/// How the attempt of `lease` ends. A reason begins with its code: `robots: …`. A job that can only wait is put off without
/// having used an attempt or its host's rate, and its host rests for as long.
#[must_use]
pub fn finish(lease: &Lease, artifact_id: &str, ended: Result<Downloaded, DownloadError>) -> Finish {
    let error = match ended {
        Ok(Downloaded::Saved(saved)) => return done(&result(artifact_id, saved)),
        Ok(Downloaded::NotModified(saved)) if is_of_an_earlier_attempt(lease, &saved) => {
            return done(&result(artifact_id, saved));
        }
        Ok(Downloaded::NotModified(_)) => return skipped(Reason::NotModified.as_str()),
        Err(DownloadError::Stopped) => return AttemptEnd::HandedBack.into(),
        Err(error) => error,
    };
    let reason = format!("{}: {error}", error.reason());
    let cool_down: Vec<_> = rest(&error).into_iter().collect();
    if let Some(wait_ms) = put_off_ms(&error, lease) {
        let refund = cool_down.iter().map(|rest| rest.key.clone()).collect();
        let end = AttemptEnd::Error { reason, retry: RetryWish::UncountedAfterMs(wait_ms) };
        return Finish { end, refund, cool_down };
    }
    let end = match error.reason().class() {
        Class::Skipped => AttemptEnd::Skipped { reason },
        Class::Done | Class::Retryable | Class::Final => AttemptEnd::Error { reason, retry: error.retry() },
    };
    Finish { end, refund: Vec::new(), cool_down }
}

/// How the record of a file names the attempt that brought it.
#[must_use]
pub fn asker(job: JobId, attempt: u32) -> String {
    format!("job {job}, attempt {attempt}")
}

/// Whether an attempt before that of `lease` brought the file, and its end was not heard: the file is what the job is for.
fn is_of_an_earlier_attempt(lease: &Lease, saved: &Saved) -> bool {
    let LeaseRef { job, attempt, .. } = lease.lease;
    saved.asked_by.as_ref().is_some_and(|by| (1..attempt).any(|earlier| *by == asker(job, earlier)))
}

/// Leaves the host of `key` alone for `for_ms` more, unless it is left alone for longer already.
pub fn cool_down(finish: &mut Finish, key: &LimitKey, for_ms: i64) {
    match finish.cool_down.iter_mut().find(|known| known.key == *key) {
        Some(known) => known.for_ms = known.for_ms.max(for_ms),
        None => finish.cool_down.push(CoolDown { key: key.clone(), for_ms }),
    }
}

fn result(artifact_id: &str, saved: Saved) -> DownloadResult {
    DownloadResult {
        artifact_id: artifact_id.to_owned(),
        reason: Reason::Ok.as_str(),
        path: saved.path.to_string_lossy().into_owned(),
        size: saved.size,
        sha256: saved.sha256,
        status: saved.status,
        url: saved.url,
        etag: saved.etag,
        last_modified: saved.last_modified,
        content_type: saved.content_type,
        content_encoding: saved.content_encoding,
        resumed_from: saved.resumed_from,
    }
}

fn rest(error: &DownloadError) -> Option<CoolDown> {
    let DownloadError::Fetch(error) = error else { return None };
    let rest = error.rest()?;
    Some(CoolDown { key: LimitKey::new(format!("host:{}", rest.host)).ok()?, for_ms: rest.wait_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::tests::lease;
    use abide_fetch::FetchError;
    use abide_fetch::error::Phase;
    use abide_fetch::refused::Refused;
    use std::path::PathBuf;

    fn check(error: impl Into<DownloadError>, expected: AttemptEnd, rests_ms: Option<i64>) {
        let found = finish(&lease(9, 1), "a", Err(error.into()));
        assert_eq!(found.end, expected);
        let expected: Vec<CoolDown> = rests_ms
            .map(|for_ms| CoolDown { key: LimitKey::new("host:a.example:8080").unwrap(), for_ms })
            .into_iter()
            .collect();
        assert_eq!(found.cool_down, expected);
    }

    fn error(reason: &str, retry: RetryWish) -> AttemptEnd {
        AttemptEnd::Error { reason: reason.to_owned(), retry }
    }

    #[test]
    fn every_kind_of_failure_has_its_end() {
        let host = || "a.example:8080".to_owned();
        check(
            FetchError::Status { host: host(), status: 503, retry_after_ms: Some(7_000) },
            error("retry-after: a.example:8080 answered 503", RetryWish::AfterMs(7_000)),
            Some(7_000),
        );
        check(
            FetchError::Status { host: host(), status: 500, retry_after_ms: None },
            error("backoff: a.example:8080 answered 500", RetryWish::ByPolicy),
            None,
        );
        check(
            FetchError::Status { host: host(), status: 404, retry_after_ms: None },
            error("http-error: a.example:8080 answered 404", RetryWish::Never),
            None,
        );
        check(
            FetchError::BreakerOpen { host: host(), wait_ms: 9 },
            error(
                "breaker-open: a.example:8080 failed too often of late and is left alone",
                RetryWish::AfterMs(9),
            ),
            Some(9),
        );
        check(
            FetchError::Timeout { host: host(), phase: Phase::Idle },
            error("timeout: a.example:8080 took too long: the next piece of the body", RetryWish::ByPolicy),
            None,
        );
        check(
            FetchError::Refused(Refused::LocalName { host: "localhost".into() }),
            error(
                "security-policy: \"localhost\" names this machine or its network, which URLs from data may not reach \
                 (fetch.allow_private)",
                RetryWish::Never,
            ),
            None,
        );
        let skipped =
            AttemptEnd::Skipped { reason: "robots: robots.txt of a.example:8080 does not allow /x".into() };
        check(FetchError::Robots { host: host(), path: "/x".into() }, skipped, None);
        check(
            DownloadError::Busy { path: PathBuf::from("p") },
            error("download-error: another attempt is still writing p", RetryWish::UncountedAfterMs(0)),
            None,
        );
        check(DownloadError::Stopped, AttemptEnd::HandedBack, None);
    }

    #[test]
    fn what_was_not_asked_for_is_put_off_and_its_host_rests() {
        let host = || "a.example:8080".to_owned();
        let key = LimitKey::new("host:a.example:8080").unwrap();
        for fetch in [
            FetchError::Paced { host: host(), wait_ms: 31_000 },
            FetchError::BreakerOpen { host: host(), wait_ms: 31_000 },
            FetchError::RobotsUnreachable { host: host(), status: 503, wait_ms: 31_000 },
        ] {
            let reason = format!("{}: {fetch}", fetch.reason());
            let found = finish(&lease(1, 0), "a", Err(fetch.into()));
            let cool_down = vec![CoolDown { key: key.clone(), for_ms: 31_000 }];
            let end = error(&reason, RetryWish::UncountedAfterMs(31_000));
            assert_eq!(found, Finish { end, refund: vec![key.clone()], cool_down });
        }
    }

    #[test]
    fn a_file_that_is_unchanged_is_the_result_of_the_job_whose_earlier_attempt_brought_it() {
        for (asked_by, attempt, is_done) in [
            (Some("job 1, attempt 1"), 2, true),
            (Some("job 1, attempt 2"), 9, true),
            (Some("job 1, attempt 2"), 2, false),
            (Some("job 2, attempt 1"), 2, false),
            (None, 2, false),
        ] {
            let asked_by = asked_by.map(str::to_owned);
            let found = finish(&lease(attempt, 0), "a", Ok(Downloaded::NotModified(saved(asked_by.clone()))));
            let expected =
                if is_done { done(&result("a", saved(asked_by.clone()))) } else { skipped("not-modified") };
            assert_eq!(found, expected, "{asked_by:?} at {attempt}");
        }
    }

    fn saved(asked_by: Option<String>) -> Saved {
        Saved {
            path: PathBuf::from("p"),
            size: 1,
            sha256: "h".to_owned(),
            status: 304,
            url: "http://a.example/".to_owned(),
            etag: Some("v".to_owned()),
            last_modified: None,
            content_type: None,
            content_encoding: None,
            resumed_from: 0,
            asked_by,
        }
    }

    #[test]
    fn the_longest_rest_counts() {
        let mut finish =
            finish(&lease(9, 1), "a", Err(FetchError::BreakerOpen { host: "h".into(), wait_ms: 9 }.into()));
        let key = LimitKey::new("host:h").unwrap();
        cool_down(&mut finish, &key, 5);
        assert_eq!(finish.cool_down, [CoolDown { key: key.clone(), for_ms: 9 }]);
        cool_down(&mut finish, &key, 50);
        assert_eq!(finish.cool_down, [CoolDown { key, for_ms: 50 }]);
    }
}
