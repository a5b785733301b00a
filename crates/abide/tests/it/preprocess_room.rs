//! Disks that are full for preprocessing: real ones, small, that a process has for itself. Any user may mount such where the
//! system lets users have namespaces of their own.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::pdf_writer::document;
use crate::place::Place;
use crate::scans::{SERVE, follow, is_jpeg, place_of_a_server, script, send, stage_files, tiff, wait, write};
use crate::served::Served;

/// Makes a process the owner of its mounts: of a view of the disks that nobody else sees.
const OWN_MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

fn with_own_mounts(arguments: &[&str]) -> Command {
    let [program, flags @ ..] = OWN_MOUNTS;
    let mut command = Command::new(program);
    command.args(flags).args(arguments);
    command
}

/// Whether this user may.
fn may_mount(dir: &Path) -> bool {
    fs::create_dir_all(dir).unwrap();
    let mount = with_own_mounts(&["mount", "-t", "tmpfs", "tmpfs"]).arg(dir).output();
    let may = mount.is_ok_and(|mount| mount.status.success());
    if !may {
        eprintln!("skipped: this user may not have mounts of its own");
    }
    may
}

/// `abide` with these arguments as `"$@"` of a script that mounts what it wants.
fn on_disks(place: &Place, text: &str, arguments: &str) -> Command {
    let abide = place.command(arguments);
    let mut command = with_own_mounts(&["sh", "-c", text, "sh"]);
    command.arg(abide.get_program()).args(abide.get_args()).current_dir(place.path("work")).env_clear();
    command.envs(abide.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn with_path(place: Place) -> Place {
    place.env("PATH", &std::env::var("PATH").unwrap())
}

/// A disk for buckets on which there is no room for one more name.
const FULL_BUCKETS: &str = r#"
mount -t tmpfs -o nr_inodes=300 tmpfs buckets || exit 1
mkdir -p buckets/staging buckets/archive buckets/ballast
cp -r staged/. buckets/staging
while true > "buckets/ballast/$((nth += 1))"; do :; done 2> /dev/null
exec "$@"
"#;

#[test]
fn a_bucket_that_is_full_is_waited_for_and_uses_up_no_attempt() {
    let place = with_path(place_of_a_server())
        .env("ABIDE_BUCKETS_DIR", "buckets")
        .env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    if !may_mount(&place.path("work/buckets")) {
        return;
    }
    let files = [("a.tif".to_owned(), tiff(210, 20, 1))];
    let message = stage_files(&place.path("work/staged"), "full", &files);
    let served = Served::of(on_disks(&place, FULL_BUCKETS, SERVE));

    send(&served, &message);
    let waiting = follow(&served, "full", |status| status["waits"].is_string());
    let waits = waiting["waits"].as_str().unwrap();
    assert!(waits.contains("507 Insufficient Storage: the bucket has no room for staging/full/"), "{waits}");
    assert!(waits.contains("No space left on device"), "{waits}");
    assert_eq!(waiting["phases"][0]["tasks_failed"], json!(0), "{waiting}");
    // As the server sees it.
    let ballast = format!("/proc/{}/root{}", served.pid(), place.path("work/buckets/ballast").display());
    fs::remove_dir_all(ballast).unwrap();
    let status = wait(&served, "full");
    assert_eq!((&status["inputs"]["converted"], &status["waits"]), (&json!(1), &Value::Null), "{status}");
    let task = served.ok("GET /preprocess/batches/full/tasks?phase=TIFF_CONVERSION", "")["tasks"][0].clone();
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("completed"), &json!(0)), "{task}");
    assert_eq!(served.terminate().0, Some(0));
}

/// A run that meets a full disk says what it waits for.
#[test]
fn workers_whose_own_disk_is_full_are_waited_for_and_a_run_says_so() {
    let place = with_path(Place::new()).env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    if !may_mount(&place.path("disk")) {
        return;
    }
    let text = format!(
        "#!/bin/sh\n[ -e '{mended}' ] && exec '{abide}' worker \"$@\"\n\
         exec {own} sh -c 'mount -t tmpfs -o size=16k tmpfs \"$TMPDIR\" && exec \"$0\" worker \"$@\"' '{abide}' \"$@\"\n",
        mended = place.path("mended").display(),
        abide = env!("CARGO_BIN_EXE_abide"),
        own = OWN_MOUNTS.join(" "),
    );
    let program = script(&place, "worker", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    write(&place.path("work/scans/a.tif"), &tiff(210, 100, 1));
    let mut run = place
        .command("preprocess scans --out web --preset fast --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.starts_with(r#"{"waits":"#)).unwrap();
    assert!(said.contains("No space left on device"), "{said}");
    write(&place.path("mended"), b"");
    let rest: Vec<String> = lines.collect();
    let mut summary = String::new();
    run.stdout.take().unwrap().read_to_string(&mut summary).unwrap();
    assert!(run.wait().unwrap().success(), "{rest:?}");
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["converted"], &summary["failed"]), (&json!(1), &json!([])), "{summary}");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));
}

/// What is guessed of documents is no reason to refuse them.
#[test]
fn a_document_that_may_not_fit_is_warned_about_and_tried() {
    let place = with_path(Place::new());
    if !may_mount(&place.path("work/disk")) {
        return;
    }
    let pages = vec!["0 0 m 9 9 l S"; 120];
    write(&place.path("work/scans/book.pdf"), &document(595, 842, "", &pages, &[]));
    let text = "mount -t tmpfs -o size=150m tmpfs disk && exec \"$@\"";
    let run = on_disks(&place, text, "preprocess scans --out disk/web --dry-run").output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success() && said.contains("\nthe room may not be enough: "), "{said}");
}

/// The same command twice, with room for the second once what filled the disk for the first is all written.
const TWICE: &str = r#"
mount -t tmpfs -o size=100m tmpfs disk || exit 1
"$@"
echo "ended with $?" >&2
nth=0
until [ "$(wc -c < disk/ballast)" = 95000000 ] || [ $((nth += 1)) -gt 300 ]; do sleep 0.1; done
rm disk/ballast
true > mended
exec "$@"
"#;

#[test]
fn a_disk_that_becomes_full_stops_a_run_and_the_same_command_goes_on() {
    let place =
        with_path(Place::new()).env("ABIDE_SERVER_DRAIN_MS", "1").env("ABIDE_LAUNCHER_IN_FLIGHT", "1");
    if !may_mount(&place.path("work/disk")) {
        return;
    }
    let text = format!(
        "#!/bin/sh\n[ -e '{mended}' ] && exec '{abide}' worker \"$@\"\n\
         head -c 95000000 /dev/zero > '{ballast}'\ncat > /dev/null\n",
        mended = place.path("work/mended").display(),
        ballast = place.path("work/disk/ballast").display(),
        abide = env!("CARGO_BIN_EXE_abide"),
    );
    let program = script(&place, "filling", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    for index in 0..3 {
        write(&place.path(&format!("work/scans/{index}.tif")), &tiff(32, 24, index));
    }
    let run =
        on_disks(&place, TWICE, "preprocess scans --out disk/web --preset fast --json").output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    let (first, second) = said.split_once("ended with 2\n").unwrap_or_else(|| panic!("{said}"));
    let advice = "has no room left: make room, and the same command goes on where it was";
    assert!(first.contains(advice), "{first}");
    assert!(run.status.success(), "{second}");
    let summary: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(summary["converted"], json!(3), "{summary}");
}
