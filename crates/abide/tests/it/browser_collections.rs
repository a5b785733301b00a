//! Collections on the page at `/` in a real browser, against the real server.

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::ingest::{document, ingest, with_papers};
use crate::served::Served;

fn holds(selector: &str, part: &str) -> String {
    format!("(document.querySelector({})?.textContent ?? '').includes({})", json!(selector), json!(part))
}

/// Clicks the first of `selector` whose text is `text`.
fn click(browser: &mut Browser, selector: &str, text: &str) {
    let found = format!(
        "[...document.querySelectorAll({})].find((one) => one.textContent.trim() === {})",
        json!(selector),
        json!(text)
    );
    browser.wait(&format!("{found} !== undefined"));
    browser.eval(&format!("{found}.click()"));
}

#[test]
fn a_collection_is_browsed_part_by_part() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let place = with_papers().env("ABIDE_OCR_KIND", "off").env("ABIDE_LOG", "warn");
    ingest(&place);
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let url = format!("http://{}/", served.address);
    browser.open(&url, "document.querySelector('#live')?.dataset.state === 'live'");
    browser.wait(&holds("#collection-state", "22 files"));
    browser.wait(&holds("#collection-tree", "letters"));
    browser.wait(&holds("#collection-part .about", "papers"));

    click(&mut browser, "#collection-tree .branch", "photographs");
    browser.wait(&holds("#collection-part .trail", "photographs"));
    // Pictures are really there.
    browser.wait("document.querySelectorAll('#collection-part .thumb[src]').length === 3");
    let loaded = "Promise.all([...document.querySelectorAll('#collection-part .thumb')].map((image) => image.decode().then(() => image.naturalWidth > 0)))";
    assert_eq!(browser.eval(loaded), json!([true, true, true]));
    browser.click("#collection-part [data-file='harbour_1887.txt'] button");
    browser.wait(&holds("#collection-file .text", "The steamer Calabar in dock"));
    browser.click("#collection-part [data-file='harbour_1887.jpg'] button");
    browser.wait("document.querySelector('#collection-file img.page')?.src.startsWith('blob:')");

    // A change from elsewhere is seen, and what was before can be looked at.
    let moved = "collection move papers photographs/harbour_1887.txt diary --data-dir data --json";
    document(place.run(moved));
    browser.wait("document.querySelector(\"#collection-part [data-file='harbour_1887.txt']\") === null");
    browser.click("#collection-part [data-ver='2'] button");
    browser.wait(&holds("#collection-part .notice", "This is version 2 of"));
    browser.wait("document.querySelector(\"#collection-part [data-file='harbour_1887.txt']\") !== null");

    browser.fill("#collection-search", "steamer cargo");
    browser.click("#collection-find");
    browser.wait(&holds("#collection-found", "found"));
    browser.click("#collection-hits button");
    browser.wait(&holds("#collection-part .trail", "letters"));
    browser.wait("document.querySelector('#collection-tree .branch[aria-current=true]') !== null");

    document(place.run("collection delete papers --yes --data-dir data --json"));
    browser.wait("document.querySelector('#collection-none').hidden === false");
    let small = json!({ "width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", small);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), json!(360));
    assert_eq!(browser.errors, Vec::<Value>::new());
}
