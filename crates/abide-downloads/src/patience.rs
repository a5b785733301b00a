//! What an attempt does when its download cannot be tried for now: pure.
//!
//! Its URL was not asked for, so no attempt is used up. Where the host is the reason, the job goes back and waits at the
//! host's key, and the worker has its hands free. Where this machine is the reason, it is the same for every download, and
//! the attempt waits.

use abide_core::job::Lease;
use abide_fetch::{DownloadError, FetchError};
use std::time::Duration;

/// So often a job goes back. The engine makes a dead letter of one that goes back too often
/// ([`JOB_RESTARTS`](abide_core::limits::JOB_RESTARTS)), and half of that is for restarts.
const HAND_BACKS: u32 = abide_core::limits::JOB_RESTARTS / 2;
/// Between two looks at a machine that can take no file.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Whether the attempt of `lease` that met `error` may go back without being counted.
pub(crate) fn may_hand_back(error: &DownloadError, lease: &Lease) -> bool {
    let is_unasked = matches!(error, DownloadError::Fetch(error) if error.is_unasked());
    is_unasked && cut_short(lease) < HAND_BACKS
}

/// How long the attempt of `lease` waits where it is before it tries again; none if waiting is not for it.
///
/// A crawl delay is waited for as long as it takes. A host that does not come back is not: the wait counts in the end.
pub(crate) fn waits_here(error: &DownloadError, lease: &Lease) -> Option<Duration> {
    match error {
        local if local.is_local() => Some(LOOK_AGAIN),
        paced @ DownloadError::Fetch(FetchError::Paced { wait_ms, .. }) => {
            (!may_hand_back(paced, lease)).then(|| Duration::from_millis(wait_ms.unsigned_abs()))
        }
        _ => None,
    }
}

/// Attempts before this one that did not count as failures.
fn cut_short(lease: &Lease) -> u32 {
    lease.lease.attempt.saturating_sub(1 + lease.failures)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use abide_core::job::{JobId, LeaseRef, LeaseToken};
    use abide_core::json::Json;
    use abide_core::name::{JobKind, QueueName};
    use abide_core::time::Time;
    use std::io;
    use std::path::PathBuf;

    pub(crate) fn lease(attempt: u32, failures: u32) -> Lease {
        Lease {
            lease: LeaseRef { job: JobId(1), attempt, token: LeaseToken::draw(0, JobId(1), attempt) },
            queue: QueueName::new("download").unwrap(),
            kind: JobKind::new("download").unwrap(),
            payload: Json::trusted("{}"),
            unique_key: None,
            failures,
            max_attempts: 3,
            lease_expires_at: Time::ZERO,
            trace: None,
        }
    }

    fn check(error: impl Into<DownloadError>, attempt: u32, goes_back: bool, waits_ms: Option<u64>) {
        let (error, lease) = (error.into(), lease(attempt, 2));
        let found = (may_hand_back(&error, &lease), waits_here(&error, &lease));
        assert_eq!(found, (goes_back, waits_ms.map(Duration::from_millis)), "{error} at {attempt}");
    }

    #[test]
    fn a_host_that_is_left_alone_takes_no_attempt() {
        let paced = || FetchError::Paced { host: "h".into(), wait_ms: 31_000 };
        let open = || FetchError::BreakerOpen { host: "h".into(), wait_ms: 31_000 };
        check(paced(), 3, true, None);
        check(paced(), 7, true, None);
        check(paced(), 8, false, Some(31_000));
        check(open(), 7, true, None);
        check(open(), 8, false, None);
        check(FetchError::Status { host: "h".into(), status: 503, retry_after_ms: Some(9) }, 3, false, None);
    }

    #[test]
    fn a_full_disk_is_waited_for_and_a_bad_name_is_not() {
        let disk = |kind: io::ErrorKind| DownloadError::Disk {
            doing: "writing",
            path: PathBuf::from("p"),
            source: kind.into(),
        };
        let full = DownloadError::NoRoom { path: PathBuf::from("p"), free: 1, needed: 2, floor: 3 };
        check(full, 3, false, Some(5_000));
        check(DownloadError::Busy { path: PathBuf::from("p") }, 99, false, Some(5_000));
        check(disk(io::ErrorKind::StorageFull), 3, false, Some(5_000));
        check(disk(io::ErrorKind::ReadOnlyFilesystem), 3, false, Some(5_000));
        check(disk(io::ErrorKind::PermissionDenied), 3, false, Some(5_000));
        check(disk(io::ErrorKind::IsADirectory), 3, false, None);
        check(DownloadError::Stopped, 3, false, None);
    }
}
