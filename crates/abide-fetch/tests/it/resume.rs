//! Downloads that are cut, stopped or run twice, and servers that answer a range in odd ways.

use crate::case::{Case, bytes, cut, ranged, saved, sha256};
use abide_core::job::RetryWish;
use abide_fetch::download::Saved;
use abide_fetch::testing::{Act, Request, Server, head, reply};
use abide_fetch::{Download, DownloadError, Reason};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

type Script = Box<dyn Fn(&Request) -> Act + Send + Sync>;

#[tokio::test]
async fn a_body_that_breaks_off_is_resumed_at_once_and_once() {
    let body = bytes(10_000);
    let served = body.clone();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => cut(ranged(request, &served, "\"v1\""), 4_000),
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let found = saved(case.run(server.url("/a")).await);
    assert_eq!((found.sha256, found.status, found.resumed_from), (sha256(&body), 200, 0));
    let requests = server.requests();
    assert_eq!(requests[0].header("range"), None);
    assert_eq!(requests[1].header("range"), Some("bytes=4000-"));
    assert_eq!(requests[1].header("if-range"), Some("\"v1\""));
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn the_next_run_goes_on_where_the_last_was_cut() {
    let body = bytes(10_000);
    let served = body.clone();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => cut(ranged(request, &served, "\"v1\""), 4_000),
        1 => cut(ranged(request, &served, "\"v1\""), 1_000),
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let error = case.run(server.url("/a")).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), (Reason::SizeMismatch, RetryWish::ByPolicy));
    assert!(case.files().is_empty());
    assert_eq!(case.notes(), [".part", ".part.json"]);
    let found = saved(case.run(server.url("/a")).await);
    assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 5_000));
    assert_eq!(case.notes(), [".json"]);
}

#[tokio::test]
async fn a_part_is_started_anew_if_the_server_changed_the_file() {
    let (old, new) = (bytes(10_000), bytes(20_000)[5_000..].to_vec());
    let (served_old, served_new) = (old.clone(), new.clone());
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => cut(ranged(request, &served_old, "\"v1\""), 4_000),
        _ => ranged(request, &served_new, "\"v2\""),
    });
    let case = Case::new();
    let found = saved(case.run(server.url("/a")).await);
    assert_eq!((found.size, found.sha256, found.resumed_from), (15_000, sha256(&new), 0));
    assert_eq!(found.etag.as_deref(), Some("\"v2\""));
}

/// What comes of a server that does odd things with ranges after a first reply that was cut.
async fn after_a_cut(then: impl Fn(&Request) -> Act + Send + Sync + 'static) -> (Vec<Request>, Saved) {
    let body = bytes(10_000);
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => cut(ranged(request, &body, "\"v1\""), 4_000),
        1 => then(request),
        _ => ranged(request, &body, "\"v1\""),
    });
    let case = Case::new();
    // No more than the file has: what does not fit is not added to what is there.
    let download = Download { bytes_max: 10_000, ..case.of(server.url("/a")) };
    let result = download.run(&case.world.fetcher).await;
    (server.requests(), saved(result))
}

#[tokio::test]
async fn ranges_that_do_not_fit_start_anew() {
    let whole = bytes(10_000);
    let odd: Vec<(&str, Script)> = vec![
        ("ignores the range", Box::new(|_| reply(200, &[("ETag", "\"v1\"")], &bytes(10_000)))),
        (
            "another start",
            Box::new(|_| reply(206, &[("Content-Range", "bytes 0-9999/10000")], &bytes(10_000))),
        ),
        (
            "not to the end",
            Box::new(|_| reply(206, &[("Content-Range", "bytes 4000-4999/10000")], &[0; 1_000])),
        ),
        (
            "another length",
            Box::new(|_| reply(206, &[("Content-Range", "bytes 4000-4999/5000")], &[0; 1_000])),
        ),
        ("no range at all", Box::new(|_| reply(206, &[], &[0; 6_000]))),
        (
            "many ranges",
            Box::new(|_| reply(206, &[("Content-Type", "multipart/byteranges; boundary=x")], b"--x--")),
        ),
        (
            "another tag",
            Box::new(|_| {
                reply(206, &[("Content-Range", "bytes 4000-9999/10000"), ("ETag", "\"v2\"")], &[0; 6_000])
            }),
        ),
        ("unsatisfiable", Box::new(|_| reply(416, &[("Content-Range", "bytes */10000")], b""))),
    ];
    for (name, then) in odd {
        let (requests, found) = after_a_cut(then).await;
        assert_eq!((found.sha256, found.resumed_from), (sha256(&whole), 0), "{name}");
        assert!(requests.last().unwrap().header("range").is_none() || name == "ignores the range", "{name}");
    }
}

#[tokio::test]
async fn a_part_without_a_validator_is_not_resumed() {
    for headers in [
        vec![],
        vec![("ETag", "W/\"weak\"")],
        vec![("ETag", "W/\"w\""), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")],
    ] {
        let count = AtomicUsize::new(0);
        let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => cut(reply(200, &headers, &bytes(10_000)), 4_000),
            _ => reply(200, &headers, &bytes(10_000)),
        });
        let found = saved(Case::new().run(server.url("/a")).await);
        assert_eq!(found.sha256, sha256(&bytes(10_000)));
        assert!(server.requests().iter().all(|request| request.header("range").is_none()));
    }
}

#[tokio::test]
async fn a_date_is_a_validator_too() {
    let date = "Thu, 01 Jan 2026 00:00:00 GMT";
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        match (count.fetch_add(1, Ordering::SeqCst), request.header("if-range")) {
            (0, _) => cut(reply(200, &[("Last-Modified", date)], &bytes(10_000)), 4_000),
            (_, Some(found)) if found == date => {
                reply(206, &[("Content-Range", "bytes 4000-9999/10000")], &bytes(10_000)[4_000..])
            }
            (_, _) => reply(500, &[], b""),
        }
    });
    let found = saved(Case::new().run(server.url("/a")).await);
    assert_eq!((found.sha256, found.last_modified.as_deref()), (sha256(&bytes(10_000)), Some(date)));
}

#[tokio::test]
async fn the_bound_counts_what_was_there_before() {
    for range in ["bytes 600-1199/1200", "bytes  600-1199/1200", "bytes 600 -1199/1200"] {
        let count = AtomicUsize::new(0);
        let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => chunked_and_broken(&bytes(600)),
            _ => reply(206, &[("ETag", "\"v1\""), ("Content-Range", range)], &bytes(1_200)[600..]),
        });
        let case = Case::new();
        let download = Download { bytes_max: 1_000, ..case.of(server.url("/a")) };
        let error = download.run(&case.world.fetcher).await.expect_err(range);
        assert_eq!(error.reason(), Reason::PolicySize, "{range}");
        assert_eq!(server.requests()[1].header("range"), Some("bytes=600-"));
    }
}

/// A body of unknown length that breaks off, of a file with a tag.
fn chunked_and_broken(body: &[u8]) -> Act {
    let start = head(200, &[("ETag", "\"v1\""), ("Transfer-Encoding", "chunked")]);
    let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat();
    Act::RawThenReset([start, chunk].concat())
}

#[tokio::test]
async fn a_server_that_sends_all_again_is_within_the_bound_of_all() {
    let body = bytes(1_000);
    let whole = {
        let served = body.clone();
        move |_: &Request| reply(200, &[("ETag", "\"v2\"")], &served)
    };
    let chunked = {
        let served = body.clone();
        move |_: &Request| {
            let start = head(200, &[("Transfer-Encoding", "chunked")]);
            let chunk = [b"3e8\r\n", served.as_slice(), b"\r\n0\r\n\r\n"].concat();
            Act::Raw([start, chunk].concat())
        }
    };
    let answers: [Script; 2] = [Box::new(whole), Box::new(chunked)];
    for answer in answers {
        let (count, start) = (AtomicUsize::new(0), body[..600].to_vec());
        let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
            0 => chunked_and_broken(&start),
            _ => answer(request),
        });
        let case = Case::new();
        let download = Download { bytes_max: 1_000, ..case.of(server.url("/a")) };
        let found = saved(download.run(&case.world.fetcher).await);
        assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 0));
        assert_eq!(server.requests()[1].header("range"), Some("bytes=600-"));
    }
}

#[tokio::test]
async fn the_rest_must_be_as_long_as_the_server_says() {
    let body = bytes(10_000);
    let (served, count) = (body.clone(), AtomicUsize::new(0));
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => chunked_and_broken(&served[..4_000]),
        // It says how much it has, not how much it sends, and ends in good order too early.
        1 => {
            let range = ("Content-Range", "bytes 4000-9999/10000");
            let start = head(206, &[("ETag", "\"v1\""), range, ("Transfer-Encoding", "chunked")]);
            let chunk = [b"a\r\n", &served[4_000..4_010], b"\r\n0\r\n\r\n"].concat();
            Act::Raw([start, chunk].concat())
        }
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let error = case.run(server.url("/a")).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), (Reason::SizeMismatch, RetryWish::ByPolicy), "{error:?}");
    assert!(case.files().is_empty());
    let found = saved(case.run(server.url("/a")).await);
    assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 4_010));
}

#[tokio::test]
async fn a_server_that_breaks_off_and_knows_no_ranges_may_be_asked_again() {
    let body = bytes(10_000);
    let (served, asked) = (body.clone(), AtomicUsize::new(0));
    let server =
        Server::start(move |request| match (request.header("range"), asked.fetch_add(1, Ordering::SeqCst)) {
            (Some(_), _) => reply(416, &[], b""),
            (None, ..5) => cut(reply(200, &[("ETag", "\"v1\"")], &served), 4_000),
            (None, _) => reply(200, &[("ETag", "\"v1\"")], &served),
        });
    let case = Case::new();
    for _ in 0..2 {
        let error = case.run(server.url("/a")).await.unwrap_err();
        assert_eq!((error.reason(), error.retry()), (Reason::SizeMismatch, RetryWish::ByPolicy), "{error:?}");
    }
    assert_eq!(saved(case.run(server.url("/a")).await).sha256, sha256(&body));
}

#[tokio::test]
async fn a_download_that_is_stopped_keeps_what_it_has() {
    let body = bytes(3_000_000);
    let served = body.clone();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => match cut(ranged(request, &served, "\"v1\""), 1_500_000) {
            Act::RawThenReset(start) => Act::RawThenHold(start),
            _ => unreachable!(),
        },
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let is_under_way = Arc::new(tokio::sync::Notify::new());
    let stop = is_under_way.clone();
    let download = case.of(server.url("/a"));
    let run = download.run_until(&case.world.fetcher, stop.notified(), |_| is_under_way.notify_one());
    let error = run.await.unwrap_err();
    assert!(matches!(error, DownloadError::Stopped), "{error:?}");
    let found = saved(case.run(server.url("/a")).await);
    assert!((1_048_576..=1_500_000).contains(&found.resumed_from), "{}", found.resumed_from);
    assert_eq!(found.sha256, sha256(&body));
}

#[tokio::test]
async fn a_download_that_dies_without_a_word_has_kept_what_came_slowly() {
    let body = bytes(10_000);
    let served = body.clone();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => match cut(ranged(request, &served, "\"v1\""), 4_000) {
            Act::RawThenReset(start) => Act::RawThenHold(start),
            _ => unreachable!(),
        },
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let kept = async {
        while !case.dir.path().join(".abide").exists() || !case.notes().contains(&".part.json".to_owned()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        ended = case.run(server.url("/a")) => panic!("nothing more comes: {ended:?}"),
        () = kept => {}
    }
    // What is being written when a run dies holds the part a moment longer.
    let found = loop {
        match case.run(server.url("/a")).await {
            Err(DownloadError::Busy { .. }) => tokio::task::yield_now().await,
            found => break saved(found),
        }
    };
    assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 4_000));
}

#[tokio::test]
async fn two_attempts_never_write_one_part() {
    let server = Server::start(|_| Act::RawThenHold(head(200, &[("Content-Length", "10")])));
    let case = Case::new();
    let attempt = || {
        let (download, fetcher) = (case.of(server.url("/a")), case.world.fetcher.clone());
        tokio::spawn(async move { download.run(&fetcher).await })
    };
    let (mut one, mut other) = (attempt(), attempt());
    let (ended, at_it) = tokio::select! {
        ended = &mut one => (ended, other),
        ended = &mut other => (ended, one),
    };
    let error = ended.unwrap().unwrap_err();
    assert!(matches!(error, DownloadError::Busy { .. }), "{error:?}");
    assert_eq!((error.reason(), error.retry()), (Reason::DownloadError, RetryWish::ByPolicy));
    assert!(!at_it.is_finished());
    at_it.abort();
}

#[tokio::test]
async fn notes_that_make_no_sense_are_started_over() {
    let body = bytes(10_000);
    let served = body.clone();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let server = Server::start(move |request| match seen.fetch_add(1, Ordering::SeqCst) % 3 {
        0 | 1 => cut(ranged(request, &served, "\"v1\""), 1_000),
        _ => ranged(request, &served, "\"v1\""),
    });
    let spoils: [fn(&Path, &Path); 4] = [
        |_, notes| fs::write(notes, "{").unwrap(),
        |_, notes| fs::write(notes, fs::read_to_string(notes).unwrap().replace("/a\"", "/other\"")).unwrap(),
        |part, _| fs::write(part, "short").unwrap(),
        |part, _| fs::remove_file(part).unwrap(),
    ];
    for spoil in spoils {
        count.store(0, Ordering::SeqCst);
        let case = Case::new();
        assert!(case.run(server.url("/a")).await.is_err());
        let find = |end: &str| {
            let entries =
                fs::read_dir(case.dir.path().join(".abide")).unwrap().map(|entry| entry.unwrap().path());
            entries.into_iter().find(|path| path.to_str().unwrap().ends_with(end)).unwrap()
        };
        spoil(&find(".part"), &find(".part.json"));
        let found = saved(case.run(server.url("/a")).await);
        assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 0));
    }
    // Bytes behind what is known to be durable are not trusted.
    count.store(0, Ordering::SeqCst);
    let case = Case::new();
    assert!(case.run(server.url("/a")).await.is_err());
    let part = fs::read_dir(case.dir.path().join(".abide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "part"))
        .unwrap();
    let mut grown = fs::read(&part).unwrap();
    grown.extend_from_slice(&[0; 500]);
    fs::write(&part, grown).unwrap();
    let found = saved(case.run(server.url("/a")).await);
    assert_eq!((found.sha256, found.resumed_from), (sha256(&body), 2_000));
}

#[tokio::test]
async fn a_file_that_a_dead_run_put_in_its_place_stays_whole() {
    let body = bytes(10_000);
    let served = body.clone();
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => ranged(request, &served, "\"v1\""),
        _ => cut(ranged(request, &served, "\"v2\""), 1_000),
    });
    let case = Case::new();
    let found = saved(case.run(server.url("/a")).await);
    // As a run leaves it that is killed right after it has put the file in its place, and whose notes a power cut takes.
    let notes = case.dir.path().join(".abide");
    let record = fs::read_dir(&notes).unwrap().next().unwrap().unwrap().path();
    fs::hard_link(&found.path, record.with_extension("part")).unwrap();
    fs::remove_file(record).unwrap();
    assert!(case.run(server.url("/a")).await.is_err());
    assert!(fs::read(&found.path).unwrap() == body);
}
