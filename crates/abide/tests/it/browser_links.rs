//! The links on the page at `/` in a real browser, against the real server and a site of this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_fetch::testing::{Server, reply};
use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::place::Place;
use crate::served::Served;

/// A picture of one pixel.
const PICTURE: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// A site whose page `/late` is only there once it `is_up`.
fn site(is_up: Arc<AtomicBool>) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        "/cover.gif" => reply(200, &[("Content-Type", "image/gif")], PICTURE),
        "/late" if !is_up.load(Ordering::SeqCst) => reply(404, &[], b""),
        path => {
            let words = "Durable objects keep what they were told, also when the power goes. ".repeat(6);
            let page = format!(
                "<title>&lt;b&gt;About {path}</title><meta property=og:image content=/cover.gif><article><p>{words}</p></article>"
            );
            reply(200, &[("Content-Type", "text/html")], page.as_bytes())
        }
    })
}

fn holds(selector: &str, part: &str) -> String {
    format!("(document.querySelector({})?.textContent ?? '').includes({})", json!(selector), json!(part))
}

#[test]
fn links_are_saved_shown_with_what_was_found_and_processed_again() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let is_up = Arc::new(AtomicBool::new(false));
    let site = site(Arc::clone(&is_up));
    let place = Place::new().env("ABIDE_FETCH_ALLOW_PRIVATE", "true");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    browser.open(
        &format!("http://{}/", served.address),
        "document.querySelector('#live')?.dataset.state === 'live'",
    );
    browser.wait(&holds("#link-list", "No link fits."));

    browser.fill("#links-url", &site.url("/rust"));
    browser.click("#links-save");
    browser.wait(&holds("#links-saved", "Saved."));
    browser.wait(&holds("#link-list .link h3 a", "<b>About /rust"));
    browser.wait(&holds("#link-list .link .badge", "done"));
    browser.wait(&holds("#link-list .link .said", "Durable objects"));
    browser.wait(&holds("#link-list .link .by", "picked without a model"));
    browser.wait("document.querySelector('#link-list .link img.cover')?.src.endsWith('/cover.gif')");
    assert_eq!(browser.eval("document.querySelector('#link-list .link a').href"), json!(site.url("/rust")));
    browser.fill("#links-url", &site.url("/rust"));
    browser.click("#links-save");
    browser.wait(&holds("#links-saved", "It was there already."));

    // From elsewhere, and not there yet.
    let late = served.ok("POST /links/api/links", &json!({ "url": site.url("/late") }).to_string());
    let row = format!("[data-link={}]", json!(late["link"]["id"]));
    browser.wait(&holds(&format!("{row} .badge"), "failed"));
    browser.wait(&holds(&format!("{row} .error"), "fetch:404"));
    is_up.store(true, Ordering::SeqCst);
    browser.click(&format!("{row} button"));
    browser.wait(&holds(&format!("{row} .badge"), "done"));
    browser.wait(&holds("#links-count", "2 links"));
    browser.fill("#links-search", "late");
    browser.wait(&holds("#links-count", "1 link"));
    let urls: Vec<String> = (0..25).map(|n| site.url(&format!("/more/{n}"))).collect();
    served.ok("POST /links/api/import", &json!({ "urls": urls }).to_string());
    browser.fill("#links-search", "more");
    browser.wait(&holds("#links-count", "25 links, 20 shown"));
    browser.click("#links-more");
    browser.wait("document.querySelectorAll('#link-list .link').length === 25");
    browser.wait("document.querySelector('#links-more').hidden");
    assert_eq!(browser.errors, Vec::<Value>::new());
}

#[test]
fn a_store_of_an_organization_is_opened_with_a_key_on_the_page() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let place = Place::new().env("ABIDE_SYNC_OPEN", "false");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let made = place.run("links key create --org local --json --data-dir data");
    let made: Value = serde_json::from_str(&made.stdout).expect("a key");
    browser.open(
        &format!("http://{}/", served.address),
        "document.querySelector('#links-credential-form')?.hidden === false",
    );
    browser.wait(&holds("#link-list", "Access denied"));
    browser.fill("#links-credential", made["key"].as_str().expect("a key"));
    browser.click("#links-credential-use");
    browser.wait(&holds("#link-list", "No link fits."));
    browser.wait("document.querySelector('#links-credential-form').hidden");
}

#[test]
fn a_member_sees_links_as_they_come_where_the_server_asks_others_for_a_token() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let place = Place::new();
    let made = place.run("token create --role admin --json --data-dir data");
    assert_eq!(made.code, Some(0), "{made}");
    let served = Served::start(&place, "serve --listen 0.0.0.0:0 --data-dir data");
    let made = place.run("links key create --org local --json --data-dir data");
    let made: Value = serde_json::from_str(&made.stdout).expect("a key");
    let key = made["key"].as_str().expect("a key");
    let port = served.address.port();
    browser.open(
        &format!("http://127.0.0.1:{port}/"),
        "document.querySelector('#links-credential-form')?.hidden === false",
    );
    browser.wait(&holds("#link-list", "Access denied"));
    browser.fill("#links-credential", key);
    browser.click("#links-credential-use");
    browser.wait(&holds("#link-list", "No link fits."));
    browser.wait("document.querySelector('#live').dataset.state === 'no token'");
    let shown = format!("Bearer {key}");
    let link = r#"{"url": "http://127.0.0.1:1/from-elsewhere"}"#;
    let saved = served.client().request("POST /links/api/links", &[("Authorization", &shown)], link);
    assert_eq!(saved.expect("an answer").status, 200);
    browser.wait(&holds("#link-list .link h3", "from-elsewhere"));
}
