//! Every bound of fetching, in one place.

/// Bytes of a URL.
pub const URL_BYTES: usize = 8 * 1024;
/// Redirects that are followed.
pub const REDIRECTS: usize = 5;
/// Addresses of one name that are tried.
pub const ADDRESSES: usize = 16;
/// Time to resolve a name, connect and agree on TLS.
pub const CONNECT_MS: u64 = 5_000;
/// Time from the request to the end of the reply's headers.
pub const HEADERS_MS: u64 = 30_000;
/// Time without a byte of the body.
pub const IDLE_MS: u64 = 30_000;
/// Connections to one host that are kept for the next request.
pub const POOLED: usize = 16;
/// Requests at the same time with a host to which a redirect leads.
pub const PER_HOST: usize = 4;
/// The longest a request waits for a place at such a host; beyond it fails and says when to come back.
pub const PLACE_WAIT_MS: u64 = 5_000;
/// When one that found no place comes back.
pub const PLACE_AGAIN_MS: i64 = 10_000;
/// Headers of one reply.
pub const HEADERS: usize = 100;

/// Bytes of a page, after decoding.
pub const PAGE_BYTES: u64 = 10 * 1024 * 1024;
/// Time for a page, redirects and all.
pub const PAGE_MS: u64 = 120_000;
/// Bytes of a downloaded file.
pub const DOWNLOAD_BYTES: u64 = 10 * 1024 * 1024 * 1024;
/// Time for one attempt at a file; what has arrived is kept for the next.
pub const DOWNLOAD_MS: u64 = 3_600_000;
/// Bytes written to disk at a time.
pub const CHUNK_BYTES: usize = 1024 * 1024;
/// Bytes that a download leaves free on its disk, which others need too.
pub const DISK_FLOOR_BYTES: u64 = 1024 * 1024 * 1024;
/// Bytes of a part file between two syncs. At most so much is fetched again after a crash.
pub const CHECKPOINT_BYTES: u64 = 16 * 1024 * 1024;
/// And the time between two of them, for files that come slowly.
pub const CHECKPOINT_MS: u64 = 2_000;
/// Attempts after a failure in the middle of a body, within one download.
pub const STREAM_RETRIES: u32 = 1;
/// Bytes of a file's own name, before an extension or the mark that tells it from its namesakes.
pub const FILE_NAME_BYTES: usize = 180;
/// Bytes of the stem that a file is named by.
pub const STEM_BYTES: usize = 150;
/// Bytes of a part's or a file's record.
pub const RECORD_BYTES: u64 = 64 * 1024;
/// Bytes of a validator (`ETag`, `Last-Modified`) that is kept.
pub const VALIDATOR_BYTES: usize = 1_024;

/// The longest `Retry-After` that is believed.
pub const RETRY_AFTER_MS: i64 = 900_000;
/// Failures in a row that open a host's breaker.
pub const BREAKER_FAILURES: u32 = 5;
/// How long a breaker stays open, and how long a trial may take before another is allowed.
pub const BREAKER_RESET_MS: i64 = 60_000;
/// Hosts whose breaker and pace are remembered.
pub const HOSTS: usize = 10_000;

/// Bytes of a robots.txt that are read; the rest is ignored.
pub const ROBOTS_BYTES: usize = 500 * 1024;
/// Time for a robots.txt.
pub const ROBOTS_MS: u64 = 5_000;
/// How long a robots.txt is believed.
pub const ROBOTS_KEPT_MS: i64 = 3_600_000;
/// How long a robots.txt that could not be read shuts its host.
pub const ROBOTS_UNREACHABLE_MS: i64 = 60_000;
/// Hosts whose robots.txt is remembered.
pub const ROBOTS_HOSTS: usize = 10_000;
/// Bytes of all robots.txt that are remembered.
pub const ROBOTS_KEPT_BYTES: usize = 32 * 1024 * 1024;
/// The longest `Crawl-delay` that is obeyed.
pub const CRAWL_DELAY_MS: i64 = 60_000;
/// The longest a request waits for its host's pace; beyond it fails and says when to come back.
pub const PACE_WAIT_MS: i64 = 30_000;
