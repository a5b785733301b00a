//! `abide preprocess` on a folder and on results that are not as a run left them.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::{Place, Run};
use crate::scans::{files, is_jpeg, noted, runs, script, tiff, write};

const RUN: &str = "preprocess scans --out web --preset fast --json";

fn summary(run: &Run, code: i32) -> Value {
    assert_eq!(run.code, Some(code), "{run}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn only_what_is_new_or_changed_is_done() {
    let place = noted(Place::new());
    let source = place.path("work/scans");
    for (index, name) in ["a.tif", "b.tif", "box/c.tif"].into_iter().enumerate() {
        write(&source.join(name), &tiff(210, 20, index as u32));
    }
    write(&source.join("notes.txt"), b"words");
    let first = summary(&place.run(RUN), 0);
    assert_eq!((&first["converted"], &first["written"]), (&json!(3), &json!(6)), "{first}");
    assert_eq!(runs(&place).len(), 6);
    let kept = place.path("work/web/.abide/buckets");
    assert_eq!(files(&kept), Vec::<std::path::PathBuf>::new(), "results are not kept twice");

    write(&source.join("d.tif"), &tiff(210, 20, 3));
    write(&source.join("b.tif"), &tiff(210, 21, 1));
    fs::remove_file(source.join("box/c.tif")).unwrap();
    let dry = place.run("preprocess scans --out web --preset fast --dry-run");
    assert!(
        dry.stderr.starts_with("4 files, ") && dry.stderr.contains("; 2 to convert, 1 already done\n"),
        "{dry}"
    );
    let second = summary(&place.run(RUN), 0);
    assert_eq!((&second["converted"], &second["already_done"]), (&json!(3), &json!(1)), "{second}");
    let gone = json!([{ "file": "box/c.tif", "reason": "it is gone, and its results are left (2): --prune removes them" }]);
    assert_eq!(second["gone"], gone);
    let mut done: Vec<String> = runs(&place).split_off(6);
    done.sort();
    assert_eq!(done, ["image b.jpg", "image d.jpg", "tiff b.tif", "tiff d.tif"]);

    fs::write(place.path("work/web/box/c.jpg"), b"my own words").unwrap();
    let pruned = summary(&place.run(&format!("{RUN} --prune")), 0);
    assert_eq!((&pruned["removed"], &pruned["written"]), (&json!(1), &json!(0)), "{pruned}");
    assert!(!place.path("work/web/variants/thumb/box").exists());
    assert_eq!(
        fs::read(place.path("work/web/box/c.jpg")).unwrap(),
        b"my own words",
        "what somebody changed stays"
    );

    fs::remove_file(place.path("work/web/variants/thumb/a.jpg")).unwrap();
    summary(&place.run(RUN), 0);
    assert_eq!(runs(&place).split_off(10), ["tiff a.tif", "image a.jpg"], "what is missing is made anew");
    let last = place.run("preprocess scans --out web --preset fast");
    assert!(last.stderr.contains("; 3 already done, nothing to convert\n"), "{last}");
    assert!(last.stdout.contains("\nconverted              3  3 by earlier runs\n"), "{last}");
    assert_eq!((last.code, runs(&place).len()), (Some(0), 12));

    let other = place.path("work/other");
    write(&other.join("x.tif"), &tiff(32, 24, 9));
    let mixed = place.run("preprocess other --out web");
    assert_eq!(mixed.code, Some(2), "{mixed}");
    assert!(mixed.stderr.contains("scans, and nothing of that is in "), "{mixed}");
}

/// What reached the bound of its memory is tried again when it may hold more, and not before.
#[test]
fn what_wants_more_memory_is_tried_again_when_there_is_more() {
    let text = "echo memory allocation of 9 bytes failed >&2; kill -ABRT $$";
    let place = Place::new();
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let program = script(
        &place,
        "greedy",
        &format!("#!/bin/sh\necho \"$@\" >> '{}'\n{text}\n", place.path("tries").display()),
    );
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    let tries = || fs::read_to_string(place.path("tries")).unwrap().lines().count();
    for _ in 0..2 {
        let run = summary(&place.run(RUN), 4);
        assert_eq!((&run["to_be_tried_again"], tries()), (&json!(0), 1), "{run}");
        let reason = run["failed"][0]["reason"].as_str().unwrap();
        assert!(
            reason.contains("its worker reached its bound of ") && reason.ends_with(" MiB of memory"),
            "{reason}"
        );
    }
    let place = place.env("ABIDE_PREPROCESS_MEMORY_TIFF_MB", "5000");
    summary(&place.run(RUN), 4);
    assert_eq!(fs::read_to_string(place.path("tries")).unwrap().lines().count(), 2);
}

/// Results have names of their own, whichever file came first.
#[test]
fn a_file_that_comes_later_does_not_take_the_results_of_another() {
    let place = noted(Place::new());
    let (source, out) = (place.path("work/scans"), place.path("work/web"));
    write(&source.join("a.tif"), &tiff(210, 20, 1));
    write(&source.join("b.tif"), &tiff(210, 20, 2));
    summary(&place.run(RUN), 0);
    fs::copy(out.join("b.jpg"), source.join("a.jpg")).unwrap();
    let both = summary(&place.run(RUN), 0);
    assert_eq!((&both["converted"], &both["already_done"]), (&json!(3), &json!(1)), "{both}");
    let found: Vec<_> = files(&out).into_iter().filter(|path| is_jpeg(path)).collect();
    let found: Vec<_> = found.iter().map(|path| path.strip_prefix(&out).unwrap().to_str().unwrap()).collect();
    let thumbs = ["variants/thumb/a.jpg", "variants/thumb/a.tif.jpg", "variants/thumb/b.jpg"];
    assert_eq!(found, ["a.tif.jpg", "b.jpg"].into_iter().chain(thumbs).collect::<Vec<_>>());

    // One that got another name has its results under it.
    fs::rename(source.join("b.tif"), source.join("b.tiff")).unwrap();
    let renamed = summary(&place.run(RUN), 0);
    assert_eq!((&renamed["converted"], &renamed["gone"]), (&json!(3), &json!([])), "{renamed}");
}

#[test]
fn files_of_others_stay_and_no_link_leads_out_of_the_results() {
    let place = Place::new();
    let (source, out) = (place.path("work/scans"), place.path("work/web"));
    for (index, name) in ["a.tif", "b.tif", "c.tif", "sub/d.tif"].into_iter().enumerate() {
        write(&source.join(name), &tiff(32, 24, index as u32));
    }
    write(&out.join("a.jpg"), b"precious");
    let refused = place.run(RUN);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("did not write and would replace: a.jpg; move them away"), "{refused}");
    assert_eq!(files(&out), [out.join("a.jpg")], "nothing was begun");
    assert_eq!(fs::read(out.join("a.jpg")).unwrap(), b"precious");

    fs::create_dir(out.join("b.jpg")).unwrap();
    fs::create_dir(place.path("work/elsewhere")).unwrap();
    symlink("../elsewhere", out.join("sub")).unwrap();
    let run = summary(&place.run(&format!("{RUN} --overwrite")), 4);
    assert_eq!((&run["converted"], &run["to_be_tried_again"]), (&json!(2), &json!(2)), "{run}");
    let failed = json!([
        { "file": "b.tif", "reason": "b.jpg among the results is a folder: move it away" },
        { "file": "sub/d.tif", "reason": "sub among the results is a link, and links are not followed: move it away" },
    ]);
    assert_eq!(run["failed"], failed);
    assert!(is_jpeg(&out.join("a.jpg")) && is_jpeg(&out.join("c.jpg")));
    assert_eq!(files(&place.path("work/elsewhere")), Vec::<std::path::PathBuf>::new());

    fs::remove_dir(out.join("b.jpg")).unwrap();
    fs::remove_file(out.join("sub")).unwrap();
    let mended = summary(&place.run(RUN), 0);
    assert_eq!((&mended["converted"], &mended["already_done"]), (&json!(4), &json!(2)), "{mended}");
    assert!(is_jpeg(&out.join("sub/d.jpg")));
    let unfinished = files(&out).into_iter().find(|path| path.to_string_lossy().ends_with("part"));
    assert_eq!(unfinished, None);

    // A result that somebody changed is theirs.
    fs::write(out.join("c.jpg"), b"mine now").unwrap();
    write(&source.join("c.tif"), &tiff(33, 24, 2));
    let edited = place.run(RUN);
    assert!(edited.code == Some(2) && edited.stderr.contains("would replace: c.jpg; "), "{edited}");

    symlink("scans", place.path("work/link")).unwrap();
    write(&place.path("work/file"), b"");
    for (arguments, said) in [
        ("preprocess scans --out link/web", "are in each other, and nothing is written to a source"),
        ("preprocess scans --out file", "work/file is no folder: choose another --out"),
        ("preprocess scans/a.tif", "scans/a.tif is no folder: name the one that it is in"),
        ("preprocess nowhere", "nowhere is not there"),
    ] {
        let refused = place.run(arguments);
        assert!(refused.code == Some(2) && refused.stderr.contains(said), "{arguments}: {refused}");
    }
    assert!(!source.join("web").exists());
}

/// A worker that says when it begins, and goes on as long as its launcher.
fn endless(place: Place) -> Place {
    let alive = place.path("alive");
    assert!(Command::new("mkfifo").arg(&alive).status().unwrap().success());
    let text = format!("#!/bin/sh\nexec 3>'{}'\necho begun >&3\ncat > /dev/null\n", alive.display());
    let program = script(&place, "endless", &text);
    place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap())
}

#[test]
fn a_second_signal_ends_a_run_and_its_workers_at_once() {
    let place = Place::new().env("ABIDE_SERVER_DRAIN_MS", "3600000");
    let place = endless(place.env("ABIDE_PREPROCESS_TASK_TIMEOUT_TIFF_MS", "3600000"));
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let mut run = place.command("preprocess scans --out web").stderr(Stdio::piped()).spawn().unwrap();
    let mut alive = BufReader::new(fs::File::open(place.path("alive")).unwrap());
    let mut begun = String::new();
    alive.read_line(&mut begun).unwrap();
    assert_eq!(begun, "begun\n");

    let second = place.run("preprocess scans --out web");
    assert_eq!(second.code, Some(3), "{second}");
    assert!(second.stderr.contains("another `abide preprocess` (process "), "{second}");

    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let id = run.id().to_string();
    let interrupt = || assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    interrupt();
    assert!(lines.any(|line| line.starts_with("stopping when what is being done is done")));
    // What comes right after the first is the same word.
    while run.try_wait().unwrap().is_none() {
        interrupt();
        assert!(Command::new("sleep").arg("0.2").status().unwrap().success());
    }
    let rest: Vec<String> = lines.collect();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(
        rest.iter().any(|line| line == "error: stopped: the same command goes on where it was"),
        "{rest:?}"
    );
    // Its last writer is gone.
    assert_eq!(alive.read_line(&mut begun).unwrap(), 0);
}

/// Who calls back after the first signal is heard: what was under way is done, and nothing is begun.
#[test]
fn a_signal_lets_workers_finish_that_are_at_it() {
    let place = Place::new()
        .env("ABIDE_SERVER_DRAIN_MS", "3600000")
        .env("ABIDE_PREPROCESS_TASK_TIMEOUT_TIFF_MS", "3600000")
        .env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    for name in ["begun", "go"] {
        assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
    }
    // One that was told to go is not held up again.
    let text = format!(
        "#!/bin/sh\necho \"$1 ${{INPUT_R2_KEY#staging/*/}}\" >> '{runs}'\n[ -p '{go}' ] && echo begun > '{begun}' && \
         read -r _ < '{go}'\nexec '{abide}' worker \"$@\"\n",
        runs = place.path("runs").display(),
        begun = place.path("begun").display(),
        go = place.path("go").display(),
        abide = env!("CARGO_BIN_EXE_abide"),
    );
    let program = script(&place, "held", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let arguments = "preprocess scans --out web --preset fast";
    let mut run = place.command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(fs::read_to_string(place.path("begun")).unwrap(), "begun\n");
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    assert!(lines.any(|line| line.starts_with("stopping when what is being done is done")));
    // Open for both, this waits for nobody.
    let mut go = fs::File::options().read(true).write(true).open(place.path("go")).unwrap();
    go.write_all(b"now\n").unwrap();
    fs::remove_file(place.path("go")).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(runs(&place), ["tiff a.tif"], "nothing is begun");

    let second = place.run(arguments);
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(runs(&place), ["tiff a.tif", "image a.jpg"], "what was finished is not done again");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));
}

/// What a run brought before it was killed is its own, whatever becomes of the files it is of.
#[test]
fn results_of_a_run_that_was_killed_are_no_files_of_others() {
    let place = Place::new();
    let (source, out) = (place.path("work/scans"), place.path("work/web"));
    for (index, name) in ["a.tif", "b.tif", "c.tif"].into_iter().enumerate() {
        write(&source.join(name), &tiff(210, 20, index as u32));
    }
    // Whoever is to make smaller copies waits until everything else is in its place, and kills who started it.
    let brought = ["a", "b", "c"].map(|name| format!("[ -e '{}/{name}.jpg' ]", out.display())).join(" && ");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = image ] || exec '{}' worker \"$@\"\nuntil {brought}; do sleep 0.02; done\nkill -9 $PPID\n",
        env!("CARGO_BIN_EXE_abide")
    );
    let program = script(&place, "killing", &text);
    let killing = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    assert_eq!(killing.run("preprocess scans --out web").code, None);
    let of_default = fs::metadata(out.join("a.jpg")).unwrap().len();

    let place = noted(killing);
    write(&source.join("b.tif"), &tiff(210, 21, 1));
    fs::remove_file(source.join("c.tif")).unwrap();
    let run = summary(&place.run(RUN), 0);
    assert_eq!(run["converted"], json!(2), "{run}");
    assert_ne!(fs::metadata(out.join("a.jpg")).unwrap().len(), of_default, "another preset");
    let gone = json!([{ "file": "c.tif", "reason": "it is gone, and its results are left (1): --prune removes them" }]);
    assert_eq!(run["gone"], gone);
    let pruned = summary(&place.run(&format!("{RUN} --prune")), 0);
    assert_eq!((&pruned["removed"], out.join("c.jpg").exists()), (&json!(1), false), "{pruned}");
    fs::write(out.join("b.jpg"), b"my own words").unwrap();
    write(&source.join("b.tif"), &tiff(210, 22, 1));
    assert_eq!(place.run(RUN).code, Some(2), "what somebody changed is not ours any more");
}

#[test]
fn what_is_kept_and_damaged_is_named_and_costs_nothing_that_is_done() {
    let place = noted(Place::new());
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    summary(&place.run(RUN), 0);
    let state = place.path("work/web/.abide");
    for file in files(&state).iter().filter(|path| path.to_string_lossy().contains("abide.db")) {
        fs::write(file, "no database, whatever its name says").unwrap();
    }
    write(&place.path("work/scans/b.tif"), &tiff(32, 24, 2));
    let damaged = place.run("preprocess scans --out web --preset fast");
    assert_eq!(damaged.code, Some(3), "{damaged}");
    let remedy = "web/.abide/abide.db* and run the same command again: what is done is not done again";
    assert!(damaged.stderr.contains(remedy), "{damaged}");
    for file in files(&state).iter().filter(|path| path.to_string_lossy().contains("abide.db")) {
        fs::remove_file(file).unwrap();
    }
    let mended = summary(&place.run(RUN), 0);
    assert_eq!((&mended["converted"], &mended["already_done"]), (&json!(2), &json!(1)), "{mended}");
    assert_eq!(runs(&place).iter().filter(|run| run.starts_with("tiff a.tif")).count(), 1);
}
