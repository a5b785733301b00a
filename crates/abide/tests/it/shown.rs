//! What commands show to people of a queue that was used, and of what stands around it.

use abide_fetch::testing::{Server, reply};
use serde_json::json;

use crate::downloads::until;
use crate::place::{Place, Run};
use crate::served::Served;
use crate::steer::plain;

/// What a run printed, with what differs from run to run replaced: instants, times, sizes, and widths that follow from them.
fn steady(run: &Run, replaced: &[(&str, &str)]) -> String {
    let mut text = plain(run).replace("<root>/work", "<work>");
    for (found, shown) in replaced {
        text = text.replace(found, shown);
    }
    let mut lines: Vec<String> = text.lines().map(steady_line).collect();
    // How often a run says how far it is depends on how fast it is.
    lines.dedup();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn steady_line(line: &str) -> String {
    if line.starts_with("Queue: queued=") {
        return "Queue: queued=<n>, in_progress=<n>, done=<n>".to_owned();
    }
    let mut words = line.split(' ').peekable();
    let mut shown = Vec::new();
    while let Some(word) = words.next() {
        let measured = match words.peek() {
            Some(&("ms" | "s")) => "<time>",
            Some(&("KiB" | "MiB" | "GiB" | "TiB")) => "<size>",
            Some(_) | None => "",
        };
        if measured.is_empty() || word.parse::<f64>().is_err() {
            shown.push(word);
        } else {
            words.next();
            shown.push(measured);
        }
    }
    let mut line = shown.join(" ");
    while line.contains("   ") {
        line = line.replace("   ", "  ");
    }
    line
}

/// A queue of which something was done, something failed and something waits, and the server of its files.
fn used() -> (Place, Server) {
    let files = Server::start(|request| match request.path.as_str() {
        "/a" => reply(200, &[("Content-Type", "text/plain")], b"hello"),
        _ => reply(404, &[], b""),
    });
    let lines = [
        json!({ "id": "a", "url": files.url("/a"), "resolver_hint": "arxiv" }),
        json!({ "id": "gone", "url": files.url("/gone") }),
        json!({ "id": "doi:10.1/x" }),
    ];
    let place = Place::new()
        .env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
        .file("work/list.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(place.run("queue import list.jsonl").code, Some(0));
    (place, files)
}

#[test]
fn a_queue_that_is_used() {
    let (place, files) = used();
    let host = files.address.to_string();
    let steady = |arguments: &str| steady(&place.run(arguments), &[(&host, "<host>")]);
    insta::assert_snapshot!(steady("queue run --drain --out files --workers 1"), @"
    exit 4
    ✓ Queue empty, exiting
    1 done, 0 skipped, 1 failed; 5 B in <time>
    Starting 1 worker in this process...
    Queue: queued=<n>, in_progress=<n>, done=<n>
    Without a URL, and left as they are: 1 line (`abide job list --kind resolve`)
    error: 1 download failed: `abide job list --state failed` says why, `abide queue retry-failed` tries again
    ");
    insta::assert_snapshot!(plain(&place.run("queue stats")), @"
    exit 0
    Queue Statistics: download
    ========================================
    queued                1
    in_progress           0
    done                  1
    skipped               0
    error                 1
    cancelled             0
    total                 3
    ");
    insta::assert_snapshot!(steady("queue pause"), @"
    exit 0
    ✓ Queue download is paused: 1 queued, 0 in progress
    ");
    insta::assert_snapshot!(plain(&place.run("queue stats")), @"
    exit 0
    Queue Statistics: download
    ========================================
    queued                1
    in_progress           0
    done                  1
    skipped               0
    error                 1
    cancelled             0
    total                 3
    The queue download is paused: `abide queue resume` lets its jobs start
    ");
    insta::assert_snapshot!(steady("queue resume"), @"
    exit 0
    ✓ Queue download is running: 1 queued, 0 in progress
    ");
    insta::assert_snapshot!(steady("queue run --max-seconds 1"), @"
    exit 0
    ✓ The time is over, exiting
    0 done, 0 skipped, 0 failed; 0 B in <time>
    Starting 8 workers in this process...
    Queue: queued=<n>, in_progress=<n>, done=<n>
    ");
    insta::assert_snapshot!(steady("job list"), @"
    exit 0
    JOB  QUEUE  KIND  STATE  ATTEMPT  UNIQUE KEY  UPDATED  REASON
    3  download  resolve  ready  0  doi:10.1/x  <instant>
    2  download  download  failed  1  gone  <instant>  http-error: <host> answered 404
    1  download  download  done  1  a  <instant>
    ");
    insta::assert_snapshot!(steady("job show 1"), @r#"
    exit 0
    job  1
    queue  download
    kind  download
    state  done
    priority  0
    unique key  a
    limits  host:<host>, resolver:arxiv
    failures  0 of 3
    run at  <instant>
    created  <instant>
    finished  <instant>
    result  {"artifact_id":"a","reason":"ok","path":"<work>/files/a.txt","size":5,"sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","status":200,"url":"http://<host>/a","etag":null,"last_modified":null,"content_type":"text/plain","content_encoding":null,"resumed_from":0}
    payload  {"id":"a","resolver_hint":"arxiv","url":"http://<host>/a"}

    ATTEMPT  WORKER  STARTED  TOOK  END  REASON
    1  engine-2/download/download  <instant>  <time>  done
    "#);
    insta::assert_snapshot!(steady("job show 2"), @r#"
    exit 0
    job  2
    queue  download
    kind  download
    state  failed
    priority  0
    unique key  gone
    limits  host:<host>
    failures  1 of 3
    run at  <instant>
    created  <instant>
    finished  <instant>
    reason  http-error: <host> answered 404
    payload  {"id":"gone","url":"http://<host>/gone"}

    ATTEMPT  WORKER  STARTED  TOOK  END  REASON
    1  engine-2/download/download  <instant>  <time>  error  http-error: <host> answered 404
    "#);
    insta::assert_snapshot!(steady("job show 3"), @r#"
    exit 0
    job  3
    queue  download
    kind  resolve
    state  ready
    priority  0
    unique key  doi:10.1/x
    failures  0 of 3
    run at  <instant>
    created  <instant>
    payload  {"id":"doi:10.1/x"}
    "#);
    insta::assert_snapshot!(steady("queue retry-failed"), @"
    exit 0
    Found 1 failed job:
      - gone (attempts: 1)
    ✓ Retried 1 job
    ");
}

#[test]
fn a_queue_with_a_name_of_its_own_is_resumed_by_it() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    served.ok("POST /v1/jobs", r#"{"queue":"mail","kind":"send"}"#);
    insta::assert_snapshot!(place.run("queue pause mail"), @"
    exit 0
    ✓ Queue mail is paused: 1 queued, 0 in progress
    ");
    insta::assert_snapshot!(place.run("queue stats mail"), @"
    exit 0
    Queue Statistics: mail
    ========================================
    queued                1
    in_progress           0
    done                  0
    skipped               0
    error                 0
    cancelled             0
    total                 1
    The queue mail is paused: `abide queue resume mail` lets its jobs start
    ");
}

#[test]
fn objects_that_are_there() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    served.ok("POST /v1/queues/work-queue/pause", "");
    let item = served.ok("POST /coordinator/c/queue", r#"{"message": "m", "delay": 5000}"#);
    let id = item["workItem"]["id"].as_str().expect("an id");
    // Its job is enqueued in a turn of its own.
    until(|| served.ok("GET /v1/objects/coordinator/c", "")["version"] == 2);
    let steady = |arguments: &str| steady(&place.run(arguments), &[(id, "<item>")]);
    insta::assert_snapshot!(steady("object list"), @"
    exit 0
    OBJECT  VERSION  LOG  UPDATED
    coordinator/c  2  2  <instant>
    ");
    insta::assert_snapshot!(steady("object show coordinator/c --rows 1"), @"
    exit 0
    object  coordinator/c
    version  2
    log  2 entries
    created  <instant>
    updated  <instant>

    ROW  VALUE
    id/<item>  1
    there are more rows: --rows, --prefix
    ");
    insta::assert_snapshot!(steady("object show coordinator/c --prefix tally"), @r#"
    exit 0
    object  coordinator/c
    version  2
    log  2 entries
    created  <instant>
    updated  <instant>

    ROW  VALUE
    tally  {"given":1,"pending":0,"processing":1,"completed":0,"failed":0}
    "#);
}

#[test]
fn tokens_that_were_made() {
    let place = Place::new();
    let mut ids = Vec::new();
    for flags in ["--role read --label dashboard", "--role admin"] {
        let made = place.run(&format!("token create {flags} --json"));
        let made: serde_json::Value = serde_json::from_str(&made.stdout).expect("JSON");
        ids.push(made["id"].as_str().expect("an id").to_owned());
    }
    let replaced = [(ids[0].as_str(), "<first>"), (ids[1].as_str(), "<second>")];
    insta::assert_snapshot!(steady(&place.run("token list"), &replaced), @"
    exit 0
    ID  ROLE  CREATED  LABEL
    <first>  read  <instant>  dashboard
    <second>  admin  <instant>
    ");
}

#[test]
fn a_backup_and_the_way_back() {
    let (place, _files) = used();
    let steady = |arguments: &str| steady(&place.run(arguments), &[]);
    insta::assert_snapshot!(steady("backup copy.db"), @"
    exit 0
    ✓ Backup of <size> in <work>/copy.db
    ");
    insta::assert_snapshot!(steady("restore copy.db --data-dir other"), @"
    exit 0
    ✓ Restored <size> into other
    Files are in no backup: copy the directories that were beside the store to where they were
    ");
    insta::assert_snapshot!(plain(&place.run("queue stats --data-dir other")), @"
    exit 0
    Queue Statistics: download
    ========================================
    queued                3
    in_progress           0
    done                  0
    skipped               0
    error                 0
    cancelled             0
    total                 3
    ");
}

#[test]
fn what_the_doctor_finds() {
    let place = Place::new();
    let steady = |place: &Place, arguments: &str| steady(&place.run(arguments), &[]);
    insta::assert_snapshot!(steady(&place, "doctor --listen 127.0.0.1:0"), @"
    exit 0
    CHECK  STATE  FOUND  FIX
    data directory  ok  <root>/home/.local/share/abide has no data yet and can be used
    disk  ok  <size> free at <root>/home
    disk of downloads  ok  <size> free at <root>/home
    clock  ok  it says <instant>
    port  ok  127.0.0.1:0 is free
    ");
    let place = place.env("ABIDE_DOWNLOADS_RESERVE_BYTES", "1125899906842624").file("work/file", "");
    insta::assert_snapshot!(steady(&place, "doctor --listen 127.0.0.1:0 --data-dir file"), @"
    exit 1
    CHECK  STATE  FOUND  FIX
    data directory  wrong  file is not a directory  give another one with --data-dir
    disk  ok  <size> free at file
    disk of downloads  warning  <size> free at file, and 1.00 PiB are to stay free: downloads wait  free some space, set downloads.out to a directory on another disk, or lower downloads.reserve_bytes
    clock  ok  it says <instant>
    port  ok  127.0.0.1:0 is free
    error: 1 of 5 checks found something wrong
    ");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let pid = served.pid().to_string();
    let run = place.run("doctor --data-dir data");
    insta::assert_snapshot!(self::steady(&run, &[(&format!("process {pid}"), "process <pid>")]), @"
    exit 0
    CHECK  STATE  FOUND  FIX
    data directory  ok  data is in use by process <pid>
    disk  ok  <size> free at data
    disk of downloads  warning  <size> free at data, and 1.00 PiB are to stay free: downloads wait  free some space, set downloads.out to a directory on another disk, or lower downloads.reserve_bytes
    clock  ok  it says <instant>
    port  ok  the server (process <pid>) answers
    ");
}
