//! Batches whose bytes are on an S3 server over HTTP: workers with URLs, workers with credentials, and a worker that knows
//! nothing but the text of the deployment guide.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::place::Place;
use crate::s3_server::{self, ACCESS_KEY, SECRET_KEY};
use crate::scans::{
    JPEG, SERVE, asset_of, files, image, is_jpeg, names, place_of_a_server, script, send, stage_files, tiff,
    wait,
};
use crate::served::Served;

const BUCKETS: [&str; 2] = ["arke-staging", "arke-archive"];

/// An S3 server whose buckets are directories; it ends when dropped.
pub(crate) struct S3 {
    root: tempfile::TempDir,
    endpoint: String,
    _runtime: Runtime,
}

impl S3 {
    pub(crate) fn start() -> S3 {
        let root = tempfile::tempdir().unwrap();
        for bucket in BUCKETS {
            std::fs::create_dir(root.path().join(bucket)).unwrap();
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let address = runtime.block_on(s3_server::start(root.path()));
        S3 { root, endpoint: format!("http://{address}"), _runtime: runtime }
    }

    /// Where the bucket of staging (0) or of the archive (1) has its files.
    pub(crate) fn bucket(&self, index: usize) -> PathBuf {
        self.root.path().join(BUCKETS[index])
    }

    /// A place for a server that uses it.
    pub(crate) fn place(&self) -> Place {
        // It speaks http, which needs no certificates.
        place_of_a_server()
            .env("SSL_CERT_FILE", "/nowhere")
            .env("SSL_CERT_DIR", "/nowhere")
            .env("PATH", &std::env::var("PATH").unwrap())
            .env("ABIDE_BUCKETS_KIND", "s3")
            .env("R2_ENDPOINT", &self.endpoint)
            .env("R2_ACCOUNT_ID", "account-of-a-test")
            .env("R2_ACCESS_KEY_ID", ACCESS_KEY)
            .env("R2_SECRET_ACCESS_KEY", SECRET_KEY)
    }
}

/// A program that writes down its environment, and does what abide does as a worker.
fn telling(place: &Place, dir: &Path) -> PathBuf {
    let text = format!(
        "#!/bin/sh\nenv > '{}'/$1-$TASK_ID\nexec '{}' worker \"$@\"\n",
        dir.display(),
        env!("CARGO_BIN_EXE_abide")
    );
    script(place, "telling", &text)
}

fn scans() -> Vec<(String, Vec<u8>)> {
    let pdf = crate::pdf_writer::document(60, 40, "", &["1 0 0 rg 5 5 20 20 re f", "0 0 m 9 9 l S"], &[]);
    let scans = [
        ("a.tiff", tiff(300, 20, 1)),
        ("b.tif", tiff(20, 20, 2)),
        ("book.pdf", pdf),
        ("c.jpg", JPEG.to_vec()),
        ("notes.txt", b"words".to_vec()),
    ];
    scans.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec()
}

/// The content id of a file, which nobody here looks into.
const CID: &str = "bafkreia";

/// Says in a manifest what the content id of a file is.
fn know(manifest: &Path, name: &str) {
    let mut document: Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    let files = document["directories"][0]["files"].as_array_mut().unwrap();
    files.iter_mut().find(|file| file["file_name"] == json!(name)).unwrap()["cid"] = json!(CID);
    std::fs::write(manifest, document.to_string()).unwrap();
}

/// A batch by this server ends with everything made, in the buckets of S3.
fn is_made(s3: &S3, served: &Served, batch: &str) {
    let message = stage_files(&s3.bucket(0), batch, &scans());
    know(&s3.bucket(0).join(message["manifest_r2_key"].as_str().unwrap()), "c.jpg");
    send(served, &message);
    let status = wait(served, batch);
    let counts = json!({ "total": 5, "open": 0, "converted": 4, "passed_through": 1, "failed": 0 });
    assert_eq!((&status["status"], &status["inputs"]), (&json!("DONE"), &counts), "{status}");
    let expected = [
        "a.tiff",
        "a.jpg.ref.json",
        "b.tif",
        "b.jpg.ref.json",
        "book.pdf",
        "book-p0001.jpg.ref.json",
        "book-p0002.jpg.ref.json",
        "c.jpg.ref.json",
        "notes.txt",
    ];
    assert_eq!(names(served, batch), expected);
    let folder = s3.bucket(0).join(format!("staging/{batch}/folder"));
    for name in ["a.jpg", "b.jpg", "book-p0001.jpg", "book-p0002.jpg"] {
        assert!(is_jpeg(&folder.join(name)), "{name} of {:?}", files(&folder));
    }
    let tasks = served.ok(&format!("GET /preprocess/batches/{batch}/tasks?phase=IMAGE_PROCESSING"), "");
    for task in tasks["tasks"].as_array().unwrap() {
        assert!(s3.bucket(1).join(task["archive_r2_key"].as_str().unwrap()).exists(), "{task}");
        let key = task["ref_json_r2_key"].as_str().unwrap();
        let written: Value = serde_json::from_slice(&std::fs::read(s3.bucket(0).join(key)).unwrap()).unwrap();
        assert_eq!(written, task["ref_data"], "the ref is what the callback says");
        let cid = if task["input_file_name"] == json!("c.jpg") { json!(CID) } else { Value::Null };
        assert_eq!((&task["input_cid"], &written["ipfs_cid"]), (&cid, &cid), "{task}");
        assert!(image(served, &asset_of(task), "thumb").starts_with(&[0xff, 0xd8]), "{task}");
    }
}

/// What workers found in their environments.
fn environments(dir: &Path) -> Vec<String> {
    files(dir).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// What the deployment guide says that a worker is given.
const OF_THE_GUIDE: [&str; 8] = [
    "BATCH_ID",
    "CALLBACK_URL",
    "INPUT_R2_KEY",
    "R2_ACCESS_KEY_ID",
    "R2_ACCOUNT_ID",
    "R2_BUCKET",
    "R2_SECRET_ACCESS_KEY",
    "TASK_ID",
];

/// What is given with the credentials of the bucket: to TIFFs what the guide says, to others also what their file is.
fn given(environment: &str) -> Vec<&'static str> {
    let mut names = OF_THE_GUIDE.to_vec();
    if !environment.contains("\nTASK_ID=bucket_tiff_") && !environment.starts_with("TASK_ID=bucket_tiff_") {
        names.extend(["ARCHIVE_BUCKET", "INPUT_CONTENT_TYPE", "INPUT_FILE_NAME", "INPUT_FILE_SIZE"]);
    }
    names.extend(environment.contains("INPUT_FILE_NAME=c.jpg").then_some("INPUT_CID"));
    names.sort_unstable();
    names
}

/// Names of variables, without those of the shell, of the process, and those that only this test's server configures.
fn names_in(environment: &str) -> Vec<&str> {
    let others = ["PATH", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "LIFELINE", "MIMALLOC_ARENA_EAGER_COMMIT"];
    let configured = ["R2_ENDPOINT", "JPEG_PRESET", "SSL_CERT_FILE", "SSL_CERT_DIR"];
    let names = environment.lines().filter_map(|line| Some(line.split_once('=')?.0));
    let mut names: Vec<&str> =
        names.filter(|name| !others.contains(name) && !configured.contains(name)).collect();
    names.sort_unstable();
    names
}

#[test]
fn workers_with_urls_and_workers_with_credentials_make_a_batch_on_s3() {
    let s3 = S3::start();
    for (credentials, secret_is_given) in [("presigned", false), ("bucket", true)] {
        let place = s3.place().env("ABIDE_LAUNCHER_CREDENTIALS", credentials);
        let told = place.path("told");
        std::fs::create_dir(&told).unwrap();
        let program = telling(&place, &told);
        let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
        let served = Served::start(&place, SERVE);
        is_made(&s3, &served, credentials);
        let told = environments(&told);
        assert_eq!(told.len(), 8, "a worker for each task");
        for environment in told {
            assert_eq!(environment.contains(SECRET_KEY), secret_is_given, "{credentials}: {environment}");
            assert_eq!(environment.contains("INPUT_URL="), !secret_is_given, "{credentials}: {environment}");
            if secret_is_given {
                assert_eq!(names_in(&environment), given(&environment), "{environment}");
            }
        }
        let (code, stderr) = served.terminate();
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(
            stderr.contains("the keys to everything"),
            secret_is_given,
            "it is warned about: {stderr}"
        );
    }
}

/// A TIFF worker by the deployment guide alone: environment, download, convert, upload, callback, exit code. `R2` is where
/// the account's endpoint is in this test, and copying `SHARP` stands for the conversion. Other tasks are not in the guide.
const BY_THE_GUIDE: &str = r#"#!/bin/sh
[ "$1" = tiff ] || exec ABIDE worker "$@"
: "${TASK_ID:?}" "${BATCH_ID:?}" "${INPUT_R2_KEY:?}" "${R2_ACCOUNT_ID:?}" "${R2_BUCKET:?}" "${CALLBACK_URL:?}"
r2() {
  curl --silent --fail --aws-sigv4 aws:amz:auto:s3 --user "$R2_ACCESS_KEY_ID:$R2_SECRET_ACCESS_KEY" \
    --header 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"
}
say() { curl --silent --fail --output /dev/null --header 'Content-Type: application/json' --data "$1" "$CALLBACK_URL"; }
if ! r2 --output input.tiff "R2/$R2_BUCKET/$INPUT_R2_KEY"; then
  say "{\"task_id\": \"$TASK_ID\", \"batch_id\": \"$BATCH_ID\", \"status\": \"error\", \"error\": \"Failed to download TIFF: 404 Not Found\"}"
  exit 1
fi
cp SHARP output.jpg
key="${INPUT_R2_KEY%.*}.jpg"
r2 --header 'Content-Type: image/jpeg' --upload-file output.jpg "R2/$R2_BUCKET/$key" || exit 1
say "{
  \"task_id\": \"$TASK_ID\",
  \"batch_id\": \"$BATCH_ID\",
  \"status\": \"success\",
  \"output_r2_key\": \"$key\",
  \"output_file_name\": \"$(basename "$key")\",
  \"output_file_size\": $(wc -c < output.jpg),
  \"performance\": { \"total_time_ms\": 1234, \"download_time_ms\": 456, \"conversion_time_ms\": 678, \"upload_time_ms\": 100 }
}"
"#;

#[test]
fn a_worker_that_knows_only_the_deployment_guide_does_its_part() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl to be the worker");
        return;
    }
    let s3 = S3::start();
    let place =
        s3.place().env("ABIDE_LAUNCHER_CREDENTIALS", "bucket").env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    let jpeg = place.path("sharp.jpg");
    std::fs::write(&jpeg, JPEG).unwrap();
    let text = BY_THE_GUIDE
        .replace("R2/$R2_BUCKET", &format!("{}/$R2_BUCKET", s3.endpoint))
        .replace("SHARP", jpeg.to_str().unwrap())
        .replace("ABIDE", env!("CARGO_BIN_EXE_abide"));
    let program = script(&place, "by-the-guide", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    let served = Served::start(&place, SERVE);
    let scans = ["image.tiff", "other.tif", "lost.tif"].map(|name| (name.to_owned(), tiff(20, 20, 1)));
    let message = stage_files(&s3.bucket(0), "batch_abc", &scans);
    std::fs::remove_file(s3.bucket(0).join("staging/batch_abc/folder/lost.tif")).unwrap();
    send(&served, &message);
    let status = wait(&served, "batch_abc");
    assert_eq!((&status["status"], &status["inputs"]["converted"]), (&json!("DONE"), &json!(2)), "{status}");
    assert_eq!(
        names(&served, "batch_abc"),
        ["image.tiff", "image.jpg.ref.json", "other.tif", "other.jpg.ref.json", "lost.tif"]
    );
    let tasks =
        served.ok("GET /preprocess/batches/batch_abc/tasks?phase=TIFF_CONVERSION", "")["tasks"].clone();
    assert!(tasks[0]["task_id"].as_str().unwrap().starts_with("batch_abc_tiff_"), "{tasks}");
    assert_eq!(tasks[0]["output_r2_key"], json!("staging/batch_abc/folder/image.jpg"));
    assert_eq!(tasks[0]["output_file_size"], json!(JPEG.len()));
    assert_eq!(tasks[0]["performance"]["conversion_time_ms"], json!(678));
    assert_eq!(tasks[2]["error"], json!("Failed to download TIFF: 404 Not Found"));
    assert_eq!(std::fs::read(s3.bucket(0).join("staging/batch_abc/folder/image.jpg")).unwrap(), JPEG);
}
