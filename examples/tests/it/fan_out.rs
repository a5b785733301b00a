//! The batch, with workers that do what the test says.

use abide_core::job::{JobId, JobState};
use abide_core::ticket::{Resolution, Ticket};
use abide_engine::testing::{World, minute};
use abide_engine::worker::failed;
use abide_examples::fan_out::{Batch, COUNT_WORDS, QUEUE, Report, Texts, count_words};
use abide_store::view::TicketView;
use abide_store::{Write, Written};

fn texts(texts: &[&str]) -> Texts {
    Texts(texts.iter().map(|text| (*text).to_owned()).collect())
}

/// A world in which the first `failures` attempts fail.
fn world(mut failures: u32) -> World {
    let mut world = World::new();
    world.object(Batch);
    world.worker(QUEUE, COUNT_WORDS, move |lease| {
        if failures > 0 {
            failures -= 1;
            return failed("not yet");
        }
        count_words(&lease.payload.decode::<String>().unwrap())
    });
    world
}

fn report(world: &mut World, ticket: &Ticket) -> Option<Report> {
    match world.ticket(ticket) {
        Some(TicketView::Resolved(Resolution::Reply(report))) => Some(report.decode().unwrap()),
        Some(TicketView::Open) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_commit_holds_the_ticket_and_all_jobs() {
    let mut world = world(0);
    let _: Ticket = world.call("batch/a", &texts(&["one", "two words"])).unwrap();
    let commit = &world.commits()[0];
    assert_eq!((commit.tickets.len(), commit.jobs.len(), commit.rows.len()), (1, 2, 1));
    let keys: Vec<&str> =
        commit.jobs.iter().filter_map(|job| Some(job.unique_key.as_ref()?.as_str())).collect();
    assert_eq!(keys, ["0", "1"]);
}

#[test]
fn every_outcome_is_counted_once_and_the_last_one_answers() {
    let mut world = world(0);
    let ticket = world.call("batch/a", &texts(&["one", "two words", " "])).unwrap();
    world.crash();
    assert_eq!(report(&mut world, &ticket), Some(Report { words: 3, failed: 1 }));
    let again: Report = world.call("batch/a", &texts(&[])).unwrap();
    assert_eq!(again, Report { words: 3, failed: 1 });
}

#[test]
fn failed_attempts_are_tried_again_until_they_are_used_up() {
    for (failures, expected) in [(2, Report { words: 1, failed: 0 }), (3, Report { words: 0, failed: 1 })] {
        let mut world = world(failures);
        let ticket = world.call("batch/a", &texts(&["one"])).unwrap();
        assert_eq!(report(&mut world, &ticket), None, "the first attempt failed");
        world.pass(minute(1));
        assert_eq!(report(&mut world, &ticket), Some(expected), "after {failures} failures");
    }
}

#[test]
fn a_dead_letter_that_is_retried_mends_the_report() {
    let mut world = world(3);
    let ticket: Ticket = world.call("batch/a", &texts(&["one"])).unwrap();
    world.pass(minute(1));
    let retried = world.write(Write::Retry { job: JobId(1) });
    assert_eq!(retried, Ok(Written::Moved(Ok(JobState::Ready))));
    world.settle();
    let report: Report = world.call("batch/a", &texts(&[])).unwrap();
    assert_eq!(report, Report { words: 1, failed: 0 });
    assert_eq!(world.row::<String>("batch/a", "failed/1"), None);
    assert!(matches!(world.ticket(&ticket), Some(TicketView::Resolved(_))), "and its first answer stays");
}

#[test]
fn without_texts_there_is_no_batch() {
    let refused = world(0).call::<Ticket>("batch/a", &texts(&[])).unwrap_err();
    assert_eq!(refused.to_string(), "empty: a batch needs at least one text");
}
