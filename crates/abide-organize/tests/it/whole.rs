//! Requests from end to end: a model over HTTP, entities, callbacks over HTTP.

use crate::rig::{Orchestrator, Rig, whole, with_model, with_model_within};
use crate::stand_in::{Play, Question, StandIn, by_letter, good};
use crate::tree::tree;
use abide_entities::answer::Shown;
use abide_entities::request::Append;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::{
    CallbackPayload, CallbackStatus, DESCRIPTION_FILE, DESCRIPTION_SOURCE, FileInput, OrganizeRequest,
    OrganizerKind, Phase, PiRequest, PiResult, PiStatus, ProcessRequest, StrategizeRequest,
};
use abide_organize::{FaultOf, Options, group_id};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FILES: [(&str, &str); 6] = [
    ("a1.txt", "apples"),
    ("a2.txt", "more apples"),
    ("b1.txt", "bears"),
    ("b2.txt", "more bears"),
    ("c1.txt", "cats"),
    ("z.txt", "odd"),
];

fn result(payload: &CallbackPayload) -> &PiResult {
    &payload.results.as_ref().unwrap()[0]
}

/// What all parts of a batch took is said with each of them.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_batch_took_is_added_up_over_its_parts() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    for (chunk, calls) in [("0", 1), ("1", 2)] {
        let directory = rig.directory_of(&FILES).await;
        rig.process(whole(chunk, &[&directory.id])).await;
        let payload = orchestrator.next().await;
        let batch = payload.batch.unwrap();
        assert_eq!((payload.spend.llm_calls, batch.llm_calls), (1, calls));
        assert_eq!(batch.tokens.total, u64::from(calls) * 1_100);
        let standing = rig.finished("batch-1", chunk).await;
        assert_eq!((standing.spend.llm_calls, standing.batch), (1, Some(batch)));
    }
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_become_entities_and_whoever_asked_is_told() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    rig.process(whole("0", &[&before.id])).await;
    let payload = orchestrator.next().await;
    assert_eq!((payload.status, payload.organizer), (CallbackStatus::Success, OrganizerKind::Model));
    assert_eq!((payload.model.as_deref(), payload.spend.llm_calls), (Some("wanted"), 1));
    assert_eq!((payload.spend.tokens.total, payload.spend.cost_usd), (1_100, 0.001_1));
    let tree = tree(&rig, &before).await;
    let names: Vec<&str> = tree.parent.keys().map(String::as_str).collect();
    assert_eq!(names, [DESCRIPTION_SOURCE, DESCRIPTION_FILE, "z.txt"]);
    let result = result(&payload);
    let groups = result.group_entities.as_ref().unwrap();
    let told: Vec<(&str, usize)> =
        groups.iter().map(|group| (group.group_name.as_str(), group.files.len())).collect();
    assert_eq!(told, [("Letter a", 2), ("Letter b", 2), ("Letter c", 1)]);
    for group in groups {
        let (label, description, components) = &tree.groups[&group.pi];
        assert_eq!(group.pi, group_id("batch-1", &before.id, &group.group_name));
        assert_eq!(
            (label.as_ref(), description.as_ref()),
            (Some(&group.group_name), Some(&group.description))
        );
        assert_eq!(components.keys().cloned().collect::<Vec<_>>(), group.files);
        assert_eq!(Some(rig.get(&group.pi).await.tip), group.tip);
    }
    let parent = rig.get(&before.id).await;
    assert_eq!((result.new_tip, result.new_version), (Some(parent.tip), Some(parent.ver)));
    assert_eq!(result.ungrouped_files.as_deref(), Some(&["z.txt".to_owned()][..]));
    assert!(tree.description.contains("### Letter b\n\nFiles that begin with b."), "{}", tree.description);
    assert_eq!(rig.finished("batch-1", "0").await.phase, Phase::Done);
    assert_eq!(payload.new_pis.len(), 3);

    // The same again: nothing is paid for, nothing changes.
    let versions = parent.ver;
    rig.process(whole("0", &[&before.id])).await;
    let again = orchestrator.next().await;
    assert_eq!(again.status, CallbackStatus::Success, "{again:?}");
    assert_eq!(
        again.results.as_ref().unwrap()[0].skipped.as_deref().map(|why| why.contains("1 files")),
        Some(true)
    );
    assert_eq!((model.asked().len(), rig.get(&before.id).await.ver), (1, versions));
    rig.engine.stop().await;
}

/// Whoever looks at a request that takes long sees why.
#[tokio::test(flavor = "multi_thread")]
async fn what_went_wrong_last_is_seen_while_it_is_tried_again() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let model =
        StandIn::start(
            move |question| {
                if up.load(Ordering::SeqCst) { good(question) } else { Play::Status(500, None) }
            },
        )
        .await;
    let mut orchestrator = Orchestrator::start(0).await;
    let options = Options { max_retries_per_pi: 20, ..with_model(&model.base_url) };
    let rig = Rig::start(options, &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    rig.process(whole("0", &[&before.id])).await;
    let error = rig.error("batch-1", "0").await;
    assert!(error.ends_with("cannot answer now: it answered 500"), "{error}");
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(orchestrator.next().await.status, CallbackStatus::Success);
    assert_eq!(rig.finished("batch-1", "0").await.error, None);
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_built_in_organizer_does_it_and_says_so() {
    let mut orchestrator = Orchestrator::start(2).await;
    let rig = Rig::start(Options::builtin(), &orchestrator.url);
    let names: Vec<String> =
        (1..=4).flat_map(|n| [format!("Ledger A p{n:03}.txt"), format!("Minute book p{n:03}.txt")]).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a page")).collect();
    let before = rig.directory_of(&files).await;
    rig.process(whole("0", &[&before.id])).await;
    // The orchestrator refuses twice, and takes it then.
    let payload = orchestrator.next().await;
    assert_eq!((payload.organizer, payload.model.as_deref()), (OrganizerKind::Builtin, None));
    assert_eq!(payload.spend, abide_organize::contract::Spend::default());
    let description = result(&payload).reorganization_description.clone().unwrap();
    assert!(
        description.starts_with("Sorted by the built-in organizer, without a language model"),
        "{description}"
    );
    assert_eq!(tree(&rig, &before).await.groups.len(), 2);
    let standing = rig.finished("batch-1", "0").await;
    assert_eq!((standing.phase, standing.organizer), (Phase::Done, OrganizerKind::Builtin));
    rig.engine.stop().await;
}

/// What came of a request, the questions, and where it was asked.
type Through = (CallbackPayload, Vec<Question>, Rig, Shown);

/// Plays `faults` first and then well, and gives what came of it with the questions.
async fn through(faults: impl Fn(&Question) -> Option<Play> + Send + Sync + 'static) -> Through {
    through_within(30_000, faults).await
}

/// The same, with so much time for an answer.
async fn through_within(
    timeout_ms: u64,
    faults: impl Fn(&Question) -> Option<Play> + Send + Sync + 'static,
) -> Through {
    let model = StandIn::start(move |question| faults(question).unwrap_or_else(|| good(question))).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model_within(&model.base_url, timeout_ms), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    rig.process(whole("0", &[&before.id])).await;
    let payload = orchestrator.next().await;
    (payload, model.asked(), rig, before)
}

fn groups_of(payload: &CallbackPayload) -> Vec<(String, Vec<String>)> {
    let groups = result(payload).group_entities.iter().flatten();
    groups.map(|group| (group.group_name.clone(), group.files.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_model_does_at_first_the_directory_is_grouped() {
    let (_, _, undisturbed, before) = through(|_| None).await;
    let expected = tree(&undisturbed, &before).await;
    let first = |play: fn() -> Play| move |question: &Question| (question.number == 0).then(play);
    let whole = |files: &[String]| by_letter(files).to_string();
    for (name, (payload, asked, rig, before)) in [
        ("429", through(first(|| Play::Status(429, Some(1)))).await),
        ("500", through(first(|| Play::Status(500, None))).await),
        ("hang", through_within(3_000, first(|| Play::Hangs)).await),
        ("no JSON", through(first(|| Play::Says("I would rather not.".to_owned()))).await),
        ("empty", through(first(|| Play::Says("{}".to_owned()))).await),
        (
            "cut JSON",
            through(move |question| {
                let text = whole(&question.files);
                (question.number == 0).then(|| Play::Says(text[..20].to_owned()))
            })
            .await,
        ),
        (
            "length",
            through(move |question| {
                let text = whole(&question.files);
                (question.number == 0).then(|| Play::Cut(text[..text.len() / 2].to_owned()))
            })
            .await,
        ),
    ] {
        assert_eq!(payload.status, CallbackStatus::Success, "{name}: {payload:?}");
        assert_eq!(asked.len(), 2, "{name}");
        let tree = tree(&rig, &before).await;
        assert_eq!(tree.description, expected.description, "{name}");
        assert_eq!(tree.groups.len(), expected.groups.len(), "{name}");
        rig.engine.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_answers_well_is_an_error_that_says_so() {
    let (payload, asked, rig, before) = through(|_| Some(Play::Status(500, None))).await;
    assert_eq!(payload.status, CallbackStatus::Error);
    assert!(payload.error.as_deref().unwrap().ends_with("cannot answer now: it answered 500"), "{payload:?}");
    // Three attempts of two requests each.
    assert_eq!((asked.len(), payload.spend.llm_calls), (6, 6));
    assert_eq!(tree(&rig, &before).await.groups.len(), 0);
    assert_eq!(rig.get(&before.id).await.ver, before.ver);
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_answer_leaves_out_is_asked_for_and_nothing_else() {
    let (payload, asked, rig, before) = through(|question| {
        let mut answer = by_letter(&question.files);
        if question.number == 0 {
            answer["groups"][1]["files"] = json!(["b1.txt", "beards.txt"]);
            answer["ungrouped_files"] = json!([]);
        }
        Some(Play::Says(answer.to_string()))
    })
    .await;
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].files, ["b2.txt", "z.txt"]);
    assert!(asked[1].user.contains("Letter b: Files that begin with b."), "{}", asked[1].user);
    assert!(asked[1].user.contains("Names that no file has: beards.txt"), "{}", asked[1].user);
    let groups = groups_of(&payload);
    assert_eq!(groups[1], ("Letter b".to_owned(), vec!["b1.txt".to_owned(), "b2.txt".to_owned()]));
    let metrics = result(&payload).llm_metrics.clone().unwrap();
    assert_eq!(metrics.missing_files_count, 0);
    let said = metrics.validation_warnings.join("\n");
    assert!(said.contains("names that are no file's were dropped: beards.txt"), "{said}");
    assert_eq!(payload.spend.llm_calls, 2);
    tree(&rig, &before).await;
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_duplicate_names_never_reach_an_entity() {
    let (payload, _, rig, before) = through(|question| {
        let mut answer = by_letter(&question.files);
        answer["groups"] = json!([
            {"group_name": "Fruit: a/b", "description": "d", "files": ["a1.txt", "a1.txt", "A2.TXT", "none.txt", "letters/"]},
            {"group_name": "fruit- a-b", "description": "e", "files": ["b1.txt"]},
            {"group_name": "Ghosts", "description": "f", "files": ["ghost.txt"]},
        ]);
        answer["ungrouped_files"] = json!(["a1.txt", "b2.txt", "c1.txt", "z.txt"]);
        Some(Play::Says(answer.to_string()))
    })
    .await;
    let expected = vec!["a1.txt".to_owned(), "a2.txt".to_owned(), "b1.txt".to_owned()];
    assert_eq!(groups_of(&payload), [("Fruit- a-b".to_owned(), expected)]);
    assert_eq!(result(&payload).ungrouped_files.as_deref().unwrap(), ["b2.txt", "c1.txt", "z.txt"]);
    assert!(result(&payload).llm_metrics.as_ref().unwrap().validation_warnings.len() >= 5);
    tree(&rig, &before).await;
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn few_files_are_left_alone_without_asking() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let few =
        rig.directory_of(&[("a", "x"), ("b", "y"), ("pinax.json", "{}"), ("description.md", "d")]).await;
    rig.process(whole("0", &[&few.id])).await;
    let payload = orchestrator.next().await;
    assert_eq!((payload.status, result(&payload).status), (CallbackStatus::Success, PiStatus::Success));
    assert_eq!(
        result(&payload).skipped.as_deref(),
        Some("it has 2 files, and fewer than 3 are left as they are")
    );
    assert_eq!((result(&payload).new_parent_tip, model.asked().len()), (Some(few.tip), 0));
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_entity_is_an_error_and_the_others_are_grouped() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    let nobody = EntityId::parse("01J8ME3H6FZ3KQ5W1P2XY8K7E5").unwrap();
    rig.process(whole("0", &[&before.id, &nobody, &before.id])).await;
    let payload = orchestrator.next().await;
    assert_eq!((payload.status, payload.summary.total), (CallbackStatus::Partial, 2));
    let results = payload.results.unwrap();
    assert_eq!(results[1].error.as_deref(), Some("there is no entity 01J8ME3H6FZ3KQ5W1P2XY8K7E5"));
    assert_eq!(tree(&rig, &before).await.groups.len(), 3);
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_that_were_sent_are_read_however_large() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    let content = |name: &str| format!("{name} was sent {}", "word ".repeat(20_000));
    let files: Vec<FileInput> = FILES
        .iter()
        .map(|(name, _)| FileInput { content: Some(content(name)), ..FileInput::named(*name) })
        .collect();
    let stale = before.tip;
    let append = Append { note: Some("meanwhile".to_owned()), ..Append::onto(before.tip) };
    rig.entities.append(&before.id, append).await.unwrap();
    let pi = PiRequest {
        files: Some(files),
        current_tip: Some(stale),
        directory_path: Some("/letters".to_owned()),
        ..PiRequest::whole(before.id.clone())
    };
    rig.process(ProcessRequest { pis: vec![pi], ..whole("0", &[]) }).await;
    let payload = orchestrator.next().await;
    assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
    let question = &model.asked()[0];
    assert!(question.user.contains("a1.txt was sent") && question.user.starts_with("Directory: /letters"));
    let tokens =
        abide_organize::budget::tokens(&question.user) + abide_organize::budget::tokens(&question.system);
    assert!(tokens <= Options::builtin().budget(), "{tokens}");
    let warnings = &result(&payload).llm_metrics.as_ref().unwrap().validation_warnings;
    assert!(warnings[0].starts_with("current_tip"), "{warnings:?}");
    assert_eq!(tree(&rig, &before).await.groups.len(), 3);
    rig.engine.stop().await;
}

/// What one question may cost is more than what it takes in the end: the cap holds also for those that are asked at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_never_costs_more_than_it_may() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let cap_micros = 6_000;
    let options = Options { batch_cap_micros: Some(cap_micros), ..with_model(&model.base_url) };
    let rig = Rig::start(options, &orchestrator.url);
    let mut directories = Vec::new();
    for _ in 0..6 {
        directories.push(rig.directory_of(&FILES).await.id);
    }
    rig.process(whole("0", &directories.iter().collect::<Vec<_>>())).await;
    let payload = orchestrator.next().await;
    assert_eq!(payload.status, CallbackStatus::Partial, "{payload:?}");
    let asked = model.asked().len() as u64;
    assert!((1..6).contains(&asked) && asked * 1_100 <= cap_micros, "{asked} were asked");
    let failed: Vec<&PiResult> =
        payload.results.iter().flatten().filter(|result| result.status == PiStatus::Error).collect();
    assert_eq!(failed.len() as u64, 6 - asked);
    for result in failed {
        let said = result.error.as_deref().unwrap();
        assert!(said.contains("6000 is what it may: it is not asked"), "{said}");
        assert_eq!(result.retryable, Some(false));
    }
    let standing = rig.finished("batch-1", "0").await;
    assert!(standing.error.unwrap().starts_with("the batch has cost "));
    // Another batch has its own.
    let again = rig.directory_of(&FILES).await;
    rig.process(ProcessRequest { batch_id: "batch-2".to_owned(), ..whole("1", &[&again.id]) }).await;
    assert_eq!(orchestrator.next().await.status, CallbackStatus::Success);
    rig.engine.stop().await;
}

/// It is asked for again and told what is wrong; that is all that can be done about it.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_can_never_be_used_is_paid_for_and_given_up() {
    let (payload, asked, rig, _) = through(|_| Some(Play::Says("I would rather not.".to_owned()))).await;
    assert_eq!((payload.status, payload.retryable), (CallbackStatus::Error, Some(false)));
    let calls = asked.len();
    assert!(calls <= 3, "{calls} requests");
    let spend = (payload.spend.llm_calls as usize, payload.spend.tokens.total as usize);
    assert_eq!(spend, (calls, calls * 1_100));
    assert_eq!(payload.batch.unwrap().llm_calls as usize, calls);
    assert_eq!(rig.finished("batch-1", "0").await.spend, payload.spend);
    rig.engine.stop().await;
}

/// So it is if its form is as asked for, and it is about other files.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_about_no_file_is_asked_for_three_times_and_given_up() {
    let foreign = || Some(Play::Says(by_letter(&["ghost.txt".to_owned()]).to_string()));
    let (payload, asked, rig, before) = through(move |_| foreign()).await;
    assert_eq!((payload.status, payload.retryable), (CallbackStatus::Error, Some(false)), "{payload:?}");
    let said = "the model's answer cannot be used: none of the names is a file of the directory";
    assert_eq!((payload.error.as_deref(), asked.len(), payload.spend.llm_calls), (Some(said), 3, 3));
    let is_told = |question: &Question| {
        question.user.contains("could not be used: none of the names is a file of the directory")
    };
    assert_eq!(asked.iter().map(is_told).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(tree(&rig, &before).await.groups.len(), 0);
    rig.engine.stop().await;

    // Told what is wrong, it may do better.
    let first = move |question: &Question| foreign().filter(|_| question.number == 0);
    let (payload, asked, rig, _) = through(first).await;
    assert_eq!((payload.status, asked.len()), (CallbackStatus::Success, 2), "{payload:?}");
    assert_eq!((groups_of(&payload).len(), payload.spend.llm_calls), (3, 2));
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asked_and_answered_at_once_with_whose_fault_it_is() {
    let request = |prompt: Option<String>| OrganizeRequest {
        directory_path: "/d".to_owned(),
        files: FILES
            .iter()
            .map(|(name, text)| {
                serde_json::from_value(json!({"name": name, "type": "text", "content": text})).unwrap()
            })
            .collect(),
        custom_prompt: prompt,
        strategy_guidance: None,
    };
    let model = StandIn::start(|question| match question.number {
        0 => good(question),
        1 | 2 => Play::Status(503, None),
        3 | 4 => Play::Says("must be invalid, required".to_owned()),
        5 => Play::Status(401, None),
        _ => Play::Says(json!({"should_coordinate": true, "guidance": "g", "reasoning": "r"}).to_string()),
    })
    .await;
    let rig = Rig::start(with_model(&model.base_url), "http://127.0.0.1:9");
    let answer = rig.service.organize(request(None)).await.unwrap();
    assert_eq!((answer.groups.len(), answer.tokens.total, answer.model.as_str()), (3, 1_100, "stand-in-1"));
    for expected in [FaultOf::ModelForNow, FaultOf::Model, FaultOf::Model] {
        let error = rig.service.organize(request(None)).await.unwrap_err();
        assert_eq!(error.fault(), expected, "{error}");
    }
    let strategy = StrategizeRequest {
        directory_path: "/d".to_owned(),
        files: request(None).files,
        total_file_count: 500,
        chunk_count: 10,
        custom_prompt: None,
    };
    let told = rig.service.strategize(strategy.clone()).await.unwrap();
    assert_eq!((told.result.should_coordinate, told.result.guidance.as_str()), (true, "g"));
    let bad = [
        rig.service.organize(OrganizeRequest { files: Vec::new(), ..request(None) }).await.unwrap_err(),
        rig.service
            .organize(OrganizeRequest { directory_path: String::new(), ..request(None) })
            .await
            .unwrap_err(),
        rig.service.strategize(StrategizeRequest { chunk_count: 0, ..strategy }).await.unwrap_err(),
    ];
    assert!(bad.iter().all(|error| error.fault() == FaultOf::Caller), "{bad:?}");
    let asked = model.asked().len();
    let tight =
        Rig::start(Options { max_tokens: 1_024, ..with_model(&model.base_url) }, "http://127.0.0.1:9");
    let error = tight.service.organize(request(None)).await.unwrap_err();
    assert_eq!((error.fault(), model.asked().len()), (FaultOf::Caller, asked), "{error}");
    tight.engine.stop().await;
    rig.engine.stop().await;
}
