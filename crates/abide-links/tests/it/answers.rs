//! What a model said is kept by what it was asked about.

use crate::world::{LINKS, created, summarize_well, world_of, write};
use abide_core::job::{Finish, Lease};
use abide_engine::testing::World;
use abide_engine::worker::done;
use abide_links::page::{Metadata, Outcome, Page};
use abide_links::processor::fetch::FetchPayload;
use abide_links::processor::rows::Answered;
use abide_links::processor::summarize::SummarizePayload;
use abide_links::sync::SyncLog;
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

/// The same page under every URL, until a link is asked for again.
fn says_the_same(lease: &Lease) -> Finish {
    let FetchPayload { url, attempt, .. } = lease.payload.decode().unwrap();
    let metadata = Metadata { title: Some("One article".to_owned()), ..Metadata::default() };
    done(&Outcome::Ok(Page { url, metadata, text: format!("What it says in edition {attempt}.") }))
}

/// What was known when each link was to be summarized.
type Known = Rc<RefCell<Vec<(String, Option<Answered>)>>>;

fn watched() -> (World, Known) {
    let seen = Known::default();
    let known = Rc::clone(&seen);
    let (world, _) = world_of(SyncLog::with_processor(), says_the_same, move |lease| {
        let SummarizePayload { link_id, cached, .. } = lease.payload.decode().unwrap();
        known.borrow_mut().push((link_id, cached));
        summarize_well(lease)
    });
    (world, seen)
}

#[test]
fn a_page_that_says_what_another_link_says_is_not_paid_for_again() {
    let (mut world, known) = watched();
    write(&mut world, &[created("a")]);
    write(&mut world, &[created("b")]);
    let again = json!({ "linkId": "a", "requestedAt": "2026-01-01T00:00:00.000Z" });
    write(&mut world, &[("v1.LinkReprocessRequested", again)]);
    let known = known.borrow();
    let about = |at: usize| known[at].1.as_ref().map(|answered| answered.summary.clone().unwrap());
    assert_eq!((known[0].0.as_str(), about(0)), ("a", None));
    assert_eq!((known[1].0.as_str(), about(1).as_deref()), ("b", Some("About https://example.com/a.")));
    assert_eq!((known[2].0.as_str(), about(2)), ("a", None), "its page says something else now");
}

#[test]
fn what_a_page_said_before_is_forgotten_with_the_answer() {
    let (mut world, _) = watched();
    write(&mut world, &[created("a")]);
    let about = |world: &mut World| world.row::<String>(LINKS, "answered/a").unwrap();
    let first = about(&mut world);
    let again = json!({ "linkId": "a", "requestedAt": "2026-01-01T00:00:00.000Z" });
    write(&mut world, &[("v1.LinkReprocessRequested", again)]);
    let second = about(&mut world);
    let kept =
        [first, second].map(|about| world.row::<Answered>(LINKS, &format!("answer/{about}")).is_some());
    assert_eq!(kept, [false, true]);
}
