//! Requests to the links of a store: answered when what they wrote is in the log.

use crate::world::{LINKS, SYNC, created, story, world, world_with, write};
use abide_core::event::Sender;
use abide_core::ticket::{Resolution, Ticket};
use abide_engine::testing::{World, minute};
use abide_engine::worker::failed;
use abide_engine::{Answer, CallError, Halt, NoRefusal, Nothing, Object, Turn};
use abide_links::event::{Event, ToLinks, ToSync};
use abide_links::processor::calls::TagChanges;
use abide_links::processor::rows::{Session, Work};
use abide_links::processor::{
    Added, Call, Changes, Listed, NOT_DONE, NewLink, Processor, Query, Reply, State,
};
use abide_links::sync::SyncLog;
use abide_store::view::TicketView;
use serde_json::json;

/// A call that is answered later, with its answer.
fn later(world: &mut World, call: &Call) -> Vec<Added> {
    let ticket: Ticket = world.call(LINKS, call).unwrap();
    let Some(TicketView::Resolved(Resolution::Reply(json))) = world.ticket(&ticket) else {
        panic!("not resolved")
    };
    match json.decode().unwrap() {
        Reply::Added(added) => added,
        other => panic!("{other:?}"),
    }
}

fn add(url: &str) -> Call {
    let links = vec![NewLink::of(url.to_owned())];
    Call::Add { links, tags: vec!["To Read".to_owned()], source: "api".to_owned() }
}

fn list(world: &mut World, query: Query) -> Listed {
    match world.call(LINKS, &Call::List(query)).unwrap() {
        Reply::Listed(listed) => listed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_is_saved_once_however_its_url_is_written() {
    let (mut world, fetched) = world();
    let first = later(&mut world, &add("https://example.com/a/?utm_source=mail"));
    assert!(first[0].created);
    assert_eq!(first[0].link.url, "https://example.com/a/?utm_source=mail");
    assert_eq!(first[0].link.tags, ["to-read"]);
    let Reply::Added(second) = world.call(LINKS, &add("https://EXAMPLE.com/a")).unwrap() else { panic!() };
    assert_eq!((second[0].created, &second[0].link.id), (false, &first[0].link.id));
    assert_eq!(second[0].link.processing, "done");
    assert_eq!(fetched.borrow().len(), 1);
    let started = world.log::<Event>(SYNC).iter().filter(|e| e.name == "v1.LinkProcessingStarted").count();
    assert_eq!(started, 1);
}

#[test]
fn what_is_no_link_is_refused_by_name_and_changes_nothing() {
    let (mut world, _) = world();
    let refused = world.call::<Reply>(LINKS, &add("ftp://example.com/"));
    assert!(matches!(&refused, Err(CallError::Refused(why)) if why.code == "invalid_url"), "{refused:?}");
    assert_eq!(world.commits(), []);
    let unknown = world.call::<Reply>(LINKS, &Call::Get { id: "nope".to_owned() });
    assert!(matches!(&unknown, Err(CallError::Refused(why)) if why.message.contains("nope")));
}

#[test]
fn links_are_listed_by_state_in_pages_and_found_by_words() {
    let (mut world, _) = world();
    let ids: Vec<String> = (0..7).map(|n| format!("n{n}")).collect();
    write(&mut world, &ids.iter().map(|id| created(id)).collect::<Vec<_>>());
    let page = list(&mut world, Query { limit: Some(5), ..Query::default() });
    assert_eq!((page.links.len(), page.total), (5, 7));
    let rest = list(&mut world, Query { limit: Some(5), cursor: page.next_cursor, ..Query::default() });
    assert_eq!((rest.links.len(), rest.next_cursor), (2, None));
    let changes = Changes { state: Some(State::Archive), tags: None };
    later(&mut world, &Call::Update { ids: vec!["n1".to_owned(), "n2".to_owned()], changes });
    assert_eq!(list(&mut world, Query { state: Some("archive".to_owned()), ..Query::default() }).total, 2);
    assert_eq!(list(&mut world, Query::default()).total, 5);
    let found = list(&mut world, Query { q: Some("com/n3".to_owned()), ..Query::default() });
    assert_eq!((found.total, found.links[0].id.as_str()), (1, "n3"));
    assert_eq!(found.links[0].matched_fields.as_ref().unwrap()[0], "title");
    let query = |cursor| Query { q: Some("com/n".to_owned()), limit: Some(2), cursor, ..Query::default() };
    let (mut cursor, mut ids) = (None, Vec::new());
    loop {
        let page = list(&mut world, query(cursor));
        assert_eq!(page.total, 5);
        ids.extend(page.links.into_iter().map(|link| link.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    ids.sort();
    assert_eq!(ids, ["n0", "n3", "n4", "n5", "n6"], "each once");
}

#[test]
fn tags_are_added_removed_and_replaced() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let mut tags = |tags: TagChanges| {
        let changes = Changes { state: None, tags: Some(tags) };
        later(&mut world, &Call::Update { ids: vec!["a".to_owned()], changes })[0].link.tags.clone()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(tags(TagChanges { add: words(&["One", "two"]), ..TagChanges::default() }), ["one", "two"]);
    assert_eq!(tags(TagChanges { remove: words(&["one"]), ..TagChanges::default() }), ["two"]);
    assert_eq!(tags(TagChanges { set: Some(words(&["three"])), ..TagChanges::default() }), ["three"]);
}

#[test]
fn tags_that_are_to_be_set_cannot_be_added_too() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let one = || vec!["one".to_owned()];
    let tags = Some(TagChanges { set: Some(one()), add: one(), remove: Vec::new() });
    let changes = Changes { state: None, tags };
    let refused = world.call::<Reply>(LINKS, &Call::Update { ids: vec!["a".to_owned()], changes });
    assert!(
        matches!(&refused, Err(CallError::Refused(why)) if why.message.contains("tags.set")),
        "{refused:?}"
    );
}

#[test]
fn a_link_that_is_named_twice_is_changed_once() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let before = world.log::<Event>(SYNC).len();
    let changes = Changes { state: Some(State::Completed), tags: None };
    let changed = later(&mut world, &Call::Update { ids: vec!["a".to_owned(), "a".to_owned()], changes });
    assert_eq!((changed.len(), world.log::<Event>(SYNC).len()), (1, before + 1));
}

#[test]
fn a_tag_for_new_links_is_not_made_for_one_that_is_there() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let before = world.log::<Event>(SYNC).len();
    let Reply::Added(added) = world.call(LINKS, &add("https://example.com/a")).unwrap() else { panic!() };
    assert_eq!((added[0].created, world.log::<Event>(SYNC).len()), (false, before));
}

#[test]
fn a_cancel_is_answered_when_it_is_in_the_log() {
    let (mut world, _) = world_with(SyncLog::with_processor(), |_| failed("not yet"));
    write(&mut world, &[created("a")]);
    let stopped = later(&mut world, &Call::Cancel { id: "a".to_owned() });
    assert_eq!(stopped[0].link.processing, "none");
    assert_eq!(world.row::<Work>(LINKS, "work/a"), None);
    world.pass(minute(10));
    assert_eq!(story(&mut world, "a"), ["LinkCreated", "LinkProcessingStarted", "LinkProcessingCancelled"]);
}

#[test]
fn an_id_does_not_look_like_an_option() {
    let (mut world, _) = world();
    for n in 0..200 {
        let added = later(&mut world, &add(&format!("https://example.com/{n}")));
        assert!(added[0].link.id.starts_with(|c: char| c.is_ascii_alphanumeric()), "{}", added[0].link.id);
    }
}

#[test]
fn a_tag_that_two_requests_name_at_once_is_made_once() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let calls =
        ["b", "c"].map(|page| world.begin_call(LINKS, &add(&format!("https://example.com/{page}")), None));
    world.settle();
    for call in calls {
        assert!(world.reply(call).is_some_and(|reply| reply.is_ok()));
    }
    let made = world.log::<Event>(SYNC).iter().filter(|event| event.name == "v1.TagCreated").count();
    assert_eq!(made, 1);
    let tagged = list(&mut world, Query::default()).links.into_iter().filter(|link| link.tags == ["to-read"]);
    assert_eq!(tagged.count(), 2);
    let third = later(&mut world, &add("https://example.com/d"));
    assert_eq!(third[0].link.tags, ["to-read"]);
}

#[test]
fn a_name_is_the_tags_that_had_it_first_and_goes_with_it() {
    let (mut world, _) = world();
    let tag = |event: &'static str, id: &str, name: &str| {
        (event, json!({ "id": id, "name": name, "sortOrder": 0, "createdAt": "2026-01-01T00:00:00.000Z" }))
    };
    write(
        &mut world,
        &[
            tag("v1.TagCreated", "t1", "to-read"),
            tag("v1.TagCreated", "t2", "to-read"),
            ("v1.TagDeleted", json!({ "id": "t2", "deletedAt": "2026-01-01T00:00:00.000Z" })),
        ],
    );
    world.send(LINKS, &ToLinks::Poke);
    assert_eq!(later(&mut world, &add("https://example.com/a"))[0].link.tags, ["to-read"]);
    write(&mut world, &[tag("v1.TagRenamed", "t1", "read"), tag("v1.TagCreated", "t1", "to-read")]);
    assert_eq!(later(&mut world, &add("https://example.com/b"))[0].link.tags, ["to-read"]);
    let listed = list(&mut world, Query::default()).links;
    let mut names: Vec<String> = listed.into_iter().flat_map(|link| link.tags).collect();
    names.sort();
    assert_eq!(names, ["read", "to-read"]);
}

#[test]
fn a_tag_that_a_client_made_is_not_made_again_by_the_first_request_to_its_store() {
    let (mut world, _) = world();
    let tag =
        json!({ "id": "t1", "name": "to-read", "sortOrder": 0, "createdAt": "2026-01-01T00:00:00.000Z" });
    // Nothing of this wakes the processor.
    let others = (0..250).map(|n| ("v1.LinkInteracted", json!({ "id": n.to_string(), "linkId": "x" })));
    write(&mut world, &others.chain([("v1.TagCreated", tag)]).collect::<Vec<_>>());
    let added = later(&mut world, &add("https://example.com/a"));
    assert_eq!(added[0].link.tags, ["to-read"]);
    let made = world.log::<Event>(SYNC).iter().filter(|event| event.name == "v1.TagCreated").count();
    assert_eq!(made, 1);
}

#[test]
fn a_request_that_waits_for_the_log_is_refused_if_it_cannot_be_done() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let tags = TagChanges { add: vec!["new".to_owned()], ..TagChanges::default() };
    let changes = Changes { state: None, tags: Some(tags) };
    let ids = vec!["a".to_owned(), "nope".to_owned()];
    let ticket: Ticket = world.call(LINKS, &Call::Update { ids, changes }).unwrap();
    let Some(TicketView::Resolved(Resolution::Refused { code, message })) = world.ticket(&ticket) else {
        panic!("not refused")
    };
    assert_eq!(code, "unknown_link");
    assert!(message.contains("nope"), "{message}");
    assert!(!world.log::<Event>(SYNC).iter().any(|event| event.name == "v1.TagCreated"));
}

/// A log that never says how far it goes.
struct Mute;

impl Object for Mute {
    const KIND: &'static str = "sync";
    type Call = Nothing;
    type Reply = ();
    type Message = ToSync;
    type Refusal = NoRefusal;

    fn call(&self, _: &mut Turn<'_>, call: Nothing) -> Result<Answer<()>, Halt<NoRefusal>> {
        match call {}
    }

    fn message(&self, _: &mut Turn<'_>, _: Option<&Sender>, _: ToSync) -> Result<(), Halt<NoRefusal>> {
        Ok(())
    }
}

#[test]
fn a_request_that_waits_in_vain_is_refused_and_nothing_of_it_is_done() {
    let mut world = World::new();
    world.object(Mute);
    world.object(Processor);
    let ticket: Ticket = world.call(LINKS, &add("https://example.com/a")).unwrap();
    world.pass(minute(9));
    assert_eq!(world.ticket(&ticket), Some(TicketView::Open));
    let late: Ticket = world.call(LINKS, &add("https://example.com/b")).unwrap();
    let is_refused = |view: Option<TicketView>| matches!(view, Some(TicketView::Resolved(Resolution::Refused { code, .. })) if code == NOT_DONE);
    world.pass(minute(2));
    assert!(is_refused(world.ticket(&ticket)));
    assert_eq!(world.ticket(&late), Some(TicketView::Open));
    world.pass(minute(10));
    assert!(is_refused(world.ticket(&late)));
    assert_eq!(world.row::<Session>(LINKS, "session").map(|session| session.asked), Some(0));
}

#[test]
fn long_ids_do_not_make_a_request_too_large_for_its_message() {
    let (mut world, _) = world_with(SyncLog::with_processor(), |_| failed("hangs"));
    let (links, tags): (Vec<String>, Vec<String>) =
        ((0..100).map(|n| format!("{n:0128}")).collect(), (0..20).map(|n| format!("t{n:0127}")).collect());
    let link = |id: &String| {
        let args = json!({ "id": id, "url": format!("https://example.com/{id}"), "createdAt": "2026-01-01T00:00:00.000Z" });
        ("v1.LinkCreated", args)
    };
    let tag = |(n, id): (usize, &String)| {
        let args = json!({ "id": id, "name": format!("tag{n}"), "createdAt": "2026-01-01T00:00:00.000Z" });
        ("v1.TagCreated", args)
    };
    write(&mut world, &tags.iter().enumerate().map(tag).chain(links.iter().map(link)).collect::<Vec<_>>());
    let names = (0..20).map(|n| format!("tag{n}")).collect();
    let changes = Changes { state: None, tags: Some(TagChanges { add: names, ..TagChanges::default() }) };
    let changed: Ticket = world.call(LINKS, &Call::Update { ids: links, changes }).unwrap();
    assert!(matches!(world.ticket(&changed), Some(TicketView::Resolved(_))));
    let tagged = world.log::<Event>(SYNC).iter().filter(|event| event.name == "v1.LinkTagged").count();
    assert_eq!(tagged, 2_000);
}

#[test]
fn links_are_saved_with_their_own_tags_and_dates() {
    let (mut world, _) = world();
    let link = |page: &str, tags: &[&str], created_at: Option<&str>| NewLink {
        url: format!("https://example.com/{page}"),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        created_at: created_at.map(str::to_owned),
    };
    let all =
        |links: Vec<NewLink>| Call::Add { links, tags: vec!["all".to_owned()], source: "api".to_owned() };
    let added = later(
        &mut world,
        &all(vec![
            link("a", &["One", "two"], Some("2020-02-03T04:05:06Z")),
            link("b", &["two"], Some("2999-01-01T00:00:00Z")),
            link("c", &[], None),
        ]),
    );
    let tags: Vec<&[String]> = added.iter().map(|added| added.link.tags.as_slice()).collect();
    assert_eq!(tags, [&["all", "one", "two"][..], &["all", "two"], &["all"]]);
    assert_eq!(added[0].link.created_at, "2020-02-03T04:05:06.000Z");
    assert_eq!(added[1].link.created_at, added[2].link.created_at, "never later than now");
    let made = world.log::<Event>(SYNC).iter().filter(|event| event.name == "v1.TagCreated").count();
    assert_eq!(made, 3);
    let refused = |world: &mut World, links| match world.call::<Reply>(LINKS, &all(links)) {
        Err(CallError::Refused(why)) => why.message,
        other => panic!("{other:?}"),
    };
    assert!(refused(&mut world, vec![link("d", &[], Some("soon"))]).contains("\"soon\""));
    let many: Vec<NewLink> = (0..10)
        .map(|n| NewLink {
            tags: (0..11).map(|tag| format!("t{n}-{tag}")).collect(),
            ..link(&n.to_string(), &[], None)
        })
        .collect();
    assert!(refused(&mut world, many).contains("at most 100 tags, not 111"));
}

#[test]
fn looking_at_the_links_of_a_store_makes_none() {
    let (mut world, _) = world();
    assert_eq!(list(&mut world, Query::default()).total, 0);
    assert_eq!(list(&mut world, Query { q: Some("word".to_owned()), ..Query::default() }).total, 0);
    assert!(world.call::<Reply>(LINKS, &Call::Get { id: "a".to_owned() }).is_err());
    let nothing = Call::UpdateListed { query: Query::default(), changes: Changes::default() };
    assert_eq!(world.call::<Reply>(LINKS, &nothing).unwrap(), Reply::Added(vec![]));
    assert_eq!(world.commits(), []);
}

#[test]
fn what_a_model_took_is_kept_with_the_link() {
    let (mut world, _) = world();
    write(&mut world, &[created("a")]);
    let spent = |world: &mut World| {
        let Reply::Links(links) = world.call(LINKS, &Call::Get { id: "a".to_owned() }).unwrap() else {
            panic!()
        };
        let spent = links[0].spent.unwrap();
        (spent.requests, spent.input_tokens, spent.output_tokens, spent.cost_micros)
    };
    assert_eq!(spent(&mut world), (1, 10, 5, 7));
    later(&mut world, &Call::Reprocess { id: "a".to_owned() });
    assert_eq!(spent(&mut world), (2, 20, 10, 14), "everything that was spent on it");
}

#[test]
fn a_tag_is_found_however_many_there_are() {
    let (mut world, _) = world();
    let at = "2026-01-01T00:00:00.000Z";
    let tag = |n: usize| {
        let args =
            json!({ "id": format!("t{n:04}"), "name": format!("tag{n}"), "sortOrder": 0, "createdAt": at });
        ("v1.TagCreated", args)
    };
    write(&mut world, &(0..=1_000).map(tag).collect::<Vec<_>>());
    let named_as_suggested = json!({ "id": "z", "name": "rust", "sortOrder": 0, "createdAt": at });
    write(&mut world, &[("v1.TagCreated", named_as_suggested), created("a")]);
    let suggested =
        world.log::<Event>(SYNC).into_iter().find(|event| event.name == "v1.TagSuggested").unwrap();
    assert_eq!(suggested.args.decode::<serde_json::Value>().unwrap()["tagId"], "z");
    let tie = |id: &str, tag: &str| {
        ("v1.LinkTagged", json!({ "id": id, "linkId": "a", "tagId": tag, "createdAt": at }))
    };
    write(&mut world, &[tie("x", "t0003"), tie("y", "t1000")]);
    let query = Query { q: Some("TAG1000".to_owned()), ..Query::default() };
    let found = list(&mut world, query).links;
    assert_eq!(found[0].matched_fields.as_deref(), Some(["tags".to_owned()].as_slice()));
    let tags = TagChanges { remove: vec!["tag1000".to_owned()], ..TagChanges::default() };
    let changes = Changes { state: None, tags: Some(tags) };
    let changed = later(&mut world, &Call::Update { ids: vec!["a".to_owned()], changes });
    assert_eq!(changed[0].link.tags, ["tag3"]);
}
