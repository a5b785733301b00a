//! A request of which nobody wants anything any more, and one that is asked how far it is.

use crate::object::{planned, process, request, status, world};
use abide_core::job::{AttemptEnd, RetryWish};
use abide_engine::testing::{day, hour, minute};
use abide_engine::worker::done;
use abide_organize::contract::{Phase, ProcessReply, ToOrganizer};
use std::cell::RefCell;
use std::rc::Rc;

fn cancel() -> ToOrganizer {
    ToOrganizer::Cancel { reason: "the batch was stopped".to_owned() }
}

#[test]
fn what_is_cancelled_is_neither_asked_nor_published_nor_told() {
    let asked = Rc::new(RefCell::new(0));
    let count = Rc::clone(&asked);
    let (mut world, told) = world(move |_, _| {
        *count.borrow_mut() += 1;
        let (reason, retry) = ("later".to_owned(), RetryWish::UncountedAfterMs(minute(1)));
        if *count.borrow() > 20 { done(&planned()) } else { AttemptEnd::Error { reason, retry }.into() }
    });
    // More than are begun in one turn.
    let pis: Vec<u32> = (0..20).collect();
    process(&mut world, request(&pis));
    assert_eq!(*asked.borrow(), 20);
    world.send("organizer/b:c", &cancel());
    let standing = status(&mut world).unwrap();
    assert_eq!((standing.phase, standing.progress.failed), (Phase::Error, 20));
    assert_eq!(standing.error.as_deref(), Some("the batch was stopped"));
    world.pass(hour(1));
    assert_eq!((*asked.borrow(), told.borrow().len()), (20, 0));
    // It may be asked for again, and is forgotten in the end.
    assert!(matches!(process(&mut world, request(&[1])), ProcessReply::Accepted { .. }));
    assert_eq!((status(&mut world).unwrap().phase, told.borrow().len()), (Phase::Done, 1));
    world.pass(day(31));
    assert_eq!(status(&mut world), None);
    assert!(world.dead_letters().is_empty());
}

#[test]
fn what_is_over_is_not_cancelled() {
    let (mut world, told) = world(|_, _| done(&planned()));
    world.send("organizer/b:c", &cancel());
    assert_eq!(status(&mut world), None, "there is nothing to cancel");
    process(&mut world, request(&[1]));
    world.send("organizer/b:c", &cancel());
    assert_eq!((status(&mut world).unwrap().phase, told.borrow().len()), (Phase::Done, 1));
}
