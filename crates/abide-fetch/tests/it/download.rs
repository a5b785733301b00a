//! Files: saved, named, checked again, refused.

use crate::case::{Case, bytes, ranged, saved, sha256};
use abide_core::job::RetryWish;
use abide_fetch::download::Saved;
use abide_fetch::testing::{Act, Server, head, redirect, reply};
use abide_fetch::{Download, DownloadError, Downloaded, Reason};
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

#[tokio::test]
async fn a_file_is_saved_with_its_size_and_hash() {
    let body = bytes(3_000_000);
    let served = body.clone();
    let server = Server::start(move |request| match request.path.as_str() {
        "/start" => redirect("/files/paper"),
        _ => ranged(request, &served, "\"v1\""),
    });
    let case = Case::new();
    let mut notes = Vec::new();
    let url = server.url("/start");
    let run = case
        .of(url)
        .run_until(&case.world.fetcher, std::future::pending(), |progress| notes.push(progress))
        .await;
    let dir = case.dir.path().canonicalize().unwrap();
    let expected = Saved {
        path: dir.join("paper.pdf"),
        size: 3_000_000,
        sha256: sha256(&body),
        status: 200,
        url: server.url("/files/paper"),
        etag: Some("\"v1\"".into()),
        last_modified: None,
        content_type: Some("application/pdf".into()),
        content_encoding: None,
        resumed_from: 0,
        asked_by: None,
    };
    assert_eq!(saved(run), expected);
    assert_eq!(case.files(), [("paper.pdf".into(), body)].into());
    assert_eq!(case.notes(), [".json"]);
    assert!(notes.len() >= 3 && notes.is_sorted_by_key(|progress| progress.bytes), "{notes:?}");
    assert_eq!(
        notes.last().map(|progress| (progress.bytes, progress.total)),
        Some((3_000_000, Some(3_000_000)))
    );
}

#[tokio::test]
async fn a_second_run_asks_whether_anything_changed() {
    let body = Arc::new(std::sync::Mutex::new((bytes(1_000), "\"v1\"")));
    let current = body.clone();
    let server = Server::start(move |request| {
        let (body, etag) = current.lock().unwrap().clone();
        ranged(request, &body, etag)
    });
    let case = Case::new();
    let asked_by = |who: &str| Download { asked_by: Some(who.into()), ..case.of(server.url("/a.pdf")) };
    let first = saved(asked_by("one").run(&case.world.fetcher).await);
    match asked_by("another").run(&case.world.fetcher).await.unwrap() {
        Downloaded::NotModified(again) => assert_eq!(again, Saved { status: 304, ..first.clone() }),
        Downloaded::Saved(saved) => panic!("{saved:?}"),
    }
    assert_eq!(first.asked_by.as_deref(), Some("one"));
    assert_eq!(case.notes(), [".json"]);

    *body.lock().unwrap() = (bytes(2_000), "\"v2\"");
    let newer = saved(case.run(server.url("/a.pdf")).await);
    assert_eq!((newer.path, newer.sha256), (first.path, sha256(&bytes(2_000))));
    assert_eq!(case.files().len(), 1);
}

#[tokio::test]
async fn a_file_that_was_changed_or_lost_is_fetched_again() {
    let server = Server::start(|request| ranged(request, &bytes(1_000), "\"v1\""));
    let case = Case::new();
    let first = saved(case.run(server.url("/a.pdf")).await);
    // The same length, and a time that differs.
    fs::write(&first.path, vec![0; 1_000]).unwrap();
    let handle = fs::File::options().write(true).open(&first.path).unwrap();
    handle.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(saved(case.run(server.url("/a.pdf")).await), first);
    fs::write(&first.path, "short").unwrap();
    assert_eq!(saved(case.run(server.url("/a.pdf")).await), first);
    fs::remove_file(&first.path).unwrap();
    assert_eq!(saved(case.run(server.url("/a.pdf")).await), first);
    // Touched, but the same bytes: its hash says so.
    let handle = fs::File::options().write(true).open(&first.path).unwrap();
    handle.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(matches!(case.run(server.url("/a.pdf")).await, Ok(Downloaded::NotModified(_))));
    let asked: Vec<bool> = server.requests().iter().map(|r| r.header("if-none-match").is_some()).collect();
    assert_eq!(asked, [false, false, false, false, true]);
}

#[tokio::test]
async fn a_304_that_nobody_asked_for_is_final() {
    let server = Server::start(|_| reply(304, &[], b""));
    let error = Case::new().run(server.url("/a")).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), (Reason::HttpError, RetryWish::Never));
}

#[tokio::test]
async fn failures_are_retryable_or_final_and_final_ones_leave_nothing() {
    for (status, reason, retry, left) in [
        (404, Reason::HttpError, RetryWish::Never, vec![]),
        (204, Reason::HttpError, RetryWish::Never, vec![]),
        (206, Reason::HttpError, RetryWish::Never, vec![]),
        (500, Reason::Backoff, RetryWish::ByPolicy, vec![".part"]),
        (503, Reason::RetryAfter, RetryWish::AfterMs(7_000), vec![".part"]),
    ] {
        let server = Server::start(move |_| reply(status, &[("Retry-After", "7")], b""));
        let case = Case::new();
        let error = case.run(server.url("/a")).await.unwrap_err();
        assert_eq!((error.reason(), error.retry()), (reason, retry), "{status}");
        assert_eq!(case.notes(), left, "{status}");
    }
}

#[tokio::test]
async fn a_file_over_the_bound_is_final_and_leaves_nothing() {
    let server = Server::start(|request| match request.path.as_str() {
        "/announced" => reply(200, &[], &bytes(2_000)),
        _ => Act::RawThenForever(head(200, &[("ETag", "\"v1\"")]), bytes(65_536)),
    });
    let case = Case::new();
    for (path, reason) in [("/announced", Reason::PolicySize), ("/endless", Reason::TooLarge)] {
        let download = Download { bytes_max: 1_000, ..case.of(server.url(path)) };
        let error = download.run(&case.world.fetcher).await.unwrap_err();
        assert_eq!((error.reason(), error.retry()), (reason, RetryWish::Never));
        assert!(case.notes().is_empty() && case.files().is_empty());
    }
}

#[tokio::test]
async fn the_disk_is_not_filled() {
    let server = Server::start(|_| reply(200, &[], &bytes(1_000)));
    let case = Case::new();
    let download = Download { disk_floor: u64::MAX / 2, ..case.of(server.url("/a")) };
    let error = download.run(&case.world.fetcher).await.unwrap_err();
    assert!(matches!(error, DownloadError::NoRoom { needed: 1_000, .. }), "{error:?}");
    assert_eq!((error.reason(), error.retry()), (Reason::DownloadError, RetryWish::ByPolicy));
    assert!(case.files().is_empty());
}

#[tokio::test]
async fn another_content_type_than_expected_is_final() {
    let server = Server::start(|_| reply(200, &[("Content-Type", "text/html; charset=utf-8")], b"<html>"));
    let case = Case::new();
    for (expected, fits) in
        [("application/pdf", false), ("image/*", false), ("text/*", true), ("TEXT/html", true)]
    {
        let download = Download { content_type: Some(expected.into()), ..case.of(server.url("/a")) };
        let result = download.run(&case.world.fetcher).await;
        assert_eq!(result.is_ok(), fits, "{expected} {result:?}");
        if let Err(error) = result {
            assert_eq!((error.reason(), error.retry()), (Reason::UnexpectedCt, RetryWish::Never));
        }
    }
}

#[tokio::test]
async fn names_from_outside_stay_in_the_directory() {
    let server = Server::start(|request| {
        let name = request.path.split_once('?').map_or("", |(_, name)| name);
        reply(200, &[("Content-Disposition", &format!("attachment; filename=\"{name}\""))], b"x")
    });
    let case = Case::new();
    for (name, expected) in [
        ("../../../etc/passwd", "passwd"),
        ("..", "download"),
        ("/home/me/.ssh/authorized_keys", "authorized_keys"),
        (".abide", "abide"),
        (".hidden", "hidden"),
        ("..\\\\..\\\\x.exe", "x.exe"),
        ("NUL", "_NUL"),
    ] {
        let found = saved(case.run(server.url(&format!("/get?{name}"))).await);
        assert_eq!(found.path, case.dir.path().canonicalize().unwrap().join(expected), "{name}");
    }
    let stem = Download { stem: Some("../../up".into()), ..case.of(server.url("/get?x.pdf")) };
    let found = saved(stem.run(&case.world.fetcher).await);
    assert_eq!(found.path.parent(), Some(case.dir.path().canonicalize().unwrap().as_path()));
}

#[tokio::test]
async fn namesakes_do_not_overwrite_each_other() {
    let server = Server::start(|request| reply(200, &[("ETag", "\"v\"")], request.path.as_bytes()));
    let case = Case::new();
    for folder in ["a", "b", "c"] {
        let found = saved(case.run(server.url(&format!("/{folder}/paper.pdf"))).await);
        assert_eq!(fs::read_to_string(&found.path).unwrap(), format!("/{folder}/paper.pdf"));
    }
    assert_eq!(case.files().len(), 3);
    // Nor a file that was there before.
    fs::write(case.dir.path().join("own.txt"), "mine").unwrap();
    saved(case.run(server.url("/own.txt")).await);
    assert_eq!(fs::read_to_string(case.dir.path().join("own.txt")).unwrap(), "mine");
    // One URL under two names is two files.
    for stem in ["one", "two"] {
        let download = Download { stem: Some(stem.into()), ..case.of(server.url("/same.txt")) };
        saved(download.run(&case.world.fetcher).await);
    }
    assert!(case.files().contains_key("one.txt") && case.files().contains_key("two.txt"));
}

#[tokio::test]
async fn links_are_not_followed() {
    let server = Server::start(|request| ranged(request, b"from outside", "\"v1\""));
    let case = Case::new();
    let outside = TempDir::new().unwrap();
    let target = outside.path().join("target");
    fs::write(&target, "untouched").unwrap();
    std::os::unix::fs::symlink(&target, case.dir.path().join("a.pdf")).unwrap();
    let found = saved(case.run(server.url("/a.pdf")).await);
    assert_eq!(fs::read(&found.path).unwrap(), b"from outside");
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
    // The file is replaced by a link after it was saved: it counts as lost, even if it leads to the same bytes.
    fs::write(&target, "from outside").unwrap();
    let first = saved(case.run(server.url("/b.pdf")).await);
    fs::remove_file(&first.path).unwrap();
    std::os::unix::fs::symlink(&target, &first.path).unwrap();
    assert_eq!(saved(case.run(server.url("/b.pdf")).await), first);
    assert!(fs::symlink_metadata(&first.path).unwrap().is_file());
    // A link where a part would be: nothing is written through it.
    fs::write(&target, "untouched").unwrap();
    let busy = Server::start(|_| reply(500, &[], b""));
    assert!(case.run(busy.url("/c.pdf")).await.is_err());
    let notes = fs::read_dir(case.dir.path().join(".abide")).unwrap().map(|entry| entry.unwrap().path());
    let part = notes.into_iter().find(|path| path.extension().is_some_and(|end| end == "part")).unwrap();
    fs::remove_file(&part).unwrap();
    std::os::unix::fs::symlink(&target, &part).unwrap();
    let error = case.run(busy.url("/c.pdf")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::DownloadError, "{error:?}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");

    let trap = TempDir::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), trap.path().join(".abide")).unwrap();
    let error = Download::new(server.url("/a"), trap.path()).run(&case.world.fetcher).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), (Reason::PathPolicy, RetryWish::Never));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn system_directories_are_refused() {
    let case = Case::new();
    for dir in ["/proc/self", "/dev", "/etc/../etc"] {
        let error = Download::new("http://example.org/", dir).run(&case.world.fetcher).await.unwrap_err();
        assert_eq!(error.reason(), Reason::PathPolicy, "{dir}");
    }
}

#[tokio::test]
async fn a_url_that_the_guard_refuses_touches_neither_network_nor_disk() {
    let case = Case::new();
    let dir = case.dir.path().join("new");
    let error = Download::new("http://169.254.169.254/", &dir).run(&case.world.fetcher).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), (Reason::SecurityPolicy, RetryWish::Never));
    assert!(!dir.exists());
}
