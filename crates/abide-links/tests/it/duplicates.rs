//! Links that clients push for one page: one stands for all, and the others get what it got.

use crate::world::{LINKS, SYNC, WHOLE, created_at, fetch_well, story, world, world_with, write};
use abide_engine::testing::{World, minute, second};
use abide_links::event::{Event, ToLinks};
use abide_links::processor::rows::{Link, Status};
use abide_links::processor::{Call, LinkView, Listed, Query, Reply};
use abide_links::sync::SyncLog;
use serde_json::{Value, json};

const PAGE: &str = "https://example.com/page";
const SLASH: &str = "https://example.com/page/";
const TRACKED: &str = "https://EXAMPLE.com/page?utm_source=mail&fbclid=1";

/// What is written about a link that gets what another one got.
const COPIED: [&str; 5] = [
    "LinkCreated",
    "LinkProcessingStarted",
    "LinkMetadataFetched",
    "LinkSummarized",
    "LinkProcessingCompleted",
];

fn list(world: &mut World, query: Query) -> Listed {
    match world.call(LINKS, &Call::List(query)).unwrap() {
        Reply::Listed(listed) => listed,
        other => panic!("{other:?}"),
    }
}

fn get(world: &mut World, id: &str) -> LinkView {
    match world.call(LINKS, &Call::Get { id: id.to_owned() }).unwrap() {
        Reply::Links(mut links) => links.remove(0),
        other => panic!("{other:?}"),
    }
}

/// The only link that is listed, with the ids of those behind it.
fn only(world: &mut World) -> (String, Vec<String>) {
    let listed = list(world, Query::default());
    assert_eq!((listed.total, listed.links.len()), (1, 1), "{:?}", listed.links);
    let link = &listed.links[0];
    (link.id.clone(), link.duplicates.iter().map(|other| other.id.clone()).collect())
}

fn deleted(id: &str) -> (&'static str, Value) {
    ("v1.LinkDeleted", json!({ "id": id, "deletedAt": "2026-01-01T00:00:03.000Z" }))
}

#[test]
fn urls_of_one_page_that_clients_push_are_one_link_and_are_fetched_once() {
    let (mut world, fetched) = world();
    write(&mut world, &[created_at("a", PAGE)]);
    write(&mut world, &[created_at("b", SLASH)]);
    write(&mut world, &[created_at("c", TRACKED), created_at("other", "https://example.com/other")]);
    assert_eq!(*fetched.borrow(), [PAGE, "https://example.com/other"]);
    assert_eq!(story(&mut world, "a"), WHOLE);
    for id in ["b", "c"] {
        assert_eq!(story(&mut world, id), COPIED);
        let link = get(&mut world, id);
        assert_eq!((link.duplicate_of.as_deref(), link.processing.as_str()), (Some("a"), "done"));
        assert_eq!(link.summary, get(&mut world, "a").summary);
    }
    let first = get(&mut world, "a");
    let urls: Vec<&str> = first.duplicates.iter().map(|other| other.url.as_str()).collect();
    assert_eq!((first.url.as_str(), urls), (PAGE, vec![SLASH, TRACKED]), "as each was given");
    assert_eq!(list(&mut world, Query::default()).total, 2);
    assert_eq!(list(&mut world, Query { q: Some("page".to_owned()), ..Query::default() }).total, 1);
}

#[test]
fn links_of_one_page_that_come_together_are_fetched_once() {
    let (mut world, fetched) = world();
    write(&mut world, &[created_at("b", SLASH), created_at("a", PAGE)]);
    assert_eq!(*fetched.borrow(), [SLASH]);
    assert_eq!(only(&mut world), ("b".to_owned(), vec!["a".to_owned()]));
    assert_eq!(story(&mut world, "a"), COPIED);
}

#[test]
fn when_the_link_that_stands_for_a_page_goes_another_takes_its_place() {
    let (mut world, fetched) = world();
    write(&mut world, &[created_at("a", PAGE), created_at("b", SLASH), created_at("c", TRACKED)]);
    write(&mut world, &[deleted("a")]);
    assert_eq!(only(&mut world), ("b".to_owned(), vec!["c".to_owned()]));
    write(&mut world, &[("v1.LinkRestored", json!({ "id": "a" }))]);
    assert_eq!(only(&mut world), ("b".to_owned(), vec!["c".to_owned(), "a".to_owned()]));
    write(&mut world, &[deleted("c")]);
    assert_eq!(only(&mut world), ("b".to_owned(), vec!["a".to_owned()]));
    let archived = list(&mut world, Query { state: Some("archive".to_owned()), ..Query::default() });
    assert_eq!(archived.links.iter().map(|link| link.id.as_str()).collect::<Vec<_>>(), ["c"]);
    write(&mut world, &[deleted("b"), deleted("a")]);
    assert_eq!(list(&mut world, Query::default()).total, 0);
    write(&mut world, &[created_at("d", "https://example.com/page#part")]);
    assert_eq!(only(&mut world), ("d".to_owned(), vec![]));
    assert_eq!(*fetched.borrow(), [PAGE, "https://example.com/page#part"]);
}

#[test]
fn a_link_that_takes_a_place_before_anything_came_of_it_is_processed() {
    let hanging = |lease: &abide_core::job::Lease| {
        let is_first = lease.payload.to_string().contains("page\"");
        if is_first { abide_engine::worker::failed("fetch:timeout: hangs") } else { fetch_well(lease) }
    };
    let (mut world, _) = world_with(SyncLog::with_processor(), hanging);
    write(&mut world, &[created_at("a", PAGE), created_at("b", SLASH)]);
    write(&mut world, &[deleted("a")]);
    world.pass(minute(10));
    assert_eq!(story(&mut world, "b"), WHOLE);
    assert_eq!(only(&mut world), ("b".to_owned(), vec![]));
}

#[test]
fn whoever_asks_for_a_duplicate_again_gets_it_from_the_link_that_stands_for_it() {
    let (mut world, fetched) = world();
    write(&mut world, &[created_at("a", PAGE), created_at("b", SLASH)]);
    let again = json!({ "linkId": "b", "requestedAt": "2026-01-01T02:00:00.000Z" });
    write(&mut world, &[("v1.LinkReprocessRequested", again)]);
    world.pass(second(5));
    assert_eq!(*fetched.borrow(), [PAGE, PAGE]);
    let copied_twice = [&COPIED[..], &["LinkReprocessRequested"], &COPIED[1..]].concat();
    assert_eq!(story(&mut world, "b"), copied_twice);
    let link = world.row::<Link>(LINKS, "link/b").unwrap();
    assert_eq!(link.processing.map(|processing| processing.status), Some(Status::Completed));
}

#[test]
fn a_list_shows_the_first_duplicates_and_how_many_there_are_also_after_a_restart() {
    let (mut world, _) = world_with(SyncLog::with_processor(), |_| abide_engine::worker::failed("hangs"));
    let link =
        |page: usize, n: usize| created_at(&format!("p{page}-{n}"), &format!("https://e.org/{page}#{n}"));
    let pages = 0..30;
    write(
        &mut world,
        &pages.clone().flat_map(|page| (0..=40).map(move |n| link(page, n))).collect::<Vec<_>>(),
    );
    world.down_for(second(1));
    let listed = list(&mut world, Query { limit: Some(100), ..Query::default() });
    assert_eq!(listed.links.len(), 30);
    for link in &listed.links {
        assert_eq!((link.duplicates.len(), link.duplicate_count), (3, Some(40)), "{}", link.id);
    }
    let alone = get(&mut world, "p7-0");
    assert_eq!((alone.duplicates.len(), alone.duplicate_count), (40, Some(40)));
}

#[test]
fn a_log_that_says_what_came_of_a_duplicate_is_left_as_it_is() {
    let (mut world, fetched) = world_with(SyncLog::alone(), fetch_well);
    let ended = |id: &str, second: u8| {
        let args = json!({ "linkId": id, "updatedAt": format!("2026-01-01T00:00:0{second}.000Z") });
        ("v1.LinkProcessingCompleted", args)
    };
    write(&mut world, &[created_at("a", PAGE), created_at("b", SLASH), ended("a", 1), ended("b", 2)]);
    let before = world.log::<Event>(SYNC).len();
    world.send(LINKS, &ToLinks::Poke);
    world.pass(minute(5));
    assert_eq!((world.log::<Event>(SYNC).len(), fetched.borrow().len()), (before, 0));
    assert_eq!(only(&mut world), ("a".to_owned(), vec!["b".to_owned()]));
}

#[test]
fn one_url_again_is_a_duplicate_like_any_other() {
    let (mut world, fetched) = world();
    write(&mut world, &[created_at("a", PAGE)]);
    write(&mut world, &[created_at("b", PAGE), created_at("b", PAGE)]);
    assert_eq!(*fetched.borrow(), [PAGE]);
    assert_eq!(only(&mut world), ("a".to_owned(), vec!["b".to_owned()]));
    assert_eq!(story(&mut world, "b")[..2], ["LinkCreated", "LinkCreated"]);
    assert_eq!(story(&mut world, "b")[2..], COPIED[1..]);
    assert_eq!(get(&mut world, "b").duplicate_of.as_deref(), Some("a"));
    write(&mut world, &[deleted("a")]);
    assert_eq!(only(&mut world), ("b".to_owned(), vec![]));
    write(&mut world, &[deleted("b"), created_at("c", PAGE)]);
    assert_eq!(only(&mut world), ("c".to_owned(), vec![]));
}

#[test]
fn one_url_pushed_without_end_is_one_link_that_is_fetched_once() {
    let (mut world, fetched) = world();
    let many: Vec<_> = (0..250).map(|n| created_at(&format!("l{n}"), PAGE)).collect();
    write(&mut world, &many);
    world.pass(minute(1));
    assert_eq!(*fetched.borrow(), [PAGE]);
    let listed = list(&mut world, Query::default());
    assert_eq!((listed.total, listed.links[0].duplicate_count), (1, Some(100)));
}
