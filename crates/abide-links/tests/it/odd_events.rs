//! Events that no client of good will writes: whoever may write to a log may write anything, and everybody else's links are
//! processed nevertheless.

use crate::world::{LINKS, WHOLE, created, story, world, write};
use abide_core::seed::Seed;
use abide_engine::testing::{World, minute};
use abide_links::limits::LINK_BYTES;
use abide_links::processor::rows::{Link, PassedOver};
use serde_json::{Map, Value, json};

/// A link that comes after `events` is processed, and nothing waits for a person.
fn check(name: &str, events: &[(&str, Value)]) -> World {
    let (mut world, _) = world();
    write(&mut world, &[created("before")]);
    let mut rest = events;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |(_, args): &&(&str, Value)| {
            bytes += args.to_string().len();
            bytes < 900_000
        };
        let (part, left) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        write(&mut world, part);
        rest = left;
    }
    write(&mut world, &[created("after")]);
    world.pass(minute(10));
    assert_eq!(story(&mut world, "after"), WHOLE, "{name}");
    assert_eq!(world.dead_letters(), [], "{name}");
    world
}

fn passed_over(world: &mut World) -> u64 {
    world.row::<PassedOver>(LINKS, "passed-over").map_or(0, |passed| passed.count)
}

#[test]
fn what_cannot_be_projected_is_passed_over_and_noted() {
    let long = "x".repeat(300_000);
    let cases = [
        ("a long id", "v1.TagCreated", json!({ "id": "t".repeat(2_000), "name": "n" })),
        ("a long url", "v1.LinkCreated", json!({ "id": "a", "url": format!("https://e.org/{long}") })),
        ("a line break in an id", "v1.LinkCreated", json!({ "id": "a\nb", "url": "https://e.org/" })),
        ("a zero in an id", "v1.LinkCreated", json!({ "id": "a\u{0}b", "url": "https://e.org/" })),
        ("a slash in an id", "v1.LinkCreated", json!({ "id": "a/b", "url": "https://e.org/" })),
        (
            "a long id that is referred to",
            "v1.LinkTagged",
            json!({ "id": "x", "linkId": "before", "tagId": long }),
        ),
        ("no object", "v1.LinkCreated", json!(["a"])),
        ("nothing", "v1.LinkCreated", json!({})),
        ("a number as an id", "v2.LinkCreated", json!({ "id": 5, "url": "https://e.org/" })),
    ];
    for (case, name, args) in cases {
        let mut world = check(case, &[(name, args)]);
        let passed = world.row::<PassedOver>(LINKS, "passed-over").unwrap();
        assert_eq!((passed.count, passed.last.len(), passed.last[0].name.as_str()), (1, 1, name), "{case}");
    }
}

#[test]
fn long_texts_are_cut() {
    let long = "x".repeat(300_000);
    let mut world = check(
        "texts",
        &[
            ("v1.TagCreated", json!({ "id": "t", "name": long })),
            ("v1.LinkSummarized", json!({ "linkId": "before", "summary": long })),
            ("v1.LinkMetadataFetched", json!({ "linkId": "before", "title": long, "image": long })),
            ("v1.LinkProcessingFailed", json!({ "linkId": "before", "error": long })),
        ],
    );
    let link: Link = world.row(LINKS, "link/before").unwrap();
    assert_eq!(link.summary.map(|text| text.len()), Some(2_000));
    let snapshot = link.snapshot.unwrap();
    assert_eq!((snapshot.title.map(|text| text.len()), snapshot.image), (Some(500), None));
    assert_eq!(link.processing.unwrap().error.map(|text| text.len()), Some(200));
    assert_eq!(passed_over(&mut world), 0);
}

#[test]
fn a_link_has_a_bound_however_much_is_said_about_it() {
    let tag = |n: usize| {
        ("v1.LinkTagged", json!({ "id": n.to_string(), "linkId": "before", "tagId": format!("{n:0128}") }))
    };
    let suggested = |n: usize| {
        let name = format!("{n}{}", "\"".repeat(64));
        ("v1.TagSuggested", json!({ "id": n.to_string(), "linkId": "before", "suggestedName": name }))
    };
    let mut events: Vec<_> = (0..400).map(tag).collect();
    events.extend((0..400).map(suggested));
    let quotes = "\"".repeat(8_192);
    events.push(("v1.LinkMetadataFetched", json!({ "linkId": "before", "title": quotes, "description": quotes, "image": quotes, "favicon": quotes })));
    let mut world = check("much", &events);
    let link: Link = world.row(LINKS, "link/before").unwrap();
    assert!(serde_json::to_string(&link).unwrap().len() <= LINK_BYTES);
    assert_eq!(link.snapshot.unwrap().title.map(|title| title.len()), Some(500));
}

#[test]
fn a_page_of_the_log_that_touches_a_hundred_large_links_is_one_commit() {
    let quotes = "\"".repeat(8_100);
    let id = |n: usize| format!("l{n}");
    let link =
        |n: usize| ("v1.LinkCreated", json!({ "id": id(n), "url": format!("https://e.org/{n}/{quotes}") }));
    let again = |n: usize| ("v1.LinkReprocessRequested", json!({ "linkId": id(n) }));
    let mut events: Vec<_> = (0..100).map(link).collect();
    events.extend((0..100).map(again));
    check("large links", &events);
}

#[test]
fn a_page_of_the_log_that_touches_links_with_many_duplicates_is_one_commit() {
    let url = |page: usize, n: usize| json!({ "id": format!("p{page}-{n}"), "url": format!("https://e.org/{page}#{n}") });
    let pages = 0..40;
    let ids = || pages.clone().map(|page| format!("p{page}-0"));
    let mut events: Vec<_> = pages.clone().map(|page| ("v1.LinkCreated", url(page, 0))).collect();
    events.extend(pages.clone().flat_map(|page| (1..=60).map(move |n| ("v1.LinkCreated", url(page, n)))));
    events.extend(ids().map(|id| ("v1.LinkProcessingFailed", json!({ "linkId": id, "error": "e" }))));
    events.extend(ids().map(|id| ("v1.LinkDeleted", json!({ "id": id }))));
    let mut world = check("many duplicates", &events);
    let heir: Link = world.row(LINKS, "link/p7-1").unwrap();
    assert_eq!((heir.duplicate_of, heir.duplicates.len()), (None, 59));
}

#[test]
fn a_page_of_the_log_that_doubles_a_hundred_large_links_is_one_commit() {
    let quotes = "\"".repeat(8_100);
    let link = |copy: &str, n: usize| {
        (
            "v1.LinkCreated",
            json!({ "id": format!("{copy}{n}"), "url": format!("https://e.org/{n}?{quotes}#{copy}") }),
        )
    };
    let mut events: Vec<_> = (0..100).map(|n| link("a", n)).collect();
    events.extend((0..100).map(|n| link("b", n)));
    events.extend((0..100).map(|n| ("v1.LinkDeleted", json!({ "id": format!("a{n}") }))));
    let mut world = check("large duplicates", &events);
    let heir: Link = world.row(LINKS, "link/b7").unwrap();
    assert_eq!(heir.duplicate_of, None);
}

#[test]
fn a_summary_is_told_of_as_many_tags_as_have_room() {
    let tag = |n: usize| {
        ("v1.TagCreated", json!({ "id": n.to_string(), "name": format!("{n}{}", "ä".repeat(200)) }))
    };
    let events: Vec<_> = (0..900).map(tag).collect();
    let mut world = check("tags", &events);
    assert_eq!(passed_over(&mut world), 0);
}

const NAMES: [&str; 14] = [
    "v1.LinkCreated",
    "v2.LinkCreated",
    "v1.LinkMetadataFetched",
    "v1.LinkSummarized",
    "v1.LinkCompleted",
    "v1.LinkDeleted",
    "v1.LinkRestored",
    "v1.LinkProcessingStarted",
    "v1.LinkReprocessRequested",
    "v1.LinkProcessingFailed",
    "v1.TagCreated",
    "v1.TagRenamed",
    "v1.LinkTagged",
    "v1.TagSuggested",
];
const FIELDS: [&str; 12] = [
    "id",
    "linkId",
    "tagId",
    "url",
    "domain",
    "source",
    "createdAt",
    "name",
    "suggestedName",
    "title",
    "summary",
    "error",
];

fn pick<T: Copy>(seed: &mut Seed, from: &[T]) -> T {
    from[usize::try_from(seed.below(from.len() as u64)).unwrap()]
}

fn odd_value(seed: &mut Seed) -> Value {
    match seed.below(64) {
        0 => Value::Null,
        1 => json!(seed.next_u64()),
        2 => json!([["deep"]]),
        3 => json!("x".repeat(300_000)),
        4 => json!("\u{1}".repeat(5_000)),
        5 => json!("a\nb"),
        6 => json!("../%2e/🦀\u{202e}\u{feff}"),
        7 => json!(""),
        8 => json!("-999999-01-01T00:00:00Z"),
        9 => json!("https://e.org/"),
        10 => json!("y".repeat(700)),
        12..=20 => json!("2026-01-01T00:00:00.000Z"),
        _ => json!(pick(seed, &["before", "a", "b", "t", "links-api"])),
    }
}

fn odd_event(seed: &mut Seed) -> (&'static str, Value) {
    let mut args = Map::new();
    for field in FIELDS {
        if seed.below(4) > 0 {
            args.insert(field.to_owned(), odd_value(seed));
        }
    }
    let args = Value::Object(args);
    // What is larger is no entry of a log.
    if args.to_string().len() > 1_000_000 { odd_event(seed) } else { (pick(seed, &NAMES), args) }
}

#[test]
fn whatever_events_say_a_good_link_behind_them_is_processed() {
    for number in 0..15 {
        let mut seed = Seed::new(number);
        let events: Vec<_> = (0..60).map(|_| odd_event(&mut seed)).collect();
        check(&format!("seed {number}"), &events);
    }
}
