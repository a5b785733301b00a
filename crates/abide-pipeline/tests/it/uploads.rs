//! Uploads on a real engine: files come, entities are made, the real preprocessing passes them on, the pipeline takes them.

use crate::real::{Rig, reference, rig, rig_that_waits};
use abide_blob::Key;
use abide_core::commit::Reply;
use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::ticket::Resolution;
use abide_engine::store::view::TicketView;
use abide_engine::testing::{World, day};
use abide_engine::worker::done;
use abide_engine::{Call as EngineCall, CallError, Object};
use abide_entities::request::Append;
use abide_entities::{EntityStore, update};
use abide_pipeline::contract::Status;
use abide_pipeline::upload::{
    Call, CompleteFile, FinalizeAnswer, Init, Intake, Limits, ProcessedBody, QUEUE, SWEEP, StartFile,
    StatusAnswer, UploadError, WithdrawFile, part_key,
};
use abide_pipeline::{Options, ids};
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn init(files: u64, bytes: u64) -> Init {
    serde_json::from_value(json!({
        "uploader": "ada", "root_path": "/", "file_count": files, "total_size": bytes,
        "custom_prompts": {"general": "Be brief."},
    }))
    .unwrap()
}

fn file(path: &str, size: usize) -> StartFile {
    serde_json::from_value(json!({
        "file_name": path.rsplit('/').next(), "file_size": size, "logical_path": path,
        "content_type": "text/plain", "processing_config": {"ocr": true, "describe": true, "pinax": true},
    }))
    .unwrap()
}

/// Calls an upload and waits for its answer; the code of a refusal otherwise.
async fn ask(rig: &Rig, batch: &str, call: &Call) -> Result<Value, String> {
    let object = ObjectKey::new(Intake::KIND, batch).unwrap();
    let call = EngineCall { object, body: Json::encode(call).unwrap(), key: None };
    match rig.engine.call(call).await {
        Ok(Reply::Now(reply)) => Ok(reply.decode().unwrap()),
        Ok(Reply::Later(ticket)) => {
            match rig.engine.ticket(&ticket, Duration::from_secs(30)).await.unwrap() {
                Some(TicketView::Resolved(Resolution::Reply(reply))) => Ok(reply.decode().unwrap()),
                Some(TicketView::Resolved(Resolution::Refused { code, .. })) => Err(code),
                other => panic!("{other:?}"),
            }
        }
        Err(CallError::Refused(refused)) => Err(refused.code.to_owned()),
        Err(other) => panic!("{other:?}"),
    }
}

async fn put(rig: &Rig, key: &str, bytes: Bytes) {
    rig.staging.put(&Key::new(key).unwrap(), bytes, "text/plain").await.unwrap();
}

async fn upload(rig: &Rig, batch: &str, path: &str, text: &str) {
    upload_file(rig, batch, file(path, text.len()), text).await;
}

async fn upload_file(rig: &Rig, batch: &str, file: StartFile, text: &str) {
    let started = rig.service.start_file(batch, file).await.unwrap();
    put(rig, &part_key(batch, &started.upload_id, 1), Bytes::copy_from_slice(text.as_bytes())).await;
    let complete = CompleteFile { r2_key: started.r2_key, upload_id: None, parts: None };
    assert_eq!(ask(rig, batch, &Call::Complete(complete.clone())).await.unwrap(), json!({"success": true}));
    assert_eq!(ask(rig, batch, &Call::Complete(complete)).await.unwrap(), json!({"success": true}));
}

fn code<T>(result: Result<T, UploadError>) -> &'static str {
    match result.err() {
        Some(UploadError::Call(CallError::Refused(refused))) => refused.code,
        other => panic!("{other:?}"),
    }
}

/// How many bytes may be put as a part of an upload.
async fn awaited(rig: &Rig, batch: &str, upload_id: &str, part: u32) -> Result<u64, &'static str> {
    match rig.service.awaited_bytes(&part_key(batch, upload_id, part)).await {
        Ok(bytes) => Ok(bytes.unwrap()),
        refused => Err(code(refused)),
    }
}

async fn status(rig: &Rig, batch: &str) -> StatusAnswer {
    rig.service.upload_status(batch).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_first_file_to_the_last_description() {
    let rig = rig(Options::default());
    let batch = rig.service.init_upload(init(3, 1_000)).await.unwrap().batch_id;
    for (path, text) in [("/a/one.txt", "one"), ("/a/two.md", "two"), ("/b/three.bin", "three")] {
        upload(&rig, &batch, path, text).await;
    }
    let first = ask(&rig, &batch, &Call::Finalize).await.unwrap();
    let first: FinalizeAnswer = serde_json::from_value(first).unwrap();
    assert_eq!((first.files_uploaded, first.total_bytes), (3, 11));
    assert_eq!(first.root_pi, Some(ids::of_directory(&batch, "/")));
    let again = ask(&rig, &batch, &Call::Finalize).await.unwrap();
    assert_eq!(again["root_pi"], json!(first.root_pi));
    let end = rig.end(&batch).await;
    assert_eq!((end.status, end.root_pi.clone(), end.directories_failed), (Status::Done, first.root_pi, 0));
    assert_eq!((end.files.total, end.files.published), (3, 3));
    let tree = rig.tree(&end.root_pi.unwrap()).await;
    assert_eq!(tree.len(), 3);
    let pinax: Value = serde_json::from_str(&rig.text(&tree[0], "pinax.json").await).unwrap();
    assert_eq!(pinax["asked"], "Be brief.");
    // One entity has one snapshot of its texts; that it was found again made no version.
    let a = tree.iter().find(|shown| shown.label.as_deref() == Some("a")).unwrap();
    let notes: Vec<Option<String>> = rig.versions(a).await.into_iter().map(|item| item.note).collect();
    assert_eq!(
        notes.iter().filter(|note| note.as_deref() == Some("as it was found")).count(),
        0,
        "{notes:?}"
    );
    let (status, files) = rig.service.upload_status(&batch).await.unwrap();
    assert_eq!(json!(status.status), "enqueued");
    assert_eq!(files.len(), 3);
}

/// What one file of a directory is not to have, another may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_is_read_only_if_its_file_asks_for_it() {
    let rig = rig(Options::default());
    let batch = rig.service.init_upload(init(2, 1_000)).await.unwrap().batch_id;
    for (name, ocr) in [("read", true), ("unread", false)] {
        let (path, text) = (format!("/a/{name}.jpg.ref.json"), reference(name));
        let processing_config = json!({"ocr": ocr, "describe": true, "pinax": true});
        let file = StartFile { processing_config, ..file(&path, text.len()) };
        upload_file(&rig, &batch, file, &text).await;
    }
    ask(&rig, &batch, &Call::Finalize).await.unwrap();
    let end = rig.end(&batch).await;
    assert_eq!((end.status, end.files.ocr_total, end.files.ocr_read), (Status::Done, 1, 1));
    let tree = rig.tree(&end.root_pi.unwrap()).await;
    let a = tree.iter().find(|shown| shown.label.as_deref() == Some("a")).unwrap();
    assert!(rig.text(a, "read.jpg.ref.json").await.contains("Dear Anna"));
    assert!(!rig.text(a, "unread.jpg.ref.json").await.contains("Dear Anna"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_parts() {
    let rig = rig(Options::default());
    let size = 11 << 20;
    let batch = rig.service.init_upload(init(1, size as u64)).await.unwrap().batch_id;
    let started = rig.service.start_file(&batch, file("/large.bin", size)).await.unwrap();
    assert_eq!(started.parts, 2);
    let upload_id = started.upload_id.clone();
    assert_eq!(awaited(&rig, &batch, &upload_id, 1).await, Ok(10 << 20));
    assert_eq!(awaited(&rig, &batch, &upload_id, 2).await, Ok(1 << 20));
    assert_eq!(awaited(&rig, &batch, &upload_id, 3).await, Err("unknown_upload"));
    put(&rig, &part_key(&batch, &upload_id, 1), Bytes::from(vec![1; 10 << 20])).await;
    let complete = |upload_id: &str, parts: &[u32]| {
        let parts: Vec<Value> = parts.iter().map(|part| json!({"part_number": part, "etag": "x"})).collect();
        let body = json!({"r2_key": started.r2_key, "upload_id": upload_id, "parts": parts});
        Call::Complete(serde_json::from_value(body).unwrap())
    };
    assert_eq!(ask(&rig, &batch, &complete("other", &[1, 2])).await.unwrap_err(), "other_upload");
    assert_eq!(ask(&rig, &batch, &complete(&upload_id, &[1])).await.unwrap_err(), "other_upload");
    // The second part is not there: that is said, and it can be tried again.
    assert_eq!(ask(&rig, &batch, &complete(&upload_id, &[1, 2])).await.unwrap_err(), "not_uploaded");
    put(&rig, &part_key(&batch, &upload_id, 2), Bytes::from(vec![2; 1 << 20])).await;
    assert_eq!(ask(&rig, &batch, &complete(&upload_id, &[2, 1])).await.unwrap(), json!({"success": true}));
    let key = Key::new(&started.r2_key).unwrap();
    let whole = rig.staging.get_bytes(&key, 1 << 30).await.unwrap();
    assert_eq!((whole.len(), whole[0], whole[size - 1]), (size, 1, 2));
    let part = Key::new(&part_key(&batch, &upload_id, 1)).unwrap();
    assert!(rig.staging.head(&part).await.is_err());
    // Nothing is awaited there any more, and what comes all the same changes nothing.
    assert_eq!(awaited(&rig, &batch, &upload_id, 1).await, Err("unknown_upload"));
    put(&rig, &part_key(&batch, &upload_id, 1), Bytes::from(vec![9; 10 << 20])).await;
    assert_eq!(ask(&rig, &batch, &complete(&upload_id, &[1, 2])).await.unwrap(), json!({"success": true}));
    assert_eq!(rig.staging.get_bytes(&key, 1 << 30).await.unwrap()[0], 1);
}

/// An upload for which nothing comes for a week is forgotten with everything that came.
#[test]
fn an_abandoned_upload_is_swept() {
    let mut world = World::new();
    world.object(Intake);
    let swept: Arc<Mutex<Vec<Value>>> = Arc::default();
    let orders = Arc::clone(&swept);
    world.worker(QUEUE, SWEEP, move |job| {
        orders.lock().unwrap().push(job.payload.decode::<Value>().unwrap());
        done(&json!({ "deleted": 1 }))
    });
    let init = Call::Init { init: Box::new(init(2, 20 << 20)), session_id: "s".to_owned() };
    let _: Value = world.call("ingest/b", &init).unwrap();
    world.pass(day(6));
    let _: Value = world.call("ingest/b", &Call::Start(Box::new(file("/large.bin", 11 << 20)))).unwrap();
    world.pass(day(6));
    assert!(world.call::<Value>("ingest/b", &Call::Status).is_ok(), "something came meanwhile");
    world.pass(day(2));
    assert_eq!(*swept.lock().unwrap(), [json!({ "batch_id": "b", "is_whole": true })]);
    assert!(world.call::<Value>("ingest/b", &Call::Status).is_err());
    assert_eq!(world.dead_letters(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sweeping_deletes_files_and_parts_of_the_upload_alone() {
    let rig = rig(Options::default());
    let keys = ["staging/b/a.txt", &part_key("b", "u", 1), "staging/b2/a.txt", &part_key("b2", "u", 1)];
    for key in keys {
        put(&rig, key, Bytes::from_static(b"x")).await;
    }
    let job = NewJob::of(QUEUE, SWEEP, &json!({ "batch_id": "b", "is_whole": true })).unwrap();
    let job = rig.engine.enqueue(vec![job]).await.unwrap()[0].job();
    while !rig.engine.job(job).await.unwrap().unwrap().state.is_over() {
        tokio::task::yield_now().await;
    }
    let mut there = Vec::new();
    for key in keys {
        there.push(rig.staging.head(&Key::new(key).unwrap()).await.is_ok());
    }
    assert_eq!(there, [false, false, true, true]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_refused() {
    let rig = rig(Options::default());
    let batch = rig.service.init_upload(init(2, 10)).await.unwrap().batch_id;
    assert_eq!(ask(&rig, "none", &Call::Finalize).await.unwrap_err(), "unknown_batch");
    assert_eq!(ask(&rig, &batch, &Call::Finalize).await.unwrap_err(), "no_files");
    assert_eq!(code(rig.service.start_file(&batch, file("/a.txt", 11)).await), "more_than_declared");
    let started = rig.service.start_file(&batch, file("/a.txt", 3)).await.unwrap();
    assert_eq!(ask(&rig, &batch, &Call::Finalize).await.unwrap_err(), "incomplete");
    let complete =
        |key: &str| Call::Complete(CompleteFile { r2_key: key.to_owned(), upload_id: None, parts: None });
    assert_eq!(ask(&rig, &batch, &complete(&started.r2_key)).await.unwrap_err(), "not_uploaded");
    let place = part_key(&batch, &started.upload_id, 1);
    put(&rig, &place, Bytes::from_static(b"four")).await;
    assert_eq!(ask(&rig, &batch, &complete(&started.r2_key)).await.unwrap_err(), "not_uploaded");
    put(&rig, &place, Bytes::from_static(b"two")).await;
    assert_eq!(ask(&rig, &batch, &complete(&started.r2_key)).await.unwrap(), json!({"success": true}));
    assert_eq!(ask(&rig, &batch, &complete("staging/other/a.txt")).await.unwrap_err(), "unknown_file");
    assert_eq!(code(rig.service.start_file(&batch, file("/a.txt", 3)).await), "file_exists");
    // A file that was begun and did not come can be begun again, or withdrawn.
    let first = rig.service.start_file(&batch, file("/b.txt", 3)).await.unwrap();
    let second = rig.service.start_file(&batch, file("/b.txt", 4)).await.unwrap();
    assert_eq!(awaited(&rig, &batch, &first.upload_id, 1).await, Err("unknown_upload"));
    assert_eq!(awaited(&rig, &batch, &second.upload_id, 1).await, Ok(4));
    assert_eq!(code(rig.service.start_file(&batch, file("/c.txt", 1)).await), "more_than_declared");
    let withdraw = |key: &str| Call::Withdraw(WithdrawFile { r2_key: key.to_owned() });
    assert_eq!(ask(&rig, &batch, &withdraw(&started.r2_key)).await.unwrap_err(), "file_exists");
    assert_eq!(ask(&rig, &batch, &withdraw(&second.r2_key)).await.unwrap(), json!({"success": true}));
    assert_eq!(ask(&rig, &batch, &withdraw(&second.r2_key)).await.unwrap_err(), "unknown_file");
    assert_eq!(awaited(&rig, &batch, &second.upload_id, 1).await, Err("unknown_upload"));
    ask(&rig, &batch, &Call::Finalize).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_what_was_announced_and_below_the_root() {
    let rig = rig(Options::default());
    let batch = rig.service.init_upload(Init { root_path: "/box".to_owned(), ..init(2, 100) }).await.unwrap();
    let batch = batch.batch_id;
    for path in ["/etc/passwd", "/boxes/a.txt"] {
        assert_eq!(code(rig.service.start_file(&batch, file(path, 3)).await), "outside_root", "{path}");
    }
    let cid = |text: &[u8]| {
        let mut hasher = abide_entities::FileHasher::default();
        hasher.update(text);
        Some(hasher.finish().id.to_string())
    };
    let announced = StartFile { cid: cid(b"two"), ..file("/box/a.txt", 3) };
    let bogus = StartFile { cid: Some("bafkreibogus".to_owned()), ..announced.clone() };
    assert!(matches!(rig.service.start_file(&batch, bogus).await, Err(UploadError::Bad(_))));
    let started = rig.service.start_file(&batch, announced).await.unwrap();
    let place = part_key(&batch, &started.upload_id, 1);
    let complete = Call::Complete(CompleteFile { r2_key: started.r2_key, upload_id: None, parts: None });
    put(&rig, &place, Bytes::from_static(b"owt")).await;
    assert_eq!(ask(&rig, &batch, &complete).await.unwrap_err(), "not_uploaded");
    put(&rig, &place, Bytes::from_static(b"two")).await;
    assert_eq!(ask(&rig, &batch, &complete).await.unwrap(), json!({"success": true}));
}

#[test]
fn requests_that_make_no_sense() {
    let limits = Limits::default();
    let said = |file: StartFile| file.check(limits).unwrap_err().to_string();
    for path in ["a.txt", "/a/../b", "/", "/a//b", "/a:b", "/a\u{1}b", "/a?"] {
        assert!(said(file(path, 1)).starts_with("logical_path"), "{path}");
    }
    assert!(said(file("/a", 0)).starts_with("file_size"));
    let mut without = file("/a", 1);
    without.processing_config = json!({"ocr": true, "describe": true});
    assert_eq!(said(without), "processing_config.pinax is true or false");
    assert!(init(0, 1).check(limits).is_err());
    assert!(init(99_999_999_999, 100 << 30).check(limits).unwrap_err().to_string().starts_with("file_count"));
    assert!(init(11, 10).check(limits).is_err());
    assert!(init(1, (100 << 30) + 1).check(limits).unwrap_err().to_string().starts_with("total_size"));
}

/// Whoever preprocesses elsewhere delivers the files over HTTP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processed_files_that_are_delivered() {
    let rig = rig_that_waits();
    let batch = rig.service.init_upload(init(1, 10)).await.unwrap().batch_id;
    let body = |files: Value| serde_json::from_value::<ProcessedBody>(json!({ "files": files })).unwrap();
    upload(&rig, &batch, "/a/one.txt", "one").await;
    let key = format!("staging/{batch}/a/one.txt");
    let files = json!([{"r2_key": key, "logical_path": "/a/one.txt", "file_name": "one.txt", "file_size": 3,
        "content_type": "text/plain", "processing_config": {"ocr": false, "describe": true, "pinax": false}}]);
    let early = rig.service.take_processed(&batch, body(files.clone())).await;
    assert!(early.is_err());
    ask(&rig, &batch, &Call::Finalize).await.unwrap();
    assert_eq!(json!(status(&rig, &batch).await.status), "preprocessing");
    assert!(matches!(rig.service.take_processed(&batch, body(json!([]))).await, Err(UploadError::Bad(_))));
    let taken = rig.service.take_processed(&batch, body(files.clone())).await.unwrap();
    assert_eq!((taken.success, taken.total_files), (true, 1));
    // Whoever did not hear the answer asks again.
    assert_eq!(rig.service.take_processed(&batch, body(files.clone())).await.unwrap(), taken);
    let end = rig.end(&batch).await;
    assert_eq!(rig.service.take_processed(&batch, body(files.clone())).await.unwrap(), taken);
    assert_eq!((end.status, end.directories_failed), (Status::Done, 0));
    assert_eq!(end, rig.end(&batch).await, "and nothing comes of it");
    let tree = rig.tree(&end.root_pi.unwrap()).await;
    let a = tree.iter().find(|shown| shown.label.as_deref() == Some("a")).unwrap();
    assert!(a.components.contains_key("description.md") && !a.components.contains_key("pinax.json"));
}

/// A file was tried again elsewhere: a later list has more, and what was made of the first one stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_list_of_processed_files_adds_what_is_new() {
    let rig = rig_that_waits();
    let batch = rig.service.init_upload(init(1, 10)).await.unwrap().batch_id;
    upload(&rig, &batch, "/a/one.txt", "one").await;
    ask(&rig, &batch, &Call::Finalize).await.unwrap();
    let file = |path: &str| {
        json!({"r2_key": format!("staging/{batch}{path}"), "logical_path": path, "file_name": "x", "file_size": 3,
            "content_type": "text/plain", "processing_config": {"ocr": false, "describe": true, "pinax": false}})
    };
    let deliver = async |files: &[&str]| {
        let files: Vec<Value> = files.iter().map(|path| file(path)).collect();
        let body = serde_json::from_value::<ProcessedBody>(json!({ "files": files })).unwrap();
        rig.service.take_processed(&batch, body).await.unwrap()
    };
    deliver(&["/a/one.txt"]).await;
    let first = rig.end(&batch).await;
    for path in ["/a/two.txt", "/b/three.txt"] {
        put(&rig, &format!("staging/{batch}{path}"), Bytes::from_static(b"new")).await;
    }
    let taken = deliver(&["/a/one.txt", "/a/two.txt", "/b/three.txt"]).await;
    assert_eq!(taken.total_files, 3);
    let end = rig.end_with(&batch, 3).await;
    assert_eq!((end.status, end.directories_failed, end.root_pi.clone()), (Status::Done, 0, first.root_pi));
    assert_eq!((end.files.published, end.files.open, end.progress.directories_total), (3, 0, 3));
    let tree = rig.tree(&end.root_pi.unwrap()).await;
    let of = |label: &str| {
        let shown = tree.iter().find(|shown| shown.label.as_deref() == Some(label)).unwrap();
        shown.components.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(of("a"), ["description.md", "one.txt", "two.txt"]);
    assert_eq!(of("b"), ["description.md", "three.txt"]);
    assert_eq!(
        rig.text(&tree[0], "description.md").await,
        "# \na, b\n",
        "what they are in is described anew"
    );
}

/// What people do with a tree between two lists is not undone by the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_moved_or_deleted_since_the_first_list_stays_so() {
    let rig = rig_that_waits();
    let batch = rig.service.init_upload(init(1, 10)).await.unwrap().batch_id;
    upload(&rig, &batch, "/a/one.txt", "one").await;
    ask(&rig, &batch, &Call::Finalize).await.unwrap();
    let deliver = async |paths: &[&str]| {
        let mut files = Vec::new();
        for path in paths {
            let r2_key = format!("staging/{batch}{path}");
            put(&rig, &r2_key, Bytes::from_static(b"new")).await;
            files.push(json!({"r2_key": r2_key, "logical_path": path, "file_name": "x", "file_size": 3,
                "content_type": "text/plain", "processing_config": {"ocr": false, "describe": false, "pinax": false}}));
        }
        let body = serde_json::from_value::<ProcessedBody>(json!({ "files": files })).unwrap();
        rig.service.take_processed(&batch, body).await.unwrap()
    };
    let first = ["/a/one.txt", "/a/gone/two.txt", "/a/moved/three.txt"];
    deliver(&first).await;
    let root = rig.end_with(&batch, 3).await.root_pi.unwrap();
    let tree = rig.tree(&root).await;
    let of =
        |label: &str| tree.iter().find(|shown| shown.label.as_deref() == Some(label)).unwrap().id.clone();
    rig.entities.delete(&of("gone"), None).await.unwrap();
    let moved = update(rig.entities.as_ref(), &root, |shown| Append {
        children_pi_add: vec![of("moved")],
        ..Append::onto(shown.tip)
    });
    moved.await.unwrap();

    deliver(&[&first[..], &["/a/four.txt", "/a/new/five.txt"]].concat()).await;
    let end = rig.end_with(&batch, 5).await;
    assert_eq!((end.status, end.directories_failed), (Status::Done, 0), "{:?}", end.notes);
    let a = rig.entities.get(&of("a")).await.unwrap();
    assert!(a.components.contains_key("four.txt"), "{a:?}");
    let mut labels = Vec::new();
    for kid in &a.children_pi {
        labels.extend(rig.entities.get(kid).await.unwrap().label);
    }
    assert_eq!(labels, ["new"]);
    assert_eq!(rig.entities.get(&of("moved")).await.unwrap().parent_pi, Some(root));
}
