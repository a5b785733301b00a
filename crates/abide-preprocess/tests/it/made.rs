//! What a report names, looked for in the buckets, while workers wait for room on a disk.

use abide_blob::{Bucket, Key, Signer};
use abide_core::object::Incarnation;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_preprocess::calls::{
    AttemptRef, Call, OkAnswer, StartAnswer, StatusAnswer, TaskDocument, TaskPage, TasksAnswer,
};
use abide_preprocess::launch::{Launcher, Local};
use abide_preprocess::{
    Buckets, CallbackError, QueueMessage, Report, Service, Setup, Site, TaskStatus, jobs,
};
use abide_store::memory::MemoryStore;
use abide_store::{Answer, Read};
use serde_json::{Value, json};

/// A batch on whose machine there is never room for a worker.
struct Batch {
    engine: Engine,
    service: Service,
    site: Site,
    life: Incarnation,
    _dir: tempfile::TempDir,
}

impl Batch {
    async fn of(names: &[&str]) -> Batch {
        let dir = tempfile::tempdir().unwrap();
        let bucket = |name: &str| Bucket::directory(&dir.path().join(name)).unwrap();
        let signer = Signer::new([1; 32]);
        let buckets = Buckets { staging: bucket("staging"), archive: bucket("archive"), signer };
        let local =
            Local { program: "false".into(), arguments: Vec::new(), work_dir: dir.path().join("work") };
        let mut registry = Registry::new();
        let setup = Setup { room_bytes: u64::MAX, ..Setup::new(buckets, Launcher::Local(local), 2) };
        let service = Service::register(&mut registry, setup).unwrap();
        let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default()).unwrap();
        service.begin(engine.clone(), "http://127.0.0.1:9/preprocess");
        let site = service.site().await;
        put(&service.buckets().staging, "staging/b1/_manifest.json", &manifest(names).to_string()).await;
        let message = json!({ "batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json",
            "r2_prefix": "staging/b1/" });
        let message = Box::new(QueueMessage::read(&message).unwrap());
        site.ask::<StartAnswer>("b1", &Call::Start(message)).await.unwrap();
        service.hindrance().wait_for(Option::is_some).await.unwrap();
        let object = "preprocess/b1".parse().unwrap();
        let Ok(Answer::Object(Some(view))) = engine.read(Read::Object(object)).await else {
            panic!("no batch")
        };
        Batch { engine, service, site, life: view.incarnation, _dir: dir }
    }

    /// Calls back about the first attempt of a task, as one who can sign.
    async fn call_back(&self, task_id: &str, report: Value) -> Result<OkAnswer, CallbackError> {
        let attempt = AttemptRef { life: self.life, task_id: task_id.to_owned(), attempt: 1 };
        let signature = jobs::sign(&self.service.buckets().signer, "b1", &attempt);
        let report: Report = serde_json::from_value(report).unwrap();
        self.service.call_back("b1", attempt, signature, report).await
    }

    async fn task(&self, task_id: &str) -> TaskDocument {
        let page = TaskPage { limit: Some(500), ..TaskPage::default() };
        let TasksAnswer { tasks, .. } = self.site.ask("b1", &Call::Tasks(page)).await.unwrap();
        tasks.into_iter().find(|task| task.task_id == task_id).unwrap()
    }
}

fn manifest(names: &[&str]) -> Value {
    let files = names.iter().map(|name| {
        let content_type = if name.ends_with("jpg") { "image/jpeg" } else { "application/octet-stream" };
        json!({ "r2_key": format!("staging/b1/{name}"), "logical_path": format!("/{name}"), "file_name": name,
            "file_size": 9, "content_type": content_type })
    });
    let files: Vec<Value> = files.collect();
    json!({ "batch_id": "b1", "directories": [{ "directory_path": "/", "files": files }] })
}

async fn put(bucket: &Bucket, key: &str, text: &str) {
    let bytes = text.to_owned().into();
    bucket.put(&Key::new(key).unwrap(), bytes, "application/octet-stream").await.unwrap();
}

fn jpeg(name: &str, bytes: u64) -> Value {
    json!({ "status": "success", "output_r2_key": format!("staging/b1/{name}"), "output_file_name": name,
        "output_file_size": bytes })
}

/// Two pages, and a text of the second.
fn pages() -> Value {
    let page = |number: u32| {
        json!({ "page": number, "r2_key": format!("staging/b1/book-p000{number}.jpg"),
            "file_name": format!("book-p000{number}.jpg"), "file_size": 5 })
    };
    let mut second = page(2);
    second["text_r2_key"] = json!("staging/b1/book-p0002.txt");
    json!({ "status": "success", "page_count": 2, "outputs": [page(1), second] })
}

fn picture() -> Value {
    json!({ "status": "success", "ref_json_r2_key": "staging/b1/photo.jpg.ref.json",
        "ref_data": { "url": "/asset/A" }, "archive_r2_key": "archive/b1/A/original.jpg" })
}

#[tokio::test]
async fn a_success_is_believed_only_with_its_outputs() {
    let batch = Batch::of(&["none.tif", "other.tif", "book.pdf", "photo.jpg", "good.tif"]).await;
    let staging = &batch.service.buckets().staging;
    for key in ["other.jpg", "book-p0001.jpg", "book-p0002.jpg", "photo.jpg.ref.json", "good.jpg"] {
        put(staging, &format!("staging/b1/{key}"), "a jpg").await;
    }
    let cases = [
        ("b1_tiff_0000001", jpeg("none.jpg", 5), "staging/b1/none.jpg was reported but not uploaded"),
        (
            "b1_tiff_0000002",
            jpeg("other.jpg", 6),
            "the worker reported 6 bytes of staging/b1/other.jpg, and 5 are in the bucket",
        ),
        ("b1_pdf_0000003", pages(), "staging/b1/book-p0002.txt was reported but not uploaded"),
        ("b1_image_0000004", picture(), "archive/b1/A/original.jpg was reported but not uploaded"),
    ];
    for (task_id, report, reason) in cases {
        assert!(batch.call_back(task_id, report).await.unwrap().ok);
        let task = batch.task(task_id).await;
        assert_eq!((task.retry_count, task.error.as_deref()), (1, Some(reason)));
    }
    assert!(batch.call_back("b1_tiff_0000005", jpeg("good.jpg", 5)).await.unwrap().ok);
    assert_eq!(batch.task("b1_tiff_0000005").await.status, TaskStatus::Completed);
    let forged = AttemptRef { life: batch.life, task_id: "b1_tiff_0000001".to_owned(), attempt: 2 };
    let report: Report = serde_json::from_value(jpeg("none.jpg", 5)).unwrap();
    let refused = batch.service.call_back("b1", forged, "00".to_owned(), report).await.unwrap_err();
    assert!(refused.to_string().contains("the signature is not that of attempt 2"), "{refused}");
    batch.engine.stop().await;
}

#[tokio::test]
async fn workers_wait_for_room_and_no_attempt_is_used_up() {
    let batch = Batch::of(&["a.tif"]).await;
    let hindrance = batch.service.hindrance().borrow().clone().unwrap();
    assert!(
        hindrance.contains(" bytes free, and workers wait until it has 18446744073709551615"),
        "{hindrance}"
    );
    let task = batch.task("b1_tiff_0000001").await;
    assert_eq!((task.status, task.retry_count, task.error), (TaskStatus::Pending, 0, None));
    let status: StatusAnswer = batch.site.ask("b1", &Call::Status).await.unwrap();
    assert_eq!((status.status.as_str(), status.progress.tasks_failed), ("TIFF_CONVERSION", 0));
    batch.engine.stop().await;
}
