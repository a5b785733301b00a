//! The work queue as people use it: lists in, files out, beside a server and without one.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use abide_fetch::testing::{Act, Server, redirect, reply};
use abide_sqlite::DataDir;
use serde_json::{Value, json};

use crate::downloads::until;
use crate::place::{Place, Run};
use crate::served::Served;

/// A place whose commands may fetch from this machine.
fn place() -> Place {
    Place::new().env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
}

/// A server of files; it has no robots.txt.
fn files() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/robots.txt" | "/gone" => reply(404, &[], b""),
        path => reply(200, &[("Content-Type", "text/plain")], path.as_bytes()),
    })
}

fn ok(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{run}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn a_list_goes_in_once_and_files_come_out() {
    let files = files();
    let list = format!(
        "{{\"artifact_id\": \"a\", \"url\": \"{}\", \"title\": \"kept\"}}\n\nnot a line\n{{\"id\": \"doi:10.1/x\"}}\n",
        files.url("/a.txt")
    );
    let place = place().file("work/list.jsonl", &list);
    insta::assert_snapshot!(place.run("queue enqueue --input list.jsonl"), @"
    exit 4
    ⚠ Import complete: 2 new, 0 duplicate, 1 error
    line 3: it is not a JSON object
    error: 1 line was not entered
    ");
    insta::assert_snapshot!(place.run("queue import list.jsonl --limit 2"), @"
    exit 0
    ✓ Import complete: 0 new, 1 duplicate, 0 errors
    ");
    insta::assert_snapshot!(place.run("queue enqueue a"), @"
    exit 0
    ⓘ Already queued (idempotent): a
    ");
    insta::assert_snapshot!(place.run("queue enqueue b {"), @"
    exit 1
    error: Invalid artifact: {: EOF while parsing an object at column 1
    ");
    insta::assert_snapshot!(place.run("queue enqueue b nonsense"), @"
    exit 1
    error: Invalid artifact: nonsense: it is not a JSON object
    ");
    insta::assert_snapshot!(place.run("job list --after abc"), @r#"
    exit 2
    error: --after is "abc": give the number of a job, as the page before said
    "#);
    insta::assert_snapshot!(place.run("job why 2"), @"
    exit 0
    No worker takes jobs of the kind resolve from the queue download. Start one.
    ");
    let ran = ok(&place.run("queue run --drain --json --out files"));
    assert_eq!((&ran["ended"], &ran["done"], &ran["bytes"]), (&json!("drained"), &json!(1), &json!(6)));
    assert_eq!(std::fs::read(place.path("work/files/a.txt")).unwrap(), b"/a.txt");
    insta::assert_snapshot!(place.run("queue stats --json"), @r#"
    exit 0
    {
      "queue": "download",
      "paused": false,
      "queued": 1,
      "in_progress": 0,
      "done": 1,
      "skipped": 0,
      "error": 0,
      "cancelled": 0,
      "total": 2,
      "rate": null,
      "eta": null
    }
    "#);
    assert_eq!(ok(&place.run("job show 1 --json"))["payload"]["title"], "kept");
}

#[test]
fn what_a_line_says_is_kept_to_the_letter() {
    let fields = r#""z":12345678901234567890123,"pi":3.10,"a":[1E2,"\u00e9"]"#;
    let place = place().file("work/list.jsonl", &format!("{{\"id\":\"of-a-list\",{fields}}}"));
    assert_eq!(place.run("queue import list.jsonl").code, Some(0));
    let mut command = place.command("queue enqueue of-a-command");
    let entered = command.arg(format!("{{{fields}}}")).output().expect("the binary starts");
    assert!(entered.status.success(), "{entered:?}");
    let text = place.run("job show 1").stdout;
    assert!(text.contains(&format!("payload     {{\"id\":\"of-a-list\",{fields}}}\n")), "{text}");
    let text = place.run("job show 2").stdout;
    assert!(text.contains(&format!("payload     {{\"artifact_id\":\"of-a-command\",{fields}}}\n")), "{text}");
    for command in ["job show 1 --json", "job list --json"] {
        let shown: String = place.run(command).stdout.split_whitespace().collect();
        assert!(shown.contains(fields), "{command}: {shown}");
    }
}

#[test]
fn caps_of_host_and_resolver_are_never_exceeded() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (current, highest) = (Arc::clone(&now), Arc::clone(&most));
    let files = Server::start(move |request| -> Act {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        let running = current.fetch_add(1, Ordering::SeqCst) + 1;
        highest.fetch_max(running, Ordering::SeqCst);
        // Nothing is ever sent: the request takes as long as this waits.
        let (_sender, never) = channel::<()>();
        assert!(never.recv_timeout(Duration::from_millis(20)).is_err());
        current.fetch_sub(1, Ordering::SeqCst);
        reply(200, &[], b"x")
    });
    let line =
        |n: usize| json!({"id": format!("w{n}"), "url": files.url(&format!("/{n}")), "resolver_hint": "r"});
    let list: String = (0..20).map(|n| format!("{}\n", line(n))).collect();
    for (flags, cap) in
        [("--max-per-host 1 --max-per-resolver r:2", 1), ("--max-per-host 8 --max-per-resolver r:2", 2)]
    {
        let place = place().file("work/list.jsonl", &list);
        most.store(0, Ordering::SeqCst);
        assert_eq!(place.run("queue enqueue -i list.jsonl").code, Some(0));
        let ran = ok(&place.run(&format!("queue run --drain --json --workers 8 {flags}")));
        assert_eq!(ran["done"], 20, "{ran}");
        assert_eq!(most.load(Ordering::SeqCst), cap, "{flags}");
    }
    assert_eq!(now.load(Ordering::SeqCst), 0);
}

#[test]
fn the_cap_of_a_host_holds_for_those_that_other_hosts_lead_there() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (current, highest) = (Arc::clone(&now), Arc::clone(&most));
    let files = Server::start(move |request| -> Act {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        highest.fetch_max(current.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Nothing is ever sent: the request takes as long as this waits.
        let (_sender, never) = channel::<()>();
        assert!(never.recv_timeout(Duration::from_millis(20)).is_err());
        current.fetch_sub(1, Ordering::SeqCst);
        reply(200, &[], b"x")
    });
    let leading = || {
        let to = files.url("");
        Server::start(move |request| match request.path.as_str() {
            "/robots.txt" => reply(404, &[], b""),
            path => redirect(&format!("{to}{path}")),
        })
    };
    // Two that lead to the third, and some that ask it themselves.
    let hosts = [leading().url(""), leading().url(""), files.url("")];
    let line = |n: usize| json!({"id": format!("w{n}"), "url": format!("{}/{n}", hosts[n % 3])});
    let list: String = (0..30).map(|n| format!("{}\n", line(n))).collect();
    let entered = |place: Place| {
        let place = place.file("work/list.jsonl", &list);
        most.store(0, Ordering::SeqCst);
        ok(&place.run("queue import list.jsonl --json"));
        place
    };
    let by_flag = ("--max-per-host 2", entered(place()));
    let by_option = ("", entered(place().env("ABIDE_DOWNLOADS_MAX_PER_HOST", "2")));
    let by_limit = ("", entered(place()));
    ok(&by_limit.1.run("limit set host:* --concurrency 2 --json"));
    for (flag, place) in [by_flag, by_option, by_limit] {
        let ran = ok(&place.run(&format!("queue run --drain --json --workers 12 {flag}")));
        assert_eq!(ran["done"], 30, "{ran}");
        assert_eq!(most.swap(0, Ordering::SeqCst), 2, "{flag}");
    }
    // A server, and a limit of the one host.
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "12").file("work/list.jsonl", &list);
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    ok(&place.run(&format!("limit set host:{} --concurrency 1 --json", files.address)));
    ok(&place.run("queue import list.jsonl --json"));
    until(|| served.ok("GET /v1/queues/download", "")["counts"]["done"] == 30);
    assert_eq!((most.load(Ordering::SeqCst), now.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn no_more_jobs_are_taken_than_are_run() {
    let files = files();
    let list: String = (0..30)
        .map(|n| format!("{}\n", json!({"id": n.to_string(), "url": files.url(&format!("/{n}"))})))
        .collect();
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "0").file("work/list.jsonl", &list);
    ok(&place.run("queue import list.jsonl --json"));
    let attempts = |place: &Place| {
        let jobs = ok(&place.run("job list --limit 100 --json"));
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["attempt"].as_u64().unwrap()).sum::<u64>()
    };
    for jobs in 1..=3 {
        let ran = ok(&place.run(&format!("queue run --json --max-jobs {jobs}")));
        assert_eq!((&ran["ended"], &ran["done"]), (&json!("max_jobs"), &json!(jobs)), "{ran}");
    }
    assert_eq!(attempts(&place), 6, "in this process");
    let _served = Served::start(&place, "serve --listen 127.0.0.1:0");
    ok(&place.run("queue run --json --max-jobs 2"));
    assert_eq!(attempts(&place), 8, "beside a server");
}

#[test]
fn a_list_goes_on_entering_when_the_process_that_took_it_ends() {
    let place = Place::new().env("ABIDE_DOWNLOADS_WORKERS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let lines = |numbers: std::ops::Range<u32>| -> String {
        numbers
            .map(|n| format!("{}\n", json!({"id": n.to_string(), "url": format!("http://h.example/{n}")})))
            .collect()
    };
    let mut entering = place
        .command("queue enqueue --input - --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut list = entering.stdin.take().unwrap();
    list.write_all(lines(0..6_000).as_bytes()).unwrap();
    let ready = || served.ok("GET /v1/queues/download", "")["counts"]["ready"].as_u64();
    until(|| ready() >= Some(5_000));
    // What is no full batch does not wait for the end of the list.
    until(|| ready() == Some(6_000));
    assert_eq!(served.terminate().0, Some(0));
    list.write_all(lines(6_000..7_000).as_bytes()).unwrap();
    drop(list);
    let output = entering.wait_with_output().unwrap();
    let entered: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &entered["new"]), (Some(0), &json!(7_000)), "{entered}");
    assert_eq!(ok(&place.run("queue stats --json"))["queued"], 7_000);
}

#[test]
fn a_cap_leaves_rates_as_they_are() {
    let place = Place::new();
    for limit in ["host:* --rate 7/s --burst 3", "resolver:* --rate 5/s"] {
        assert_eq!(place.run(&format!("limit set {limit}")).code, Some(0), "{limit}");
    }
    assert_eq!(place.run("queue run --drain --max-per-host 2 --max-per-resolver b:1").code, Some(0));
    insta::assert_snapshot!(place.run("limit list"), @"
    exit 0
    KEY         CONCURRENCY  RATES  BURST  IN USE  WAITING  OPENS
    host:*      2            7/s    3      0       0
    resolver:*  -            5/s    -      0       0
    resolver:b  1            5/s    -      0       0
    ");
}

/// Makes a server of the test that of a data directory, for as long as what this gives lives.
fn own(place: &Place, data_dir: &str, server: &Server) -> DataDir {
    let mut owned = DataDir::open(&place.path(&format!("work/{data_dir}"))).expect("nobody has it");
    owned.set_address(server.address.to_string()).expect("it is owned");
    owned
}

#[test]
fn what_fails_while_others_are_retried_hides_none_of_them() {
    let job = |id: u32| json!({"job": id, "unique_key": null, "failures": 3, "reason": null});
    let server = Server::start(move |request| {
        let is_first = !request.path.contains("after=");
        let answer = match (request.path.starts_with("/v1/jobs/retry"), is_first) {
            // The job 9 failed after the page was read.
            (false, true) => json!({"jobs": [job(8), job(7)], "next": 7}),
            (true, true) => json!({"retried": [9, 8], "next": 8}),
            (false, false) => json!({"jobs": [job(7)], "next": null}),
            (true, false) => json!({"retried": [7], "next": null}),
        };
        reply(200, &[], answer.to_string().as_bytes())
    });
    let place = Place::new();
    let _owned = own(&place, "data", &server);
    assert_eq!(ok(&place.run("queue retry-failed --json --data-dir data"))["retried"], 3);
    let asked = server.paths();
    assert!(asked.iter().any(|path| path.ends_with("after=8")), "{asked:?}");
}

#[test]
fn a_list_that_cannot_be_entered_fails_also_while_its_pipe_is_open() {
    let place = Place::new();
    let full = r#"{"error": {"code": "store_full", "message": "the disk is full"}}"#;
    let server = Server::start(move |request| match request.path.as_str() {
        "/v1/jobs" => reply(507, &[], full.as_bytes()),
        _ => reply(200, &[], b"{}"),
    });
    let _owned = own(&place, "data", &server);
    let mut command = place.command("queue enqueue --input - --data-dir data");
    let mut entering = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut list = entering.stdin.take().unwrap();
    let lines: String = (0..6_000).map(|n| format!("{}\n", json!({"id": n.to_string()}))).collect();
    list.write_all(lines.as_bytes()).unwrap();
    let output = entering.wait_with_output().unwrap();
    drop(list);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(1), "error: the disk is full\n"));
}

#[test]
fn beside_a_server_run_is_its_worker_and_commands_go_through_it() {
    let files = files();
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let lines = [("a", "/a"), ("b", "/b"), ("c", "/gone")];
    let list: String =
        lines.iter().map(|(id, path)| format!("{}\n", json!({"id": id, "url": files.url(path)}))).collect();
    let place = place.file("work/list.jsonl", &list);
    assert_eq!(place.run("queue import list.jsonl").code, Some(0));
    assert_eq!(place.run("queue pause").code, Some(0));
    assert_eq!(served.ok("GET /v1/queues/download", "")["policy"]["paused"], true);
    assert_eq!(place.run("queue resume").code, Some(0));

    let run = place.run("queue run --json --max-jobs 1");
    let one: Value = serde_json::from_str(&run.stdout).unwrap();
    let ran = ["done", "failed"].map(|word| one[word].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!((&one["ended"], ran), (&json!("max_jobs"), 1), "{run}");
    let run = place.run("queue run --drain --json");
    assert_eq!(run.code, Some(4), "{run}");
    assert!(run.stderr.contains(r#""of_a_server":true"#), "{run}");

    let counts = ok(&place.run("queue stats --json"));
    assert_eq!((&counts["done"], &counts["error"], &counts["queued"]), (&json!(2), &json!(1), &json!(0)));
    let worker = ok(&place.run("job show 1 --json"))["attempts"][0]["worker"].clone();
    assert!(worker.as_str().unwrap().starts_with("queue-run-"), "{worker}");
    insta::assert_snapshot!(place.run("queue retry-failed --dry-run"), @"
    exit 0
    Found 1 failed job:
      - c (attempts: 1)
    ✓ Dry run complete (no changes made)
    ");
    insta::assert_snapshot!(place.run("dead replay job:3"), @"
    exit 0
    ✓ Replayed 1
    ");
    insta::assert_snapshot!(place.run("job cancel 3"), @"
    exit 0
    ✓ Job 3 is cancelled
    ");
    insta::assert_snapshot!(place.run("job why 99"), @"
    exit 1
    error: there is no job 99
    ");
    // Whoever owned the directory is gone, and nothing of it is in the way.
    served.kill();
    assert_eq!(ok(&place.run("queue stats --json"))["done"], 2);
}

#[test]
fn a_backup_of_a_running_server_is_restored_elsewhere_and_nowhere_over_data() {
    let place = place();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir one");
    for id in ["a", "b"] {
        assert_eq!(place.run(&format!("queue enqueue {id} --data-dir one")).code, Some(0));
    }
    let nowhere = place.run("backup nowhere/copy.db --data-dir one");
    assert_eq!(nowhere.code, Some(1), "{nowhere}");
    assert!(nowhere.stderr.contains("nowhere/copy.db cannot be used: No such file"), "{nowhere}");
    let mut unreadable = place.command("backup --data-dir one");
    let said = unreadable.arg(OsStr::from_bytes(b"copy-\xff.db")).output().expect("the binary starts");
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("is not UTF-8"), "{said:?}");
    let made = ok(&place.run("backup copy.db --data-dir one --json"));
    assert_eq!(made["bytes"], std::fs::metadata(place.path("work/copy.db")).unwrap().len());
    assert_eq!(place.run("queue enqueue late --data-dir one").code, Some(0));
    let again = place.run("backup copy.db --data-dir one");
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.ends_with("copy.db is there already: give another file, or remove it\n"), "{again}");
    assert_eq!(place.run("restore copy.db --data-dir two").code, Some(0));
    let jobs = |dir: &str| ok(&place.run(&format!("job list --json --data-dir {dir}")))["jobs"].clone();
    let (one, two) = (jobs("one"), jobs("two"));
    assert_eq!((&one[1], &one[2], two.as_array().unwrap().len()), (&two[0], &two[1], 2));
    insta::assert_snapshot!(place.run("restore copy.db --data-dir two"), @"
    exit 3
    error: two has data (abide.db): restore into another directory, or move it away
    ");
    let place = place.file("work/half.db", &"x".repeat(5_000));
    insta::assert_snapshot!(place.run("restore one --data-dir three"), @"
    exit 1
    error: one cannot be read: is a directory
    ");
    insta::assert_snapshot!(place.run("restore half.db --data-dir three"), @"
    exit 1
    error: half.db is damaged: file is not a database; use another backup
    ");
    assert!(!place.path("work/three/abide.db").exists());
    drop(served);
}

#[test]
fn where_files_cannot_be_saved_no_job_is_tried() {
    let place = place().file("work/a_file", "");
    assert_eq!(place.run("queue enqueue a {\"url\":\"http://127.0.0.1:9999/\"}").code, Some(0));
    for (out, why) in [("/etc/of-the-system", "it belongs to the system"), ("a_file", "a_file failed: ")] {
        let run = place.run(&format!("queue run --drain --out {out}"));
        assert!(run.code == Some(2) && run.stderr.contains(why), "{run}");
    }
    assert!(!Path::new("/etc/of-the-system").exists());
    let job = &ok(&place.run("job list --json"))["jobs"][0];
    assert_eq!((&job["state"], &job["attempt"]), (&json!("ready"), &json!(0)));
}

#[test]
fn where_there_is_no_data_looking_says_so_and_makes_none() {
    let place = place();
    insta::assert_snapshot!(place.run("job list --data-dir nowhere"), @"
    exit 3
    error: there is no data in nowhere: give another directory with --data-dir, or begin there with `abide queue enqueue` or `abide serve`
    ");
    for (command, code) in [
        ("queue run --drain --data-dir nowhere", 3),
        ("queue pause --data-dir nowhere", 3),
        ("queue stats --data-dir nowhere", 3),
    ] {
        assert_eq!(place.run(command).code, Some(code), "{command}");
        assert!(!place.path("work/nowhere").exists(), "{command}");
    }
    assert_eq!(place.run("queue enqueue a").code, Some(0));
    insta::assert_snapshot!(place.run("queue stats nosuch"), @"
    exit 1
    error: there is no queue nosuch: it begins with its first job or policy
    ");
    insta::assert_snapshot!(place.run("queue pause later"), @"
    exit 0
    ✓ Queue later is paused, and has no jobs yet
    ");
}

#[test]
fn one_bad_line_keeps_no_other_out() {
    let lines = [
        r#"{"id":"a","url":"http://e.example/"}"#,
        r#"{"id":"star","url":"http://*/"}"#,
        r#"{"id":"any","resolver_hint":"*"}"#,
        r#"{"id":"port","url":"http://e.example:99999/"}"#,
        r#"{"id":"secret","url":"http://me:mine@e.example/"}"#,
        r#"{"id":"b"}"#,
    ];
    let place = place().file("work/list.jsonl", &lines.join("\n"));
    insta::assert_snapshot!(place.run("queue import list.jsonl"), @r#"
    exit 4
    ⚠ Import complete: 2 new, 0 duplicate, 4 errors
    line 2: url: * stands for every one of them: name one
    line 3: resolver_hint: * stands for every one of them: name one
    line 4: url: "http://e.example:99999/" is not a URL (invalid port number): give an absolute http or https URL
    line 5: url: the URL for e.example carries credentials: remove what stands before the @
    error: 4 lines were not entered
    "#);
}

#[test]
fn what_only_the_server_refuses_keeps_no_other_line_out() {
    let line = |id: &str, bytes: usize| json!({ "id": id, "note": "x".repeat(bytes) }).to_string();
    let lines = [line("a", 300), line("large", 2_000), line("b", 300), line("c", 300), line("d", 300)];
    let place = place().file("work/list.jsonl", &lines.join("\n"));
    let small = Place::new().env("ABIDE_SERVER_MAX_BODY_BYTES", "1024");
    let data_dir = place.path("data").display().to_string();
    let _served = Served::start(&small, &format!("serve --listen 127.0.0.1:0 --data-dir {data_dir}"));
    let run = place.run(&format!("queue import list.jsonl --data-dir {data_dir}"));
    assert_eq!(run.code, Some(4), "{run}");
    assert!(run.stdout.ends_with("4 new, 0 duplicate, 1 error\n"), "{run}");
    assert!(run.stderr.starts_with("line 2: ") && run.stderr.contains("1024"), "{run}");
}

/// Permissions do not bind root: then somebody else has to try.
#[test]
fn a_data_directory_of_somebody_else_is_what_is_wrong_and_no_config_file() {
    const NOBODY: u32 = 65_534;
    let place = place().file("work/theirs/abide.toml", "");
    let (theirs, is_root) = (place.path("work/theirs"), rustix::process::getuid().is_root());
    let run = |arguments: &str| {
        let mut command = place.command(&format!("{arguments} --data-dir {}", theirs.display()));
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir("/").output()
    };
    if !run("--version").is_ok_and(|output| output.status.success()) {
        println!("skipped: nobody but root can run {:?}", place.command("").get_program());
        return;
    }
    let closed = if is_root { 0o700 } else { 0o000 };
    for (path, mode) in [(place.path(""), 0o755), (place.path("work"), 0o755), (theirs.clone(), closed)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (code, arguments, said) in [
        (3, "serve --listen 127.0.0.1:0", "the data directory cannot be used: "),
        (3, "queue enqueue a", "the data directory cannot be used: "),
        (1, "doctor --listen 127.0.0.1:0", "change its owner or permissions"),
    ] {
        let output = run(arguments).unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {text}");
        assert!(text.contains(said) && !text.contains("config file"), "{arguments}: {text}");
    }
    fs::set_permissions(theirs, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn doctor_finds_out_whether_a_data_directory_could_be_made() {
    let place = place();
    for (data_dir, found) in
        [("/proc/x", "/proc cannot be written: "), ("new/one", "new/one has no data yet")]
    {
        let run = place.run(&format!("doctor --json --data-dir {data_dir} --listen 127.0.0.1:0"));
        let findings: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
        assert!(findings[0]["found"].as_str().unwrap().starts_with(found), "{data_dir}: {run}");
    }
    assert_eq!(fs::read_dir(place.path("work")).unwrap().count(), 0, "it leaves nothing behind");
}

#[test]
fn doctor_says_what_is_wrong_and_how_to_mend_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = "127.0.0.1:0".to_owned();
    let busy = taken.local_addr().unwrap().to_string();
    let place = place().file("work/broken/abide.db", &"x".repeat(5_000)).file("work/a_file", "");
    assert_eq!(place.run("queue enqueue a --data-dir healthy").code, Some(0));
    for (data_dir, listen, check, found, fix) in [
        ("nowhere", &free, "", "", ""),
        ("healthy", &free, "", "", ""),
        ("broken", &free, "data directory", "is damaged or no database", "`abide restore` puts a backup"),
        ("a_file", &free, "data directory", "a_file is not a directory", "--data-dir"),
        ("a_file/below", &free, "data directory", "a_file is not a directory", "--data-dir"),
        ("healthy", &busy, "port", "cannot be listened on", "--listen"),
    ] {
        let run = place.run(&format!("doctor --json --data-dir {data_dir} --listen {listen}"));
        let findings: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
        let wrong: Vec<_> = findings.iter().filter(|finding| finding["state"] != "ok").collect();
        assert_eq!((findings.len(), wrong.len()), (5, usize::from(!check.is_empty())), "{data_dir}: {run}");
        assert_eq!(run.code, Some(i32::from(!check.is_empty())), "{run}");
        for finding in wrong {
            let has = |field: &str, text: &str| finding[field].as_str().unwrap().contains(text);
            assert!(has("check", check) && has("found", found) && has("fix", fix), "{data_dir}: {finding}");
        }
    }
}
