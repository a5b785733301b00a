//! Commands that look at work and steer it, with and without a server beside them.

use serde_json::{Value, json};

use crate::place::{Place, Run};
use crate::served::Served;

/// An instant as commands print it.
const INSTANT: &str = "dddd-dd-dd dd:dd:ddZ";

/// What a run printed, with every instant replaced.
pub(crate) fn plain(run: &Run) -> String {
    let text = run.to_string();
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        let is_instant = INSTANT.len() <= rest.len()
            && rest.bytes().zip(INSTANT.bytes()).all(|(found, wanted)| match wanted {
                b'd' => found.is_ascii_digit(),
                wanted => found == wanted,
            });
        let taken = if is_instant { INSTANT.len() } else { next.len_utf8() };
        plain.push_str(if is_instant { "<instant>" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    plain
}

fn ok(place: &Place, arguments: &str) -> Value {
    let run = place.run(&format!("{arguments} --json"));
    assert_eq!(run.code, Some(0), "{arguments}: {run}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The numbers of the jobs that a list shows.
fn listed(place: &Place, flags: &str) -> Vec<i64> {
    let list = ok(place, &format!("job list {flags}"));
    list["jobs"].as_array().expect("jobs").iter().map(|job| job["job"].as_i64().expect("a number")).collect()
}

#[test]
fn a_token_is_shown_once_and_lets_in_until_it_is_revoked() {
    let place = Place::new();
    let made = place.run("token create --role read --label dashboard");
    let secret = made.stdout.trim_end();
    assert!(secret.starts_with("abide_") && made.stdout.lines().count() == 1, "{made}");
    assert!(made.stderr.contains("with the role read") && !made.stderr.contains(secret), "{made}");

    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let with = |secret: &str, line: &str| {
        let header = format!("Bearer {secret}");
        served.client().request(line, &[("Authorization", &header)], "").expect("an answer").status
    };
    assert_eq!((with(secret, "GET /v1/jobs"), with(secret, "POST /v1/queues/q/pause")), (200, 403));
    let list = place.run("token list");
    assert!(list.stdout.contains("dashboard") && !list.stdout.contains(secret), "{list}");
    let second = ok(&place, "token create --role admin");
    let tokens = ok(&place, "token list")["tokens"].clone();
    assert_eq!((&tokens[0]["role"], &tokens[1]["id"]), (&json!("read"), &second["id"]));

    let id = tokens[0]["id"].as_str().unwrap();
    assert_eq!(place.run(&format!("token revoke {id}")).stdout, format!("✓ Token {id} is revoked\n"));
    assert_eq!(with(secret, "GET /v1/jobs"), 401);
    assert_eq!(place.run(&format!("token revoke {id}")).code, Some(1));
    assert_eq!(place.run("token create --role root").code, Some(2));
}

#[test]
fn lists_are_narrowed_by_every_filter() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let job = |queue: &str, kind: &str, key: &str| {
        let job =
            json!({ "queue": queue, "kind": kind, "unique_key": key, "limit_keys": [format!("host:{key}")] });
        served.ok("POST /v1/jobs", &job.to_string());
    };
    // Keys that no work item has: those are hexadecimal.
    job("mail", "send", "x1");
    job("mail", "drop", "x2");
    job("post", "send", "y1");
    served.ok("POST /v1/queues/work-queue/pause", "");
    served.ok("POST /coordinator/c/queue", r#"{"message": "m", "delay": 5000}"#);
    served.ok("POST /v1/jobs/2/cancel", "");
    for (flags, expected) in [
        ("", vec![4, 3, 2, 1]),
        ("--queue mail", vec![2, 1]),
        ("--kind send", vec![3, 1]),
        ("--queue mail --kind send", vec![1]),
        ("--state cancelled", vec![2]),
        ("--owner coordinator/c", vec![4]),
        ("--limit-key host:y1", vec![3]),
        ("--key-prefix x", vec![2, 1]),
        ("--created-from 1h", vec![4, 3, 2, 1]),
        ("--created-until 1h", vec![]),
        ("--created-from 2020-01-01 --created-until 2020-01-02", vec![]),
        ("--finished-from 1h", vec![2]),
        ("--finished-until 2020-01-01T00:00:00Z", vec![]),
        ("--queue mail --limit 1", vec![2]),
        ("--queue mail --limit 1 --after 2", vec![1]),
    ] {
        assert_eq!(listed(&place, flags), expected, "{flags}");
    }
    insta::assert_snapshot!(plain(&place.run("job list --queue mail")), @"
    exit 0
    JOB  QUEUE  KIND  STATE      ATTEMPT  UNIQUE KEY  UPDATED               REASON
    2    mail   drop  cancelled  0        x2          <instant>  cancelled
    1    mail   send  ready      0        x1          <instant>
    ");
    insta::assert_snapshot!(place.run("job list --created-from yesterday"), @r#"
    exit 2
    error: invalid value 'yesterday' for '--created-from <TIME>': "yesterday" is no time: give one such as 2026-01-31T12:00:00Z, 2026-01-31 or 2h

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(place.run("job list --owner nobody"), @r#"
    exit 1
    error: owner is "nobody": name an object by kind and name, such as coordinator/main
    "#);
    let objects = ok(&place, "object list --kind coordinator")["objects"].clone();
    assert_eq!((&objects[0]["name"], objects.as_array().unwrap().len()), (&json!("c"), 1));
    let shown = plain(&place.run("object show coordinator/c --rows 1"));
    assert!(shown.starts_with("exit 0\nobject   coordinator/c\nversion  "), "{shown}");
    assert!(shown.ends_with("there are more rows: --rows, --prefix\n"), "{shown}");
    insta::assert_snapshot!(place.run("object show nobody"), @r#"
    exit 2
    error: "nobody" has no kind: name an object as kind/name, such as coordinator/main
    "#);
    insta::assert_snapshot!(place.run("object show coordinator/none"), @"
    exit 1
    error: there is no object coordinator/none
    ");
}

#[test]
fn limits_are_set_seen_and_removed() {
    let place = Place::new();
    insta::assert_snapshot!(place.run("limit set host:example.org --concurrency 2 --rate 5/s --burst 1"), @"
    exit 0
    ✓ Limit host:example.org is set
    ");
    assert_eq!(place.run("limit set queue:mail --rate 1/3s").code, Some(0));
    insta::assert_snapshot!(place.run("limit list"), @"
    exit 0
    KEY               CONCURRENCY  RATES  BURST  IN USE  WAITING  OPENS
    host:*            4            -      -      0       0
    host:example.org  2            5/s    1      0       0
    queue:mail        -            1/3s   -      0       0
    ");
    assert_eq!(place.run("limit set queue:mail --remove").code, Some(0));
    let keys = || {
        let listed = ok(&place, "limit list")["limits"].clone();
        listed.as_array().unwrap().iter().map(|limit| limit["key"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(), ["host:*", "host:example.org"]);
    // What a data directory began with is not put back by the next command.
    assert_eq!(place.run("limit set host:* --remove").code, Some(0));
    assert_eq!(keys(), ["host:example.org"]);
    for wrong in [
        "queue:mail",
        "queue:mail --concurrency 0",
        "queue:mail --rate five",
        "queue:mail --remove --rate 1/s",
    ] {
        assert_eq!(place.run(&format!("limit set {wrong}")).code, Some(2), "{wrong}");
    }
}

#[test]
fn dead_letters_are_replayed_one_by_one_by_what_they_are_and_all() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let fail_all = || {
        let ask = r#"{"worker":"w","queues":["a","b"],"kinds":["k","l"],"max":9}"#;
        for lease in served.ok("POST /v1/lease", ask)["leases"].as_array().unwrap() {
            let end = json!({
                "attempt": lease["attempt"], "token": lease["token"], "end": "error", "reason": "no", "retry": "never"
            });
            served.ok(&format!("POST /v1/jobs/{}/finish", lease["job"]), &end.to_string());
        }
    };
    for (queue, kind) in [("a", "k"), ("a", "l"), ("b", "k")] {
        served.ok("POST /v1/jobs", &json!({ "queue": queue, "kind": kind }).to_string());
    }
    fail_all();
    insta::assert_snapshot!(plain(&place.run("dead list")), @"
    exit 0
    ID     OF  WHAT  FAILURES  DIED                  ERROR
    job:3  b   k     1         <instant>  no
    job:2  a   l     1         <instant>  no
    job:1  a   k     1         <instant>  no
    ");
    insta::assert_snapshot!(plain(&place.run("dead list --limit 2")), @"
    exit 0
    ID     OF  WHAT  FAILURES  DIED                  ERROR
    job:3  b   k     1         <instant>  no
    job:2  a   l     1         <instant>  no
    there are more: --limit shows up to 1000 of each, `abide job list --state failed` all jobs
    ");
    assert_eq!(
        (&ok(&place, "dead list --limit 2")["more"], &ok(&place, "dead list")["more"]),
        (&json!(true), &json!(false))
    );
    let dead = |flags: &str| ok(&place, &format!("dead list {flags}"))["jobs"].as_array().unwrap().len();
    assert_eq!(
        (dead("--queue a"), dead("--job-kind k"), dead("--event alarm"), dead("--object coordinator")),
        (2, 2, 0, 0)
    );
    for (which, replayed) in [
        ("job:1 job:3", 2),
        ("--queue a", 2),
        ("--queue a --job-kind l", 1),
        ("--event message", 0),
        ("--object coordinator/c", 0),
        ("--all", 3),
    ] {
        assert_eq!(ok(&place, &format!("dead replay {which}")), json!({ "replayed": replayed }), "{which}");
        fail_all();
        assert_eq!(dead(""), 3);
    }
    insta::assert_snapshot!(place.run("dead replay job:9"), @"
    exit 1
    error: job 9: there is no such job
    ");
    for wrong in ["", "--all job:1", "--queue a job:1", "--queue a --object c", "one"] {
        assert_eq!(place.run(&format!("dead replay {wrong}")).code, Some(2), "{wrong}");
    }
}

#[test]
fn what_workers_and_lists_say_cannot_command_a_terminal() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let key = "gpj.\u{202e}exe";
    served.ok("POST /v1/jobs", &json!({ "queue": "q", "kind": "k", "unique_key": key }).to_string());
    let lease =
        served.ok("POST /v1/lease", r#"{"worker":"w","queues":["q"],"kinds":["k"]}"#)["leases"][0].clone();
    let end = json!({
        "attempt": lease["attempt"], "token": lease["token"], "end": "error", "retry": "never",
        "reason": "\u{1b}]0;mine\u{7}\u{1b}[2Jall is well\nstate       done",
    });
    served.ok("POST /v1/jobs/1/finish", &end.to_string());
    for command in
        ["job show 1", "job why 1", "job list", "dead list", "queue retry-failed --dry-run --queue q"]
    {
        let run = place.run(command);
        assert_eq!(run.code, Some(0), "{command}: {run}");
        let is_harmful = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
        assert!(!run.stdout.contains(is_harmful), "{command}: {:?}", run.stdout);
        assert!(!run.stdout.lines().any(|line| line.starts_with("state       done")), "{command}: {run}");
    }
    assert!(place.run("job list").stdout.contains("gpj.\u{fffd}exe"));
}

#[test]
fn what_is_missing_is_named() {
    for (arguments, missing) in [
        ("limit set host:x", "<--concurrency <N>|--rate <N/TIME>|--remove>"),
        (
            "dead replay",
            "<ID|--all|--object <KIND[/NAME]>|--event <EVENT>|--queue <QUEUE>|--job-kind <KIND>>",
        ),
        ("queue enqueue", "<ID|--input <FILE>>"),
    ] {
        let run = Place::new().run(arguments);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(missing), "{run}");
    }
    for (arguments, wrong) in [
        ("job show x", "invalid value 'x' for '<JOB>': give a whole number of at least 1"),
        ("queue run --workers 0", "invalid value '0' for '--workers <N>': give a whole number from 1 to 256"),
        ("queue run --max-per-resolver a:2,a:3", "--max-per-resolver names a twice: give it one number"),
    ] {
        let run = Place::new().run(arguments);
        assert!(run.code == Some(2) && run.stderr.contains(wrong), "{run}");
    }
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = Place::new().run(&format!("completions {shell}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["queue", "retry-failed", "max-per-host", "token", "completions"] {
            assert!(run.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    let script = Place::new().run("completions bash").stdout;
    let place = Place::new().file("work/abide.bash", &script);
    let checked = std::process::Command::new("bash").arg("-n").arg(place.path("work/abide.bash")).status();
    assert!(checked.is_ok_and(|status| status.success()), "bash takes it");
}
