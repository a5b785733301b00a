//! Every form of message on a real engine: entities are made, organized by the real organizer, and described.

use crate::real::{Rig, reference, rig};
use abide_entities::answer::Shown;
use abide_entities::request::Create;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::OWN_COMPONENTS;
use abide_pipeline::contract::*;
use abide_pipeline::{Options, ids};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Letters of three people, numbered, a scan of each of the first, and a file that belongs nowhere.
fn collection() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for who in ["anna", "bertha"] {
        for n in 1..=6 {
            let text = format!("Dear {who}, letter {n} of the year 188{n} about the harvest and the mill.");
            files.push((format!("/archive/letters/{who}-letter-{n:02}.txt"), text));
        }
    }
    files.push(("/archive/letters/torn.jpg.ref.json".to_owned(), reference("torn.jpg")));
    files.push(("/archive/scans/s1.jpg.ref.json".to_owned(), reference("s1.jpg")));
    files.push(("/archive/scans/s2.jpg.ref.json".to_owned(), reference("s2.jpg")));
    files.push(("/archive/scans/raw.bin".to_owned(), "\u{0}bytes".to_owned()));
    files
}

async fn ingest(rig: &Rig, batch: &str) -> StatusAnswer {
    let files = collection();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    rig.stage(batch, &files).await;
    rig.start(json!({
        "batch_id": batch, "manifest_r2_key": format!("staging/{batch}/_manifest.json"),
        "r2_prefix": format!("staging/{batch}/"), "institution": "City Archive",
        "custom_prompts": {"general": "Be brief."},
    }))
    .await;
    rig.end(batch).await
}

/// Parents know their children and children their parents; versions rise by one.
async fn check_links(rig: &Rig, tree: &[Shown]) {
    let by_id: BTreeMap<&EntityId, &Shown> = tree.iter().map(|shown| (&shown.id, shown)).collect();
    for shown in tree {
        for child in &shown.children_pi {
            assert_eq!(by_id[child].parent_pi.as_ref(), Some(&shown.id));
        }
        let versions = rig.entities.versions(&shown.id, 1_000, None).await.unwrap();
        let numbers: Vec<u32> = versions.items.iter().map(|item| item.ver).collect();
        assert_eq!(numbers, (1..=shown.ver).rev().collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest() {
    let rig = rig(Options::default());
    let status = ingest(&rig, "b1").await;
    assert_eq!(status.status, Status::Done, "{status:?}");
    assert_eq!(status.directories_failed, 0, "{:?}", status.notes);
    assert_eq!((status.files.total, status.files.published), (16, 16));
    assert_eq!((status.files.ocr_total, status.files.ocr_read, status.files.ocr_failed), (3, 2, 1));
    // What was paid for the image that could not be read.
    assert_eq!((status.cost.tokens, status.cost.cost_usd), (100, 0.25));
    let root = status.root_pi.unwrap();
    assert_eq!(root, ids::of_directory("b1", "/"));
    let tree = rig.tree(&root).await;
    assert_eq!(tree.len() as u64, status.progress.directories_total);
    check_links(&rig, &tree).await;
    // Nothing is lost: every file is a component of some entity.
    let kept: BTreeSet<&str> = tree
        .iter()
        .flat_map(|shown| shown.components.keys().map(String::as_str))
        .filter(|name| !OWN_COMPONENTS.contains(name))
        .collect();
    let files = collection();
    let expected: BTreeSet<&str> = files.iter().map(|(path, _)| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(kept, expected);
    // Groups were made, and all of it is described from the bottom up.
    assert!(tree.len() > 4, "{} entities", tree.len());
    for shown in &tree {
        let pinax: Value = serde_json::from_str(&rig.text(shown, "pinax.json").await).unwrap();
        assert_eq!(pinax["institution"], "City Archive");
        assert_eq!(pinax["asked"], "Be brief.");
        assert_eq!(pinax["children"].as_array().unwrap().len(), shown.children_pi.len());
        let description = rig.text(shown, "description.md").await;
        let listed = description.lines().nth(1).unwrap_or_default();
        assert_eq!(listed.split(", ").filter(|name| !name.is_empty()).count(), shown.children_pi.len());
    }
    let scans = tree.iter().find(|shown| shown.components.contains_key("s1.jpg.ref.json")).unwrap();
    let read: Value = serde_json::from_str(&rig.text(scans, "s1.jpg.ref.json").await).unwrap();
    assert_eq!(read["ocr"], "Dear Anna, this is http://127.0.0.1:1/asset/s1.jpg");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_to_nothing_was_paid_for_as_well() {
    let rig = rig(Options::default());
    rig.stage("b1", &[("/mute/a.txt", "1"), ("/well/b.txt", "2")]).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.directories_failed), (Status::Done, 1));
    assert_eq!((status.cost.tokens, status.cost.cost_usd), (100, 0.25));
    assert!(
        status.notes.contains(&"pinax failed for /mute: it says nothing".to_owned()),
        "{:?}",
        status.notes
    );
    // Its parent knows of it all the same.
    let tree = rig.tree(&status.root_pi.unwrap()).await;
    let pinax: Value = serde_json::from_str(&rig.text(&tree[0], "pinax.json").await).unwrap();
    let mut children = pinax["children"].as_array().unwrap().clone();
    children.sort_by_key(Value::to_string);
    assert_eq!(children, [json!(["mute", null]), json!(["well", "well"])]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_message_again_makes_nothing_new() {
    let rig = rig(Options::default());
    let first = ingest(&rig, "b1").await;
    let before: Vec<Shown> = rig.tree(first.root_pi.as_ref().unwrap()).await;
    let second = ingest(&rig, "b1").await;
    assert_eq!(second.progress, first.progress);
    assert_eq!(rig.tree(first.root_pi.as_ref().unwrap()).await, before);
    // A stopped batch that begins anew goes over the same entities.
    let _: Value = rig.site.ask("b1", &abide_pipeline::Call::Reset).await.unwrap();
    let third = ingest(&rig, "b1").await;
    assert_eq!(third.status, Status::Done);
    assert_eq!(third.root_pi, first.root_pi);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entities_that_are_there() {
    let rig = rig(Options::default());
    let first = ingest(&rig, "b1").await;
    let tree = rig.tree(first.root_pi.as_ref().unwrap()).await;
    let asked = rig.scripted.asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(asked, 2 * tree.len() as u64);
    let pis: Vec<Value> = tree
        .iter()
        .map(|shown| {
            json!({"pi": shown.id, "parent_pi": shown.parent_pi, "children_pi": shown.children_pi,
            "processing_config": {"ocr": false, "reorganize": false, "pinax": true, "cheimarros": true,
                "describe": true}})
        })
        .collect();
    rig.start(json!({"batch_id": "b2", "root_pi": first.root_pi, "pis": pis, "custom_note": "again"})).await;
    let status = rig.end("b2").await;
    assert_eq!(status.status, Status::Done, "{status:?}");
    assert_eq!(status.progress.directories_total, tree.len() as u64);
    assert_eq!(status.root_pi, first.root_pi);
    let after = rig.tree(first.root_pi.as_ref().unwrap()).await;
    assert_eq!(after.len(), tree.len());
    // The institution is not given this time, so metadata is other metadata, in a version with the note.
    assert!(after.iter().all(|shown| shown.note.as_deref() == Some("again")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_another_entity_and_with_files_that_are_missing() {
    let rig = rig(Options::default());
    let parent = rig.entities.create(Create::default()).await.unwrap().id;
    rig.stage("b1", &[("/a/one.txt", "one"), ("/a/two.txt", "two")]).await;
    rig.staging.delete(&abide_blob::Key::new("staging/b1/a/two.txt").unwrap()).await.unwrap();
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json", "parent_pi": parent}))
        .await;
    let status = rig.end("b1").await;
    assert_eq!((status.files.published, status.files.failed, status.files.open), (1, 1, 0));
    let shown = rig.entities.get(&parent).await.unwrap();
    assert_eq!(shown.children_pi, [status.root_pi.unwrap()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_that_is_not_there() {
    let rig = rig(Options::default());
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let status = rig.end("b1").await;
    assert_eq!(status.status, Status::Error);
    assert!(status.error.unwrap().contains("staging/b1/_manifest.json"));
}

/// More files than one request may have: the organizer is asked in parts, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_in_parts() {
    let rig = rig(Options { max_files: 20, ..Options::default() });
    let files: Vec<(String, String)> = ["minutes", "invoices", "diary"]
        .iter()
        .flat_map(|kind| {
            (1..=25).map(move |n| (format!("/d/{kind}-{n:03}.txt"), format!("{kind} {n} of the club")))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    rig.stage("b1", &files).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0), "{:?}", status.notes);
    let tree = rig.tree(&status.root_pi.unwrap()).await;
    check_links(&rig, &tree).await;
    assert_eq!(tree.len() as u64, status.progress.directories_total);
    let kept: BTreeSet<&String> =
        tree.iter().flat_map(|shown| shown.components.keys()).filter(|name| name.contains('-')).collect();
    let kept = kept.into_iter().filter(|name| !OWN_COMPONENTS.contains(&name.as_str())).count();
    assert_eq!(kept, 75);
}

/// The older form for entities that exist: a manifest that names them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_of_entities_that_are_there() {
    let rig = rig(Options::default());
    let first = ingest(&rig, "b1").await;
    let tree = rig.tree(first.root_pi.as_ref().unwrap()).await;
    let path = |pi: &EntityId| format!("/{pi}");
    let directories: Vec<Value> = tree
        .iter()
        .map(|shown| {
            json!({"directory_path": path(&shown.id), "existing_pi": shown.id,
                "existing_parent_path": shown.parent_pi.as_ref().map(path), "files": [],
                "processing_config": {"ocr": false, "reorganize": false, "pinax": false, "describe": true}})
        })
        .collect();
    let manifest = json!({"batch_id": "b2", "directories": directories}).to_string();
    let key = abide_blob::Key::new("reprocessing/b2/_manifest.json").unwrap();
    rig.staging.put(&key, manifest.into(), "application/json").await.unwrap();
    rig.start(json!({"batch_id": "b2", "manifest_r2_key": key.as_str(), "r2_prefix": "reprocessing/b2/",
        "reprocessing_mode": true, "uploader": "reprocessor-api", "root_path": "/"}))
        .await;
    let status = rig.end("b2").await;
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0), "{:?}", status.notes);
    assert_eq!(status.progress.directories_total, tree.len() as u64);
    assert_eq!(status.root_pi, first.root_pi);
    let after = rig.tree(first.root_pi.as_ref().unwrap()).await;
    let components = |tree: &[Shown], name: &str| -> BTreeMap<EntityId, Option<String>> {
        let of = |shown: &Shown| shown.components.get(name).map(ToString::to_string);
        tree.iter().map(|shown| (shown.id.clone(), of(shown))).collect()
    };
    assert_eq!(components(&after, "pinax.json"), components(&tree, "pinax.json"));
}
