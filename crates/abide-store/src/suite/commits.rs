//! Fences, versions, rows and kept replies.

use super::probe::{Probe, json, object, put};
use super::{answer, stories};
use crate::read::{Answer, Got, Load, Read, Want};
use crate::write::{Refused, Write, Written};
use abide_core::commit::{Commit, KeyedReply, Outgoing, Reply};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::name::IdempotencyKey;
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::row::RowWrite;

stories![
    a_first_commit_begins_the_object,
    a_commit_that_keeps_nothing_begins_no_object,
    each_commit_raises_the_version,
    a_commit_on_another_version_is_refused_whole,
    a_commit_on_a_version_of_another_engine_is_refused,
    a_commit_on_another_life_is_refused,
    absent_means_absent,
    writes_of_a_batch_see_those_before,
    check_asks_for_the_fence_alone,
    rows_are_put_replaced_and_deleted,
    scans_go_bytewise_within_the_prefix,
    objects_do_not_see_each_others_rows,
    a_reply_is_kept_for_a_day_whatever_the_life,
    a_reply_is_replaced_once_it_is_kept_no_more,
    a_call_whose_key_has_a_reply_is_refused,
    time_never_runs_backwards,
    lives_of_engines_rise,
];

fn a_first_commit_begins_the_object(p: &mut Probe<'_>) {
    assert_eq!(p.header("thing/a"), None);
    let begin = Incarnation(77);
    let commit = Commit::new(object("thing/a"), Fence::Absent { begin }, p.life, p.now, call());
    let receipt = p.commit(Commit { rows: vec![put("x", "1")], ..commit });
    assert_eq!(receipt.version, Some(Version(1)));
    let header = p.header("thing/a").expect("it exists");
    assert_eq!((header.incarnation, header.version, header.by), (begin, Version(1), p.life));
    assert_eq!((header.log_head.0, header.turn_at), (0, p.now));
}

fn call() -> abide_core::event::Consumes {
    abide_core::event::Consumes::Call
}

fn a_commit_that_keeps_nothing_begins_no_object(p: &mut Probe<'_>) {
    let commit = Commit { rows: vec![RowWrite::Delete { key: "x".into() }], ..p.call("thing/a") };
    assert_eq!(p.commit(commit).version, None);
    assert_eq!(p.header("thing/a"), None);
}

fn each_commit_raises_the_version(p: &mut Probe<'_>) {
    assert_eq!(p.make("thing/a"), Version(1));
    assert_eq!(p.make("thing/a"), Version(2));
    p.pass(10);
    let empty = p.call("thing/a");
    assert_eq!(p.commit(empty).version, Some(Version(3)));
    assert_eq!(p.header("thing/a").map(|header| header.turn_at), Some(p.now));
}

fn a_commit_on_another_version_is_refused_whole(p: &mut Probe<'_>) {
    p.make("thing/a");
    let stale = Commit { rows: vec![put("x", "1")], ..p.call("thing/a") };
    p.make("thing/a");
    assert_eq!(p.try_commit(stale), Err(Refused::Moved));
    assert_eq!(p.row("thing/a", "x"), None);
    assert_eq!(p.header("thing/a").map(|header| header.version), Some(Version(2)));
}

fn a_commit_on_a_version_of_another_engine_is_refused(p: &mut Probe<'_>) {
    p.make("thing/a");
    let incarnation = p.life_of("thing/a");
    let fence = Fence::At { incarnation, version: Version(1), by: Life(99) };
    let commit = Commit::new(object("thing/a"), fence, p.life, p.now, call());
    assert_eq!(p.try_commit(commit), Err(Refused::Moved));
    let ours = Commit { by: Life(99), ..p.call("thing/a") };
    p.commit(ours);
    assert_eq!(p.header("thing/a").map(|header| header.by), Some(Life(99)));
}

fn a_commit_on_another_life_is_refused(p: &mut Probe<'_>) {
    p.make("thing/a");
    let stale = p.call("thing/a");
    p.delete("thing/a");
    p.make("thing/a");
    assert_eq!(p.try_commit(stale), Err(Refused::Moved));
}

fn absent_means_absent(p: &mut Probe<'_>) {
    let first = Commit { rows: vec![put("x", "1")], ..p.call("thing/a") };
    let second = Commit { rows: vec![put("x", "2")], ..p.call("thing/a") };
    p.commit(first);
    assert_eq!(p.try_commit(second), Err(Refused::Moved));
    assert_eq!(p.row("thing/a", "x").as_deref(), Some("1"));
}

fn writes_of_a_batch_see_those_before(p: &mut Probe<'_>) {
    let first = Commit { rows: vec![put("x", "1")], ..p.call("thing/a") };
    let incarnation = first.fence.incarnation();
    let fence = Fence::At { incarnation, version: Version(1), by: p.life };
    let second = Commit { fence, rows: vec![put("x", "2")], ..first.clone() };
    let writes = [first.clone(), first, second].map(|commit| Write::Commit(Box::new(commit)));
    let written = p.batch(&writes).written;
    let versions: Vec<_> = written
        .into_iter()
        .map(
            |written| answer!(written, Written::Committed(receipt) => receipt.map(|receipt| receipt.version)),
        )
        .collect();
    assert_eq!(versions, [Ok(Some(Version(1))), Err(Refused::Moved), Ok(Some(Version(2)))]);
    assert_eq!(p.row("thing/a", "x").as_deref(), Some("2"));
}

fn check_asks_for_the_fence_alone(p: &mut Probe<'_>) {
    let absent = p.fence("thing/a");
    assert_eq!(check(p, absent), Ok(()));
    p.make("thing/a");
    assert_eq!(check(p, absent), Err(Refused::Moved));
    let at = p.fence("thing/a");
    assert_eq!(check(p, at), Ok(()));
    p.make("thing/a");
    assert_eq!(check(p, at), Err(Refused::Moved));
    assert_eq!(p.header("thing/a").map(|header| header.version), Some(Version(2)));
}

fn check(p: &mut Probe<'_>, fence: Fence) -> Result<(), Refused> {
    let write = Write::Check { object: object("thing/a"), fence };
    answer!(p.write(write), Written::Checked(checked) => checked)
}

fn rows_are_put_replaced_and_deleted(p: &mut Probe<'_>) {
    let commit = Commit { rows: vec![put("x", "1"), put("y", "1")], ..p.call("thing/a") };
    p.commit(commit);
    let rows =
        vec![put("x", "2"), RowWrite::Delete { key: "y".into() }, RowWrite::Delete { key: "z".into() }];
    let commit = Commit { rows, ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(p.row("thing/a", "x").as_deref(), Some("2"));
    assert_eq!(p.row("thing/a", "y"), None);
}

fn scans_go_bytewise_within_the_prefix(p: &mut Probe<'_>) {
    let keys = ["a", "b", "b/", "b/1", "b/10", "b/2", "b/é", "b0", "c"];
    let commit = Commit { rows: keys.map(|key| put(key, "0")).to_vec(), ..p.call("thing/a") };
    p.commit(commit);
    let scan = |p: &mut Probe<'_>, prefix: &str, from: Option<&str>, limit| {
        let want = Want::Scan { prefix: prefix.into(), from: from.map(Into::into), limit };
        let mut got = p.load("thing/a", vec![want]).got;
        answer!(got.remove(0), Got::Scan { rows, end } => {
            (rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>().join(" "), end)
        })
    };
    assert_eq!(scan(p, "b/", None, 10), ("b/ b/1 b/10 b/2 b/é".into(), true));
    assert_eq!(scan(p, "b/", None, 2), ("b/ b/1".into(), false));
    assert_eq!(scan(p, "b/", Some("b/1"), 3), ("b/1 b/10 b/2".into(), false));
    assert_eq!(scan(p, "b/", Some("b/1\0"), 3), ("b/10 b/2 b/é".into(), true));
    assert_eq!(scan(p, "b/", Some("b/11"), 1), ("b/2".into(), false));
    assert_eq!(scan(p, "b/", Some("a"), 1), ("b/".into(), false));
    assert_eq!(scan(p, "b/", Some("b/"), 1), ("b/".into(), false));
    assert_eq!(scan(p, "b/", Some("b0"), 1), (String::new(), true));
    assert_eq!(scan(p, "b/", Some("c"), 1), (String::new(), true));
    assert_eq!(scan(p, "", None, 100).0.split(' ').count(), keys.len());
    assert_eq!(scan(p, "d", None, 1), (String::new(), true));
    assert_eq!(scan(p, "b", None, 0), (String::new(), false));
}

fn objects_do_not_see_each_others_rows(p: &mut Probe<'_>) {
    for (name, value) in [("thing/a", "1"), ("thing/b", "2"), ("other/a", "3")] {
        let commit = Commit { rows: vec![put("x", value)], ..p.call(name) };
        p.commit(commit);
    }
    assert_eq!(p.row("thing/a", "x").as_deref(), Some("1"));
    assert_eq!(p.row("thing/b", "x").as_deref(), Some("2"));
    assert_eq!(p.row("other/a", "x").as_deref(), Some("3"));
}

fn reply(text: &str) -> KeyedReply {
    KeyedReply { key: IdempotencyKey::trusted("once"), request: u64::MAX - 5, reply: Reply::Now(json(text)) }
}

fn kept(p: &mut Probe<'_>, object: ObjectKey) -> Option<KeyedReply> {
    let load = Load { object, wants: Vec::new(), reply_for: Some(IdempotencyKey::trusted("once")) };
    answer!(p.read(Read::Load(load)), Answer::Load(loaded) => loaded.kept)
}

fn a_reply_is_kept_for_a_day_whatever_the_life(p: &mut Probe<'_>) {
    let commit = Commit { keyed_reply: Some(reply("1")), ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!(p.woken.prune_at, Some(p.now.plus_ms(REPLY_KEPT_MS)));
    assert_eq!(p.header("thing/a"), None, "a reply alone begins no life");
    assert_eq!(kept(p, object("thing/a")), Some(reply("1")));
    assert_eq!(kept(p, object("thing/b")), None);
    p.make("thing/a");
    p.delete("thing/a");
    p.pass(REPLY_KEPT_MS - 1);
    assert_eq!(kept(p, object("thing/a")), Some(reply("1")));
    p.pass(1);
    assert_eq!(kept(p, object("thing/a")), None);
}

fn a_reply_is_replaced_once_it_is_kept_no_more(p: &mut Probe<'_>) {
    for text in ["1", "2"] {
        p.pass(REPLY_KEPT_MS);
        let commit = Commit { keyed_reply: Some(reply(text)), ..p.call("thing/a") };
        p.commit(commit);
    }
    assert_eq!(kept(p, object("thing/a")), Some(reply("2")));
}

/// Absence is no fence between engines that run the same call for an object that keeps nothing: the key is.
fn a_call_whose_key_has_a_reply_is_refused(p: &mut Probe<'_>) {
    for exists in [false, true] {
        if exists {
            p.make("thing/a");
        }
        let name = if exists { "thing/a" } else { "thing/b" };
        let send = Outgoing { to: object("thing/c"), to_incarnation: None, body: json("1"), trace: None };
        let commit = Commit { keyed_reply: Some(reply("1")), messages: vec![send.clone()], ..p.call(name) };
        p.commit(commit);
        let again = Commit { keyed_reply: Some(reply("2")), messages: vec![send], ..p.call(name) };
        assert_eq!(p.try_commit(again), Err(Refused::Moved));
        assert_eq!(kept(p, object(name)), Some(reply("1")));
        p.pass(1);
    }
    let inbox = Read::Messages { to: object("thing/c"), after: None, limit: 9 };
    assert_eq!(answer!(p.read(inbox), Answer::Messages(messages) => messages.len()), 2);
}

fn time_never_runs_backwards(p: &mut Probe<'_>) {
    let high = p.now.plus_ms(60_000);
    p.now = high;
    assert_eq!(p.batch(&[]).at, high);
    p.now = high.plus_ms(-30_000);
    assert_eq!(p.batch(&[Write::ReleaseExpired]).at, high);
    p.store.reopen().expect("the store opens again");
    assert_eq!(p.batch(&[]).at, high);
    p.now = high.plus_ms(1);
    assert_eq!(p.batch(&[]).at, p.now);
}

fn lives_of_engines_rise(p: &mut Probe<'_>) {
    let first = p.life;
    let second = p.begin_alone().life;
    let third = p.begin_alone().life;
    assert!(first < second && second < third);
}
