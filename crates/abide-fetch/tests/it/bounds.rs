//! Bytes and time have a bound, whatever the server does.

use crate::world::{World, impatient, one_address, without_robots, world};
use abide_fetch::ask::BodyForm;
use abide_fetch::error::Phase;
use abide_fetch::testing::{Act, Server, head, reply};
use abide_fetch::{Ask, FetchError, FetchOptions, Reach, Reason};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

async fn body(world: &World, ask: &Ask) -> Result<usize, FetchError> {
    Ok(world.fetcher.open(ask).await?.success()?.body().await?.len())
}

fn small(url: String) -> Ask {
    Ask { bytes_max: 1_000, ..Ask::page(url) }
}

#[tokio::test]
async fn a_body_of_the_bound_passes_and_one_more_byte_does_not() {
    let server = Server::start(|request| {
        let length: usize = request.path[1..].parse().unwrap();
        // Without a length, so that only counting helps.
        Act::Raw([head(200, &[]), vec![b'x'; length]].concat())
    });
    let world = one_address();
    assert_eq!(body(&world, &small(server.url("/1000"))).await.unwrap(), 1_000);
    let error = body(&world, &small(server.url("/1001"))).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { bound: 1_000, .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::TooLarge);
}

#[tokio::test]
async fn an_announced_length_over_the_bound_is_refused_before_the_body() {
    let server = Server::start(|_| Act::RawThenHold(head(200, &[("Content-Length", "1001")])));
    let error = body(&one_address(), &small(server.url("/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Announced { announced: 1_001, bound: 1_000, .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::PolicySize);
}

#[tokio::test]
async fn a_body_without_end_ends_at_the_bound() {
    let server = Server::start(|_| Act::RawThenForever(head(200, &[]), vec![b'x'; 65_536]));
    let error = body(&one_address(), &small(server.url("/"))).await.unwrap_err();
    assert_eq!(error.reason(), Reason::TooLarge, "{error:?}");
}

fn gzip(zeros: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..zeros / 65_536 {
        encoder.write_all(&[0; 65_536]).unwrap();
    }
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_bomb_is_counted_as_it_unfolds() {
    let bomb = gzip(256 * 1024 * 1024);
    assert!(bomb.len() < 512 * 1024);
    let server = Server::start(move |_| reply(200, &[("Content-Encoding", "gzip")], &bomb));
    let ask = Ask { bytes_max: 1_000_000, ..Ask::page(server.url("/")) };
    let error = body(&one_address(), &ask).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { bound: 1_000_000, .. }), "{error:?}");
}

#[tokio::test]
async fn a_body_is_decoded_only_when_that_is_wanted() {
    let packed = gzip(65_536);
    let length = packed.len();
    let server = Server::start(move |_| reply(200, &[("Content-Encoding", "gzip")], &packed));
    let world = one_address();
    assert_eq!(body(&world, &Ask::page(server.url("/"))).await.unwrap(), 65_536);
    assert_eq!(body(&world, &Ask::file(server.url("/"))).await.unwrap(), length);
    let asked: Vec<_> =
        server.requests().iter().map(|r| r.header("accept-encoding").unwrap().to_owned()).collect();
    assert_eq!(asked, ["gzip,br", "identity"]);
}

#[tokio::test]
async fn a_broken_coding_is_an_error() {
    let server = Server::start(|_| reply(200, &[("Content-Encoding", "gzip")], b"not gzip at all"));
    let error = body(&one_address(), &Ask::page(server.url("/"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Broken { .. }), "{error:?}");
}

async fn timeout(world: &World, ask: &Ask) -> Phase {
    match body(world, ask).await {
        Err(error @ FetchError::Timeout { phase, .. }) => {
            assert_eq!(error.reason(), Reason::Timeout);
            phase
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_left() {
    let server = Server::start(|_| Act::RawThenHold(vec![]));
    assert_eq!(timeout(&impatient(), &Ask::page(server.url("/"))).await, Phase::Headers);
}

#[tokio::test]
async fn headers_without_end_are_left() {
    let server =
        Server::start(|_| Act::RawThenForever(b"HTTP/1.1 200 x\r\n".to_vec(), b"A: b\r\n".repeat(10_000)));
    let error = body(&one_address(), &Ask::page(server.url("/"))).await.unwrap_err();
    assert_eq!(error.reason(), Reason::ConnError, "{error:?}");
    let slow = Server::start(|_| Act::RawThenHold(b"HTTP/1.1 200 x\r\nA: b\r\n".to_vec()));
    assert_eq!(timeout(&impatient(), &Ask::page(slow.url("/"))).await, Phase::Headers);
}

#[tokio::test]
async fn a_body_that_stops_is_left() {
    for lie in ["10", "100"] {
        let headers = [("Content-Length", lie)];
        let bytes = [head(200, &headers), b"five!".to_vec()].concat();
        let server = Server::start(move |_| Act::RawThenHold(bytes.clone()));
        assert_eq!(timeout(&impatient(), &Ask::page(server.url("/"))).await, Phase::Idle);
    }
}

#[tokio::test]
async fn a_body_that_never_stops_is_left_in_time() {
    let patient = FetchOptions { idle_ms: 60_000, ..without_robots() };
    let world = world(Reach::Anywhere, patient);
    let server = Server::start(|_| Act::RawThenHold([head(200, &[]), b"some".to_vec()].concat()));
    let ask = Ask { total_ms: 300, ..Ask::page(server.url("/")) };
    assert_eq!(timeout(&world, &ask).await, Phase::Total);
    let endless = Server::start(|_| Act::RawThenForever(head(200, &[]), vec![b'x'; 1_024]));
    let ask = Ask { total_ms: 300, bytes_max: u64::MAX, ..Ask::page(endless.url("/")) };
    let mut reply = world.fetcher.open(&ask).await.unwrap();
    let phase = loop {
        match reply.chunk().await {
            Ok(Some(_)) => {}
            Err(FetchError::Timeout { phase, .. }) => break phase,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(phase, Phase::Total);
}

#[tokio::test]
async fn a_body_that_is_cut_is_told_from_a_whole_one() {
    let cut = [head(200, &[("Content-Length", "100")]), b"half".to_vec()].concat();
    let chunked = [head(200, &[("Transfer-Encoding", "chunked")]), b"4\r\nhalf\r\n".to_vec()].concat();
    let server = Server::start(move |request| match request.path.as_str() {
        "/cut" => Act::RawThenReset(cut.clone()),
        _ => Act::RawThenReset(chunked.clone()),
    });
    let world = one_address();
    let error = body(&world, &Ask::page(server.url("/cut"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Cut { announced: 100, received: 4, .. }), "{error:?}");
    assert_eq!(error.reason(), Reason::SizeMismatch);
    let error = body(&world, &Ask::page(server.url("/chunked"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Broken { .. }), "{error:?}");
}

#[tokio::test]
async fn garbage_is_no_reply() {
    for garbage in ["", "\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/9.9 200 x\r\n\r\n", "HTTP/1.1 99999 x\r\n\r\n"] {
        let server = Server::start(move |_| Act::Raw(garbage.as_bytes().to_vec()));
        let ask = Ask { body: BodyForm::AsSent, ..Ask::page(server.url("/")) };
        let error = body(&one_address(), &ask).await.unwrap_err();
        assert_eq!(error.reason(), Reason::ConnError, "{garbage:?} {error:?}");
    }
}
