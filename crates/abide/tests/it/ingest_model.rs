//! Folders into collections with a model that sees, groups, writes records and describes.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use crate::ingest::{document, ingest, part_of, parts, with_papers};
use crate::model::{Kind, Model};
use crate::place::Place;
use crate::served::Served;

const KINDS: [Kind; 4] = [Kind::Reading, Kind::Grouping, Kind::Record, Kind::Description];

/// The example with a model for everything.
pub(crate) fn with_model(model: &Model) -> Place {
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
        "model cost: up to about ",
    ] {
        assert!(dry.stderr.contains(words), "{words}: {dry}");
    }
    let stated = stated(&place);
    let summary = ingest(&place);
    is_covered(&stated, &summary);
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

/// What is said beforehand that models will be asked and cost.
fn stated(place: &Place) -> serde_json::Value {
    let dry = place.run("ingest papers --data-dir data --dry-run --json");
    let said = dry.stderr.lines().find(|line| line.contains("estimated_cost_micros"));
    serde_json::from_str(said.unwrap_or_else(|| panic!("no estimate: {dry}"))).expect("a document")
}

/// Nobody pays more than was said.
fn is_covered(stated: &serde_json::Value, summary: &serde_json::Value) {
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let (tokens, cost) = (number(&summary["tokens"]), number(&summary["cost_usd"]) * 1e6);
    assert!(tokens > 0.0 && tokens <= number(&stated["estimated_tokens"]), "{tokens} of {stated}");
    assert!(tokens / 1_100.0 <= number(&stated["estimated_questions"]), "{tokens} of {stated}");
    assert!(cost <= number(&stated["estimated_cost_micros"]), "{cost} of {stated}");
    // Ten seconds for a question, three of them at a time.
    let seconds = number(&stated["estimated_questions"]) * 3.0;
    assert!(number(&stated["estimated_seconds"]) >= seconds, "{stated}");
}

/// Many groups in one large folder, little text: what is asked is what groups are asked, not folders.
#[test]
fn what_is_said_beforehand_covers_groups_and_large_folders() {
    let model = Model::start();
    let mut place = with_model(&model).env("ABIDE_OCR_KIND", "off");
    for nth in 0..120 {
        let text = format!("Number {nth}.");
        place = place.file(&format!("work/papers/many/word{:02}_{nth:03}.txt", nth / 2), &text);
    }
    let stated = stated(&place);
    is_covered(&stated, &ingest(&place));
    assert!(model.asked(Kind::Record).len() > 60, "a record of each group");
}

/// Beside a server its model and its prices count, not those of who asks.
#[test]
fn beside_a_server_its_prices_are_said() {
    let model = Model::start();
    let place = with_model(&model);
    let mut command = place.command("serve --listen 127.0.0.1:0 --data-dir data");
    command.env("ABIDE_LLM_INPUT_PRICE_MICROS", "3800000").env("ABIDE_LLM_OUTPUT_PRICE_MICROS", "8900000");
    let alone = stated(&place);
    let _served = Served::of(command);
    let said = stated(&place);
    let cost = |said: &serde_json::Value| said["estimated_cost_micros"].as_u64().expect("a number");
    assert_eq!(cost(&said).div_ceil(10), cost(&alone), "{said} {alone}");
    let dry = place.run("ingest papers --data-dir data --dry-run");
    assert!(dry.stderr.contains("organizer: the model writes-1 of the server"), "{dry}");
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

/// An outage in a large collection: everything that failed is done by the next run, however much it is.
#[test]
#[ignore = "takes a minute: cargo test -p abide however_much_failed -- --ignored"]
fn however_much_failed_the_next_run_does_it() {
    const FOLDERS: usize = 1_020;
    let model = Model::start();
    let mut place = with_model(&model).env("MAX_DIRECTORY_RETRIES", "1").env("ABIDE_OCR_KIND", "off");
    std::fs::remove_dir_all(place.path("work/papers")).unwrap();
    for nth in 0..FOLDERS {
        place = place.file(&format!("work/papers/{nth:04}/letter.txt"), &format!("Letter {nth}."));
    }
    model.refuse(true);
    let failed = place.run("ingest papers --data-dir data --json");
    assert_eq!(failed.code, Some(4), "{}", failed.stderr);
    let summary: serde_json::Value = serde_json::from_str(&failed.stdout).expect("a document");
    assert_eq!(summary["unfinished"], FOLDERS + 1, "{}", summary["notes"]);
    model.refuse(false);
    let summary = ingest(&place);
    let children = summary["tree"]["children"].as_array().expect("folders");
    let said = |part: &serde_json::Value| {
        part["description"].as_str().is_some_and(|text| text.contains("The model has seen"))
    };
    let described = children.iter().filter(|part| said(part)).count();
    assert_eq!((described, children.len(), said(&summary["tree"])), (FOLDERS, FOLDERS, true));
    assert_eq!(summary["unfinished"], 0);
    // A collection with such a list can be deleted.
    model.refuse(true);
    for nth in 0..3 {
        std::fs::write(place.path(&format!("work/papers/{nth:04}/letter.txt")), "Another.").unwrap();
    }
    assert_eq!(place.run("ingest papers --data-dir data --json").code, Some(4));
    document(place.run("collection delete papers --yes --data-dir data --json"));
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

/// A model that is away is tried again for minutes: whoever waits is told.
#[test]
fn why_nothing_moves_is_said_while_it_is_tried_again() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let base_url = format!("http://{nobody}/v1");
    let mut place = Place::new().env("DEEPINFRA_BASE_URL", &base_url).env("MODEL_NAME", "away-1");
    for name in ["a", "b", "c"] {
        place = place.file(&format!("work/papers/{name}.txt"), "a text");
    }
    let mut run = place.command("ingest papers --data-dir data").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.starts_with("waiting: ") || line.starts_with("writing records"));
    run.kill().unwrap();
    run.wait().unwrap();
    let why = format!("{base_url} cannot answer now: Connection refused (os error 111)");
    assert_eq!(said, Some(format!("waiting: {why}; it is tried again")));
}
