//! Both modes, from submission to result, and what the client sees.

use crate::world::{
    MAIN, counts, idle_world, item, noting, process_count, queue, status, submit, submit_batch, tags, world,
};
use abide_coordinator::{Call, Change, PROCESS, Page, Place, ProcessorResult, QUEUE, QueueAnswer, Status};
use abide_engine::testing::second;
use abide_engine::worker::done;
use serde_json::{Value, json};

#[test]
fn a_submission_is_answered_before_it_is_begun() {
    for mode in ["queue", "direct"] {
        let mut world = idle_world();
        let taken = submit(&mut world, &json!({"message": "hello", "delay": 0, "mode": mode}));
        let now = world.now();
        let expected = json!({
            "id": taken.id, "payload": {"message": "hello", "delay": 0, "timestamps": []}, "status": "pending",
            "priority": 0, "mode": mode, "attempt": 1, "createdAt": now, "updatedAt": now,
            "timestamps": [{"tag": "1-serverReceived", "time": now}],
        });
        assert_eq!(json!(taken), expected);
        assert_eq!(taken.id.0.len(), 36);
        assert_eq!(taken.id.0.as_bytes()[14], b'4');
    }
}

#[test]
fn a_direct_item_waits_out_its_delay_in_the_processor() {
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "hi", "delay": 1500, "mode": "direct"})).id;
    let begun = world.now();
    world.pass(1_499);
    assert_eq!(status(&mut world, &id), Status::Processing);
    world.crash();
    world.pass(1);
    let ended = begun.plus_ms(1_500);
    let stamps = json!([
        {"tag": "1-serverReceived", "time": begun}, {"tag": "2-directSend-rpc", "time": begun},
        {"tag": "3-processingStarted", "time": begun}, {"tag": "4-processingCompleted", "time": ended},
    ]);
    let payload = json!({"message": "hi", "delay": 1500, "timestamps": []});
    let expected = json!({
        "id": id, "payload": payload, "status": "completed", "priority": 0, "mode": "direct", "attempt": 1,
        "createdAt": begun, "updatedAt": ended, "timeTaken": 1500, "timestamps": stamps,
        "result": {
            "processed": true, "input": payload, "processedAt": ended, "processCount": 1,
            "message": "Processed \"hi\", 1 in all", "timestamps": stamps,
        },
    });
    assert_eq!(json!(item(&mut world, &id)), expected);
}

#[test]
fn a_queued_item_goes_through_a_job_and_is_counted_by_the_processor() {
    let mut world = world();
    let id = submit(&mut world, &json!({"message": "hi", "delay": 20, "priority": 3})).id;
    let done = item(&mut world, &id);
    assert_eq!(
        tags(&done),
        [
            "1-serverReceived",
            "2-queueEnqueued",
            "3-consumerPickedUp",
            "4-processingStarted",
            "5-processingCompleted"
        ]
    );
    assert_eq!((done.status, done.priority), (Status::Completed, 3));
    assert_eq!(json!(done.time_taken), json!(20));
    let result: ProcessorResult = done.result.unwrap().decode().unwrap();
    assert_eq!((result.processed, result.process_count), (true, 1));
    assert_eq!((result.input, result.timestamps), (done.payload, done.timestamps));
    assert_eq!(counts(&mut world), [0, 0, 1, 0, 1]);
}

#[test]
fn a_job_carries_what_its_worker_needs() {
    let seen = Default::default();
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, noting(&seen, |_| done(&Value::Null)));
    let body = json!({"message": "m", "delay": 7.5, "timestamps": [{"tag": "0-sent", "time": 0.25}]});
    let taken = submit(&mut world, &body);
    let message = seen.borrow()[0].clone();
    let expected = json!({
        "workId": taken.id, "coordinatorId": "main", "attempt": 1, "proof": message.proof,
        "payload": {"message": "m", "delay": 7.5, "timestamps": [{"tag": "0-sent", "time": 0.25}]},
        "timestamps": [
            {"tag": "0-sent", "time": 0.25}, {"tag": "2-serverReceived", "time": world.now()},
            {"tag": "3-queueEnqueued", "time": world.now()},
        ],
    });
    assert_eq!(json!(message), expected);
    assert!(!json!(item(&mut world, &taken.id)).to_string().contains(&message.proof));
    assert_eq!(status(&mut world, &taken.id), Status::Completed, "a worker need not say anything");
}

#[test]
fn what_a_worker_gives_is_the_result() {
    for (answer, status, result, error) in [
        (json!({"result": {"pages": 3}}), Status::Completed, Some(json!({"pages": 3})), None),
        (json!({"error": "blank page"}), Status::Failed, None, Some("blank page")),
        (
            json!({"timestamps": "none"}),
            Status::Failed,
            None,
            Some("the worker's result is not valid: timestamps must be a list, not text"),
        ),
    ] {
        let mut world = idle_world();
        world.worker(QUEUE, PROCESS, move |_| done(&answer));
        let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
        let item = item(&mut world, &id);
        assert_eq!((item.status, item.error.as_deref()), (status, error));
        assert_eq!(item.result.map(|json| json.decode::<Value>().unwrap()), result);
        assert_eq!(process_count(&mut world), i64::from(status == Status::Completed));
    }
}

#[test]
fn higher_priority_starts_first() {
    let seen = Default::default();
    let mut world = idle_world();
    for (message, priority) in [("low", -1), ("usual", 0), ("high", 5)] {
        submit(&mut world, &json!({"message": message, "delay": 0, "priority": priority}));
    }
    world.worker(QUEUE, PROCESS, noting(&seen, |_| done(&Value::Null)));
    world.crash();
    let order: Vec<String> = seen.borrow().iter().map(|message| message.payload.message.clone()).collect();
    assert_eq!(order, ["high", "usual", "low"]);
}

#[test]
fn all_hundred_of_a_batch_can_be_read_oldest_first() {
    for mode in ["queue", "direct"] {
        let mut world = world();
        let messages: Vec<String> = (0..100).map(|n| format!("message {n}")).collect();
        let taken = submit_batch(&mut world, &json!({"messages": messages, "delay": 10, "mode": mode}));
        assert_eq!(taken.len(), 100);
        world.pass(second(1));
        let read = queue(&mut world);
        let order: Vec<&String> = read.iter().map(|item| &item.payload.message).collect();
        assert_eq!(order, messages.iter().collect::<Vec<_>>());
        assert!(read.iter().all(|item| item.status == Status::Completed && item.result.is_some()), "{mode}");
        assert_eq!(counts(&mut world), [0, 0, 100, 0, 100]);
        assert_eq!(process_count(&mut world), 100);
    }
}

#[test]
fn a_long_queue_is_read_in_pages() {
    let mut world = idle_world();
    for _ in 0..25 {
        submit_batch(&mut world, &json!({"messages": vec!["m"; 100], "delay": 0}));
    }
    world.crash();
    let (mut page, mut read) = (Page::default(), Vec::new());
    loop {
        let answer: QueueAnswer = world.call(MAIN, &Call::Queue(page)).unwrap();
        read.extend(answer.queue.into_iter().map(|item| item.id));
        match answer.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    assert_eq!(read.len(), 2_500);
    for (limit, after, newest, is_last) in [
        (100, 2_400, None, true),
        (100, 2_399, None, false),
        (1_000, 0, Some(100), true),
        (1, 0, Some(2), false),
    ] {
        let page = Page { after: Some(Place(after)), newest, limit: Some(limit) };
        let answer: QueueAnswer = world.call(MAIN, &Call::Queue(page)).unwrap();
        assert_eq!((answer.queue.is_empty(), answer.next.is_none()), (false, is_last), "{page:?}");
    }
    read.sort();
    read.dedup();
    assert_eq!(read.len(), 2_500);
}

#[test]
fn large_items_make_short_pages_and_the_largest_fits_its_row() {
    let mut world = world();
    let message = "\u{1}".repeat(5_461);
    for _ in 0..120 {
        submit(&mut world, &json!({"message": message, "delay": 0}));
    }
    assert_eq!(counts(&mut world), [0, 0, 120, 0, 120]);
    let page: QueueAnswer = world.call(MAIN, &Call::Queue(Page::default())).unwrap();
    assert!(page.queue.len() < 120 && page.next.is_some(), "{}", page.queue.len());
    assert_eq!(world.dead_letters(), []);
}

#[test]
fn each_change_of_status_is_in_the_log() {
    let mut world = world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    let changes: Vec<Change> = world.log(MAIN);
    let expected = [Status::Pending, Status::Processing, Status::Completed];
    assert_eq!(changes, expected.map(|status| Change { work_id: id.clone(), status }));
}

#[test]
fn a_coordinator_that_nobody_used_is_ready_and_empty() {
    let mut world = idle_world();
    assert_eq!(world.call::<Value>(MAIN, &Call::Status).unwrap(), json!({"status": "CoordinatorDo ready"}));
    let processor: Value = world.call("processor/main", &abide_coordinator::ProcessorCall::Status).unwrap();
    assert_eq!(processor, json!({"status": "ProcessorDo ready"}));
    assert_eq!(world.call::<Value>(MAIN, &Call::Queue(Page::default())).unwrap(), json!({"queue": []}));
    let none = json!({"pending": 0, "processing": 0, "completed": 0, "failed": 0, "total": 0});
    assert_eq!(world.call::<Value>(MAIN, &Call::Stats).unwrap(), none);
    assert_eq!(world.commits(), []);
}

#[test]
fn a_submission_costs_the_same_however_many_items_there_are() {
    let mut world = world();
    let mut rows = Vec::new();
    for _ in 0..200 {
        let before = world.commits().len();
        submit(&mut world, &json!({"message": "m", "delay": 0}));
        rows.push(world.commits()[before..].iter().map(|commit| commit.rows.len()).sum::<usize>());
    }
    assert_eq!(rows[20..], vec![rows[20]; 180]);
}
