//! The processor: it wakes when poked and believes only the log.
//!
//! What is known to go wrong with processors of this kind, and the test that holds against it:
//!
//! | trouble | test |
//! |---|---|
//! | the trigger comes before the event | `race_a_poke_before_the_event_finds_nothing_and_loses_nothing` |
//! | a trigger is missed | `missed_trigger_a_processor_that_follows_its_log_needs_no_poke` |
//! | many links in a moment | `rapid_links_and_pokes_are_processed_once_each` |
//! | processing takes long | `long_processing_is_not_begun_twice_and_holds_nobody_up` |
//! | it dies while it processes | `a_crash_at_any_commit_loses_nothing_and_does_nothing_twice`; a real process: `no_link_is_lost_or_processed_twice_over_three_kills` of abide |
//! | the log is still being read | `a_log_that_is_still_being_read_begins_only_what_is_pending_at_its_end` |
//! | links that waited while it was down | `twenty_links_that_are_pending_at_start_after_ten_minutes_down_are_processed_unasked` |
//! | a link is answered for before it is durable | `a_link_that_was_answered_for_outlasts_a_kill` of abide |
//! | nothing wakes it again | `what_waits_to_be_begun_is_begun_by_the_alarm_if_nothing_else_wakes_it`, and the crashes above |
//! | it is awake for nothing | `a_link_is_processed_and_everything_is_in_the_log`, its end |
//! | each event rewrites more and more | `a_link_costs_as_many_rows_among_many_as_alone` |
//! | live updates are lost when the server comes back | `clients_come_back_after_a_restart_and_what_both_wrote_meanwhile_is_rebased` of abide-server |
//! | a client is told without end that the server is ahead | `who_was_behind_gets_what_it_missed_and_its_next_push_is_taken` of abide-server |
//! | a link, a tag or a suggestion is there twice | `rapid_links_and_pokes_are_processed_once_each`, `one_url_saved_by_many_at_once_is_one_link_that_all_get` of abide-server, `a_tag_that_two_requests_name_at_once_is_made_once`, `a_tag_that_a_client_made_is_not_made_again_by_the_first_request_to_its_store`, `a_suggestion_is_made_once_and_again_only_if_it_was_dismissed` |
//! | two URLs of one page are two links | `a_link_is_saved_once_however_its_url_is_written`, `urls_of_one_page_that_clients_push_are_one_link_and_are_fetched_once` |
//! | something counts as done that was not | `a_crash_at_any_commit_loses_nothing_and_does_nothing_twice`: what is read of the log and what follows from it are one commit |
//! | a cap is asked for and then passed by two at once | `no_number_of_questions_at_a_time_spends_more_than_there_is` of abide-llm |
//! | one store's events come to another's processor | `stores_beside_each_other_are_each_processed_from_their_own_log` |
//! | a fresh client reads the whole history | it does; `abide bench sync` says how fast |
//! | a client falls behind and nobody sees it | `a_log_shows_its_head_and_its_live_pulls` of abide-server: its lag |
//! | everybody reconnects at once | `one_socket_too_many_is_told_to_come_back_and_the_others_stay` of abide-server |
//! | a client is gone and nobody notices | `a_socket_that_is_silent_is_asked_for_a_sign_of_life_and_then_closed_with_1001` of abide-server |

use crate::world::{
    LINKS, SYNC, WHOLE, assert_idle, created, fetch_well, status, story, world, world_with, write,
};
use abide_core::job::Lease;
use abide_engine::testing::{Moment, World, minute, second};
use abide_engine::worker::{done, failed};
use abide_links::event::{Event, ToLinks};
use abide_links::page::{Failure, Outcome};
use abide_links::processor::Processor;
use abide_links::processor::fetch::FetchPayload;
use abide_links::processor::rows::{Link, Session, Status, Suggestion, SuggestionStatus, Work};
use abide_links::sync::SyncLog;
use serde_json::{Value, json};

#[test]
fn a_link_is_processed_and_everything_is_in_the_log() {
    let (mut world, fetched) = world();
    write(&mut world, &[created("a")]);
    assert_eq!(story(&mut world, "a"), WHOLE);
    assert_eq!(*fetched.borrow(), ["https://example.com/a"]);
    let events: Vec<Event> = world.log(SYNC);
    let session = world.row::<Session>(LINKS, "session").unwrap();
    for (event, before) in events[1..].iter().zip(&events) {
        assert_eq!((event.client_id.as_str(), &event.session_id), ("link-processor-do", &session.id));
        assert_eq!((event.seq_num, event.parent_seq_num), (before.seq_num + 1, before.seq_num));
    }
    let link = world.row::<Link>(LINKS, "link/a").unwrap();
    assert_eq!(link.summary.as_deref(), Some("About https://example.com/a."));
    assert_eq!(link.snapshot.unwrap().title.as_deref(), Some("Title of https://example.com/a"));
    assert_idle(&mut world, &["a"]);
    let commits = world.commits().len();
    world.pass(minute(30));
    assert!(world.commits().len() <= commits + 1, "an idle processor does not wake again and again");
}

#[test]
fn race_a_poke_before_the_event_finds_nothing_and_loses_nothing() {
    let (mut world, _) = world();
    world.send(LINKS, &ToLinks::Poke);
    write(&mut world, &[created("a")]);
    assert_eq!(story(&mut world, "a"), WHOLE);
}

#[test]
fn rapid_links_and_pokes_are_processed_once_each() {
    let (mut world, fetched) = world();
    write(&mut world, &[created("a"), created("b"), created("a")]);
    for _ in 0..5 {
        world.send(LINKS, &ToLinks::Poke);
        world.send(LINKS, &ToLinks::Begin);
    }
    write(&mut world, &[created("c")]);
    assert_eq!(*fetched.borrow(), ["a", "b", "c"].map(|id| format!("https://example.com/{id}")));
    for id in ["b", "c"] {
        assert_eq!(story(&mut world, id), WHOLE);
    }
    assert_idle(&mut world, &["a", "b", "c"]);
}

#[test]
fn long_processing_is_not_begun_twice_and_holds_nobody_up() {
    let slow = |lease: &Lease| {
        if lease.payload.to_string().contains("slow") && lease.failures < 2 {
            return failed("fetch:timeout: not yet");
        }
        fetch_well(lease)
    };
    let (mut world, _) = world_with(SyncLog::with_processor(), slow);
    write(&mut world, &[created("slow")]);
    for _ in 0..3 {
        world.send(LINKS, &ToLinks::Poke);
        world.send(LINKS, &ToLinks::Begin);
    }
    write(&mut world, &[created("quick")]);
    assert_eq!(story(&mut world, "quick"), WHOLE);
    assert_eq!(status(&mut world, "slow"), Some(Status::Pending));
    world.pass(minute(10));
    assert_eq!(story(&mut world, "slow"), WHOLE);
    assert_idle(&mut world, &["slow", "quick"]);
}

#[test]
fn a_crash_at_any_commit_loses_nothing_and_does_nothing_twice() {
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        for nth in 1..=16 {
            let (mut world, _) = world();
            write(&mut world, &[created("a")]);
            world.crash_at_commit(nth, moment);
            let events =
                [created("b"), created("c")].map(|(name, args)| json!({ "name": name, "args": args }));
            let (client, session) = ("browser", "s");
            let append = json!({ "events": events, "clientId": client, "sessionId": session, "key": "once" });
            world.send(SYNC, &json!({ "append": append }));
            world.pass(minute(10));
            for id in ["a", "b", "c"] {
                assert_eq!(story(&mut world, id), WHOLE, "{moment:?} {nth}");
            }
            assert_idle(&mut world, &["a", "b", "c"]);
        }
    }
}

#[test]
fn a_log_that_is_still_being_read_begins_only_what_is_pending_at_its_end() {
    let (mut world, fetched) = world_with(SyncLog::alone(), fetch_well);
    let ids: Vec<String> = (0..250).map(|n| format!("n{n}")).collect();
    let mut events: Vec<(&str, Value)> = ids.iter().map(|id| created(id)).collect();
    for id in &ids[..249] {
        events.push((
            "v1.LinkProcessingStarted",
            json!({ "linkId": id, "updatedAt": "2026-01-01T00:00:01.000Z" }),
        ));
        events.push((
            "v1.LinkProcessingCompleted",
            json!({ "linkId": id, "updatedAt": "2026-01-01T00:00:02.000Z" }),
        ));
    }
    write(&mut world, &events);
    world.send(LINKS, &ToLinks::Poke);
    world.pass(second(5));
    assert_eq!(*fetched.borrow(), ["https://example.com/n249"]);
    assert_eq!(story(&mut world, "n249"), WHOLE);
}

#[test]
fn large_events_do_not_hide_that_there_are_more_behind_them() {
    let (mut world, fetched) = world_with(SyncLog::alone(), fetch_well);
    write(&mut world, &[created("a")]);
    for n in 0..5 {
        write(&mut world, &[("v9.Large", json!({ "id": n.to_string(), "text": "x".repeat(900_000) }))]);
    }
    let done = json!({ "linkId": "a", "updatedAt": "2026-01-01T00:00:02.000Z" });
    write(&mut world, &[("v1.LinkProcessingCompleted", done)]);
    world.send(LINKS, &ToLinks::Poke);
    world.pass(minute(5));
    assert_eq!(*fetched.borrow(), Vec::<String>::new());
    assert_idle(&mut world, &["a"]);
}

#[test]
fn links_are_begun_as_soon_as_the_log_has_been_read() {
    let (mut world, fetched) = world();
    for page in 0..4 {
        let ids: Vec<String> = (0..100).map(|n| format!("n{page}-{n}")).collect();
        write(&mut world, &ids.iter().map(|id| created(id)).collect::<Vec<_>>());
    }
    assert_eq!(fetched.borrow().len(), 400, "no time has passed");
}

#[test]
fn rows_that_a_turn_needs_are_loaded_together() {
    let mut world = World::new();
    world.object(SyncLog::alone());
    world.object(Processor);
    let ids: Vec<String> = (0..99).map(|n| format!("n{n}")).collect();
    write(&mut world, &ids.iter().map(|id| created(id)).collect::<Vec<_>>());
    world.crash();
    let before = world.store_verbs();
    world.send(LINKS, &ToLinks::Poke);
    let verbs = world.store_verbs() - before;
    assert_eq!(world.row::<Work>(LINKS, "work/n98").map(|work| work.attempt), Some(1));
    assert!(verbs < 60, "{verbs} verbs for 99 links");
}

#[test]
fn a_failure_has_its_code_and_is_final_until_somebody_asks_again() {
    let gone = |lease: &Lease| {
        let payload = lease.payload.to_string();
        let is_first = payload.contains("\"attempt\":1");
        if is_first { done(&Outcome::Failed(Failure::status(404))) } else { fetch_well(lease) }
    };
    let (mut world, _) = world_with(SyncLog::with_processor(), gone);
    write(&mut world, &[created("a")]);
    world.pass(minute(60));
    let link = world.row::<Link>(LINKS, "link/a").unwrap();
    assert_eq!(link.processing.unwrap().error.as_deref(), Some("fetch:404"));
    write(
        &mut world,
        &[("v1.LinkReprocessRequested", json!({ "linkId": "a", "requestedAt": "2026-01-01T02:00:00.000Z" }))],
    );
    let story = story(&mut world, "a");
    assert_eq!(
        story[..4],
        ["LinkCreated", "LinkProcessingStarted", "LinkProcessingFailed", "LinkReprocessRequested"]
    );
    assert_eq!(story[4..], WHOLE[1..]);
    assert_idle(&mut world, &["a"]);
}

#[test]
fn a_job_that_dies_is_a_defect_and_not_a_link_that_is_pending_for_ever() {
    let (mut world, _) = world_with(SyncLog::with_processor(), |_| failed("it never works"));
    write(&mut world, &[created("a")]);
    world.pass(minute(60));
    let link = world.row::<Link>(LINKS, "link/a").unwrap();
    assert_eq!(link.processing.unwrap().error.as_deref(), Some("Defect"));
    assert_idle(&mut world, &["a"]);
}

#[test]
fn a_link_costs_as_many_rows_among_many_as_alone() {
    let (mut world, _) = world();
    let mut costs = Vec::new();
    for n in 0..60 {
        let before = world.commits().len();
        write(&mut world, &[created(&format!("n{n}"))]);
        costs.push(world.commits()[before..].iter().map(|commit| commit.rows.len()).sum::<usize>());
    }
    // The first also begins the log and the processor, and sets what wakes them.
    assert!(costs[1..].iter().all(|cost| *cost == costs[1]), "{costs:?}");
}

#[test]
fn a_suggestion_is_made_once_and_again_only_if_it_was_dismissed() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let suggestions = |world: &mut World| -> Vec<String> {
        let events = world.log::<Event>(SYNC).into_iter().filter(|event| event.name == "v1.TagSuggested");
        events.map(|event| event.args.decode::<Value>().unwrap()["id"].as_str().unwrap().to_owned()).collect()
    };
    let again =
        || ("v1.LinkReprocessRequested", json!({ "linkId": "a", "requestedAt": "2026-01-01T02:00:00.000Z" }));
    write(&mut world, &[again()]);
    let made = suggestions(&mut world);
    assert_eq!(made.len(), 1);
    write(&mut world, &[("v1.TagSuggestionAccepted", json!({ "id": made[0] })), again()]);
    assert_eq!(suggestions(&mut world), made);
    write(&mut world, &[("v1.TagSuggestionDismissed", json!({ "id": made[0] })), again()]);
    assert_eq!(suggestions(&mut world).len(), 2);
    let kept = world.row::<Suggestion>(LINKS, &format!("suggestion/{}", made[0])).unwrap();
    assert_eq!(
        (kept.link.as_str(), kept.name.as_str(), kept.status),
        ("a", "rust", SuggestionStatus::Dismissed)
    );
}

#[test]
fn events_that_cannot_be_read_hold_nothing_up() {
    let (mut world, _) = world();
    let odd =
        [("v1.LinkCreated", json!({ "id": 5 })), ("v1.LinkCreated", json!(null)), ("v9.Unheard", json!([]))];
    write(&mut world, &odd);
    write(&mut world, &[created("a")]);
    assert_eq!(story(&mut world, "a"), WHOLE);
}

#[test]
fn a_link_whose_host_is_left_alone_waits_without_using_its_attempts() {
    let busy = |lease: &Lease| {
        let FetchPayload { attempt, failures, waits_since, .. } = lease.payload.decode().unwrap();
        if attempt > 20 {
            return fetch_well(lease);
        }
        let why = "example.com failed too often of late and is left alone".to_owned();
        done(&Outcome::NotAsked { wait_ms: 60_000, failures, since: waits_since, why })
    };
    let (mut world, fetched) = world_with(SyncLog::with_processor(), busy);
    write(&mut world, &[created("a")]);
    for _ in 0..25 {
        world.pass(minute(1));
    }
    assert_eq!(story(&mut world, "a"), WHOLE);
    assert_eq!(fetched.borrow().len(), 21);
    assert_idle(&mut world, &["a"]);
}

#[test]
fn a_link_does_not_wait_for_a_host_for_ever_and_says_why() {
    let never = |lease: &Lease| {
        let FetchPayload { failures, waits_since, .. } = lease.payload.decode().unwrap();
        let why = "example.com is left alone".to_owned();
        done(&Outcome::NotAsked { wait_ms: 7 * 3_600_000, failures, since: waits_since, why })
    };
    let (mut world, fetched) = world_with(SyncLog::with_processor(), never);
    write(&mut world, &[created("a")]);
    for _ in 0..30 {
        world.pass(minute(60));
    }
    let link = world.row::<Link>(LINKS, "link/a").unwrap();
    let processing = link.processing.unwrap();
    assert_eq!((processing.status, processing.error.as_deref()), (Status::Failed, Some("fetch:unreadable")));
    assert_eq!(processing.reason.as_deref(), Some("example.com is left alone"));
    assert_eq!(fetched.borrow().len(), 5);
    assert_idle(&mut world, &["a"]);
}
