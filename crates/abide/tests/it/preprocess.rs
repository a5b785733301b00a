//! Preprocessing with the real binary: a folder, and batches by queue message, with workers that are processes and call
//! back over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::Place;
use crate::scans::{
    SERVE, fetch, fetch_with, files, follow, is_jpeg, noted, over, place_of_a_server, runs, send, stage,
    tiff, wait, write,
};
use crate::served::Served;

/// What is in a folder, byte by byte.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_folder_becomes_images_and_each_file_that_does_not_is_named() {
    let place = Place::new();
    let source = place.path("work/scans");
    for (index, name) in ["a.tif", "box 1/Größe.TIFF", "box 1/c.tif"].into_iter().enumerate() {
        write(&source.join(name), &tiff(64, 48, index as u32));
    }
    write(&source.join("wide.tif"), &tiff(300, 30, 9));
    write(&source.join("broken.tif"), b"II*\0 and nothing else");
    write(&source.join("notes.txt"), b"words");
    let before = contents(&source);

    let dry = place.run("preprocess scans --out web --dry-run");
    assert_eq!((dry.code, dry.stdout.as_str()), (Some(0), ""), "{}", dry.stderr);
    assert!(dry.stderr.starts_with("6 files, "), "{}", dry.stderr);
    assert!(!place.path("work/web").exists());

    let run = place.run("preprocess scans --out web --preset fast --json");
    assert_eq!(run.code, Some(4), "{}{}", run.stdout, run.stderr);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["converted"], json!(4), "{summary}");
    assert_eq!(summary["failed"][0]["file"], json!("broken.tif"));
    assert!(summary["failed"][0]["reason"].as_str().unwrap().starts_with("TIFF_CONVERSION: "), "{summary}");
    assert_eq!(summary["passed_through"][0]["file"], json!("notes.txt"), "{summary}");
    for name in ["a.jpg", "box 1/Größe.jpg", "box 1/c.jpg", "wide.jpg", "variants/thumb/wide.jpg"] {
        assert!(
            is_jpeg(&place.path("work/web").join(name)),
            "{name} of {:?}",
            files(&place.path("work/web"))
        );
    }
    assert_eq!(contents(&source), before, "the source is as it was");

    let again = place.run("preprocess scans --out web --preset fast --json");
    let repeated: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again.code, Some(4), "{again}");
    for part in ["converted", "failed", "passed_through", "results"] {
        assert_eq!(repeated[part], summary[part], "{part} of {repeated}");
    }
    assert_eq!((&repeated["already_done"], &repeated["written"]), (&json!(4), &json!(0)), "{repeated}");
    assert!(!again.stderr.contains("tasks_total"), "what failed for what it is is not tried again: {again}");

    let inside = place.run("preprocess scans --out scans/web");
    assert_eq!(inside.code, Some(2), "{}", inside.stderr);
}

#[test]
fn a_folder_that_was_stopped_goes_on_with_the_same_command() {
    // One attempt: a stop must not count as one.
    let place =
        noted(Place::new().env("ABIDE_LAUNCHER_IN_FLIGHT", "1").env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1"));
    let source = place.path("work/scans");
    for index in 0..12 {
        write(&source.join(format!("{index:02}.tif")), &tiff(32, 24, index));
    }
    let arguments = "preprocess scans --out web --preset fast --json";
    let mut command = place.command(arguments);
    let mut first = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(first.stderr.take().unwrap()).lines();
    // The third tenth: some are done, and most are not.
    let under_way = lines.by_ref().map(Result::unwrap).find(|line| {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        said["tasks_completed"].as_u64().is_some_and(|completed| completed >= 3)
    });
    assert!(under_way.is_some(), "it says how far it is");
    // As a terminal does: everybody in the foreground hears it.
    let group = format!("-{}", first.id());
    let interrupted = Command::new("kill").args(["-INT", "--", &group]).status().unwrap();
    assert!(interrupted.success());
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    let ended = first.wait().unwrap();
    assert_eq!(ended.code(), Some(130), "{said:?}");
    let staged = place.path("work/web/.abide/buckets/staging");
    let made = |path: &PathBuf| path.extension().is_some_and(|end| end == "jpg");
    let before: Vec<_> = files(&staged).into_iter().filter(made).collect();
    assert!((3..12).contains(&before.len()), "{before:?}");
    // What was being written when it stopped may be written again.
    let settled = &before[..before.len() - 1];
    // The folder is not as it was.
    write(&source.join("12.tif"), &tiff(32, 24, 12));

    let second = place.run(arguments);
    assert_eq!(second.code, Some(0), "{second}");
    let said: Value = serde_json::from_str(second.stderr.lines().next().unwrap()).unwrap();
    assert_eq!((&said["to_convert"], &said["begun"]), (&json!(13), &json!(12)), "{said}");
    let summary: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!((&summary["converted"], &summary["results"]), (&json!(13), &json!(13)), "{summary}");
    for path in settled {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let runs = runs(&place).into_iter().filter(|run| run.ends_with(&format!("tiff {name}.tif"))).count();
        assert_eq!(runs, 1, "what was done is not done again: {name}");
    }
    for index in 0..13 {
        assert!(is_jpeg(&place.path(&format!("work/web/{index:02}.jpg"))), "{index}");
    }
    assert_eq!(files(&staged), Vec::<PathBuf>::new(), "nothing is kept twice");
}

#[test]
fn a_queue_message_takes_a_tiff_to_its_ref_and_its_image_is_served() {
    let place = place_of_a_server();
    let served = Served::start(&place, SERVE);
    let message = stage(&place, "batch_abc", 1);
    send(&served, &message);
    let status = wait(&served, "batch_abc");
    assert_eq!(status["status"], json!("DONE"), "{status}");
    assert_eq!(status.get("error"), Some(&Value::Null), "{status}");
    let files = served.ok("GET /preprocess/batches/batch_abc/files", "");
    let names: Vec<_> = files["output"].as_array().unwrap().iter().map(|file| &file["file_name"]).collect();
    assert_eq!(names, [&json!("image000.tiff"), &json!("image000.jpg.ref.json")], "{files}");
    assert_eq!(files["output"][0]["preprocessor_tags"], json!(["TiffConverter:source"]));
    let tasks = served.ok("GET /preprocess/batches/batch_abc/tasks?phase=IMAGE_PROCESSING", "");
    let url = tasks["tasks"][0]["ref_data"]["url"].as_str().unwrap();
    let path = url.split_once(&served.address.to_string()).unwrap().1.to_owned();
    let (head, image) = fetch(&served, &format!("{path}/thumb"));
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(image.starts_with(&[0xff, 0xd8]), "a JPEG is served");
    check_conditions(&served, &format!("{path}/thumb"), &head);

    let forged = "POST /preprocess/callback/batch_abc/batch_abc_tiff_0000001?life=1&attempt=1&signature=00";
    let refused = served.ask(forged, r#"{"status":"error","error":"no"}"#);
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(served.ask("POST /preprocess/queue", r#"{"batch_id":"x"}"#).status, 400);
    assert_eq!(served.ok("GET /preprocess/health", "")["service"], json!("arke-preprocessing-orchestrator"));
}

/// Who has an image already is not sent it again, and nobody else keeps it for others.
fn check_conditions(served: &Served, path: &str, head: &str) {
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert!(head.contains("cache-control: private, no-cache\r\n"), "{head}");
    for known in [tag.to_owned(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
        let (head, body) = fetch_with(served, path, &format!("If-None-Match: {known}\r\n"));
        assert!(head.starts_with("HTTP/1.1 304 Not Modified") && body.is_empty(), "{known}: {head}");
        assert!(head.contains(&format!("etag: {tag}\r\n")), "{head}");
    }
    let (head, body) = fetch_with(served, path, "If-None-Match: \"other\"\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK") && !body.is_empty(), "{head}");
}

#[test]
fn a_batch_of_more_than_a_hundred_ends_whole_although_its_server_is_killed() {
    let place = place_of_a_server();
    let mut served = Served::start(&place, SERVE);
    let message = stage(&place, "many", 104);
    send(&served, &message);
    for at in [10, 60] {
        follow(&served, "many", |status| over(status) >= at);
        served.kill();
        served = Served::start(&place, SERVE);
        // A message that comes again changes nothing.
        send(&served, &message);
    }
    let status = wait(&served, "many");
    assert_eq!(status["inputs"]["converted"], json!(104), "{status}");
    let counts = json!({ "tasks_total": 104, "tasks_completed": 104, "tasks_failed": 0 });
    for phase in ["TIFF_CONVERSION", "IMAGE_PROCESSING"] {
        let found = status["phases"].as_array().unwrap().iter().find(|found| found["phase"] == json!(phase));
        for (name, value) in counts.as_object().unwrap() {
            assert_eq!(&found.unwrap()[name], value, "{phase}: {status}");
        }
    }
    let page = served.ok("GET /preprocess/batches/many/tasks?limit=1000", "");
    assert_eq!((page["tasks"].as_array().unwrap().len(), &page["next"]), (208, &Value::Null), "a whole page");
    let jpegs = files(&place.path("work/data/buckets/staging/staging/many/folder"));
    assert_eq!(jpegs.iter().filter(|path| path.extension().is_some_and(|end| end == "jpg")).count(), 104);
}
