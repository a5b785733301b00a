//! Messages: order, putting off, dead letters, replay.

use super::probe::{Probe, json, object};
use super::{answer, stories};
use crate::read::{Answer, Read};
use crate::write::{AfterFailure, EventFate, Refused, Write, Written};
use abide_core::commit::{Commit, Outgoing};
use abide_core::dead::{CRASHED, DeadEvent, DeadId, DeadLetter};
use abide_core::event::{Consumes, EventRef, Message, MessageBody, MessageId, Sender};
use abide_core::limits::{EVENT_CRASHES, REASON_BYTES};
use abide_core::object::Incarnation;

stories![
    messages_come_in_the_order_in_which_they_were_sent,
    a_message_is_consumed_once,
    a_message_of_another_object_cannot_be_consumed,
    a_refused_commit_consumes_nothing,
    a_message_says_who_sent_it,
    a_message_for_a_life_that_is_over_is_dropped,
    a_message_to_its_own_new_life_arrives,
    inboxes_are_listed_by_name,
    a_failed_message_steps_aside_until_it_is_due,
    a_message_that_fails_for_good_is_a_dead_letter,
    a_dead_message_is_replayed_with_fresh_attempts,
    a_dead_message_for_a_life_that_is_over_is_dropped,
    crashes_make_a_dead_letter_at_the_bound,
    an_event_that_is_gone_cannot_fail,
    a_dead_letter_can_be_forgotten,
    long_errors_are_cut,
];

fn send(p: &mut Probe<'_>, to: &str, body: &str) -> MessageId {
    let write = Write::Send { to: object(to), body: json(body) };
    answer!(p.write(write), Written::Sent(id) => id)
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| answer!(&message.body, MessageBody::Sent(body) => body.as_str())).collect()
}

fn dead(p: &mut Probe<'_>) -> Vec<DeadLetter> {
    answer!(p.read(Read::Dead { after: None, limit: 100 }), Answer::Dead(letters) => letters)
}

fn replay(p: &mut Probe<'_>, id: DeadId) -> bool {
    answer!(p.write(Write::ReplayDead { id }), Written::Dead(was_there) => was_there)
}

fn out(to: &str, to_incarnation: Option<Incarnation>, body: &str) -> Outgoing {
    Outgoing { to: object(to), to_incarnation, body: json(body), trace: None }
}

fn messages_come_in_the_order_in_which_they_were_sent(p: &mut Probe<'_>) {
    let first = send(p, "thing/a", "1");
    let messages = p.messages("thing/a");
    assert_eq!(p.woken.messages, messages);
    send(p, "thing/b", "9");
    let messages = vec![out("thing/a", None, "2"), out("thing/a", None, "3")];
    let commit = Commit { messages, ..p.call("thing/s") };
    p.commit(commit);
    assert_eq!(bodies(&p.woken.messages), ["2", "3"]);
    let all = p.messages("thing/a");
    assert_eq!(bodies(&all), ["1", "2", "3"]);
    assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id));
    let read = Read::Messages { to: object("thing/a"), after: Some(first), limit: 1 };
    let page = answer!(p.read(read), Answer::Messages(messages) => messages);
    assert_eq!(bodies(&page), ["2"]);
}

fn a_message_is_consumed_once(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    let commit = p.turn("thing/a", Consumes::Message(id));
    assert_eq!(p.commit(commit.clone()).version, None, "it is consumed though no object comes to exist");
    assert_eq!(p.messages("thing/a"), []);
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone));
}

fn a_message_of_another_object_cannot_be_consumed(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    let commit = p.turn("thing/b", Consumes::Message(id));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone));
    assert_eq!(p.messages("thing/a").len(), 1);
}

fn a_refused_commit_consumes_nothing(p: &mut Probe<'_>) {
    p.make("thing/a");
    let id = send(p, "thing/a", "1");
    let commit =
        Commit { messages: vec![out("thing/b", None, "2")], ..p.turn("thing/a", Consumes::Message(id)) };
    p.make("thing/a");
    assert_eq!(p.try_commit(commit), Err(Refused::Moved));
    assert_eq!(p.messages("thing/a").len(), 1);
    assert_eq!(p.messages("thing/b"), []);
    assert_eq!(p.woken.messages, []);
}

fn a_message_says_who_sent_it(p: &mut Probe<'_>) {
    p.make("thing/s");
    let incarnation = p.life_of("thing/s");
    let commit = Commit { messages: vec![out("thing/a", None, "1")], ..p.call("thing/s") };
    p.commit(commit);
    send(p, "thing/a", "2");
    let messages = p.messages("thing/a");
    assert_eq!(messages[0].from, Some(Sender { object: object("thing/s"), incarnation }));
    assert_eq!((&messages[1].from, messages[1].to_incarnation), (&None, None));
    assert_eq!((messages[0].failures, messages[0].crashes), (0, 0));
}

fn a_message_for_a_life_that_is_over_is_dropped(p: &mut Probe<'_>) {
    p.make("thing/a");
    let life = p.life_of("thing/a");
    p.delete("thing/a");
    let late = vec![out("thing/a", Some(life), "1"), out("thing/a", None, "2")];
    let commit = Commit { messages: late, ..p.call("thing/s") };
    p.commit(commit);
    assert_eq!(bodies(&p.woken.messages), ["2"]);
    assert_eq!(bodies(&p.messages("thing/a")), ["2"]);
}

fn a_message_to_its_own_new_life_arrives(p: &mut Probe<'_>) {
    let commit = p.call("thing/a");
    let life = commit.fence.incarnation();
    let messages = vec![out("thing/a", Some(life), "1")];
    p.commit(Commit { rows: vec![super::probe::put("x", "1")], messages, ..commit });
    assert_eq!(p.messages("thing/a").len(), 1);
    p.delete("thing/a");
    assert_eq!(p.messages("thing/a"), [], "and is dropped with that life");
}

fn inboxes_are_listed_by_name(p: &mut Probe<'_>) {
    for name in ["thing/b", "thing/a", "other/z", "thing/a"] {
        send(p, name, "1");
    }
    let inboxes = |p: &mut Probe<'_>, after: Option<&str>, limit| {
        let read = Read::Inboxes { after: after.map(object), limit };
        answer!(p.read(read), Answer::Inboxes(objects) => objects)
    };
    assert_eq!(inboxes(p, None, 10), ["other/z", "thing/a", "thing/b"].map(object));
    assert_eq!(inboxes(p, Some("other/z"), 1), ["thing/a"].map(object));
    assert_eq!(inboxes(p, Some("thing/b"), 1), []);
}

fn a_failed_message_steps_aside_until_it_is_due(p: &mut Probe<'_>) {
    let first = send(p, "thing/a", "1");
    send(p, "thing/a", "2");
    let at = p.now.plus_ms(2_000);
    assert_eq!(p.fail(EventRef::Message(first), AfterFailure::RetryAt(at)), EventFate::Retried);
    assert_eq!(p.woken.message_at, Some(at));
    assert_eq!(p.timers().message_at, Some(at));
    let later = answer!(p.read(Read::Timers { after: at }), Answer::Timers(timers) => timers);
    assert_eq!(later.message_at, None, "only what is later counts");
    assert_eq!(bodies(&p.messages("thing/a")), ["2"]);
    assert_eq!(p.messages_due(), []);
    p.pass(2_000);
    let due = p.messages_due();
    assert_eq!((bodies(&due), due[0].failures), (vec!["1"], 1));
    let commit = p.turn("thing/a", Consumes::Message(first));
    p.commit(commit);
    assert_eq!(p.messages_due(), []);
    assert_eq!(p.timers().message_at, None);
}

fn a_message_that_fails_for_good_is_a_dead_letter(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    let at = p.now;
    p.fail(EventRef::Message(id), AfterFailure::RetryAt(at));
    p.pass(10);
    let fate = p.fail(EventRef::Message(id), AfterFailure::Dead);
    let letters = dead(p);
    assert_eq!(fate, EventFate::Dead(letters[0].id));
    let expected = DeadLetter {
        id: letters[0].id,
        object: object("thing/a"),
        incarnation: None,
        event: DeadEvent::Message { from: None, body: json("1") },
        error: "it broke".into(),
        failures: 2,
        crashes: 0,
        died_at: p.now,
    };
    assert_eq!(letters, [expected]);
    assert_eq!((p.messages("thing/a"), p.messages_due()), (vec![], vec![]));
}

fn a_dead_message_is_replayed_with_fresh_attempts(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    p.fail(EventRef::Message(id), AfterFailure::Dead);
    let letter = dead(p).remove(0).id;
    assert!(replay(p, letter));
    let messages = p.messages("thing/a");
    assert_eq!(p.woken.messages, messages);
    assert_eq!((bodies(&messages), messages[0].failures), (vec!["1"], 0));
    assert!(messages[0].id > id);
    assert_eq!(dead(p), []);
    assert!(!replay(p, letter));
}

fn a_dead_message_for_a_life_that_is_over_is_dropped(p: &mut Probe<'_>) {
    p.make("thing/a");
    let life = p.life_of("thing/a");
    let commit = Commit { messages: vec![out("thing/a", Some(life), "1")], ..p.call("thing/s") };
    p.commit(commit);
    let id = p.messages("thing/a")[0].id;
    p.fail(EventRef::Message(id), AfterFailure::Dead);
    assert_eq!(dead(p)[0].incarnation, Some(life));
    p.delete("thing/a");
    p.make("thing/a");
    let letter = dead(p).remove(0).id;
    assert!(replay(p, letter));
    assert_eq!((p.messages("thing/a"), dead(p)), (vec![], vec![]));
}

fn crashes_make_a_dead_letter_at_the_bound(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    for crashes in 1..EVENT_CRASHES {
        assert_eq!(p.crash(EventRef::Message(id)), EventFate::Retried);
        let messages = p.messages("thing/a");
        assert_eq!((messages[0].crashes, messages[0].failures), (crashes, 0), "a crash does not put it off");
    }
    let fate = p.crash(EventRef::Message(id));
    let letters = dead(p);
    assert_eq!(fate, EventFate::Dead(letters[0].id));
    assert_eq!((letters[0].crashes, letters[0].error.as_str()), (EVENT_CRASHES, CRASHED));
    assert_eq!(p.messages("thing/a"), []);
}

fn an_event_that_is_gone_cannot_fail(p: &mut Probe<'_>) {
    let at = p.now;
    let gone = EventRef::Message(MessageId(999));
    assert_eq!(p.fail(gone.clone(), AfterFailure::Dead), EventFate::Gone);
    assert_eq!(p.fail(gone.clone(), AfterFailure::RetryAt(at)), EventFate::Gone);
    assert_eq!(p.woken.message_at, None);
    assert_eq!(p.crash(gone), EventFate::Gone);
    assert_eq!(dead(p), []);
}

fn a_dead_letter_can_be_forgotten(p: &mut Probe<'_>) {
    for body in ["1", "2"] {
        let id = send(p, "thing/a", body);
        p.fail(EventRef::Message(id), AfterFailure::Dead);
    }
    let letters = dead(p);
    let dropped = p.write(Write::DropDead { id: letters[0].id });
    assert_eq!(dropped, Written::Dead(true));
    assert_eq!(p.write(Write::DropDead { id: letters[0].id }), Written::Dead(false));
    assert_eq!(dead(p), letters[1..]);
    let read = Read::Dead { after: Some(letters[1].id), limit: 5 };
    assert_eq!(p.read(read), Answer::Dead(vec![]));
}

fn long_errors_are_cut(p: &mut Probe<'_>) {
    let id = send(p, "thing/a", "1");
    let fail = crate::write::FailEvent {
        event: EventRef::Message(id),
        error: "é".repeat(REASON_BYTES),
        then: AfterFailure::Dead,
    };
    p.write(Write::FailEvent(fail));
    assert_eq!(dead(p)[0].error, "é".repeat(REASON_BYTES / 2));
}
