//! Batches from their message to their end.

use crate::world::{
    B, callback, cannot_launch, counts, ends, file, jobs, life, message, options, orders, output, start,
    states, status, success, tasks, work, world,
};
use abide_core::event::Sender;
use abide_core::job::JobState;
use abide_engine::testing::{World, day, hour, minute};
use abide_engine::worker::{done, failed, failed_for_good};
use abide_engine::{Answer, Halt, NoRefusal, Object, Turn};
use abide_preprocess::calls::{InputsAnswer, OkAnswer, OutputAnswer, TaskDocument, TaskPage, TasksAnswer};
use abide_preprocess::file::{InputEnd, ProcessableFile};
use abide_preprocess::{
    Call, Delivery, Options, PhaseSettings, QueueMessage, Report, TaskStatus, ToBatch, jobs as words,
};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn files_go_through_the_phases_that_take_them() {
    let mut world = world(options());
    let files = vec![
        file("a.TIF", "image/tiff"),
        file("b.jpg", "image/jpeg"),
        file("c.docx", "application/octet-stream"),
    ];
    start(&mut world, files);
    assert_eq!(status(&mut world).status, "TIFF_CONVERSION");
    assert_eq!(orders(&mut world, "image"), [], "the next phase waits");
    assert_eq!(orders(&mut world, "tiff")[0].attempt.task_id, "b1_tiff_0000001");
    work(&mut world);
    let status = status(&mut world);
    assert_eq!((status.status.as_str(), status.error), ("DONE", None));
    assert!(status.completed_at.is_some());
    assert_eq!(counts(&mut world), [[1, 1, 0, 0], [0, 0, 0, 0], [2, 2, 0, 0]]);
    let names: Vec<_> = output(&mut world)
        .into_iter()
        .map(|file| (file.r2_key, file.logical_path, file.content_type, file.preprocessor_tags.join(" ")))
        .collect();
    let of = |key: &str, path: &str, content_type: &str, tags: &str| {
        (key.to_owned(), path.to_owned(), content_type.to_owned(), tags.to_owned())
    };
    assert_eq!(
        names,
        [
            of("staging/b1/a.TIF", "/box/a.TIF", "image/tiff", "TiffConverter:source"),
            of("staging/b1/a.jpg.ref.json", "/box/a.jpg.ref.json", "application/json", "ImageProcessor"),
            of("staging/b1/b.jpg.ref.json", "/box/b.jpg.ref.json", "application/json", "ImageProcessor"),
            of("staging/b1/c.docx", "/box/c.docx", "application/octet-stream", ""),
        ]
    );
    let inputs: InputsAnswer = world.call(B, &Call::Inputs(Default::default())).unwrap();
    let ends: Vec<_> = inputs.inputs.into_iter().map(|input| input.end).collect();
    let reason = "no phase takes c.docx of the type \"application/octet-stream\"".to_owned();
    assert_eq!(ends, [InputEnd::Converted, InputEnd::Converted, InputEnd::PassedThrough { reason }]);
}

/// A batch of files that were preprocessed before, or that want each other's names.
#[test]
fn files_that_would_share_a_name_are_all_there_in_the_end() {
    let mut world = world(options());
    let named = |name: &str, content_type: &str, output: Option<&str>| ProcessableFile {
        output_r2_key: output.map(|output| format!("staging/b1/{output}")),
        ..file(name, content_type)
    };
    let files = vec![
        named("a.jpg", "image/jpeg", Some("a.jpg.2.ref.json")),
        named("a.jpg.ref.json", "application/json", None),
        named("a.tif", "image/tiff", Some("a.tif.jpg")),
    ];
    start(&mut world, files);
    for tag in ["tiff", "image"] {
        for order in orders(&mut world, tag) {
            let mut report = success(&order);
            if let Some(key) = order.input.output_r2_key.clone().filter(|_| tag == "image") {
                report.made.ref_json_r2_key = Some(key);
            }
            callback(&mut world, &order.attempt, report).unwrap();
        }
    }
    assert_eq!(status(&mut world).status, "DONE");
    let files =
        output(&mut world).into_iter().map(|file| (file.r2_key, file.logical_path)).collect::<Vec<_>>();
    let expected = ["a.jpg.2.ref.json", "a.jpg.ref.json", "a.tif", "a.tif.jpg.ref.json"]
        .map(|name| (format!("staging/b1/{name}"), format!("/box/{name}")));
    assert_eq!(files, expected);
}

#[test]
fn an_empty_batch_and_empty_phases_are_passed_through() {
    let mut world = world(options());
    start(&mut world, Vec::new());
    assert_eq!(status(&mut world).status, "DONE");
    let mut world = crate::world::world(options());
    start(&mut world, vec![file("b.jpg", "image/jpeg")]);
    assert_eq!(status(&mut world).status, "IMAGE_PROCESSING");
}

#[test]
fn a_message_that_comes_again_changes_nothing() {
    let mut world = world(options());
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    let before = world.commits().len();
    let again: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    assert_eq!(again, json!({"batch_id": "b1", "started": false}));
    assert_eq!(world.commits().len(), before);
    work(&mut world);
    let before = world.commits().len();
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    assert_eq!(world.commits().len(), before, "also when it is done");
}

#[test]
fn an_unreadable_manifest_ends_the_batch_after_its_attempts_and_a_message_begins_it_again() {
    let mut world = abide_engine::testing::World::new();
    world.object(abide_preprocess::Batch::new(options()));
    let mut broken = 4;
    world.worker(words::QUEUE, words::MANIFEST, move |_| {
        broken -= 1;
        if broken >= 0 { failed("the manifest cannot be read: it is empty") } else { done(&()) }
    });
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    assert_eq!(status(&mut world).status, "TIFF_CONVERSION");
    world.pass(minute(5));
    let ended = status(&mut world);
    assert_eq!(
        (ended.status.as_str(), ended.error.as_deref()),
        ("ERROR", Some("the manifest cannot be read: it is empty"))
    );
    let was = life(&mut world);
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    assert_ne!(life(&mut world), was);
    work(&mut world);
    assert_eq!(status(&mut world).status, "DONE");
}

#[test]
fn a_task_is_tried_three_times_and_its_failure_does_not_fail_the_batch() {
    let mut world = world(options());
    ends(&mut world, "tiff", Some("stopped by signal 9"));
    start(&mut world, vec![file("a.tif", "image/tiff"), file("b.jpg", "image/jpeg")]);
    world.pass(minute(1));
    work(&mut world);
    assert_eq!(status(&mut world).status, "DONE");
    let tasks = tasks(&mut world).tasks;
    assert_eq!((tasks[0].retry_count, tasks[0].error.as_deref()), (2, Some("stopped by signal 9")));
    let ledger = status(&mut world).inputs;
    assert_eq!((ledger.total, ledger.converted, ledger.failed, ledger.open), (2, 1, 1, 0));
    assert_eq!(output(&mut world)[0].preprocessor_tags.len(), 0, "a failed file passes unchanged");
}

#[test]
fn a_worker_that_ends_without_calling_back_failed() {
    let mut world = world(options());
    ends(&mut world, "tiff", None);
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    world.pass(minute(1));
    let task = &tasks(&mut world).tasks[0];
    assert_eq!(task.error.as_deref(), Some("its worker ended without calling back"));
}

#[test]
fn a_phase_that_can_start_nothing_rests_and_then_ends_the_batch() {
    let mut world = world(options());
    cannot_launch(&mut world, "tiff");
    let files = (0..50).map(|n| file(&format!("{n}.tif"), "image/tiff")).collect();
    start(&mut world, files);
    assert_eq!(status(&mut world).status, "TIFF_CONVERSION", "fifty failures at once are one of the phase");
    world.pass(minute(2));
    let ended = status(&mut world);
    assert_eq!(ended.status, "ERROR");
    let error = ended.error.unwrap();
    assert_eq!(error, "TIFF_CONVERSION failed 5 times, the last time with: the token is not valid");
    assert_eq!(jobs(&mut world, "tiff").len(), 0, "nothing is left with launchers");
    assert_eq!(ended.progress.tasks_failed, 0, "that was not the tasks' fault");
}

#[test]
fn a_reset_cancels_what_is_under_way_and_what_comes_late_changes_nothing() {
    let mut world = world(options());
    start(&mut world, (0..700).map(|n| file(&format!("{n}.tif"), "image/tiff")).take(300).collect());
    let mut at_work = orders(&mut world, "tiff");
    let (done, order) = (at_work.remove(0), at_work.remove(0));
    for order in &at_work {
        let begin = Call::Begin { attempt: order.attempt.clone(), machine_id: Some("m".to_owned()) };
        let _: serde_json::Value = world.call(B, &begin).unwrap();
    }
    callback(&mut world, &done.attempt, success(&done)).unwrap();
    let reset: OkAnswer = world.call(B, &Call::Reset).unwrap();
    assert!(reset.ok);
    let ended = status(&mut world);
    assert_eq!((ended.status.as_str(), ended.error.as_deref()), ("ERROR", Some("manually reset")));
    let progress = (ended.progress.tasks_total, ended.progress.tasks_completed);
    assert_eq!(progress, (300, 1), "of the phase that ran, although the next has a task");
    assert_eq!(counts(&mut world), [[300, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]);
    let mut page = TaskPage { limit: Some(100), ..TaskPage::default() };
    loop {
        let TasksAnswer { tasks, next } = world.call(B, &Call::Tasks(page.clone())).unwrap();
        let at_work =
            |task: &TaskDocument| task.status == TaskStatus::Processing || task.fly_machine_id.is_some();
        assert!(!tasks.iter().any(at_work), "{tasks:?}");
        page.after = next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(orders(&mut world, "tiff"), [done], "the worker of a task that is over ends by itself");
    let before = world.commits().len();
    assert!(callback(&mut world, &order.attempt, success(&order)).unwrap().ok);
    assert_eq!(world.commits().len(), before);
    world.pass(day(1));
    assert_eq!(status(&mut world).status, "ERROR", "no alarm brings it back");
    start(&mut world, vec![file("a.tif", "image/tiff"), file("b.tif", "image/tiff")]);
    let before = world.commits().len();
    assert!(
        callback(&mut world, &order.attempt, success(&order)).unwrap().ok,
        "a callback of the former life"
    );
    assert_eq!(world.commits().len(), before);
    let unknown: OkAnswer = world.call("preprocess/none", &Call::Reset).unwrap();
    assert!(unknown.ok);
}

/// A delivery may have been to this very server, which reads what it was delivered for as long as it needs to.
#[test]
fn who_may_have_taken_a_delivery_is_asked_before_staging_is_emptied() {
    let mut world = world(Options { delivers: true, ask: Some("reader".to_owned()), ..options() });
    world.object(Reader);
    world.worker(words::QUEUE, words::FINALIZE, |_| done(&()));
    start(&mut world, vec![]);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Delivered));
    world.pass(day(15));
    assert_eq!(world.call::<u32>("reader/b1", &()).unwrap(), 2, "each week");
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0, "it did not answer");
    world.send(B, &ToBatch::Empty { finishes: 2 });
    world.settle();
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0, "that is about another end of the batch");
    for _ in 0..2 {
        world.send(B, &ToBatch::Empty { finishes: 1 });
        world.pass(day(30));
    }
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 1);
    assert_eq!(world.call::<u32>("reader/b1", &()).unwrap(), 2, "and is not asked any more");
}

/// Whoever may read staging: it counts how often it is asked.
struct Reader;

impl Object for Reader {
    const KIND: &'static str = "reader";
    type Call = ();
    type Reply = u32;
    type Message = words::MayEmpty;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, (): ()) -> Result<Answer<u32>, Halt<NoRefusal>> {
        Ok(turn.get::<u32>("asked")?.unwrap_or(0).into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        _: words::MayEmpty,
    ) -> Result<(), Halt<NoRefusal>> {
        let asked = turn.get::<u32>("asked")?.unwrap_or(0);
        Ok(turn.put("asked", &(asked + 1))?)
    }
}

#[test]
fn a_failed_task_is_retried_alone_and_the_batch_is_finished_again() {
    let options = Options { delivers: true, ..options() };
    let mut world = world(options);
    world.worker(words::QUEUE, words::FINALIZE, |_| done(&()));
    start(&mut world, vec![file("a.tif", "image/tiff"), file("b.jpg", "image/jpeg")]);
    let order = orders(&mut world, "tiff").remove(0);
    let report = Report { retryable: Some(false), ..Report::error("CIELab is not supported") };
    callback(&mut world, &order.attempt, report).unwrap();
    work(&mut world);
    let done = status(&mut world);
    assert_eq!((done.status.as_str(), done.delivery), ("DONE", Some(Delivery::Delivered)));
    assert_eq!(done.inputs.failed, 1);
    let task_id = "b1_tiff_0000001".to_owned();
    let _: OkAnswer = world.call(B, &Call::Retry { task_id: task_id.clone() }).unwrap();
    assert_eq!(status(&mut world).status, "TIFF_CONVERSION");
    work(&mut world);
    let done = status(&mut world);
    assert_eq!((done.status.as_str(), done.delivery), ("DONE", Some(Delivery::Delivered)));
    assert_eq!((done.inputs.failed, done.inputs.converted), (0, 2));
    assert!(states(&mut world, "finalize/2").is_some());
    let refused = world.call::<OkAnswer>(B, &Call::Retry { task_id }).unwrap_err();
    assert!(refused.to_string().contains("has not failed"), "{refused}");
}

/// A page of what a delivery hands over.
fn handed_over(world: &mut World, finishes: u32) -> Result<usize, String> {
    let page = world.call::<OutputAnswer>(B, &Call::Handover { finishes, after: None });
    page.map(|page| page.output.len()).map_err(|error| error.to_string())
}

#[test]
fn a_retry_while_it_is_delivered_takes_the_delivery_back() {
    let mut world = world(Options { delivers: true, ..options() });
    let is_up = Rc::new(Cell::new(false));
    let receiver = Rc::clone(&is_up);
    world.worker(
        words::QUEUE,
        words::FINALIZE,
        move |_| {
            if receiver.get() { done(&()) } else { failed("503") }
        },
    );
    start(&mut world, vec![file("a.tif", "image/tiff"), file("b.jpg", "image/jpeg")]);
    let order = orders(&mut world, "tiff").remove(0);
    let report = Report { retryable: Some(false), ..Report::error("it is damaged") };
    callback(&mut world, &order.attempt, report).unwrap();
    assert!(handed_over(&mut world, 0).unwrap_err().contains("goes on"), "not before it is done");
    work(&mut world);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Pending));
    assert_eq!(handed_over(&mut world, 1), Ok(2));
    let _: OkAnswer = world.call(B, &Call::Retry { task_id: order.attempt.task_id }).unwrap();
    assert_eq!(states(&mut world, "finalize/1"), Some(JobState::Cancelled));
    // What ran and did not hear of it finds nothing to bring.
    assert!(handed_over(&mut world, 1).unwrap_err().contains("goes on"));
    work(&mut world);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Pending));
    assert!(handed_over(&mut world, 1).unwrap_err().contains("finished again"));
    assert_eq!(handed_over(&mut world, 2), Ok(3));
    is_up.set(true);
    world.pass(minute(1));
    assert_eq!(states(&mut world, "finalize/2"), Some(JobState::Done));
    assert_eq!(status(&mut world).delivery, Some(Delivery::Delivered));
}

#[test]
fn a_task_whose_file_is_gone_is_not_tried_again() {
    let mut world = world(Options { tell: Some("next".to_owned()), ..options() });
    world.object(Next);
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    let order = orders(&mut world, "tiff").remove(0);
    let report = Report { retryable: Some(false), ..Report::error("it is damaged") };
    callback(&mut world, &order.attempt, report.clone()).unwrap();
    world.pass(day(30));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0, "who was told reads it still");
    let again = Call::Retry { task_id: order.attempt.task_id };
    let _: OkAnswer = world.call(B, &again).unwrap();
    let order = orders(&mut world, "tiff").pop().unwrap();
    // Both are about the batch as it was before.
    world.send(B, &ToBatch::Taken { finishes: 1 });
    world.settle();
    callback(&mut world, &order.attempt, report).unwrap();
    world.send(B, &ToBatch::Taken { finishes: 1 });
    world.pass(day(30));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0);
    world.send(B, &ToBatch::Taken { finishes: 2 });
    world.pass(day(8));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 1);
    let refused = world.call::<OkAnswer>(B, &again).unwrap_err();
    assert!(refused.to_string().contains("was emptied after it was delivered"), "{refused}");
    let told: Vec<u32> = world.call("next/b1", &()).unwrap();
    assert_eq!(told, [1, 2], "each time");
}

/// Whoever is told of finished batches: it notes for the how manieth time.
struct Next;

impl Object for Next {
    const KIND: &'static str = "next";
    type Call = ();
    type Reply = Vec<u32>;
    type Message = words::Preprocessed;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, (): ()) -> Result<Answer<Vec<u32>>, Halt<NoRefusal>> {
        let told = turn.scan::<u32>("told/", None, 10)?;
        Ok(told.into_iter().map(|(_, finishes)| finishes).collect::<Vec<_>>().into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: words::Preprocessed,
    ) -> Result<(), Halt<NoRefusal>> {
        let finishes = message.preprocessed.finishes;
        Ok(turn.put(&format!("told/{finishes}"), &finishes)?)
    }
}

#[test]
fn a_delivery_is_tried_for_long_and_never_lost() {
    let mut world = world(Options { delivers: true, ..options() });
    let mut down = 20;
    world.worker(words::QUEUE, words::FINALIZE, move |_| {
        down -= 1;
        if down >= 0 { failed("503") } else { done(&()) }
    });
    start(&mut world, vec![]);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Pending));
    world.crash();
    world.pass(hour(4));
    assert_eq!(status(&mut world).delivery, Some(Delivery::Delivered));
    assert_eq!(status(&mut world).status, "DONE");
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0);
    world.pass(day(7));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 1, "staging is emptied a week later");
    let mut world = crate::world::world(Options { delivers: true, ..options() });
    world.worker(words::QUEUE, words::FINALIZE, |_| failed_for_good("400: root_pi is missing"));
    start(&mut world, vec![]);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Dead));
    assert_eq!(status(&mut world).status, "DONE");
}

#[test]
fn staging_that_the_next_in_line_is_through_with_is_emptied() {
    let mut world = world(options());
    world.send(B, &ToBatch::Taken { finishes: 1 });
    world.settle();
    assert!(
        world.call::<serde_json::Value>(B, &Call::Status).is_err(),
        "what was never there is not made by it"
    );
    // Nobody is told, so that the test is who goes on with it.
    let mut world = crate::world::world(Options { delivers: true, ..options() });
    world.worker(words::QUEUE, words::FINALIZE, |_| done(&()));
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    let order = orders(&mut world, "tiff").remove(0);
    let report = Report { retryable: Some(false), ..Report::error("it is damaged") };
    callback(&mut world, &order.attempt, report).unwrap();
    world.send(B, &ToBatch::Taken { finishes: 1 });
    world.pass(day(6));
    let task_id = order.attempt.task_id;
    let _: OkAnswer = world.call(B, &Call::Retry { task_id }).unwrap();
    world.pass(day(3));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 0, "a task that is tried again needs it");
    work(&mut world);
    assert_eq!(status(&mut world).delivery, Some(Delivery::Delivered));
    world.pass(day(15));
    assert_eq!(jobs(&mut world, words::SWEEP).len(), 1, "{:?}", status(&mut world));
}

#[test]
fn no_more_than_the_window_is_with_launchers() {
    let mut options = options();
    let settings = PhaseSettings { batch_size: 7, ..PhaseSettings::DEFAULT };
    options.settings.insert("TIFF_CONVERSION", settings);
    let mut world = world(options);
    start(&mut world, (0..40).map(|n| file(&format!("{n}.tif"), "image/tiff")).collect());
    let mut done = 0;
    while let Some(order) = orders(&mut world, "tiff").into_iter().nth(done) {
        let [total, completed, failed, _] = counts(&mut world)[0];
        let live = orders(&mut world, "tiff").len() as u64 - completed;
        assert!(live <= 7 && completed + failed <= total && total == 40, "{live}");
        callback(&mut world, &order.attempt, success(&order)).unwrap();
        done += 1;
    }
    assert_eq!(done, 40);
}

#[test]
fn messages_are_small_and_readable_or_refused() {
    let good = json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/m.json", "r2_prefix": "staging/b1/"});
    let with = |field: &str, value: serde_json::Value| {
        let mut message = good.clone();
        message[field] = value;
        QueueMessage::read(&message).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with("metadata", json!({"any": 1})), Ok(()));
    assert!(with("metadata", json!("x".repeat(128_000))).unwrap_err().contains("carries 128000"));
    assert!(with("batch_id", json!("a/b")).unwrap_err().contains("batch_id"));
    assert!(with("r2_prefix", json!("../up/")).unwrap_err().contains("r2_prefix"));
    assert!(with("manifest_r2_key", json!(5)).unwrap_err().contains("cannot be read"));
}
