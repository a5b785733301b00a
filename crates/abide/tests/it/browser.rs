//! The page at `/` in a real browser, against the real server.

use abide_coordinator::ToCoordinator;
use abide_core::dead::DeadId;
use abide_core::event::EventRef;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_sqlite::{DataDir, SqliteStore};
use abide_store::write::{AfterFailure, EventFate, FailEvent};
use abide_store::{Store, Write, Written};
use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::place::Place;
use crate::served::Served;

const IS_LIVE: &str = "document.querySelector('#live')?.dataset.state === 'live'";

#[test]
fn the_page_shows_what_happens_and_lets_people_act() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: there is no chromium to open the page in");
        return;
    };
    let place = Place::new();
    let dead = a_letter_dies(&place);
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let url = format!("http://{}/", served.address);
    served.ok("POST /v1/jobs", r#"{"queue":"mail","kind":"send","max_attempts":1,"payload":"<b>hi</b>"}"#);
    browser.open(&url, IS_LIVE);

    a_dead_letter_of_an_object_is_replayed(&mut browser, &served, dead);
    queues_are_paused_and_resumed(&mut browser, &served);
    a_dead_letter_is_replayed(&mut browser, &served);
    jobs_are_filtered_and_all_dead_letters_replayed(&mut browser, &served);
    messages_are_added_and_removed(&mut browser);
    messages_are_submitted(&mut browser, &served);
    it_fits_small_and_dark_screens(&mut browser);
    a_token_is_asked_for(&mut browser, &served, &url);
    assert_eq!(browser.errors, Vec::<Value>::new());
}

/// Leaves a data directory in which a message to a coordinator has used up its attempts. Its turn would succeed now.
fn a_letter_dies(place: &Place) -> DeadId {
    let dir = DataDir::open(&place.path("work/data")).expect("as the test made it");
    let mut store = SqliteStore::open(dir.path()).expect("as the test made it");
    let to = ObjectKey::new("coordinator", "main-coordinator").expect("as the test made it");
    let body = Json::encode(&ToCoordinator::Begin { work_ids: Vec::new() }).expect("as the test made it");
    let sent = store.write(Time(1), &[Write::Send { to, body }]).expect("as the test made it");
    let Written::Sent(message) = sent.written[0] else { panic!("{sent:?}") };
    let fail = FailEvent {
        event: EventRef::Message(message),
        error: "the tape was torn".to_owned(),
        then: AfterFailure::Dead,
    };
    let failed = store.write(Time(2), &[Write::FailEvent(fail)]).expect("as the test made it");
    let Written::EventFailed(EventFate::Dead(id)) = failed.written[0] else { panic!("{failed:?}") };
    id
}

fn a_dead_letter_of_an_object_is_replayed(browser: &mut Browser, served: &Served, DeadId(id): DeadId) {
    let letter = format!("#dead-list [data-dead='{id}']");
    browser.wait(&says(&letter, "coordinator/main-coordinator"));
    browser.wait(&says(&letter, "the tape was torn"));
    browser.click(&format!("{letter} button"));
    browser.wait(&says("#dead-list", "None: nothing has failed for good."));
    assert_eq!(served.ok("GET /v1/dead", "")["dead"], json!([]), "it was replayed, and its turn succeeded");
}

fn text(selector: &str) -> String {
    format!("(document.querySelector({})?.textContent ?? '')", json!(selector))
}

fn says(selector: &str, part: &str) -> String {
    format!("{}.includes({})", text(selector), json!(part))
}

fn queues_are_paused_and_resumed(browser: &mut Browser, served: &Served) {
    let (card, job) = ("[data-queue=mail]", "#job-list [data-job='1']");
    browser.wait(&says(&format!("{card} dl"), "ready1"));
    browser.wait(&says(job, "No worker takes jobs of the kind send"));
    browser.wait(&says(&format!("{job} code"), "<b>hi</b>"));
    let button = format!("{card} button");
    browser.eval(&format!("document.querySelector('{button}').focus()"));
    browser.click(&button);
    browser.wait(&says(&format!("{card} .badge"), "paused"));
    browser.wait(&says(job, "The queue mail is paused"));
    assert_eq!(served.ok("GET /v1/queues/mail", "")["policy"]["paused"], json!(true));
    browser.wait(&says(&button, "resume"));
    browser.click(&button);
    browser.wait(&says(&button, "pause"));
    assert_eq!(served.ok("GET /v1/queues/mail", "")["policy"]["paused"], json!(false));
}

fn a_dead_letter_is_replayed(browser: &mut Browser, served: &Served) {
    assert_eq!(browser.eval("document.querySelector('#replay-all').hidden"), json!(true));
    let lease = r#"{"worker":"w","queues":["mail"],"kinds":["send"]}"#;
    let lease = served.ok("POST /v1/lease", lease)["leases"][0].clone();
    let end = json!({ "attempt": lease["attempt"], "token": lease["token"], "end": "error", "reason": "no such box" });
    served.ok("POST /v1/jobs/1/finish", &end.to_string());
    let dead = "#dead-list [data-job='1']";
    browser.wait(&says(dead, "no such box"));
    browser.wait(&says("[data-queue=mail] .rate", "1 finished in the last minute"));
    browser.click(&format!("{dead} button"));
    browser.wait(&says("#dead-list", "None: nothing has failed for good."));
    assert_eq!(served.ok("GET /v1/jobs/1", "")["state"], json!("ready"));
}

/// Chooses what a list of choices has, as a person does.
fn choose(browser: &mut Browser, selector: &str, value: &str) {
    let (selector, value) = (json!(selector), json!(value));
    browser.eval(&format!(
        "(() => {{ const list = document.querySelector({selector}); list.value = {value};
            list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
}

fn shows(list: &str, count: usize) -> String {
    format!("document.querySelectorAll('{list} [data-job]').length === {count}")
}

fn jobs_are_filtered_and_all_dead_letters_replayed(browser: &mut Browser, served: &Served) {
    served.ok("POST /v1/jobs", r#"{"queue":"mail","kind":"send","max_attempts":1,"payload":"ho"}"#);
    served.ok("POST /v1/jobs", r#"{"queue":"post","kind":"send","payload":"hm"}"#);
    let lease = r#"{"worker":"w","queues":["mail"],"kinds":["send"],"max":2}"#;
    let leases = served.ok("POST /v1/lease", lease)["leases"].clone();
    for lease in leases.as_array().expect("leases") {
        let end =
            json!({ "attempt": lease["attempt"], "token": lease["token"], "end": "error", "reason": "torn" });
        served.ok(&format!("POST /v1/jobs/{}/finish", lease["job"]), &end.to_string());
    }
    browser.wait(&shows("#dead-list", 2));
    browser.wait(&shows("#job-list", 3));
    choose(browser, "#job-state", "failed");
    browser.wait(&shows("#job-list", 2));
    choose(browser, "#job-queue", "post");
    browser.wait(&says("#job-list", "No job fits."));
    choose(browser, "#job-state", "");
    browser.wait(&format!("{} && {}", shows("#job-list", 1), says("#job-list h3", "post")));
    choose(browser, "#job-queue", "");
    browser.wait(&shows("#job-list", 3));

    assert_eq!(browser.eval("document.querySelector('#replay-all').hidden"), json!(false));
    browser.click("#replay-all");
    browser.wait(&says("#dead-list", "None: nothing has failed for good."));
    browser.wait("document.querySelector('#replay-all').hidden");
    let ready = served.ok("GET /v1/jobs?queue=mail&state=ready", "");
    assert_eq!(ready["jobs"].as_array().map(Vec::len), Some(2), "{ready}");
}

fn messages_are_added_and_removed(browser: &mut Browser) {
    let fields = "[...document.querySelectorAll('#messages .field')]";
    let said = format!(
        "{fields}.map((f) => f.querySelector('label').textContent + ': ' + f.querySelector('input').value)"
    );
    browser.click("#add-message");
    browser.click("#add-message");
    for (field, text) in [("#message-0", "a"), ("#message-1", "b"), ("#message-2", "c")] {
        browser.fill(field, text);
    }
    browser.click("[aria-label='remove message 2']");
    assert_eq!(browser.eval(&said), json!(["Message 1: a", "Message 2: c"]));
    assert_eq!(browser.eval("document.activeElement.id"), json!("message-1"), "it is where typing goes on");
    browser.click("[aria-label='remove message 1']");
    assert_eq!(browser.eval(&said), json!(["Message: c"]));
    let left = browser.eval("document.querySelector('#messages button').hidden");
    assert_eq!(left, json!(true), "the only one stays");
    browser.eval("document.querySelector('#message-0').value = ''");
}

fn messages_are_submitted(browser: &mut Browser, served: &Served) {
    let completed = |count: usize| {
        format!("document.querySelectorAll('#items .badge[data-state=completed]').length === {count}")
    };
    browser.fill("#delay", "9000");
    browser.click("#send");
    browser.wait(&format!("{} && {}", text("#message-0-error"), text("#delay-error")));
    assert_eq!(browser.eval("document.activeElement.id"), json!("message-0"), "the first that is wrong");
    browser.fill("#message-0", "<img src=x onerror=alert(1)>");
    browser.fill("#delay", "20");
    let left = browser.eval("document.querySelectorAll('[aria-invalid=true]').length");
    assert_eq!(left, json!(0), "what is corrected is not marked any more");
    browser.click("#send");
    browser.wait(&says("#submitted", "Submitted "));
    browser.wait(&completed(1));
    browser.wait(&says("#items .said", "<img src=x onerror=alert(1)>"));
    browser.wait(&says("#items .total", "total "));
    browser.wait(&says("#items .stamps", "1-serverReceived"));
    browser.wait(&says("#items .times", ", updated "));
    browser.wait(&says("#items .payload code", r#"{"message":"<img src=x onerror=alert(1)>","delay":20,"#));
    browser.wait(&says("#items .result code", r#""processed":true"#));

    browser.click("#add-message");
    browser.eval("document.querySelector('#mode').value = 'direct'");
    browser.fill("#message-0", "one");
    browser.click("#send");
    browser.wait(&text("#message-1-error"));
    assert_eq!(browser.eval(&text("#message-0-error")), json!(""));
    browser.fill("#message-1", "two");
    browser.click("#send");
    browser.wait(&says("#submitted", "Submitted 2 items."));
    browser.wait(&completed(3));
    browser.wait(&says("[data-object='coordinator/main-coordinator']", "version"));

    served.ok("POST /coordinator/main-coordinator/queue", r#"{"message":"from elsewhere","delay":0}"#);
    browser.wait(&says("#items .said", "from elsewhere"));
    browser.wait(&completed(4));
    assert_eq!(served.ok("GET /processor/main-coordinator/stats", ""), json!({ "processCount": 4 }));
}

fn it_fits_small_and_dark_screens(browser: &mut Browser) {
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.eval(background);
    let small = json!({ "width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", small);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    assert_ne!(browser.eval(background), light);
    assert_eq!(browser.eval("document.documentElement.scrollWidth"), json!(360));
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
}

fn a_token_is_asked_for(browser: &mut Browser, served: &Served, url: &str) {
    let token = served.ok("POST /v1/tokens", r#"{"role":"operate"}"#)["token"].clone();
    browser.eval("sessionStorage.setItem('token', 'abide_wrong')");
    browser.open(url, "document.querySelector('#token-form')?.hidden === false");
    browser.wait(&says("#token-refused", "does not know this token"));
    browser.fill("#token", token.as_str().expect("text"));
    browser.click("#token-form button");
    browser.wait(IS_LIVE);
    assert_eq!(browser.eval("document.querySelector('#token-form').hidden"), json!(true));
    browser.wait(&says("[data-queue=mail]", "mail"));
}
