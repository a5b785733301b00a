//! What an attempt does when its download cannot be tried for now: pure.
//!
//! Its URL was not asked for, or what came could not be kept, so no attempt is used up. Where the host is the reason, the
//! job is put off, and the worker has its hands free. Where this machine is the reason, it is the same for every download,
//! and the attempt waits.

use abide_core::job::Lease;
use abide_fetch::{DownloadError, FetchError};
use std::time::Duration;

/// So often a job is put off for a host that may never come back; then the wait counts, so that it ends some day.
const PUT_OFFS: u32 = 5;
/// Between two looks at a machine that can take no file.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// In how long the attempt of `lease` that met `error` is made again without having counted; none if it counts.
///
/// A crawl delay and a place at a host are waited for as often as it takes, and so is this machine: by then the attempt has
/// waited for it.
pub(crate) fn put_off_ms(error: &DownloadError, lease: &Lease) -> Option<i64> {
    match error {
        local if local.is_local() => Some(0),
        DownloadError::Fetch(FetchError::Paced { wait_ms, .. } | FetchError::Crowded { wait_ms, .. }) => {
            Some(*wait_ms)
        }
        DownloadError::Fetch(
            FetchError::BreakerOpen { wait_ms, .. } | FetchError::RobotsUnreachable { wait_ms, .. },
        ) => (uncounted(lease) < PUT_OFFS).then_some(*wait_ms),
        DownloadError::Fetch(_)
        | DownloadError::UnexpectedType { .. }
        | DownloadError::Busy { .. }
        | DownloadError::Path { .. }
        | DownloadError::Disk { .. }
        | DownloadError::NoRoom { .. }
        | DownloadError::Stopped => None,
    }
}

/// How long an attempt that met `error` waits where it is before it tries again; none if waiting is not for it.
pub(crate) fn waits_here(error: &DownloadError) -> Option<Duration> {
    error.is_local().then_some(LOOK_AGAIN)
}

/// Attempts before this one that did not count as failures.
fn uncounted(lease: &Lease) -> u32 {
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

    fn check(error: impl Into<DownloadError>, attempt: u32, put_off: Option<i64>, waits_ms: Option<u64>) {
        let error = error.into();
        let found = (put_off_ms(&error, &lease(attempt, 2)), waits_here(&error));
        assert_eq!(found, (put_off, waits_ms.map(Duration::from_millis)), "{error} at {attempt}");
    }

    #[test]
    fn a_host_that_is_left_alone_takes_no_attempt() {
        let paced = || FetchError::Paced { host: "h".into(), wait_ms: 31_000 };
        let open = || FetchError::BreakerOpen { host: "h".into(), wait_ms: 31_000 };
        let robots = || FetchError::RobotsUnreachable { host: "h".into(), status: 503, wait_ms: 31_000 };
        check(paced(), 3, Some(31_000), None);
        check(paced(), 1_000, Some(31_000), None);
        check(FetchError::Crowded { host: "h".into(), wait_ms: 10_000 }, 1_000, Some(10_000), None);
        check(open(), 7, Some(31_000), None);
        check(open(), 8, None, None);
        check(robots(), 7, Some(31_000), None);
        check(robots(), 8, None, None);
        check(FetchError::Status { host: "h".into(), status: 503, retry_after_ms: Some(9) }, 3, None, None);
    }

    #[test]
    fn a_full_disk_is_waited_for_and_a_bad_name_is_not() {
        let disk = |kind: io::ErrorKind| DownloadError::Disk {
            doing: "writing",
            path: PathBuf::from("p"),
            source: kind.into(),
        };
        let full = DownloadError::NoRoom { path: PathBuf::from("p"), free: 1, needed: 2, floor: 3 };
        check(full, 3, Some(0), Some(5_000));
        check(DownloadError::Busy { path: PathBuf::from("p") }, 99, Some(0), Some(5_000));
        check(disk(io::ErrorKind::StorageFull), 99, Some(0), Some(5_000));
        check(disk(io::ErrorKind::ReadOnlyFilesystem), 3, Some(0), Some(5_000));
        check(disk(io::ErrorKind::PermissionDenied), 3, Some(0), Some(5_000));
        check(disk(io::ErrorKind::IsADirectory), 3, None, None);
        check(DownloadError::Stopped, 3, None, None);
    }
}
