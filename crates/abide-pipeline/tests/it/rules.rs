//! Reorganization: who is asked about what, how many at a time, and what happens if no answer comes.

use crate::rig::{BATCH, Organizing, Rig, answer, error, items, names, payload, pi_of, rig};
use abide_engine::testing::{hour, second};
use abide_organize::contract::{
    CallbackPayload, CallbackStatus, ExistingGroup, Operation, ProcessRequest, Spend, StrategizeResult,
    ToOrganizer, Tokens,
};
use abide_pipeline::calls::{CallbackAnswer, Item};
use abide_pipeline::contract::*;
use abide_pipeline::{Call, Options, Organizer};

fn reorganization(count: usize, config: ProcessingConfig) -> Rig {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin_with(&[("/d", names("a", count))], config);
    rig
}

#[test]
fn who_is_asked() {
    let with = |reorganize| ProcessingConfig { reorganize, ..ProcessingConfig::default() };
    for (files, reorganize, asked) in
        [(2, None, 0), (3, None, 1), (2, Some(true), 1), (30, Some(false), 0), (50, None, 1)]
    {
        let mut rig = reorganization(files, with(reorganize));
        assert_eq!(rig.held().len(), asked, "{files} files, reorganize {reorganize:?}");
        let operations: Vec<Operation> = rig.held().iter().map(|request| request.operation).collect();
        assert!(operations.iter().all(|operation| *operation == Operation::Organize));
    }
}

#[test]
fn a_large_directory_is_asked_about_in_parts() {
    let mut rig = reorganization(51, ProcessingConfig::default());
    let [strategize] = rig.held().try_into().unwrap();
    let asked = strategize.strategize.clone().unwrap();
    assert_eq!((asked.total_file_count, asked.chunk_count, asked.files.len()), (51, 2, 50));
    assert_eq!((asked.files[0].name.as_str(), asked.files[49].name.as_str()), ("a000.txt", "a049.txt"));
    rig.answer(answer(&strategize));
    let parts = chunks(&mut rig);
    let of = |part: &ProcessRequest| (part.pis[0].part, files(part).len());
    assert_eq!(parts.iter().map(of).collect::<Vec<_>>(), [(Some(1), 50), (Some(2), 1)]);
    assert!(parts.iter().all(|part| part.strategy_guidance.as_deref() == Some("by the first letter")));
}

#[test]
fn parts_that_need_no_common_plan_get_none() {
    let mut rig = reorganization(80, ProcessingConfig::default());
    let [strategize] = rig.held().try_into().unwrap();
    let strategize_result =
        Some(StrategizeResult { guidance: "no".to_owned(), ..StrategizeResult::default() });
    let said = CallbackPayload { strategize_result, ..payload(&strategize, CallbackStatus::Success) };
    rig.answer(said);
    assert!(chunks(&mut rig).iter().all(|part| part.strategy_guidance.is_none()));
}

fn chunks(rig: &mut Rig) -> Vec<ProcessRequest> {
    let mut chunks: Vec<ProcessRequest> =
        rig.held().into_iter().filter(|request| request.operation == Operation::Organize).collect();
    chunks.sort_by_key(files);
    chunks
}

fn files(request: &ProcessRequest) -> Vec<String> {
    request.pis[0].files.iter().flatten().map(|file| file.name.clone()).collect()
}

#[test]
fn at_most_so_many_requests_are_under_way() {
    let mut rig = rig(Options::default(), Organizing::Held);
    let paths: Vec<String> = (0..12).map(|n| format!("/d{n:02}")).collect();
    let dirs: Vec<_> = paths.iter().map(|path| (path.as_str(), names("a", 3))).collect();
    rig.begin(&dirs);
    let mut answered = 0;
    while rig.status().status == Status::Reorganization {
        let held = rig.held();
        assert_eq!(held.len() - answered, 5.min(12 - answered));
        assert_eq!(rig.status().in_flight as usize, held.len() - answered);
        let waiting = rig.nodes().iter().filter(|node| node.organizer_callback_pending).count();
        assert_eq!(waiting, held.len() - answered);
        let open = rig.nodes().into_iter().find(|node| node.organizer_callback_pending).unwrap();
        let chunk = open.organizer_callback_batch.unwrap();
        let request = held.into_iter().find(|request| request.chunk_id == chunk).unwrap();
        rig.answer(answer(&request));
        answered += 1;
    }
    assert_eq!(answered, 12);
    assert_eq!(rig.status().status, Status::Done);
}

/// Every order of eight chunks that is a rotation or the reverse of one gives the same tree.
#[test]
fn chunks_are_answered_in_any_order() {
    let all: Vec<String> =
        ('a'..='h').flat_map(|letter| names(&letter.to_string(), 30)).chain(names("z", 20)).collect();
    let run = |order: &dyn Fn(&mut Vec<ProcessRequest>)| {
        let options = Options { max_files: 40, batch_size_reorganization: 20, ..Options::default() };
        let mut rig = rig(options, Organizing::Held);
        rig.begin(&[("/d", all.clone())]);
        let [strategize] = rig.held().try_into().unwrap();
        rig.answer(answer(&strategize));
        let mut parts = chunks(&mut rig);
        assert!(parts.len() >= 8, "{} parts", parts.len());
        order(&mut parts);
        for part in &parts {
            rig.answer(answer(part));
        }
        assert_eq!(rig.status().status, Status::Done);
        rig.check_counters();
        rig.tree()
    };
    let first = run(&|_| {});
    assert_eq!(first.len(), 2 + 9);
    let nth = first.values().map(|(files, _)| files.len()).sum::<usize>();
    assert_eq!(nth, all.len());
    for by in 1..8 {
        assert_eq!(run(&|parts| parts.rotate_left(by)), first);
    }
    assert_eq!(run(&|parts| parts.reverse()), first);
}

/// Two chunks that name one group make one node of it.
#[test]
fn a_group_of_two_chunks_is_one_directory() {
    let mut rig = reorganization(60, ProcessingConfig::default());
    let [strategize] = rig.held().try_into().unwrap();
    rig.answer(answer(&strategize));
    let [first, last] = chunks(&mut rig).try_into().unwrap();
    rig.answer(answer(&last));
    assert!(rig.node("/d").node.organizer_callback_pending, "one is awaited still");
    rig.answer(answer(&first));
    assert!(!rig.node("/d").node.organizer_callback_pending);
    assert_eq!(rig.nodes().len(), 3);
    assert_eq!(rig.node("/d/A").text_files.len(), 60);
    assert_eq!(rig.node("/d").text_files.len(), 0);
}

fn without_answers(organizing: Organizing) -> Rig {
    let mut rig = rig(Options::default(), organizing);
    rig.begin(&[("/d", names("a", 5))]);
    rig
}

#[test]
fn an_answer_that_does_not_come_is_awaited_once_more() {
    let mut rig = without_answers(Organizing::Lost);
    let [first] = rig.held().try_into().unwrap();
    rig.world.pass(second(900) - 1);
    assert_eq!(rig.held().len(), 1);
    rig.world.pass(1);
    let second_one = rig.held().into_iter().find(|request| request.chunk_id != first.chunk_id).unwrap();
    // The chunk of the first is not the directory's any more.
    rig.answer(answer(&first));
    assert_eq!(rig.status().status, Status::Reorganization);
    assert!(rig.status().notes.last().unwrap().contains("nobody awaits"));
    rig.answer(answer(&second_one));
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!(rig.node("/d").node.retry_counts["reorganization"], 1);
    assert_eq!(rig.nodes().len(), 3);
    // What the first may have made is looked for.
    assert!(rig.ran.borrow().iter().any(|job| job.starts_with("pipeline.look")));
}

/// Whoever is at it is not asked twice, however long it takes.
#[test]
fn an_organizer_that_is_at_it_is_waited_for() {
    let mut rig = reorganization(5, ProcessingConfig::default());
    let [request] = rig.held().try_into().unwrap();
    rig.world.pass(hour(5));
    assert_eq!((rig.requests(), rig.status().in_flight), (1, 1));
    rig.answer(answer(&request));
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!(rig.node("/d").node.retry_counts.len(), 0);
}

#[test]
fn an_organizer_that_says_nothing_at_all_is_not_waited_for() {
    let mut rig = without_answers(Organizing::Mute);
    rig.world.pass(second(960) - 1);
    assert_eq!(rig.requests(), 1);
    rig.world.pass(1);
    assert_eq!(rig.requests(), 2);
    let cancelled = rig.to_organizers().into_iter().find_map(|(_, message)| match message {
        ToOrganizer::Cancel { reason } => Some(reason),
        ToOrganizer::Process(_) | ToOrganizer::HowFar { .. } => None,
    });
    assert_eq!(cancelled.as_deref(), Some("the organizer did not answer within 900 seconds"));
    rig.world.pass(second(960));
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!((rig.requests(), rig.status().directories_failed), (2, 1));
}

/// Somebody else cannot be asked how far it is. What comes late does not count, but what it took does, once.
#[test]
fn an_organizer_elsewhere_is_awaited_as_long_as_is_said() {
    let mut rig = rig(Options { organizer: Organizer::Elsewhere, ..Options::default() }, Organizing::Held);
    rig.begin(&[("/d", names("a", 5))]);
    let late = |rig: &mut Rig, chunk_id: &str| {
        let request =
            ProcessRequest { batch_id: "b1".to_owned(), chunk_id: chunk_id.to_owned(), ..Default::default() };
        let tokens = Tokens { total: 70, ..Tokens::default() };
        let spend = Spend { llm_calls: 1, tokens, cost_usd: 0.25 };
        let payload = Box::new(CallbackPayload { spend, ..error(&request, "late") });
        let before = rig.status().cost;
        let call = Call::Callback { service: "organizer".to_owned(), payload, ignored: Vec::new() };
        for _ in 0..2 {
            let taken: CallbackAnswer = rig.world.call(BATCH, &call).unwrap();
            assert_eq!(taken.processed, 0);
        }
        let cost = rig.status().cost;
        assert_eq!((cost.tokens - before.tokens, cost.cost_usd - before.cost_usd), (70, 0.25));
    };
    let first = rig.node("/d").node.organizer_callback_batch.unwrap();
    rig.world.pass(second(900));
    let second_one = rig.node("/d").node.organizer_callback_batch.unwrap();
    assert_ne!(second_one, first);
    late(&mut rig, &first);
    // The batch has gone on without it by then.
    rig.world.pass(second(900));
    assert_eq!(rig.status().status, Status::Done);
    late(&mut rig, &second_one);
}

#[test]
fn two_answers_that_do_not_come_leave_the_directory_as_it_is() {
    let mut rig = without_answers(Organizing::Lost);
    rig.world.pass(second(1_800));
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!(rig.held().len(), 2);
    let node = rig.node("/d").node;
    assert_eq!(node.phase_errors["reorganization"], "the organizer did not answer within 900 seconds");
    assert_eq!(rig.node("/d").text_files.len(), 5);
    assert_eq!(rig.status().directories_failed, 1);
    rig.check_counters();
}

#[test]
fn a_failure_is_tried_again_and_then_passed_over() {
    let mut rig = reorganization(5, ProcessingConfig::default());
    for nth in 1..=3 {
        // By its first id: what was paid for is kept there.
        let [request] = rig.held().try_into().unwrap();
        assert_eq!(rig.requests(), nth);
        rig.answer(error(&request, "the model is tired"));
    }
    assert_eq!(rig.status().status, Status::Done);
    let node = rig.node("/d").node;
    assert_eq!(node.phase_errors["reorganization"], "the model is tired");
    assert_eq!(node.retry_counts["reorganization"], 3);
    assert!(node.processing_complete);
}

#[test]
fn a_plan_that_fails_is_done_without() {
    let mut rig = reorganization(80, ProcessingConfig::default());
    for _ in 0..3 {
        let chunk = rig.node("/d").node.organizer_callback_batch.unwrap();
        let request = rig.held().into_iter().find(|request| request.chunk_id == chunk).unwrap();
        rig.answer(error(&request, "no idea"));
    }
    for part in chunks(&mut rig) {
        assert_eq!(part.strategy_guidance, None);
        rig.answer(answer(&part));
    }
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!(rig.node("/d").node.phase_errors.len(), 0);
}

/// Who asks for a knowledge graph is told once that there is none; who does not is told nothing.
#[test]
fn cheimarros_is_skipped_with_a_note() {
    for cheimarros in [true, false] {
        let mut rig = rig(Options::default(), Organizing::AtOnce);
        let config = ProcessingConfig { cheimarros, ..ProcessingConfig::default() };
        rig.begin_with(&[("/", Vec::new()), ("/d", names("a", 3)), ("/e", names("a", 3))], config);
        let status = rig.status();
        assert_eq!(status.progress.directories_cheimarros_complete, status.progress.directories_total);
        let said = "CHEIMARROS_EXTRACTION is skipped: nothing here extracts knowledge graphs";
        let times = status.notes.iter().filter(|note| *note == said).count();
        assert_eq!((status.status, times), (Status::Done, usize::from(cheimarros)), "{:?}", status.notes);
    }
}

/// More groups than are named: people are told.
#[test]
fn groups_that_are_not_offered_are_said() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.start();
    let mut brought = items(&[("/d", names("a", 3))], ProcessingConfig::default());
    let Some(Item::Node(node)) =
        brought.iter_mut().find(|item| matches!(item, Item::Node(node) if node.path == "/d"))
    else {
        panic!("there is no node")
    };
    let groups = (0..140).map(|n| ExistingGroup {
        group_name: format!("Letters {n}"),
        pi: pi_of(&format!("/d/{n}")),
        description: "letters".to_owned(),
    });
    node.existing_groups = groups.collect();
    rig.bring(&brought);
    let [request] = rig.held().try_into().unwrap();
    assert_eq!(request.pis[0].existing_groups.len(), 100);
    let notes = rig.status().notes;
    assert!(
        notes[0].starts_with("/d has 140 groups, and 100 of them are named to the organizer"),
        "{notes:?}"
    );
}

#[test]
fn a_stopped_batch_begins_anew_with_its_message() {
    let mut rig = reorganization(5, ProcessingConfig::default());
    let [first] = rig.held().try_into().unwrap();
    let _: serde_json::Value = rig.world.call(BATCH, &Call::Reset).unwrap();
    let status = rig.status();
    assert_eq!((status.status, status.error.as_deref()), (Status::Error, Some("manually reset")));
    rig.answer(answer(&first));
    assert_eq!(rig.status().status, Status::Error);
    rig.begin(&[("/d", names("a", 5))]);
    assert_eq!(rig.status().status, Status::Reorganization);
    // The answer to the former life does not reach this one.
    rig.answer(answer(&first));
    assert_eq!(rig.nodes().len(), 2);
    let chunk = rig.node("/d").node.organizer_callback_batch.unwrap();
    let second_one = rig.held().into_iter().find(|request| request.chunk_id == chunk).unwrap();
    rig.answer(answer(&second_one));
    assert_eq!(rig.status().status, Status::Done);
}
