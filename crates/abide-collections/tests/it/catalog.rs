//! What is remembered of collections.

use crate::rig::{PAPERS, Rig, known, rig};
use abide_collections::snapshot::directory_id;
use abide_collections::{Call, Collection, Collections, NAME, Reply};
use abide_engine::{Answer, CallError};

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
