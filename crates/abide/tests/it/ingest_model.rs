//! Folders into collections with a model that sees, groups, writes records and describes.

use std::process::{Child, Stdio};

use crate::ingest::{document, ingest, part_of, parts, with_papers};
use crate::model::{Kind, Model};
use crate::place::Place;

const KINDS: [Kind; 4] = [Kind::Reading, Kind::Grouping, Kind::Record, Kind::Description];

/// The example with a model for everything.
fn with_model(model: &Model) -> Place {
    with_papers()
        .env("DEEPINFRA_BASE_URL", &model.base_url)
        .env("MODEL_NAME", "writes-1")
        .env("ABIDE_OCR_MODEL", "sees-1")
        .env("ABIDE_LLM_INPUT_PRICE_MICROS", "380000")
        .env("ABIDE_LLM_OUTPUT_PRICE_MICROS", "890000")
}

#[test]
fn a_model_reads_groups_and_describes() {
    let model = Model::start();
    let place = with_model(&model);
    let dry = place.run("ingest papers --data-dir data --dry-run");
    for words in [
        &format!("OCR: the model sees-1 at {}", model.base_url),
        &format!("organizer: the model writes-1 at {}", model.base_url),
        "model cost: at most about ",
    ] {
        assert!(dry.stderr.contains(words), "{words}: {dry}");
    }
    let summary = ingest(&place);
    let parts = parts(&summary["tree"]);
    assert_eq!(part_of(&parts, "okafor_1887-06-30.txt").0, "/papers/letters/Papers of okafor");
    assert_eq!(part_of(&parts, "hartmann_1888-05-20.jpg").0, "/papers/letters/Papers of hartmann");
    assert!(summary["tree"]["description"].as_str().unwrap().contains("The model has seen this."));
    let asked =
        [Kind::Reading, Kind::Grouping, Kind::Record, Kind::Description].map(|kind| model.asked(kind));
    assert!(
        asked.iter().all(|counts| !counts.is_empty() && counts.iter().all(|count| *count == 1)),
        "{asked:?}"
    );
    // Every call took 1,100 tokens and what they cost.
    let calls: u32 = asked.iter().flatten().sum();
    assert_eq!(summary["tokens"].as_u64().unwrap(), u64::from(calls) * 1_100, "{asked:?}");
    let cost = summary["cost_usd"].as_f64().unwrap();
    assert!((cost - f64::from(calls) * 469.0 / 1e6).abs() < 1e-6, "{cost} for {calls} calls");
    let found = document(place.run("collection search papers Zanzibar --data-dir data --json"));
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), model.asked(Kind::Reading).len(), "what was read is found: {found}");
    let shown = document(place.run("collection show papers --data-dir data --json"));
    assert_eq!(shown["record"]["created"], "1885/1893");

    // Nothing changed, and nothing is asked.
    ingest(&place);
    let again =
        [Kind::Reading, Kind::Grouping, Kind::Record, Kind::Description].map(|kind| model.asked(kind));
    assert_eq!(again, asked);

    // What is as it was is not offered again: a new file is, and may take along what was left alone.
    let letter = |name: &str, text: &str| {
        std::fs::write(place.path(&format!("work/papers/letters/{name}.txt")), text).unwrap();
        let summary = ingest(&place);
        let questions: u32 = model.asked(Kind::Grouping).iter().sum();
        (crate::ingest::parts(&summary["tree"]), questions)
    };
    let (first, offered) = letter("klein_1890-01-02", "Dear Ashby, the clock is mended.");
    assert_eq!(part_of(&first, "klein_1890-01-02.txt").0, "/papers/letters");
    let (edited, questions) = letter("klein_1890-01-02", "Dear Ashby, the clock is mended. Again.");
    assert_eq!((part_of(&edited, "klein_1890-01-02.txt").0, questions), ("/papers/letters", offered));
    let (second, questions) = letter("klein_1890-02-03", "Dear Ashby, the clock stands still.");
    for name in ["klein_1890-01-02.txt", "klein_1890-02-03.txt"] {
        assert_eq!(part_of(&second, name).0, "/papers/letters/Papers of klein");
    }
    assert_eq!(questions, offered + 1);
}

/// Killed while the first question of a phase is open: what was answered before is not asked again.
#[test]
fn killed_in_any_phase_no_answer_is_paid_twice() {
    let undisturbed = parts(&ingest(&with_model(&Model::start()))["tree"]);
    let model = Model::start();
    let place = with_model(&model);
    let mut held = Vec::new();
    for kind in KINDS {
        model.hold(Some(kind));
        let mut command = place.command("ingest papers --data-dir data --json");
        let mut child: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        held.push(model.wait_until_held());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    model.hold(None);
    let summary = ingest(&place);
    assert_eq!(parts(&summary["tree"]), undisturbed);
    for (kind, held) in KINDS.into_iter().zip(held) {
        // Those that got no answer are asked once more; no other is.
        let counts = model.asked(kind);
        let again = counts.iter().filter(|count| **count > 1).count();
        assert!(counts.iter().all(|count| *count <= 2) && again == held, "{kind:?}: {held} held, {counts:?}");
    }
}

#[test]
fn what_a_model_failed_at_is_done_by_the_next_run() {
    let undisturbed = parts(&ingest(&with_model(&Model::start()))["tree"]);
    let model = Model::start();
    let place = with_model(&model).env("MAX_RETRIES_PER_PI", "1").env("MAX_DIRECTORY_RETRIES", "1");
    model.fail(true);
    let failed = place.run("ingest papers --data-dir data");
    assert_eq!(failed.code, Some(4), "{failed}");
    assert!(failed.stderr.contains("the same command tries again"), "{failed}");
    assert!(failed.stdout.contains("note: "), "{failed}");
    model.fail(false);
    let summary = ingest(&place);
    let files =
        |parts: &std::collections::BTreeMap<String, (String, Vec<String>)>| -> Vec<(String, Vec<String>)> {
            parts.iter().map(|(path, (_, files))| (path.clone(), files.clone())).collect()
        };
    assert_eq!(files(&parts(&summary["tree"])), files(&undisturbed));
    assert!(
        summary["tree"]["description"].as_str().expect("a description").contains("The model has seen this.")
    );
    let asked = KINDS.map(|kind| model.asked(kind));
    ingest(&place);
    assert_eq!(KINDS.map(|kind| model.asked(kind)), asked, "everything is done");
    assert!(asked[0].iter().all(|count| *count == 1), "no image is read twice: {asked:?}");
}

#[test]
fn images_that_a_model_did_not_read_are_named_and_read_by_the_next_run() {
    let model = Model::start();
    let place = with_model(&model).env("MAX_DIRECTORY_RETRIES", "1");
    model.blind(true);
    let failed = place.run("ingest papers --data-dir data --json");
    assert_eq!(failed.code, Some(4), "{failed}");
    assert!(failed.stderr.contains("the same command tries again"), "{failed}");
    let summary: serde_json::Value = serde_json::from_str(&failed.stdout).expect("a document");
    let images = model.asked(Kind::Reading).len();
    let unread = summary["failed"].as_array().expect("files");
    assert_eq!(unread.len(), images, "{unread:?}");
    for left in unread {
        let file = left["file"].as_str().expect("a path");
        let parts = parts(&summary["tree"]);
        let is_there = |(path, (_, files)): (&String, &(String, Vec<String>))| {
            files.iter().any(|name| format!("{path}/{name}") == format!("/papers/{file}"))
        };
        assert!(parts.iter().any(is_there), "{file} is nowhere in {parts:?}");
        assert!(left["reason"].as_str().is_some_and(|reason| reason.contains("401")), "{left}");
    }
    let found = |place: &Place| {
        let found = document(place.run("collection search papers Zanzibar --data-dir data --json"));
        found["hits"].as_array().expect("hits").len()
    };
    assert_eq!(found(&place), 0);

    model.blind(false);
    ingest(&place);
    assert_eq!(found(&place), images);
    let asked = model.asked(Kind::Reading);
    ingest(&place);
    assert_eq!(model.asked(Kind::Reading), asked, "everything is read");
}
