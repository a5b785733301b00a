//! Batches of scans on the page at `/` in a real browser, against the real server and its workers.

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::outside::Outside;
use crate::scans::{SERVE, place_of_a_server, send, stage_files, staging, tiff, write};
use crate::served::Served;

fn holds(selector: &str, part: &str) -> String {
    format!("(document.querySelector({})?.textContent ?? '').includes({})", json!(selector), json!(part))
}

#[test]
fn batches_show_how_far_they_are_and_what_failed_is_tried_again() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let receiver = Outside::start(|_, _| (200, None, json!({ "success": true })));
    let place = place_of_a_server().env("WORKER_URL", &receiver.url());
    let served = Served::start(&place, SERVE);
    browser.open(
        &format!("http://{}/", served.address),
        "document.querySelector('#live')?.dataset.state === 'live'",
    );
    browser.wait(&holds("#batch-list", "No batch yet"));

    let files = [("good.tif", tiff(300, 200, 1)), ("<b>torn<i>.tif", b"II*\0 and no more".to_vec())];
    let files = files.map(|(name, bytes)| (name.to_owned(), bytes));
    send(&served, &stage_files(&staging(&place), "box7", &files));
    let batch = "[data-batch=box7]";
    browser.wait(&holds(&format!("{batch} .badge"), "DONE"));
    browser.wait(&holds(&format!("{batch} .delivery"), "delivery delivered"));
    browser.wait(&holds(&format!("{batch} .counts"), "1 converted, 0 passed through, 1 failed of 2 files"));
    browser.wait(&holds(&format!("{batch} [data-phase=TIFF_CONVERSION]"), "1 of 2, 1 failed"));
    browser.wait(&holds(&format!("{batch} [data-phase=IMAGE_PROCESSING]"), "1 of 1"));
    browser.wait(&format!(
        "document.querySelector('{batch} .thumb')?.complete && document.querySelector('{batch} .thumb').naturalWidth === 200"
    ));
    browser.wait(&holds(&format!("{batch} .failures h4"), "<b>torn<i>.tif"));
    browser.wait(&holds(&format!("{batch} .failures .error"), "damaged"));

    // Somebody brings the file anew.
    write(&staging(&place).join("staging/box7/folder/<b>torn<i>.tif"), &tiff(30, 20, 2));
    browser.click(&format!("{batch} .failures button"));
    browser.wait(&holds(&format!("{batch} .counts"), "2 converted, 0 passed through, 0 failed of 2 files"));
    browser.wait(&format!("document.querySelector('{batch} .failures') === null"));
    browser.wait(&holds(&format!("{batch} .badge"), "DONE"));
    browser.wait(&holds(&format!("{batch} .delivery"), "delivery delivered"));
    assert_eq!(receiver.asked().len(), 2, "what came of it is handed over anew");

    let torn = stage_files(&staging(&place), "box8", &[]);
    write(&staging(&place).join("staging/box8/_manifest.json"), b"{");
    send(&served, &torn);
    browser.wait(&holds("[data-batch=box8] .badge", "ERROR"));
    browser.wait(&holds("[data-batch=box8] .error", "the manifest cannot be read"));

    // Ten at a time, the latest first, whatever their names.
    for number in 0..12 {
        let batch = format!("a{number:02}");
        send(&served, &stage_files(&staging(&place), &batch, &[]));
        browser.wait(&holds(&format!("[data-batch={batch}] .badge"), "DONE"));
    }
    browser.wait("document.querySelectorAll('[data-batch]').length === 10");
    browser.wait(&holds("#batch-count", "1 to 10 of 14"));
    browser.wait("document.querySelector('[data-batch]').dataset.batch === 'a11' && document.querySelector('#batches-later').hidden");
    browser.click("#batches-earlier");
    browser.wait("document.querySelectorAll('[data-batch]').length === 4");
    browser.wait(&holds(&format!("{batch} .counts"), "2 converted"));
    browser.wait("document.querySelector('#batches-earlier').hidden");
    browser.click("#batches-later");
    browser.wait("document.querySelector('[data-batch]').dataset.batch === 'a11'");
    // And so for whoever opens it later.
    browser.open(
        &format!("http://{}/", served.address),
        "document.querySelector('[data-batch]')?.dataset.batch === 'a11'",
    );
    browser.wait(&holds("#batch-count", "1 to 10 of 14"));
    assert_eq!(browser.errors, Vec::<Value>::new());
}
