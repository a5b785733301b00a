//! What is remembered of collections.

use crate::rig::{PAPERS, Rig, known, rig};
use abide_collections::Unfinished::{All, Words};
use abide_collections::limits::ITEMS_PER_CALL;
use abide_collections::snapshot::directory_id;
use abide_collections::{Call, Collection, Collections, NAME, Reply, Unfinished};
use abide_engine::{Answer, CallError};
use abide_entities::EntityId;
use std::collections::BTreeMap;

async fn ask(rig: &Rig, call: Call) -> Result<Reply, CallError> {
    match rig.engine.ask::<Collections>(NAME, &call).await? {
        Answer::Now(reply) => Ok(reply),
        Answer::Later(_) => unreachable!("it answers at once"),
    }
}

fn collection(name: &str) -> Collection {
    Collection { files: 2, bytes: 10, ..Collection::new(name, directory_id(name, ""), "/scans".to_owned()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_and_their_files_are_remembered() {
    let rig = rig();
    ask(&rig, Call::Save(Box::new(collection(PAPERS)))).await.unwrap();
    let put = [("a.txt".to_owned(), known(&["a.txt"])), ("b/c.txt".to_owned(), known(&["c.txt"]))];
    let call = Call::SaveFiles { name: PAPERS.to_owned(), put: put.clone().into(), gone: [].into() };
    ask(&rig, call).await.unwrap();
    let files = ask(&rig, Call::Files { name: PAPERS.to_owned(), after: None }).await.unwrap();
    assert_eq!(files, Reply::Files { files: put.to_vec(), next: None });
    let removed = ask(&rig, Call::Remove { name: PAPERS.to_owned() }).await;
    assert!(matches!(&removed, Err(CallError::Refused(no)) if no.code == "has_files"), "{removed:?}");
    let gone = ["a.txt", "b/c.txt"].map(str::to_owned).into();
    ask(&rig, Call::SaveFiles { name: PAPERS.to_owned(), put: [].into(), gone }).await.unwrap();
    ask(&rig, Call::Remove { name: PAPERS.to_owned() }).await.unwrap();
    let all = ask(&rig, Call::List { after: None }).await.unwrap();
    assert_eq!(all, Reply::Collections { collections: Vec::new(), next: None });
}

/// Whoever is at work on a collection does not bring it back, nor write into one that was made in its place.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_one_life_is_not_saved_in_the_next() {
    let rig = rig();
    let save = async |known: &Collection| match ask(&rig, Call::Save(Box::new(known.clone()))).await {
        Ok(Reply::Collection(Some(saved))) => Ok(*saved),
        Err(CallError::Refused(no)) => Err(no.code),
        other => panic!("{other:?}"),
    };
    let first = save(&collection(PAPERS)).await.unwrap();
    let first = save(&first).await.unwrap();
    ask(&rig, Call::Remove { name: PAPERS.to_owned() }).await.unwrap();
    assert_eq!(save(&first).await.unwrap_err(), "gone");
    let second = save(&collection(PAPERS)).await.unwrap();
    assert_eq!(second.life, first.life + 1);
    assert_eq!(save(&first).await.unwrap_err(), "gone");
    assert_eq!(save(&second).await.unwrap().life, second.life);
}

/// After an outage there may be as many as there are folders and groups: none is forgotten, and they go with the collection.
#[tokio::test(flavor = "multi_thread")]
async fn however_many_entities_are_unfinished_they_are_remembered() {
    let rig = rig();
    ask(&rig, Call::Save(Box::new(collection(PAPERS)))).await.unwrap();
    let entities: BTreeMap<EntityId, Unfinished> = (0..2 * ITEMS_PER_CALL + 1)
        .map(|nth| (directory_id(PAPERS, &nth.to_string()), if nth % 2 == 0 { All } else { Words }))
        .collect();
    let all: Vec<_> = entities.clone().into_iter().collect();
    for part in all.chunks(ITEMS_PER_CALL) {
        let put = part.iter().cloned().collect();
        ask(&rig, Call::SaveUnfinished { name: PAPERS.to_owned(), put, gone: [].into() }).await.unwrap();
    }
    let (mut found, mut after) = (BTreeMap::new(), None);
    loop {
        let call = Call::Unfinished { name: PAPERS.to_owned(), after };
        let Reply::Unfinished { entities, next } = ask(&rig, call).await.unwrap() else { panic!("no page") };
        found.extend(entities.into_iter().map(|(id, what)| (EntityId::parse(&id).unwrap(), what)));
        match next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(found, entities);
    let refused = ask(&rig, Call::Remove { name: PAPERS.to_owned() }).await;
    assert!(matches!(&refused, Err(CallError::Refused(_))), "{refused:?}");
    rig.shelf().delete(PAPERS).await.unwrap();
    let call = Call::Get { name: PAPERS.to_owned() };
    assert_eq!(ask(&rig, call).await.unwrap(), Reply::Collection(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_collection_is_refused() {
    let rig = rig();
    for name in ["", "a/b", " x", "a\nb", &"x".repeat(101)] {
        let refused = ask(&rig, Call::Save(Box::new(collection(name)))).await;
        assert!(
            matches!(&refused, Err(CallError::Refused(no)) if no.code == "bad_name"),
            "{name:?} {refused:?}"
        );
    }
    let unknown = ask(&rig, Call::Files { name: PAPERS.to_owned(), after: None }).await;
    assert!(
        matches!(&unknown, Err(CallError::Refused(no)) if no.code == "unknown_collection"),
        "{unknown:?}"
    );
}
