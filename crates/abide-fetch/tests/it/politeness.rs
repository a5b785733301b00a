//! robots.txt, `Retry-After`, the breaker and the pace, with real replies.

use crate::world::{World, one_address, world};
use abide_core::job::RetryWish;
use abide_fetch::testing::{Act, Server, head, redirect, reply};
use abide_fetch::{FetchError, FetchOptions, Reach, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

fn polite() -> World {
    world(Reach::Anywhere, FetchOptions::default())
}

fn with_robots(robots: &'static str) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(200, &[], robots.as_bytes()),
        _ => reply(200, &[], b"here"),
    })
}

#[tokio::test]
async fn robots_decide_and_are_read_once() {
    let server = with_robots("User-agent: abide\nDisallow: /no\n\nUser-agent: *\nDisallow: /\n");
    let world = polite();
    assert!(world.fetcher.page(&server.url("/yes")).await.is_ok());
    let error = world.fetcher.page(&server.url("/no/page?q=1")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("robots.txt of {} does not allow /no/page", server.address));
    assert_eq!((error.reason(), error.retry()), (Reason::Robots, RetryWish::Never));
    assert!(world.fetcher.page(&server.url("/yes")).await.is_ok());
    assert_eq!(server.paths(), ["/robots.txt", "/yes", "/yes"]);
    world.clock.advance(3_600_000);
    assert!(world.fetcher.page(&server.url("/yes")).await.is_ok());
    assert_eq!(server.paths()[3..], ["/robots.txt", "/yes"]);
}

#[tokio::test]
async fn many_at_once_read_robots_once() {
    let server = with_robots("");
    let world = polite();
    let fetches: Vec<_> = (0..20)
        .map(|number| {
            let (fetcher, url) = (world.fetcher.clone(), server.url(&format!("/{number}")));
            tokio::spawn(async move { fetcher.page(&url).await.map(|_| ()) })
        })
        .collect();
    for fetch in fetches {
        fetch.await.unwrap().unwrap();
    }
    assert_eq!(server.paths().iter().filter(|path| *path == "/robots.txt").count(), 1);
}

#[tokio::test]
async fn robots_that_are_not_there_allow_and_robots_that_fail_shut_for_a_while() {
    let status = Arc::new(AtomicU16::new(500));
    let current = status.clone();
    let server = Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(current.load(Ordering::SeqCst), &[], b"User-agent: *\nDisallow: /"),
        _ => reply(200, &[], b"here"),
    });
    let world = polite();
    for _ in 0..2 {
        let error = world.fetcher.page(&server.url("/")).await.unwrap_err();
        assert!(
            matches!(error, FetchError::RobotsUnreachable { status: 500, wait_ms: 60_000, .. }),
            "{error:?}"
        );
        assert_eq!((error.reason(), error.retry()), (Reason::Backoff, RetryWish::AfterMs(60_000)));
    }
    assert_eq!(server.paths(), ["/robots.txt"]);
    status.store(404, Ordering::SeqCst);
    world.clock.advance(60_000);
    assert!(world.fetcher.page(&server.url("/")).await.is_ok());
}

#[tokio::test]
async fn robots_hold_for_where_a_redirect_leads() {
    let other = with_robots("User-agent: *\nDisallow: /shut\n");
    let target = other.url("/shut");
    let server = Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        _ => redirect(&target),
    });
    let error = polite().fetcher.page(&server.url("/")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::Robots);
    assert_eq!(other.paths(), ["/robots.txt"]);
}

#[tokio::test]
async fn robots_may_redirect_but_not_into_the_house() {
    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => redirect("/real-robots"),
        "/real-robots" => reply(200, &[], b"User-agent: *\nDisallow: /shut\n"),
        _ => reply(200, &[], b""),
    });
    let error = polite().fetcher.page(&server.url("/shut")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::Robots);

    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => redirect("http://169.254.169.254/"),
        _ => reply(200, &[], b""),
    });
    let guarded = world(Reach::PublicAnd([crate::world::LOOPBACK].into()), FetchOptions::default());
    assert!(guarded.fetcher.page(&server.url("/")).await.is_ok(), "as if there were none");
    // A host that may not be reached now has not been asked: it is when it may be.
    guarded.names.answer("site.example", &["10.0.0.1"]);
    guarded.names.answer("site.example", &["127.0.0.1"]);
    let server = with_robots("User-agent: *\nDisallow: /\n");
    let url = server.url_as("site.example", "/");
    assert_eq!(guarded.fetcher.page(&url).await.unwrap_err().reason(), Reason::SecurityPolicy);
    assert_eq!(guarded.fetcher.page(&url).await.unwrap_err().reason(), Reason::Robots);
}

#[tokio::test]
async fn a_robots_file_without_end_is_read_as_far_as_the_bound() {
    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => {
            let start = b"HTTP/1.1 200 x\r\n\r\nUser-agent: *\nDisallow: /shut\n".to_vec();
            Act::RawThenForever(start, b"# more\n".repeat(1_000))
        }
        _ => reply(200, &[], b""),
    });
    let world = polite();
    assert_eq!(world.fetcher.page(&server.url("/shut")).await.unwrap_err().reason(), Reason::Robots);
    assert!(world.fetcher.page(&server.url("/open")).await.is_ok());
}

#[tokio::test]
async fn a_crawl_delay_keeps_requests_apart() {
    let server = with_robots("User-agent: *\nCrawl-delay: 40\n");
    let world = polite();
    assert_eq!(world.fetcher.crawl_delay_ms(&server.url("/")), None);
    assert!(world.fetcher.page(&server.url("/a")).await.is_ok());
    assert_eq!(world.fetcher.crawl_delay_ms(&server.url("/")), Some(40_000));
    let error = world.fetcher.page(&server.url("/b")).await.unwrap_err();
    assert!(matches!(error, FetchError::Paced { wait_ms: 40_000, .. }), "{error:?}");
    assert_eq!((error.reason(), error.retry()), (Reason::Backoff, RetryWish::AfterMs(40_000)));
    world.clock.advance(40_000);
    assert!(world.fetcher.page(&server.url("/b")).await.is_ok());
    assert_eq!(server.paths(), ["/robots.txt", "/a", "/b"]);
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date_and_shuts_the_host() {
    for (status, value, expected) in [
        (429, "120", RetryWish::AfterMs(120_000)),
        (503, "Thu, 01 Jan 2026 00:00:30 GMT", RetryWish::AfterMs(30_000)),
        (503, "86400", RetryWish::AfterMs(900_000)),
        (429, "whenever", RetryWish::ByPolicy),
        (500, "120", RetryWish::ByPolicy),
    ] {
        let server = Server::start(move |_| reply(status, &[("Retry-After", value)], b""));
        let world = one_address();
        let error = world.fetcher.page(&server.url("/")).await.unwrap_err();
        assert_eq!(error.retry(), expected, "{status} {value}");
        let RetryWish::AfterMs(wait_ms) = expected else {
            assert_eq!(error.reason(), Reason::Backoff);
            continue;
        };
        assert_eq!(error.reason(), Reason::RetryAfter);
        let error = world.fetcher.page(&server.url("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::BreakerOpen { .. }), "{error:?}");
        assert_eq!((error.reason(), error.retry()), (Reason::BreakerOpen, expected));
        assert_eq!(server.requests().len(), 1);
        world.clock.advance(wait_ms);
        let error = world.fetcher.page(&server.url("/")).await.unwrap_err();
        assert!(matches!(error, FetchError::Status { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn statuses_are_retryable_or_final() {
    for (status, expected) in [
        (400, Reason::HttpError),
        (401, Reason::HttpError),
        (403, Reason::HttpError),
        (404, Reason::HttpError),
        (410, Reason::HttpError),
        (418, Reason::HttpError),
        (429, Reason::Backoff),
        (451, Reason::HttpError),
        (500, Reason::Backoff),
        (501, Reason::HttpError),
        (502, Reason::Backoff),
        (503, Reason::Backoff),
        (504, Reason::Backoff),
    ] {
        let server = Server::start(move |_| reply(status, &[], b""));
        let error = one_address().fetcher.page(&server.url("/")).await.unwrap_err();
        assert_eq!(error.reason(), expected, "{status}");
    }
}

#[tokio::test]
async fn five_failures_open_the_breaker_and_one_trial_closes_it() {
    let failures_left = Arc::new(AtomicUsize::new(6));
    let left = failures_left.clone();
    let server = Server::start(move |_| {
        match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)) {
            Ok(_) => Act::Raw(vec![]),
            Err(_) => reply(200, &[], b""),
        }
    });
    let world = one_address();
    let fetch = async || world.fetcher.page(&server.url("/")).await.map(|_| ());
    for _ in 0..5 {
        assert_eq!(fetch().await.unwrap_err().reason(), Reason::ConnError);
    }
    assert_eq!(world.fetcher.resting_ms(&server.url("/other")), Some(60_000));
    let error = fetch().await.unwrap_err();
    assert!(matches!(error, FetchError::BreakerOpen { wait_ms: 60_000, .. }), "{error:?}");
    assert_eq!(error.rest().unwrap().host, server.address.to_string());
    world.clock.advance(60_000);
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::ConnError, "the trial fails");
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::BreakerOpen);
    world.clock.advance(60_000);
    assert!(fetch().await.is_ok(), "the trial succeeds");
    assert!(fetch().await.is_ok());
    assert_eq!(server.requests().len(), 8);
}

#[tokio::test]
async fn bodies_that_break_off_open_the_breaker_too() {
    let server =
        Server::start(|_| Act::RawThenReset([head(200, &[("Content-Length", "9")]), vec![b'x']].concat()));
    let world = one_address();
    for _ in 0..5 {
        assert_eq!(world.fetcher.page(&server.url("/")).await.unwrap_err().reason(), Reason::SizeMismatch);
    }
    assert_eq!(world.fetcher.page(&server.url("/")).await.unwrap_err().reason(), Reason::BreakerOpen);
}

#[tokio::test]
async fn answers_that_do_not_blame_the_host_keep_the_breaker_closed() {
    let server = Server::start(|_| reply(404, &[], b""));
    let world = one_address();
    for _ in 0..20 {
        assert_eq!(world.fetcher.page(&server.url("/")).await.unwrap_err().reason(), Reason::HttpError);
    }
    assert_eq!(server.requests().len(), 20);
}

#[tokio::test]
async fn one_host_does_not_open_the_breaker_of_another() {
    let down = Server::start(|_| Act::Raw(vec![]));
    let up = Server::start(|_| reply(200, &[], b""));
    let world = one_address();
    for _ in 0..6 {
        assert!(world.fetcher.page(&down.url("/")).await.is_err());
    }
    assert!(world.fetcher.page(&up.url("/")).await.is_ok());
}
