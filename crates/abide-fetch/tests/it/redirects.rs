//! Redirects, names and addresses with real sockets: what is refused is never connected to.

use crate::world::{World, one_address};
use abide_fetch::refused::Refused;
use abide_fetch::testing::{Request, Server, redirect, reply};
use abide_fetch::{Ask, FetchError, Reason};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};
use std::io::{Read, Write};

async fn refusal(world: &World, url: &str) -> Refused {
    match world.fetcher.page(url).await {
        Err(FetchError::Refused(refused)) => refused,
        other => panic!("{url}: {other:?}"),
    }
}

#[tokio::test]
async fn redirects_are_followed_five_times() {
    let server = Server::start(|request| match request.path.trim_start_matches('/').parse::<u32>() {
        Ok(0) => reply(200, &[], b"here"),
        Ok(left) => redirect(&format!("/{}", left - 1)),
        Err(_) => reply(404, &[], b""),
    });
    let world = one_address();
    let page = world.fetcher.page(&server.url("/5")).await.unwrap();
    assert_eq!((page.body.as_ref(), page.url.path()), (b"here".as_ref(), "/0"));
    let error = world.fetcher.page(&server.url("/6")).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirects { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::HttpError);
    assert_eq!(server.paths().len(), 6 + 6);
}

#[tokio::test]
async fn every_status_that_redirects_is_followed_by_hand() {
    let server = Server::start(|request| match request.path.as_str() {
        "/end" => reply(200, &[], b"here"),
        "/none" => reply(302, &[], b"a page of its own"),
        path => reply(path[1..].parse().unwrap(), &[("Location", "end")], b""),
    });
    let world = one_address();
    for status in [301, 302, 303, 307, 308] {
        assert_eq!(world.fetcher.page(&server.url(&format!("/{status}"))).await.unwrap().url.path(), "/end");
    }
    for path in ["/300", "/304", "/305", "/none"] {
        let error = world.fetcher.page(&server.url(path)).await.unwrap_err();
        assert!(matches!(error, FetchError::Status { status: 300..400, .. }), "{path} {error:?}");
    }
}

#[tokio::test]
async fn a_loop_ends() {
    let server = Server::start(|_| redirect("/again"));
    let error = one_address().fetcher.page(&server.url("/")).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirects { .. }));
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn a_redirect_to_a_place_that_is_not_public_is_refused() {
    for target in [
        "http://[::1]/",
        "http://localhost/",
        "http://127.0.0.2/",
        "http://0x7f000002/",
        "http://0177.0.0.2/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://0/",
        "//metadata.google.internal/",
        "file:///etc/passwd",
        "http://user:secret@example.org/",
        "http://example.org:25/",
    ] {
        let server = Server::start(move |_| redirect(target));
        let world = one_address();
        refusal(&world, &server.url("/")).await;
        assert_eq!(server.requests().len(), 1, "{target}");
        assert!(world.names.asked().is_empty(), "{target}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_name_of_a_private_address_is_refused() {
    let server = Server::start(|_| redirect("http://innocent.example/"));
    let world = one_address();
    world.names.answer("innocent.example", &["10.0.0.1", "::1"]);
    let refused = refusal(&world, &server.url("/")).await;
    assert_eq!(
        refused.to_string(),
        "innocent.example is 10.0.0.1 (private), which URLs from data may not reach (fetch.allow_private)"
    );
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_dialled() {
    let server = Server::start(|_| reply(200, &[], b"here"));
    let world = one_address();
    // Only the first answer would lead here: had anything asked again before dialling, it would have been refused.
    world.names.answer("site.example", &["127.0.0.1"]);
    world.names.answer("site.example", &["10.0.0.1"]);
    let url = server.url_as("site.example", "/");
    assert_eq!(world.fetcher.page(&url).await.unwrap().body.as_ref(), b"here");
    assert_eq!(world.names.asked(), ["site.example"]);
    assert_eq!(server.requests()[0].host, format!("site.example:{}", server.address.port()));
}

#[tokio::test]
async fn a_name_that_is_bound_anew_between_hops_is_refused() {
    let server = Server::start(|_| redirect("/second"));
    let world = one_address();
    world.names.answer("site.example", &["127.0.0.1"]);
    world.names.answer("site.example", &["169.254.169.254"]);
    let refused = refusal(&world, &server.url_as("site.example", "/first")).await;
    assert!(matches!(refused, Refused::Address { range: "cloud metadata", .. }), "{refused:?}");
    assert_eq!(server.paths(), ["/first"]);
}

#[tokio::test]
async fn of_mixed_answers_only_the_allowed_are_dialled() {
    let server = Server::start(|_| reply(200, &[], b"here"));
    let world = one_address();
    world.names.answer("site.example", &["10.255.255.1", "::1", "127.0.0.1"]);
    assert!(world.fetcher.page(&server.url_as("site.example", "/")).await.is_ok());
}

#[tokio::test]
async fn a_trailing_dot_changes_nothing() {
    let server = Server::start(|_| reply(200, &[], b"here"));
    let world = one_address();
    world.names.answer("site.example.", &["127.0.0.1"]);
    world.names.answer("site.example.", &["10.0.0.1"]);
    let url = server.url_as("site.example.", "/");
    assert!(world.fetcher.page(&url).await.is_ok());
    assert!(matches!(refusal(&world, &url).await, Refused::Address { range: "private", .. }));
}

#[tokio::test]
async fn a_name_without_an_address_can_be_tried_again() {
    let world = one_address();
    let error = world.fetcher.page("http://nowhere.example/").await.unwrap_err();
    assert!(matches!(error, FetchError::Unresolved { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::ConnError);
}

#[tokio::test]
async fn a_host_that_refuses_connections_can_be_tried_again() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = one_address().fetcher.page(&format!("http://{closed}/")).await.unwrap_err();
    assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::ConnError);
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 this port speaks plainly\r\n\r\n").unwrap();
        drop(stream.read_to_end(&mut Vec::new()));
    });
    let error = one_address().fetcher.page(&format!("https://{address}/")).await.unwrap_err();
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::TlsError);
    server.join().unwrap();
}

#[tokio::test]
async fn secrets_stay_with_their_origin() {
    let end = std::sync::Arc::new(Server::start(|_| reply(200, &[], b"")));
    let target = end.url("/end");
    let server = Server::start(move |request| match request.path.as_str() {
        "/same" => redirect("/other"),
        _ => redirect(&target),
    });
    let mut ask = Ask::page(server.url("/same"));
    let mut secret = HeaderValue::from_static("key");
    secret.set_sensitive(true);
    ask.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    ask.headers.insert(COOKIE, HeaderValue::from_static("a=b"));
    ask.headers.insert(HeaderName::from_static("x-api-key"), secret);
    ask.headers.insert(HeaderName::from_static("x-plain"), HeaderValue::from_static("1"));
    one_address().fetcher.open(&ask).await.unwrap();
    let sent = |request: &Request| {
        ["authorization", "cookie", "x-api-key", "x-plain"].map(|name| request.header(name).is_some())
    };
    assert_eq!(server.requests().iter().map(sent).collect::<Vec<_>>(), [[true; 4], [true; 4]]);
    assert_eq!(end.requests().iter().map(sent).collect::<Vec<_>>(), [[false, false, false, true]]);
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    // The variables must be set before the process starts: this test runs itself again.
    if std::env::var_os("HTTP_PROXY").is_some() {
        let server = Server::start(|_| reply(200, &[], b"direct"));
        assert_eq!(one_address().fetcher.page(&server.url("/")).await.unwrap().body.as_ref(), b"direct");
        return;
    }
    let proxy = Server::start(|_| reply(200, &[], b"through a proxy"));
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "redirects::proxies_of_the_environment_are_not_used"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        again.env(name, proxy.url(""));
    }
    let output = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(proxy.requests().is_empty());
}
