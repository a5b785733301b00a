//! Entities of another server: a folder becomes a collection whose entities and files are there.

use std::fs;

use serde_json::json;

use crate::ingest::{document, ingest, part_of, parts};
use crate::place::Place;
use crate::scans::SERVE;
use crate::served::Served;

#[test]
fn a_collection_may_have_its_entities_on_another_server() {
    let elsewhere = Place::new();
    let served = Served::start(&elsewhere, SERVE);
    let place = Place::new().env("IPFS_WRAPPER", &format!("http://{}", served.address));
    fs::create_dir_all(place.path("work/papers/books")).unwrap();
    for (book, page) in
        [("ledger", 1), ("ledger", 2), ("ledger", 3), ("minutes", 1), ("minutes", 2), ("minutes", 3)]
    {
        let text = format!("Page {page} of the {book}.\n");
        fs::write(place.path(&format!("work/papers/books/{book}_p00{page}.txt")), text).unwrap();
    }
    let summary = ingest(&place);
    let parts = parts(&summary["tree"]);
    let (group, id) = part_of(&parts, "ledger_p002.txt");
    assert!(group.starts_with("/papers/books/"), "{parts:?}");
    let shown = served.ok(&format!("GET /entities/{id}"), "");
    let cid = shown["components"]["ledger_p002.txt"].as_str().unwrap();
    assert_eq!(served.ask(&format!("GET /cat/{cid}"), "").body, "Page 2 of the ledger.\n");
    let root = summary["root_pi"].as_str().unwrap();
    assert_eq!(served.ok(&format!("GET /entities/{root}"), "")["label"], "papers");
    let again = ingest(&place);
    assert_eq!((&again["unchanged"], &again["tree"]), (&json!(6), &summary["tree"]));
    document(place.run("collection delete papers --yes --data-dir data --json"));
    assert_eq!(served.ok("GET /entities", "")["entities"], json!([]));
    assert_eq!(served.ask(&format!("GET /cat/{cid}"), "").status, 404);
}
