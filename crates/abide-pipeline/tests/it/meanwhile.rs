//! What people do with entities while a batch is under way, or did before it.

use crate::real::{Rig, reference, rig};
use abide_entities::request::{Append, Create};
use abide_entities::{ContentId, EntityId, EntityStore, update};
use abide_pipeline::Options;
use abide_pipeline::contract::Status;
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;

async fn upload(rig: &Rig, text: &str) -> ContentId {
    let pieces = stream::iter([Ok(Bytes::copy_from_slice(text.as_bytes()))]);
    rig.entities.upload("f".to_owned(), Box::pin(pieces)).await.unwrap().cid
}

/// An entity with these files.
async fn entity(rig: &Rig, files: &[(&str, &str)], parent: Option<&EntityId>) -> EntityId {
    let mut components = std::collections::BTreeMap::new();
    for (name, text) in files {
        components.insert((*name).to_owned(), upload(rig, text).await);
    }
    let create = Create { components, parent_pi: parent.cloned(), ..Create::default() };
    rig.entities.create(create).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_while_images_are_read_is_not_undone() {
    let rig = rig(Options::default());
    let slow = reference("slow.jpg");
    let files = [("slow.jpg.ref.json", slow.as_str()), ("gone.txt", "one"), ("edited.txt", "two")];
    let directory = entity(&rig, &files, None).await;
    let child = entity(&rig, &[("in.txt", "three")], Some(&directory)).await;
    let other = entity(&rig, &[], None).await;
    let config = json!({"ocr": true, "reorganize": false});
    let pis = json!([
        {"pi": directory, "children_pi": [child], "processing_config": config},
        {"pi": child, "parent_pi": directory, "children_pi": [], "processing_config": config},
    ]);
    rig.start(json!({"batch_id": "b1", "pis": pis})).await;
    rig.scripted.waiting.acquire().await.unwrap().forget();
    let edited = upload(&rig, "two, edited").await;
    let by_hand = update(rig.entities.as_ref(), &directory, |shown| Append {
        components: [("edited.txt".to_owned(), edited)].into(),
        components_remove: ["gone.txt".to_owned()].into(),
        ..Append::onto(shown.tip)
    });
    by_hand.await.unwrap();
    let moved = update(rig.entities.as_ref(), &other, |shown| Append {
        children_pi_add: vec![child.clone()],
        ..Append::onto(shown.tip)
    });
    moved.await.unwrap();
    rig.scripted.may_read.add_permits(1);
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.files.ocr_read), (Status::Done, 1), "{status:?}");
    let now = rig.entities.get(&directory).await.unwrap();
    assert_eq!(now.components.get("edited.txt"), Some(&edited));
    assert!(!now.components.contains_key("gone.txt") && now.children_pi.is_empty(), "{now:?}");
    assert!(rig.text(&now, "slow.jpg.ref.json").await.contains("Dear Anna"));
    assert_eq!(rig.entities.get(&child).await.unwrap().parent_pi, Some(other));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_somebody_put_there_come_into_no_group() {
    let rig = rig(Options::default());
    let names: Vec<String> =
        (1..=4).flat_map(|n| [format!("Ledger A p{n:03}.txt"), format!("Minute book p{n:03}.txt")]).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a page")).collect();
    let directory = entity(&rig, &files, None).await;
    let fixed = ["Ledger A p002.txt", "Minute book p004.txt"];
    rig.start(json!({"batch_id": "b1", "pis": [{"pi": directory, "children_pi": [], "fixed_files": fixed}]}))
        .await;
    let status = rig.end("b1").await;
    assert_eq!(status.status, Status::Done, "{status:?}");
    let now = rig.entities.get(&directory).await.unwrap();
    let kept: Vec<&String> = now.components.keys().filter(|name| names.contains(name)).collect();
    assert_eq!(kept, fixed);
    let mut grouped = 0;
    for group in &now.children_pi {
        let group = rig.entities.get(group).await.unwrap();
        grouped += group.components.keys().filter(|name| names.contains(name)).count();
    }
    assert_eq!((now.children_pi.len(), grouped), (2, 6));
}

/// A new page of the ledger makes a group of all its pages; the minutes are as they were, and stay as they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_were_left_alone_are_grouped_only_with_new_ones() {
    let rig = rig(Options::default());
    let pages = |book: &'static str| (1..=4).map(move |n| format!("{book} p{n:03}.txt"));
    let (ledger, minutes): (Vec<String>, Vec<String>) =
        (pages("Ledger A").collect(), pages("Minute book").collect());
    let all = || ledger.iter().chain(&minutes);
    let files: Vec<(&str, &str)> = all().map(|name| (name.as_str(), "a page")).collect();
    for (batch, new) in [("b1", Some(&ledger[3])), ("b2", None)] {
        let directory = entity(&rig, &files, None).await;
        let former: Vec<&String> = all().filter(|name| Some(*name) != new).collect();
        rig.start(
            json!({"batch_id": batch, "pis": [{"pi": directory, "children_pi": [], "former_files": former}]}),
        )
        .await;
        let status = rig.end(batch).await;
        assert_eq!(status.status, Status::Done, "{status:?}");
        let now = rig.entities.get(&directory).await.unwrap();
        let kept: Vec<&String> = all().filter(|name| now.components.contains_key(*name)).collect();
        match new {
            Some(_) => assert_eq!(kept, minutes.iter().collect::<Vec<_>>()),
            None => assert_eq!(kept.len(), 8, "nothing is new"),
        }
        assert_eq!(now.children_pi.len(), usize::from(new.is_some()));
    }
}
