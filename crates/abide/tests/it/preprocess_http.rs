//! Batches over HTTP: pages, hand-over, dead letters, a CDN, other sites' pages, and machines in flight.

use abide_media::luma;
use serde_json::{Value, json};

use crate::outside::{Answer, Asked, Outside};
use crate::pdf_writer::document;
use crate::place::Place;
use crate::scans::{
    JPEG, SERVE, all, asset_of, fetch, files, follow, image, names, place_of_a_server, send, stage,
    stage_files, staging, tiff, wait, write,
};
use crate::served::Served;
use crate::tiff_writer::{self, CLASSIC, Page};

/// A TIFF of so many pages.
fn tiff_of_pages(pages: u8) -> Vec<u8> {
    let page = |value: u8| Page::new(40, 30, 1, 1, &[8]).strips(30, vec![vec![value * 20; 40 * 30]]);
    tiff_writer::write(CLASSIC, &(1..=pages).map(page).collect::<Vec<_>>())
}

/// A born-digital document whose pages say their number.
fn book(pages: u32) -> Vec<u8> {
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec();
    let contents: Vec<String> =
        (1..=pages).map(|page| format!("BT /F 12 Tf 10 40 Td (page {page} says so) Tj ET")).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    document(120, 80, "/Font << /F 3 0 R >>", &contents, &[font])
}

/// What is waited for, looked for again and again, with a request in between.
fn until<T>(served: &Served, look: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        served.ok("GET /health", "");
    }
}

#[test]
fn pages_of_a_pdf_and_of_a_tiff_become_images_in_their_order() {
    let place = place_of_a_server();
    let place = place.env("ABIDE_PREPROCESS_PDF_DPI", "150");
    let served = Served::start(&place, SERVE);
    let scans = [("book.pdf", book(3)), ("scan.tif", tiff_of_pages(2)), ("photo.jpg", JPEG.to_vec())];
    let scans = scans.map(|(name, bytes)| (name.to_owned(), bytes));
    let message = stage_files(&staging(&place), "pages", &scans);
    assert_eq!(served.ask("POST /preprocess/test", &message.to_string()).status, 202);
    let status = wait(&served, "pages");
    assert_eq!((&status["status"], &status["inputs"]["converted"]), (&json!("DONE"), &json!(3)), "{status}");
    let expected = [
        "book.pdf",
        "book-p0001.jpg.ref.json",
        "book-p0001.txt",
        "book-p0002.jpg.ref.json",
        "book-p0002.txt",
        "book-p0003.jpg.ref.json",
        "book-p0003.txt",
        "scan.tif",
        "scan-p0001.jpg.ref.json",
        "scan-p0002.jpg.ref.json",
        "photo.jpg.ref.json",
    ];
    assert_eq!(names(&served, "pages"), expected);
    let folder = staging(&place).join("staging/pages/folder");
    let text = std::fs::read_to_string(folder.join("book-p0002.txt")).unwrap();
    assert!(text.contains("page 2 says so"), "{text:?}");
    let tasks = all(&served, "/preprocess/batches/pages/tasks", "tasks");
    let of_the_book = tasks.iter().find(|task| task["phase"] == json!("PDF_SPLITTING")).unwrap();
    assert_eq!(of_the_book["pages"], json!(3), "{of_the_book}");
    assert_eq!(of_the_book["output_file_name"], json!("book-p0001.jpg"), "output_* is the first page");
    let page = std::fs::read(folder.join("book-p0001.jpg")).unwrap();
    assert_eq!(luma(&page).unwrap().0.div_ceil(2), 125, "120 points at 150 dots per inch");
    for task in tasks.iter().filter(|task| task["phase"] == json!("IMAGE_PROCESSING")) {
        assert!(image(&served, &asset_of(task), "medium").starts_with(&[0xff, 0xd8]), "{task}");
        for time in ["total", "download", "resize", "archive", "cdn_upload"] {
            assert!(task["performance"][format!("{time}_time_ms")].is_u64(), "{time}: {task}");
        }
    }
    check_metrics(&served);
    check_sharing(&place, &tasks);
}

/// Of three phases with one file each, where two became five images beside the one.
fn check_metrics(served: &Served) {
    let (_, text) = fetch(served, "/metrics");
    let text = String::from_utf8(text).expect("text");
    let metric = |name: &str| -> u64 {
        let line =
            text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
            .unwrap_or_else(|| panic!("{name} in {text}"))
    };
    assert_eq!(metric("abide_preprocess_spawned_total"), 8);
    assert_eq!(metric("abide_preprocess_callbacks_total{status=\"success\"}"), 8);
    assert_eq!(metric("abide_preprocess_callbacks_total{status=\"error\"}"), 0);
    let latency = metric("abide_preprocess_callback_ms_total");
    assert!((8..8 * 60_000).contains(&latency), "{latency}");
    // Twice each page of 250 × 167, of 40 × 30, and the photo once.
    assert!(metric("abide_preprocess_pixels_total") > 2 * (3 * 249 * 166 + 2 * 40 * 30), "{text}");
    assert!(metric("abide_preprocess_input_bytes_total") > 1_000);
}

/// Originals are in the archive without their bytes having been copied.
fn check_sharing(place: &Place, tasks: &[Value]) {
    use std::os::unix::fs::MetadataExt;
    let photo = tasks.iter().find(|task| task["input_file_name"] == json!("photo.jpg")).expect("its task");
    let key = |name: &str| photo[name].as_str().expect("a key").to_owned();
    let [staged, archived] = [("staging", "input_r2_key"), ("archive", "archive_r2_key")]
        .map(|(bucket, name)| place.path("work/data/buckets").join(bucket).join(key(name)));
    let mut clone = std::process::Command::new("cp");
    let cloned = clone.arg("--reflink=always").arg(&staged).arg(place.path("clone")).output();
    if cloned.is_ok_and(|cloned| cloned.status.success()) {
        eprintln!("not looked at: this file system shares blocks, which cannot be seen");
        return;
    }
    let inode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").ino();
    assert_eq!(inode(&archived), inode(&staged), "{photo}");
}

/// Machines are started at the rate that is configured, and a job that waits says so.
#[test]
fn machines_are_started_no_faster_than_they_may_be() {
    let fly = Outside::start(machine);
    let place = on_fly(&fly).env("ABIDE_LAUNCHER_SPAWN_RATE", "2/1h");
    let served = Served::start(&place, SERVE);
    send(&served, &stage(&place, "slow", 5));
    let started = || fly.asked().iter().filter(|asked| asked.method == "POST").count();
    let jobs = until(&served, || {
        let jobs = served.ok("GET /v1/jobs?queue=preprocess", "")["jobs"].clone();
        let jobs = jobs.as_array().unwrap().iter().filter(|job| job["kind"] == json!("tiff"));
        let jobs: Vec<Value> = jobs.cloned().collect();
        (jobs.len() == 5 && started() >= 2).then_some(jobs)
    });
    let limited: Vec<&Value> = jobs.iter().filter(|job| job["state"] == json!("ready")).collect();
    assert_eq!(limited.len(), 3, "{jobs:?}");
    for job in limited {
        let why = served.ok(&format!("GET /v1/jobs/{}/why", job["job"]), "");
        assert!(why.to_string().contains("launch:tiff"), "{why}");
    }
    assert_eq!(started(), 2);
}

#[test]
fn a_finished_batch_is_handed_over_once_and_its_staging_emptied() {
    // Whoever takes it is away at first, then wants a moment.
    let receiver = Outside::start(|_, before| match before.len() {
        0 => (500, None, json!({ "error": "asleep" })),
        1 => (503, Some(("retry-after", "0.1")), Value::Null),
        _ => (200, None, json!({ "success": true })),
    });
    let place =
        place_of_a_server().env("WORKER_URL", &receiver.url()).env("ABIDE_PREPROCESS_STAGING_KEPT_MS", "0");
    let served = Served::start(&place, SERVE);
    let mut message = stage(&place, "given", 2);
    message["root_pi"] = json!("01ROOT");
    message["node_pis"] = json!({ "/folder": "01NODE" });
    message["node_tips"] = json!({ "/folder": "bafy" });
    message["node_versions"] = json!({ "/folder": 3 });
    send(&served, &message);
    let status = follow(&served, "given", |status| status["delivery"] == json!("delivered"));
    assert_eq!(status["status"], json!("DONE"), "{status}");
    let asked = receiver.asked();
    assert_eq!(asked.len(), 3, "taken once: {asked:?}");
    for asked in &asked {
        assert_eq!(
            (asked.method.as_str(), asked.path.as_str()),
            ("POST", "/api/batches/given/enqueue-processed")
        );
        for field in ["root_pi", "node_pis", "node_tips", "node_versions"] {
            assert_eq!(asked.body[field], message[field], "{field}");
        }
        let names: Vec<_> =
            asked.body["files"].as_array().unwrap().iter().map(|file| &file["file_name"]).collect();
        assert_eq!(
            names,
            ["image000.tiff", "image000.jpg.ref.json", "image001.tiff", "image001.jpg.ref.json"]
        );
        assert_eq!(asked.body["files"][1]["content_type"], json!("application/json"));
        assert_eq!(asked.body["files"][0]["processing_config"], json!({ "ocr": true }));
    }
    until(&served, || files(&staging(&place)).is_empty().then_some(()));
    let archived = files(&place.path("work/data/buckets/archive"));
    assert!(!archived.is_empty(), "the archive stays");
    assert_eq!(receiver.asked().len(), 3);
    check_what_is_left_of_others(&place, &served);
    check_entities_of_the_manifest(&place, &served, &receiver);
}

/// More entities than a message carries are in the manifest, and are handed over all the same.
fn check_entities_of_the_manifest(place: &Place, served: &Served, receiver: &Outside) {
    let message = stage(place, "many", 1);
    let at = staging(place).join("staging/many/_manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&at).expect("a manifest")).expect("JSON");
    let by_path = |value: Value| -> Value {
        (0..3_000).map(|number| (format!("/folder/number {number}"), value.clone())).collect()
    };
    manifest["root_pi"] = json!("01ROOT");
    manifest["node_pis"] = by_path(json!("01KA1J5S0ZK0Q2Q1Y2X3C4V5B6"));
    manifest["node_tips"] = by_path(json!("bafkrei"));
    manifest["node_versions"] = by_path(json!(3));
    assert!(manifest["node_pis"].to_string().len() > 128_000);
    write(&at, manifest.to_string().as_bytes());
    send(served, &message);
    follow(served, "many", |status| status["delivery"] == json!("delivered"));
    let asked = receiver.asked().pop().expect("a delivery");
    for field in ["root_pi", "node_pis", "node_tips", "node_versions"] {
        assert_eq!(asked.body[field], manifest[field], "{field}");
    }
}

/// A batch whose files are among those of others takes away its own.
fn check_what_is_left_of_others(place: &Place, served: &Served) {
    let at = |key: &str| staging(place).join(key);
    let file = json!({ "r2_key": "staging/loose.jpg", "logical_path": "/loose.jpg", "file_name": "loose.jpg",
        "file_size": JPEG.len(), "content_type": "image/jpeg" });
    let manifest =
        json!({ "batch_id": "loose", "directories": [{ "directory_path": "/", "files": [file] }] })
            .to_string();
    write(&at("staging/other/kept.tif"), b"of another batch");
    write(&at("staging/loose.jpg"), JPEG);
    write(&at("staging/loose.json"), manifest.as_bytes());
    let message =
        json!({ "batch_id": "loose", "manifest_r2_key": "staging/loose.json", "r2_prefix": "staging/" });
    send(served, &message);
    let status = follow(served, "loose", |status| status["delivery"] == json!("delivered"));
    assert_eq!(status["inputs"]["converted"], json!(1), "{status}");
    let kept = [at("staging/other/kept.tif")];
    until(served, || (files(&staging(place)) == kept).then_some(()));
}

#[test]
fn a_message_whose_manifest_cannot_be_read_is_a_dead_letter_until_it_is_sent_again() {
    let place = place_of_a_server();
    let served = Served::start(&place, SERVE);
    let message = stage(&place, "torn", 1);
    let manifest = staging(&place).join("staging/torn/_manifest.json");
    let whole = std::fs::read(&manifest).unwrap();
    write(&manifest, &whole[..whole.len() / 2]);
    send(&served, &message);
    let status = wait(&served, "torn");
    assert_eq!(status["status"], json!("ERROR"), "{status}");
    assert!(status["error"].as_str().unwrap().starts_with("the manifest cannot be read: "), "{status}");
    let dead = served.ok("GET /v1/jobs?queue=preprocess-dlq", "")["jobs"].clone();
    assert_eq!(dead.as_array().unwrap().len(), 1, "{dead}");
    assert_eq!(dead[0]["payload"]["batch_id"], json!("torn"), "{dead}");
    assert_eq!(dead[0]["payload"], message, "as it came");

    write(&manifest, &whole);
    send(&served, &dead[0]["payload"]);
    let status = follow(&served, "torn", |status| status["status"] == json!("DONE"));
    assert_eq!((&status["inputs"]["converted"], &status["error"]), (&json!(1), &Value::Null), "{status}");
}

#[test]
fn a_cdn_is_told_of_assets_and_refs_point_to_it() {
    let place = place_of_a_server().env("CDN_PUBLIC_URL", "https://cdn.example");
    let archive = place.path("work/data/buckets/archive");
    let cdn = Outside::start(move |asked, _| {
        // It serves what it is told of from the first moment.
        let variants = asked.body["variants"].as_object().unwrap();
        if !variants.values().all(|variant| archive.join(variant["r2_key"].as_str().unwrap()).exists()) {
            return (409, None, json!({ "error": "no such object" }));
        }
        let id = asked.path.rsplit('/').next().unwrap_or_default();
        (
            201,
            None,
            json!({ "success": true, "assetId": id, "cdnUrl": format!("https://cdn.example/asset/{id}") }),
        )
    });
    let place = place.env("CDN_API_URL", &cdn.url());
    let served = Served::start(&place, SERVE);
    let scans = [("wide.tif".to_owned(), tiff(1_400, 20, 1)), ("small.jpg".to_owned(), JPEG.to_vec())];
    send(&served, &stage_files(&staging(&place), "cdn", &scans));
    let status = wait(&served, "cdn");
    assert_eq!(status["inputs"]["converted"], json!(2), "{status}");
    let tasks = served.ok("GET /preprocess/batches/cdn/tasks?phase=IMAGE_PROCESSING", "")["tasks"].clone();
    let asked = cdn.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for task in tasks.as_array().unwrap() {
        let asset = asset_of(task);
        assert_eq!(task["ref_data"]["url"], json!(format!("https://cdn.example/asset/{asset}")));
        let asked = asked.iter().find(|asked| asked.path == format!("/asset/{asset}")).unwrap();
        assert_eq!(asked.method, "POST");
        assert_eq!(asked.body["r2_key"], task["archive_r2_key"], "metadata only: {}", asked.body);
        assert_eq!((&asked.body["url"], &asked.body["is_image"]), (&Value::Null, &json!(true)));
        let variants: Vec<_> = asked.body["variants"].as_object().unwrap().keys().collect();
        if task["input_file_name"] == json!("wide.jpg") {
            assert_eq!(variants, ["medium", "original", "thumb"], "{}", asked.body);
            assert_eq!(asked.body["variants"]["medium"]["width"], json!(1288));
            assert_eq!(asked.body["default_variant"], json!("medium"));
        } else {
            assert_eq!(variants, ["original"], "never enlarged: {}", asked.body);
        }
    }
}

#[test]
fn pages_of_other_sites_may_ask_and_call_back() {
    let place = Place::new();
    let served = Served::start(&place, SERVE);
    let origin = [("Origin", "https://elsewhere.example"), ("Access-Control-Request-Method", "POST")];
    let asked = |line: &str, headers: &[(&str, &str)], body: &str| {
        served.client().request(line, headers, body).expect("an answer")
    };
    for path in ["/preprocess/callback/b/b_tiff_0000001", "/preprocess/status/b", "/preprocess/health"] {
        let allowed = asked(&format!("OPTIONS {path}"), &origin, "");
        assert_eq!(allowed.status, 204, "{path}: {allowed}");
        assert_eq!(allowed.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(allowed.header("access-control-allow-methods"), Some("GET, POST, OPTIONS"), "{path}");
        let headers = allowed.header("access-control-allow-headers").unwrap();
        assert!(headers.starts_with("Content-Type"), "{path}: {headers}");
    }
    let healthy = asked("GET /preprocess/health", &origin[..1], "");
    assert_eq!((healthy.status, healthy.header("access-control-allow-origin")), (200, Some("*")));
    let report = r#"{"status":"error","error":"no"}"#;
    let unknown = "POST /preprocess/callback/b/b_tiff_0000001?life=1&attempt=1&signature=00";
    let refused = asked(unknown, &origin[..1], report);
    assert_eq!(
        (refused.status, refused.header("access-control-allow-origin")),
        (404, Some("*")),
        "{refused}"
    );
    let elsewhere = asked("OPTIONS /v1/jobs", &origin, "");
    assert_eq!(elsewhere.header("access-control-allow-origin"), None, "{elsewhere}");
}

/// What Fly answers: it starts machines, which do nothing, and had none before.
fn machine(asked: &Asked, before: &[Asked]) -> Answer {
    let answer = match asked.method.as_str() {
        "POST" => json!({ "id": format!("machine{}", before.len()), "state": "created" }),
        "GET" if asked.path.ends_with("/machines") => json!([]),
        "GET" => json!({ "id": asked.path.rsplit('/').next(), "state": "started" }),
        _ => json!({ "ok": true }),
    };
    (200, None, answer)
}

/// A place for a server that runs workers on machines, eight at a time.
fn on_fly(fly: &Outside) -> Place {
    Place::new()
        .env("ABIDE_LAUNCHER_KIND", "fly")
        .env("ABIDE_LAUNCHER_FLY_IN_FLIGHT", "8")
        .env("ABIDE_LAUNCHER_FLY_API_URL", &fly.url())
        .env("FLY_API_TOKEN", "token-of-a-test")
        .env("FLY_APP_NAME", "tiffs")
        .env("FLY_WORKER_IMAGE", "registry.example/tiff:1")
        .env("ORCHESTRATOR_URL", "http://127.0.0.1:9/preprocess")
        .env("ABIDE_LOG", "warn")
}

#[test]
fn a_reset_destroys_machines_in_flight() {
    // Machines that never call back.
    let fly = Outside::start(machine);
    let place = on_fly(&fly);
    let served = Served::start(&place, SERVE);
    let message = stage(&place, "stuck", 3);
    send(&served, &message);
    let ids = |method: &str| -> Vec<String> {
        let asked = fly.asked().into_iter().filter(|asked| asked.method == method);
        asked.map(|asked| asked.path).collect()
    };
    until(&served, || (ids("POST").len() == 3).then_some(()));
    let known = || {
        let tasks = served.ok("GET /preprocess/batches/stuck/tasks", "")["tasks"].clone();
        let ids: Vec<String> = tasks
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|task| task["fly_machine_id"].as_str().map(str::to_owned))
            .collect();
        (ids.len() == 3).then_some(ids)
    };
    let mut machines = until(&served, known);
    let reset = served.ok("POST /preprocess/admin/reset/stuck", "");
    assert_eq!(reset["ok"], json!(true), "{reset}");
    let mut destroyed = until(&served, || Some(ids("DELETE")).filter(|destroyed| destroyed.len() == 3));
    destroyed.sort();
    machines.sort();
    assert_eq!(
        destroyed,
        machines.iter().map(|id| format!("/v1/apps/tiffs/machines/{id}")).collect::<Vec<_>>()
    );
    let status = served.ok("GET /preprocess/status/stuck", "");
    assert_eq!(
        (&status["status"], &status["error"]),
        (&json!("ERROR"), &json!("manually reset")),
        "{status}"
    );
    assert_eq!(status.get("completed_at"), Some(&Value::Null), "it is said that there is none: {status}");
    let nobody = served.ok("POST /preprocess/admin/reset/nobody", "");
    assert_eq!(nobody["ok"], json!(true), "{nobody}");
    assert_eq!(served.ask("GET /preprocess/status/nobody", "").status, 404, "and none is made by it");
    for path in ["/preprocess/status/", "/preprocess/status"] {
        let nameless = served.ask(&format!("GET {path}"), "");
        assert!(nameless.status == 400 && nameless.body.contains("bad_request"), "{path}: {nameless}");
    }
    assert!(fly.asked().iter().all(|asked| asked.token.as_deref() == Some("Bearer token-of-a-test")));
}

#[test]
fn a_worker_whose_attempt_is_over_replaces_nothing() {
    // Machines do nothing: the test does what they would.
    let fly = Outside::start(machine);
    let place = on_fly(&fly);
    let served = Served::start(&place, SERVE);
    send(&served, &stage(&place, "late", 1));
    let told = |nth: usize| {
        until(&served, || {
            let started = fly.asked().into_iter().filter(|asked| asked.method == "POST").nth(nth)?;
            Some(started.body["config"]["env"].clone())
        })
    };
    let path = |env: &Value, name: &str| {
        let url = env[name].as_str().unwrap();
        url.strip_prefix("http://127.0.0.1:9").unwrap_or_else(|| panic!("{url}")).to_owned()
    };
    let put = |env: &Value, text: &str| served.ask(&format!("PUT {}", path(env, "OUTPUT_URL")), text);
    let made = || std::fs::read_to_string(staging(&place).join("staging/late/folder/image000.jpg")).unwrap();
    let is_over = |env: &Value| {
        let refused = put(env, "of nobody");
        assert_eq!(refused.status, 409, "{refused}");
        assert_eq!(refused.json()["error"]["refusal"], json!("attempt_over"), "{refused}");
    };

    let first = told(0);
    for text in ["one", "again"] {
        let taken = put(&first, text);
        assert_eq!((taken.status, made().as_str()), (200, text), "as often as it asks: {taken}");
    }
    let lost = json!({ "status": "error", "error": "it was lost" }).to_string();
    served.ok(&format!("POST {}", path(&first, "CALLBACK_URL")), &lost);
    is_over(&first);
    let uploads = json!({ "files": [{ "bucket": "staging", "key": "staging/late/folder/image000.jpg" }] });
    let refused = served.ask(&format!("POST {}", path(&first, "UPLOADS_URL")), &uploads.to_string());
    assert_eq!(refused.status, 409, "{refused}");

    let second = told(1);
    assert_eq!(put(&second, "three").status, 200);
    is_over(&first);
    for (lent, other) in [("/2&signature", "/1&signature"), ("holder=", "other=")] {
        let forged = path(&second, "OUTPUT_URL").replace(lent, other);
        let refused = served.ask(&format!("PUT {forged}"), "of nobody");
        assert_eq!(refused.status, 403, "{forged}: {refused}");
    }
    let report = json!({ "status": "success", "output_r2_key": "staging/late/folder/image000.jpg",
        "output_file_name": "image000.jpg", "output_file_size": 5 });
    served.ok(&format!("POST {}", path(&second, "CALLBACK_URL")), &report.to_string());
    is_over(&second);
    assert_eq!(made(), "three", "what the task reported is there");
    let task = served.ok("GET /preprocess/batches/late/tasks?phase=TIFF_CONVERSION", "")["tasks"][0].clone();
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("completed"), &json!(1)), "{task}");
}
