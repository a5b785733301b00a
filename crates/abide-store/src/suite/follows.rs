//! Logs and those who follow them.

use super::probe::{Probe, json, object};
use super::{answer, stories};
use crate::read::{Answer, FollowPage, LogPage, Read};
use crate::write::{AfterFailure, EventFate, Refused, Write, Written};
use abide_core::commit::{Commit, FollowWrite};
use abide_core::dead::{DeadEvent, DeadLetter};
use abide_core::event::{Consumes, EventRef};
use abide_core::limits::{EVENT_CRASHES, LOG_PAGE_BYTES};
use abide_core::log::Seq;
use abide_core::object::ObjectKey;

stories![
    a_log_is_read_past_a_cursor,
    a_page_of_a_log_is_bounded_in_bytes,
    entries_take_the_places_after_the_head,
    a_follower_hears_of_new_entries,
    following_a_log_that_has_entries_is_heard_of_at_once,
    following_twice_changes_nothing,
    the_cursor_moves_with_the_commit,
    entries_from_another_cursor_or_life_cannot_be_consumed,
    a_left_log_is_not_heard_of,
    a_source_may_begin_after_its_follower,
    a_new_life_of_the_source_is_read_from_its_beginning,
    a_failed_follow_waits,
    a_follow_that_fails_for_good_stalls_until_replay,
    a_follow_goes_on_when_its_dead_letter_is_forgotten,
    a_follow_that_has_consumed_all_cannot_fail,
    a_follow_in_three_crashes_stalls,
    followers_are_listed_by_name,
];

fn append(p: &mut Probe<'_>, name: &str, entries: &[&str]) {
    let log = entries.iter().map(|entry| json(entry)).collect();
    let commit = Commit { log, ..p.call(name) };
    p.commit(commit);
}

fn follow(p: &mut Probe<'_>, name: &str, source: &str, after: i64) {
    let follows = vec![FollowWrite::Follow { source: object(source), after: Seq(after) }];
    let commit = Commit { follows, ..p.call(name) };
    p.commit(commit);
}

fn entries(p: &mut Probe<'_>, follower: &str) -> Vec<FollowPage> {
    let read = Read::Entries { follower: object(follower), limit: 2 };
    answer!(p.read(read), Answer::Entries(pages) => pages)
}

fn texts(page: &FollowPage) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.value.as_str()).collect()
}

fn followers(p: &mut Probe<'_>) -> Vec<ObjectKey> {
    let read = Read::Followers { after: None, limit: 100 };
    answer!(p.read(read), Answer::Followers(followers) => followers)
}

fn consumes(page: &FollowPage) -> Consumes {
    Consumes::Entries {
        source: page.source.clone(),
        source_incarnation: page.source_incarnation,
        from: page.cursor,
        to: Seq(page.cursor.0 + page.entries.len() as i64),
    }
}

fn event(page: &FollowPage) -> EventRef {
    EventRef::Entries { incarnation: page.incarnation, source: page.source.clone() }
}

fn log(p: &mut Probe<'_>, name: &str, after: i64, limit: usize) -> Option<LogPage> {
    let read = Read::Log { object: object(name), after: Seq(after), limit };
    answer!(p.read(read), Answer::Log(page) => page)
}

fn dead(p: &mut Probe<'_>) -> Vec<DeadLetter> {
    answer!(p.read(Read::Dead { after: None, limit: 100 }), Answer::Dead(letters) => letters)
}

fn a_log_is_read_past_a_cursor(p: &mut Probe<'_>) {
    assert_eq!(log(p, "log/a", 0, 10), None);
    append(p, "log/a", &["1", "2", "3"]);
    let page = log(p, "log/a", 1, 1).expect("the object exists");
    assert_eq!((page.head, page.incarnation), (Seq(3), p.life_of("log/a")));
    assert_eq!((page.entries.len(), page.entries[0].seq, page.entries[0].value.as_str()), (1, Seq(2), "2"));
    assert_eq!(log(p, "log/a", 3, 10).map(|page| page.entries), Some(vec![]));
    p.make("thing/a");
    assert_eq!(log(p, "thing/a", 0, 10).map(|page| page.head), Some(Seq(0)));
}

fn a_page_of_a_log_is_bounded_in_bytes(p: &mut Probe<'_>) {
    let large = format!("\"{}\"", "x".repeat(LOG_PAGE_BYTES / 2 - 2));
    append(p, "log/a", &[&large, &large]);
    append(p, "log/a", &["3"]);
    let page = |p: &mut Probe<'_>, after| {
        let page = log(p, "log/a", after, 10).expect("the object exists");
        page.entries.iter().map(|entry| entry.seq.0).collect::<Vec<_>>()
    };
    assert_eq!((page(p, 0), page(p, 1), page(p, 2)), (vec![1, 2], vec![2, 3], vec![3]));
}

fn entries_take_the_places_after_the_head(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    let first_at = p.now;
    p.pass(5);
    append(p, "log/a", &["2", "3"]);
    let life = p.life_of("log/a");
    assert_eq!(p.woken.logs, [(object("log/a"), life, Seq(3))]);
    let page = log(p, "log/a", 0, 10).expect("the object exists");
    let places: Vec<_> = page.entries.iter().map(|entry| (entry.seq.0, entry.at)).collect();
    assert_eq!(places, [(1, first_at), (2, p.now), (3, p.now)]);
    assert_eq!(p.header("log/a").map(|header| header.log_head), Some(Seq(3)));
}

fn a_follower_hears_of_new_entries(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 1);
    assert_eq!((p.woken.followers.clone(), followers(p)), (vec![], vec![]));
    append(p, "log/a", &["2", "3", "4"]);
    assert_eq!(p.woken.followers, [object("thing/f")]);
    assert_eq!(followers(p), [object("thing/f")]);
    let pages = entries(p, "thing/f");
    assert_eq!(pages.len(), 1);
    assert_eq!((texts(&pages[0]), pages[0].cursor), (vec!["2", "3"], Seq(1)));
    assert_eq!(pages[0].incarnation, p.life_of("thing/f"));
    assert_eq!(pages[0].source_incarnation, p.life_of("log/a"));
}

fn following_a_log_that_has_entries_is_heard_of_at_once(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    assert_eq!(p.woken.followers, [object("thing/f")]);
    assert_eq!(texts(&entries(p, "thing/f")[0]), ["1"]);
}

fn following_twice_changes_nothing(p: &mut Probe<'_>) {
    append(p, "log/a", &["1", "2"]);
    follow(p, "thing/f", "log/a", 1);
    follow(p, "thing/f", "log/a", 0);
    assert_eq!(texts(&entries(p, "thing/f")[0]), ["2"]);
}

fn the_cursor_moves_with_the_commit(p: &mut Probe<'_>) {
    append(p, "log/a", &["1", "2", "3"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    let commit = p.turn("thing/f", consumes(&page));
    p.commit(commit);
    let page = entries(p, "thing/f").remove(0);
    assert_eq!((texts(&page), page.cursor), (vec!["3"], Seq(2)));
    let commit = p.turn("thing/f", consumes(&page));
    p.commit(commit);
    assert_eq!((entries(p, "thing/f"), followers(p)), (vec![], vec![]));
}

fn entries_from_another_cursor_or_life_cannot_be_consumed(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let stale = entries(p, "thing/f").remove(0);
    let commit = p.turn("thing/f", consumes(&stale));
    p.commit(commit);
    let commit = p.turn("thing/f", consumes(&stale));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone));
    p.delete("log/a");
    append(p, "log/a", &["9"]);
    let commit = p.turn("thing/f", consumes(&stale));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone), "the cursor fits, the life does not");
    let commit = p.turn("thing/g", consumes(&stale));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone), "somebody else does not follow");
}

fn a_left_log_is_not_heard_of(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let commit =
        Commit { follows: vec![FollowWrite::Leave { source: object("log/a") }], ..p.call("thing/f") };
    p.commit(commit);
    assert_eq!(entries(p, "thing/f"), []);
    append(p, "log/a", &["2"]);
    assert_eq!((p.woken.followers.clone(), followers(p)), (vec![], vec![]));
}

fn a_source_may_begin_after_its_follower(p: &mut Probe<'_>) {
    follow(p, "thing/f", "log/a", 0);
    assert_eq!((entries(p, "thing/f"), followers(p)), (vec![], vec![]));
    append(p, "log/a", &["1"]);
    assert_eq!(p.woken.followers, [object("thing/f")]);
    let page = entries(p, "thing/f").remove(0);
    let commit = p.turn("thing/f", consumes(&page));
    p.commit(commit);
}

fn a_new_life_of_the_source_is_read_from_its_beginning(p: &mut Probe<'_>) {
    append(p, "log/a", &["1", "2"]);
    follow(p, "thing/f", "log/a", 2);
    p.delete("log/a");
    assert_eq!((entries(p, "thing/f"), log(p, "log/a", 0, 10)), (vec![], None));
    append(p, "log/a", &["9"]);
    assert_eq!(p.woken.followers, [object("thing/f")]);
    let page = entries(p, "thing/f").remove(0);
    assert_eq!((texts(&page), page.cursor), (vec!["9"], Seq(0)));
    assert_eq!(page.source_incarnation, p.life_of("log/a"));
}

fn a_failed_follow_waits(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    let later = p.now.plus_ms(2_000);
    assert_eq!(p.fail(event(&page), AfterFailure::RetryAt(later)), EventFate::Retried);
    assert_eq!((p.woken.message_at, p.timers().message_at), (Some(later), Some(later)));
    let timers = answer!(p.read(Read::Timers { after: later }), Answer::Timers(timers) => timers);
    assert_eq!(timers.message_at, None, "only what is later counts");
    assert_eq!((entries(p, "thing/f"), followers(p)), (vec![], vec![]));
    append(p, "log/a", &["2"]);
    assert_eq!(p.woken.followers, [], "it is put off");
    p.pass(2_000);
    assert_eq!(followers(p), [object("thing/f")]);
    let page = entries(p, "thing/f").remove(0);
    assert_eq!((texts(&page), page.failures), (vec!["1", "2"], 1));
    let commit = p.turn("thing/f", consumes(&page));
    p.commit(commit);
    assert_eq!(p.timers().message_at, None);
    append(p, "log/a", &["3"]);
    assert_eq!(entries(p, "thing/f")[0].failures, 0);
}

fn a_follow_that_fails_for_good_stalls_until_replay(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    let fate = p.fail(event(&page), AfterFailure::Dead);
    let letter = dead(p).remove(0);
    assert_eq!(fate, EventFate::Dead(letter.id));
    assert_eq!(letter.event, DeadEvent::Entries { source: object("log/a") });
    assert_eq!((&letter.object, letter.incarnation), (&object("thing/f"), Some(page.incarnation)));
    append(p, "log/a", &["2"]);
    assert_eq!((p.woken.followers.clone(), entries(p, "thing/f")), (vec![], vec![]));
    assert_eq!(p.fail(event(&page), AfterFailure::Dead), EventFate::Gone);
    let commit = p.turn("thing/f", consumes(&page));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone));
    assert_eq!(p.write(Write::ReplayDead { id: letter.id }), Written::Dead(true));
    assert_eq!(p.woken.followers, [object("thing/f")]);
    let page = entries(p, "thing/f").remove(0);
    assert_eq!((texts(&page), page.failures), (vec!["1", "2"], 0));
}

fn a_follow_goes_on_when_its_dead_letter_is_forgotten(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    p.fail(event(&page), AfterFailure::Dead);
    let letter = dead(p).remove(0);
    append(p, "log/a", &["2"]);
    assert_eq!(p.write(Write::DropDead { id: letter.id }), Written::Dead(true));
    assert_eq!((p.woken.followers.clone(), dead(p)), (vec![object("thing/f")], vec![]));
    let page = entries(p, "thing/f").remove(0);
    assert_eq!((texts(&page), page.failures), (vec!["1", "2"], 0));
}

fn a_follow_that_has_consumed_all_cannot_fail(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    let commit = p.turn("thing/f", consumes(&page));
    p.commit(commit);
    assert_eq!(p.fail(event(&page), AfterFailure::Dead), EventFate::Gone);
    assert_eq!(p.crash(event(&page)), EventFate::Gone);
}

fn a_follow_in_three_crashes_stalls(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    follow(p, "thing/f", "log/a", 0);
    let page = entries(p, "thing/f").remove(0);
    for crashes in 1..EVENT_CRASHES {
        assert_eq!(p.crash(event(&page)), EventFate::Retried);
        assert_eq!(entries(p, "thing/f")[0].crashes, crashes);
    }
    assert_eq!(p.crash(event(&page)), EventFate::Dead(dead(p)[0].id));
    assert_eq!(entries(p, "thing/f"), []);
}

fn followers_are_listed_by_name(p: &mut Probe<'_>) {
    append(p, "log/a", &["1"]);
    append(p, "log/b", &["1"]);
    for (name, source) in
        [("thing/b", "log/a"), ("thing/a", "log/a"), ("thing/a", "log/b"), ("other/z", "log/b")]
    {
        follow(p, name, source, 0);
    }
    assert_eq!(followers(p), ["other/z", "thing/a", "thing/b"].map(object));
    let read = Read::Followers { after: Some(object("other/z")), limit: 1 };
    assert_eq!(p.read(read), Answer::Followers(vec![object("thing/a")]));
    let sources: Vec<ObjectKey> = entries(p, "thing/a").into_iter().map(|page| page.source).collect();
    assert_eq!(sources, ["log/a", "log/b"].map(object));
    append(p, "log/b", &["2"]);
    assert_eq!(p.woken.followers, ["other/z", "thing/a"].map(object));
}
