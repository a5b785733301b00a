//! Places at a host to which redirects lead.

use crate::world::{LOOPBACK, without_robots, world};
use abide_fetch::testing::{Act, Server, head, redirect, reply};
use abide_fetch::{Ask, FetchError, FetchOptions, Fetcher, Reach, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;

fn fetcher(per_host: usize) -> Fetcher {
    let options = FetchOptions { per_host, ..without_robots() };
    world(Reach::PublicAnd([LOOPBACK].into()), options).fetcher
}

/// Waits until `is_so`.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Serves nothing before the other end is dropped.
fn holding() -> (Sender<()>, Server) {
    let (let_go, held) = channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |_| {
        // Whoever comes first waits under the lock, the others for it.
        assert!(held.lock().unwrap_or_else(PoisonError::into_inner).recv().is_err());
        reply(200, &[], b"here")
    });
    (let_go, server)
}

/// A server that leads everybody to `to`.
fn leading(to: String) -> Server {
    Server::start(move |_| redirect(&to))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_are_led_to_one_host_are_there_only_so_many_at_a_time() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (here, peak) = (now.clone(), most.clone());
    let (came, meeting) = (AtomicUsize::new(0), Barrier::new(2));
    let target = Server::start(move |_| {
        peak.fetch_max(here.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        if came.fetch_add(1, Ordering::SeqCst) < 2 {
            meeting.wait();
        }
        here.fetch_sub(1, Ordering::SeqCst);
        reply(200, &[], b"here")
    });
    let leads = [leading(target.url("/a")), leading(target.url("/b"))];
    let fetcher = fetcher(2);
    let fetches: Vec<_> = (0..20)
        .map(|number| {
            let (fetcher, url) = (fetcher.clone(), leads[number % 2].url(&format!("/{number}")));
            tokio::spawn(async move { fetcher.page(&url).await.map(|page| page.body) })
        })
        .collect();
    for fetch in fetches {
        assert_eq!(fetch.await.unwrap().unwrap(), "here");
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_had_until_the_body_has_come_and_the_next_says_where_it_waits() {
    let target = Server::start(|request| match request.path.as_str() {
        "/slow" => Act::RawThenHold([head(200, &[("Content-Length", "10")]), b"12345".to_vec()].concat()),
        _ => reply(200, &[], b"here"),
    });
    let (slow, fast) = (leading(target.url("/slow")), leading(target.url("/fast")));
    let fetcher = fetcher(1);
    let mut first = fetcher.open(&Ask::page(slow.url("/"))).await.unwrap();
    assert_eq!(first.chunk().await.unwrap().unwrap(), "12345");
    let (second, url) = (fetcher.clone(), fast.url("/"));
    let second = tokio::spawn(async move { second.page(&url).await.map(|page| page.body) });
    until(|| fetcher.waits_at(&fast.url("/")).is_some()).await;
    assert_eq!(fetcher.waits_at(&fast.url("/")), Some(target.address.to_string()));
    assert_eq!(target.paths(), ["/slow"]);
    drop(first);
    assert_eq!(second.await.unwrap().unwrap(), "here");
    assert_eq!(fetcher.waits_at(&fast.url("/")), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_led_counts_with_who_asked_and_no_longer_than_a_while() {
    let (let_go, target) = holding();
    let lead = leading(target.url("/led"));
    let fetcher = fetcher(2);
    // The engine lets more in than that where it is told to.
    let direct: Vec<_> = (0..3)
        .map(|number| {
            let (fetcher, url) = (fetcher.clone(), target.url(&format!("/{number}")));
            tokio::spawn(async move { fetcher.page(&url).await.map(|page| page.body) })
        })
        .collect();
    until(|| target.paths().len() == 3).await;
    let error = fetcher.page(&lead.url("/")).await.unwrap_err();
    let host = target.address.to_string();
    assert!(matches!(&error, FetchError::Crowded { host: at, wait_ms: 10_000 } if *at == host), "{error}");
    assert_eq!((error.reason(), error.rest(), error.is_unasked()), (Reason::Backoff, None, true));
    drop(let_go);
    for fetch in direct {
        assert_eq!(fetch.await.unwrap().unwrap(), "here");
    }
    assert_eq!(fetcher.page(&lead.url("/")).await.unwrap().body, "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_lead_to_each_other_do_not_keep_each_other_waiting() {
    let (one, other) = (Arc::new(Mutex::new(String::new())), Arc::new(Mutex::new(String::new())));
    let serve = |to: &Arc<Mutex<String>>| {
        let to = to.clone();
        Server::start(move |request| match request.path.as_str() {
            "/from" => redirect(&format!("{}/to", to.lock().unwrap())),
            _ => reply(200, &[], b"here"),
        })
    };
    let servers = [serve(&one), serve(&other)];
    *one.lock().unwrap() = servers[1].url("");
    *other.lock().unwrap() = servers[0].url("");
    let fetcher = fetcher(1);
    let fetches: Vec<_> = (0..20)
        .map(|number| {
            let (fetcher, url) = (fetcher.clone(), servers[number % 2].url("/from"));
            tokio::spawn(async move { fetcher.page(&url).await.map(|page| page.body) })
        })
        .collect();
    for fetch in fetches {
        assert_eq!(fetch.await.unwrap().unwrap(), "here");
    }
}
