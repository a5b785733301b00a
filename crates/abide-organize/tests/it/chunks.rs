//! Several requests for one directory: chunks in any order, groups of earlier runs, the same request again and again.

use crate::rig::{Orchestrator, Rig, whole, with_model};
use crate::stand_in::{Play, StandIn, by_letter, good};
use crate::tree::{Grouped, Tree, tree};
use abide_entities::request::Create;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::{CallbackStatus, ExistingGroup, FileInput, PiRequest, ProcessRequest};
use abide_organize::group_id;

/// What chunks are known by.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// Ids that come one after the other.
    ById,
    /// Their parts; ids come the other way round.
    ByPart,
}

/// Eight chunks of one directory, each with some files of every group, in an order.
async fn eight_chunks(order: &[usize], at_once: bool, known: Known) -> (Tree, EntityId) {
    // Each chunk has its own words, and some their own spelling of a name.
    let model = StandIn::start(|question| {
        let mut answer = by_letter(&question.files);
        let first = &question.files[0];
        answer["reorganization_description"] = format!("By first letter, as in {first}.").into();
        for group in answer["groups"].as_array_mut().unwrap() {
            group["description"] = format!("Such as {}.", group["files"][0]).into();
        }
        if first.contains(['2', '5']) {
            answer["groups"][0]["group_name"] = "LETTER A".into();
        }
        Play::Says(answer.to_string())
    })
    .await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let names: Vec<String> =
        (0..8).flat_map(|chunk| ['a', 'b', 'c', 'z'].map(|letter| format!("{letter}{chunk}.txt"))).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let before = rig.directory_of(&files).await;
    for chunk in order {
        let files = names[chunk * 4..chunk * 4 + 4].iter().map(FileInput::named).collect();
        let (id, part) = match known {
            Known::ById => (*chunk, None),
            Known::ByPart => (8 - chunk, Some(*chunk as u32)),
        };
        let pi = PiRequest { files: Some(files), part, ..PiRequest::whole(before.id.clone()) };
        rig.process(ProcessRequest { pis: vec![pi], ..whole(&format!("chunk-{id}"), &[]) }).await;
        if !at_once {
            assert_eq!(orchestrator.next().await.status, CallbackStatus::Success);
        }
    }
    if at_once {
        for _ in order {
            let payload = orchestrator.next().await;
            assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
        }
    }
    let tree = tree(&rig, &before).await;
    rig.engine.stop().await;
    (tree, before.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_chunks_in_any_order_give_one_tree() {
    let (expected, first) = eight_chunks(&[0, 1, 2, 3, 4, 5, 6, 7], false, Known::ById).await;
    assert_eq!(expected.groups.len(), 3);
    assert!(expected.groups.values().all(|(_, _, files)| files.len() == 8));
    let named = |tree: &Tree, parent: &EntityId| -> Vec<Grouped> {
        let ids = ["Letter a", "Letter b", "Letter c"].map(|name| group_id("batch-1", parent, name));
        ids.iter().map(|id| tree.groups[id].clone()).collect()
    };
    for (order, at_once, known) in [
        ([7, 6, 5, 4, 3, 2, 1, 0], false, Known::ById),
        ([3, 0, 7, 4, 1, 6, 5, 2], true, Known::ById),
        ([6, 1, 4, 7, 2, 5, 0, 3], true, Known::ByPart),
    ] {
        let (tree, parent) = eight_chunks(&order, at_once, known).await;
        assert_eq!(named(&tree, &parent), named(&expected, &first));
        assert_eq!(tree.description, expected.description);
        let kept = |tree: &Tree| tree.parent.keys().cloned().collect::<Vec<_>>();
        assert_eq!(kept(&tree), kept(&expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_go_to_groups_that_exist() {
    let model = StandIn::start(|question| {
        assert!(question.user.contains("- Letter A: all of a"), "{}", question.user);
        good(question)
    })
    .await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    // Somebody moved another a2.txt into the group.
    let group = rig.directory_of(&[("a0.txt", "apple"), ("a2.txt", "another")]).await;
    let files = [("a1.txt", "apples"), ("a2.txt", "more apples"), ("z.txt", "odd")];
    let before = rig.directory_of(&files).await;
    let existing = ExistingGroup {
        group_name: "Letter A".to_owned(),
        pi: group.id.clone(),
        description: "all of a".to_owned(),
    };
    let pi = PiRequest { existing_groups: vec![existing], ..PiRequest::whole(before.id.clone()) };
    rig.process(ProcessRequest { pis: vec![pi], ..whole("0", &[]) }).await;
    let payload = orchestrator.next().await;
    let groups = payload.results.as_ref().unwrap()[0].group_entities.clone().unwrap();
    assert_eq!((groups.len(), &groups[0].pi), (1, &group.id));
    let after = rig.get(&group.id).await;
    assert_eq!(after.components.keys().collect::<Vec<_>>(), ["a0.txt", "a1.txt", "a2.txt"]);
    assert_eq!(rig.text(&after, "a2.txt").await, "another");
    let left = rig.get(&before.id).await;
    assert!(!left.components.contains_key("a1.txt"));
    assert_eq!(rig.text(&left, "a2.txt").await, "more apples");
    rig.engine.stop().await;
}

/// People know parts by their names.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_has_a_name_that_no_folder_beside_it_has() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let names = ["a1.txt", "a2.txt", "b1.txt", "b2.txt"];
    let before = rig.directory_of(&names.map(|name| (name, name))).await;
    let folder = Create {
        label: Some("LETTER A".to_owned()),
        parent_pi: Some(before.id.clone()),
        ..Create::default()
    };
    let folder = rig.entities.create(folder).await.unwrap().id;
    for _ in 0..2 {
        rig.process(whole("0", &[&before.id])).await;
        let payload = orchestrator.next().await;
        let result = &payload.results.as_ref().unwrap()[0];
        let groups = result.group_entities.iter().flatten();
        let groups: Vec<&str> = groups.map(|group| group.group_name.as_str()).collect();
        if !groups.is_empty() {
            let warnings = &result.llm_metrics.as_ref().unwrap().validation_warnings;
            assert_eq!(groups, ["Letter a (2)", "Letter b"]);
            assert!(
                warnings.iter().any(|warning| warning.contains("another part \"Letter a\"")),
                "{warnings:?}"
            );
        }
        rig.finished("batch-1", "0").await;
    }
    let children = rig.get(&before.id).await.children_pi;
    assert_eq!((children.len(), &children[0]), (3, &folder));
    assert_eq!(rig.get(&children[1]).await.label.as_deref(), Some("Letter a (2)"));
    rig.engine.stop().await;
}

/// A directory may have more groups than can be offered: what is called like one of the others goes into it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_was_not_offered_is_found_by_its_name() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let names = ["a1.txt", "a2.txt", "a3.txt", "a4.txt"];
    let before = rig.directory_of(&names.map(|name| (name, name))).await;
    let mut groups = Vec::new();
    for (batch, files) in [("b1", &names[..3]), ("b2", &names[3..])] {
        let files = Some(files.iter().map(|name| FileInput::named(*name)).collect());
        let pi = PiRequest { files, existing_groups: groups, ..PiRequest::whole(before.id.clone()) };
        let other = ExistingGroup {
            group_name: "Others".to_owned(),
            pi: before.id.clone(),
            description: String::new(),
        };
        let batch_id = batch.to_owned();
        rig.process(ProcessRequest { batch_id, pis: vec![pi], ..whole("0", &[]) }).await;
        let payload = orchestrator.next().await;
        assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
        groups = vec![other];
    }
    let children = rig.get(&before.id).await.children_pi;
    assert_eq!(children, [group_id("b1", &before.id, "Letter a")]);
    let group = rig.get(&children[0]).await;
    assert_eq!(group.components.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert_eq!(group.label.as_deref(), Some("Letter a"));
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_again_and_again_gives_the_same_entities() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let names = ["a1.txt", "a2.txt", "b1.txt", "b2.txt", "z.txt"];
    let before = rig.directory_of(&names.map(|name| (name, name))).await;
    let files = names.iter().map(|name| FileInput::named(*name)).collect();
    let pi = PiRequest { files: Some(files), ..PiRequest::whole(before.id.clone()) };
    let request = ProcessRequest { pis: vec![pi], ..whole("0", &[]) };
    rig.process(request.clone()).await;
    rig.process(request.clone()).await;
    orchestrator.next().await;
    rig.finished("batch-1", "0").await;
    let (once, versions) = (tree(&rig, &before).await, rig.get(&before.id).await.ver);
    for _ in 0..3 {
        rig.process(request.clone()).await;
        let payload = orchestrator.next().await;
        assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
        let groups = payload.results.unwrap().remove(0).group_entities.unwrap();
        assert_eq!(groups.iter().map(|group| group.files.len()).collect::<Vec<_>>(), [2, 2]);
        rig.finished("batch-1", "0").await;
    }
    assert_eq!((tree(&rig, &before).await, rig.get(&before.id).await.ver), (once, versions));
    rig.engine.stop().await;
}
