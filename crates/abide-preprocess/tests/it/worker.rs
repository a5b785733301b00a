//! The worker against a stand-in for everything that it talks to.

use abide_preprocess::report::Hindrance;
use abide_preprocess::worker::{Assignment, Trouble, Work, run};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

const TIFF: &[u8] = include_bytes!("../../../abide-media/fuzz-corpus/tiff/raw");

/// What a worker reports whose uploads are answered so, one after the other.
async fn reported(answers: &'static [(StatusCode, &'static str)]) -> Value {
    reported_after(0, answers).await
}

/// The same after so many requests that were not answered.
async fn reported_after(away: usize, answers: &'static [(StatusCode, &'static str)]) -> Value {
    reported_of(away, || (StatusCode::OK, Body::from(TIFF)), answers).await
}

/// The same of an input that comes so.
async fn reported_of(
    away: usize,
    input: impl Fn() -> (StatusCode, Body) + Clone + Send + Sync + 'static,
    answers: &'static [(StatusCode, &'static str)],
) -> Value {
    let (sender, mut reports) = mpsc::unbounded_channel();
    let take = move |axum::Json(report): axum::Json<Value>| {
        let sender = sender.clone();
        async move { sender.send(report).unwrap() }
    };
    let nth = Arc::new(AtomicUsize::new(0));
    let answer = move |_: Bytes| {
        let nth = nth.fetch_add(1, Ordering::Relaxed);
        async move { answers[nth] }
    };
    let router = Router::new()
        .route("/input", get(move || std::future::ready(input())))
        .route("/output", put(answer))
        .route("/callback/b1/t1", post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        // It is started anew meanwhile: whoever came before gets no answer.
        for _ in 0..away {
            drop(listener.accept().await);
        }
        axum::serve(listener, router).await
    });
    let environment = BTreeMap::from([
        ("TASK_ID", "t1".to_owned()),
        ("BATCH_ID", "b1".to_owned()),
        ("INPUT_R2_KEY", "staging/b1/a.tif".to_owned()),
        ("CALLBACK_URL", format!("{base}/callback/b1/t1")),
        ("INPUT_URL", format!("{base}/input")),
        ("OUTPUT_URL", format!("{base}/output")),
    ]);
    let assignment = Assignment::read(|name| environment.get(name).cloned()).unwrap();
    let ended = run(Work::Tiff, assignment).await;
    serving.abort();
    let report = reports.recv().await.unwrap();
    assert_eq!(ended.is_ok(), report["status"] == json!("success"), "{ended:?} {report}");
    report
}

#[tokio::test]
async fn a_bucket_without_room_is_said_to_be_why() {
    const FULL: &str =
        r#"{"error":{"code":"store_full","message":"the bucket has no room","retryable":true}}"#;
    let report = reported(&[(StatusCode::INSUFFICIENT_STORAGE, FULL)]).await;
    assert_eq!((&report["status"], &report["hindered_by"]), (&json!("error"), &json!("bucket")), "{report}");
    let reason = "Failed to upload staging/b1/a.jpg: 507 Insufficient Storage: the bucket has no room";
    assert_eq!(report["error"], json!(reason));
    let report = reported(&[(StatusCode::CONFLICT, "its attempt is over")]).await;
    assert_eq!((&report["hindered_by"], &report["retryable"]), (&Value::Null, &json!(true)), "{report}");
}

#[tokio::test]
async fn an_upload_is_repeated_when_whoever_takes_it_was_away() {
    let report = reported(&[(StatusCode::SERVICE_UNAVAILABLE, "in a moment"), (StatusCode::OK, "")]).await;
    assert_eq!(
        (&report["status"], &report["output_file_name"]),
        (&json!("success"), &json!("a.jpg")),
        "{report}"
    );
}

#[tokio::test]
async fn an_input_is_asked_for_again_when_whoever_has_it_was_away() {
    let report = reported_after(2, &[(StatusCode::OK, "")]).await;
    assert_eq!(report["status"], json!("success"), "{report}");
}

/// Who is started anew, or is behind somebody who says so, breaks off or answers that it is not there.
#[tokio::test]
async fn an_input_that_breaks_off_is_asked_for_again() {
    let nth = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&nth);
    let input = move || match asked.fetch_add(1, Ordering::Relaxed) {
        0 => (StatusCode::BAD_GATEWAY, Body::from("in a moment")),
        1 => {
            let pieces = [Ok(Bytes::from_static(&TIFF[..9])), Err(io::Error::other("gone"))];
            (StatusCode::OK, Body::from_stream(futures_util::stream::iter(pieces)))
        }
        _ => (StatusCode::OK, Body::from(TIFF)),
    };
    let report = reported_of(0, input, &[(StatusCode::OK, "")]).await;
    assert_eq!((&report["status"], nth.load(Ordering::Relaxed)), (&json!("success"), 3), "{report}");
    let missing = || (StatusCode::NOT_FOUND, Body::from("nothing is there"));
    let report = reported_of(0, missing, &[]).await;
    assert_eq!(report["error"], json!("Failed to download the input: 404 Not Found: nothing is there"));
}

#[test]
fn a_full_disk_is_told_from_what_is_wrong_with_a_file() {
    let of = |kind: io::ErrorKind| Trouble::Machine(kind.into()).hindered_by();
    assert_eq!(of(io::ErrorKind::StorageFull), Some(Hindrance::Machine));
    assert_eq!(of(io::ErrorKind::QuotaExceeded), Some(Hindrance::Machine));
    assert_eq!(of(io::ErrorKind::NotFound), None);
    let damaged = abide_media::MediaError::Damaged { what: "it is cut off".to_owned() };
    assert_eq!(Trouble::from(damaged).hindered_by(), None);
    let source = io::ErrorKind::StorageFull.into();
    let written = abide_media::MediaError::Io { path: "output.jpg".into(), source };
    assert_eq!(Trouble::from(written).hindered_by(), Some(Hindrance::Machine));
}

/// With the credentials of the bucket a worker is told of no asset: what a batch archives that was begun anew is beside what it
/// archived before.
#[test]
fn an_asset_is_that_of_one_task_in_one_life() {
    let assignment = |callback: &str, asset: Option<&str>| {
        let environment = BTreeMap::from([
            ("TASK_ID", "b1_image_0000001"),
            ("BATCH_ID", "b1"),
            ("INPUT_R2_KEY", "staging/b1/a.jpg"),
            ("CALLBACK_URL", callback),
            ("INPUT_URL", "http://127.0.0.1:9/"),
            ("ASSET_ID", asset.unwrap_or_default()),
        ]);
        Assignment::read(|name| environment.get(name).map(|value| (*value).to_owned())).unwrap()
    };
    let url = |life: u32, attempt: u32| {
        format!("http://127.0.0.1:9/callback/b1/b1_image_0000001?life={life}&attempt={attempt}&signature=0")
    };
    let of = |life, attempt| assignment(&url(life, attempt), None).asset_id();
    assert_eq!(of(7, 1), "b1_image_0000001-7");
    assert_eq!(of(7, 2), of(7, 1), "attempts replace each other");
    assert_ne!(of(8, 1), of(7, 1));
    assert_eq!(assignment("http://127.0.0.1:9/", None).asset_id(), "b1_image_0000001");
    assert_eq!(assignment(&url(7, 1), Some("TOLD")).asset_id(), "TOLD");
}
