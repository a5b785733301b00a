//! Alarms: setting, replacing, consuming, failing.

use super::probe::{Probe, alarm_name, object, put};
use super::{answer, stories};
use crate::read::{AlarmCursor, Answer, Got, Read, Want};
use crate::write::{AfterFailure, EventFate, Refused, Write, Written};
use abide_core::commit::{AlarmWrite, Commit};
use abide_core::dead::{DeadEvent, DeadLetter};
use abide_core::event::{Consumes, DueAlarm, EventRef};
use abide_core::limits::EVENT_CRASHES;
use abide_core::object::Version;
use abide_core::time::Time;

stories![
    an_alarm_is_due_at_its_time,
    an_alarm_that_is_consumed_is_gone,
    an_alarm_replaced_while_due_cannot_be_consumed,
    a_consumed_alarm_may_be_set_again_by_the_same_commit,
    a_cleared_alarm_cannot_be_consumed,
    a_failed_alarm_is_due_later_and_keeps_its_time,
    setting_an_alarm_again_forgets_its_failures,
    due_alarms_are_paged_in_order,
    a_dead_alarm_is_replayed_for_now,
    a_dead_alarm_is_not_replayed_over_a_new_setting,
    a_dead_alarm_of_a_life_that_is_over_is_not_replayed,
    an_alarm_in_three_crashes_is_a_dead_letter,
];

fn set(p: &mut Probe<'_>, object: &str, name: &str, at: Time) -> Version {
    let alarms = vec![AlarmWrite::Set { name: alarm_name(name), at }];
    let commit = Commit { alarms, ..p.call(object) };
    let version = p.commit(commit).version.expect("an alarm is state");
    assert_eq!(p.woken.alarm_at, Some(at));
    version
}

fn consumes(name: &str, set_version: Version) -> Consumes {
    Consumes::Alarm { name: alarm_name(name), set_version }
}

fn event(alarm: &DueAlarm) -> EventRef {
    EventRef::Alarm {
        incarnation: alarm.incarnation,
        name: alarm.name.clone(),
        set_version: alarm.set_version,
    }
}

fn set_for(p: &mut Probe<'_>, object: &str, name: &str) -> Option<Time> {
    let mut got = p.load(object, vec![Want::Alarm(alarm_name(name))]).got;
    answer!(got.remove(0), Got::Alarm(at) => at)
}

fn dead(p: &mut Probe<'_>) -> Vec<DeadLetter> {
    answer!(p.read(Read::Dead { after: None, limit: 100 }), Answer::Dead(letters) => letters)
}

fn an_alarm_is_due_at_its_time(p: &mut Probe<'_>) {
    let at = p.now.plus_ms(100);
    let set_version = set(p, "thing/a", "wake", at);
    assert_eq!(set_for(p, "thing/a", "wake"), Some(at));
    assert_eq!(p.timers().alarm_at, Some(at));
    let later = answer!(p.read(Read::Timers { after: at }), Answer::Timers(timers) => timers);
    assert_eq!(later.alarm_at, None, "only what is later counts");
    p.pass(99);
    assert_eq!(p.alarms_due(), []);
    p.pass(1);
    let incarnation = p.life_of("thing/a");
    let expected = DueAlarm {
        object: object("thing/a"),
        incarnation,
        name: alarm_name("wake"),
        at,
        due_at: at,
        set_version,
        failures: 0,
        crashes: 0,
    };
    assert_eq!(p.alarms_due(), [expected]);
}

fn an_alarm_that_is_consumed_is_gone(p: &mut Probe<'_>) {
    let at = p.now;
    let version = set(p, "thing/a", "wake", at);
    let commit = p.turn("thing/a", consumes("wake", version));
    p.commit(commit);
    assert_eq!((p.alarms_due(), p.timers().alarm_at), (vec![], None));
    let again = p.turn("thing/a", consumes("wake", version));
    assert_eq!(p.try_commit(again), Err(Refused::EventGone));
}

fn an_alarm_replaced_while_due_cannot_be_consumed(p: &mut Probe<'_>) {
    let at = p.now;
    let first = set(p, "thing/a", "wake", at);
    let second = set(p, "thing/a", "wake", at.plus_ms(50));
    assert_eq!(p.alarms_due(), []);
    let stale = Commit { rows: vec![put("x", "1")], ..p.turn("thing/a", consumes("wake", first)) };
    assert_eq!(p.try_commit(stale), Err(Refused::EventGone));
    assert_eq!(p.row("thing/a", "x"), None);
    p.pass(50);
    let commit = p.turn("thing/a", consumes("wake", second));
    p.commit(commit);
    assert_eq!(p.alarms_due(), []);
}

fn a_consumed_alarm_may_be_set_again_by_the_same_commit(p: &mut Probe<'_>) {
    let at = p.now;
    let version = set(p, "thing/a", "wake", at);
    let next = at.plus_ms(60_000);
    let alarms = vec![AlarmWrite::Set { name: alarm_name("wake"), at: next }];
    let commit = Commit { alarms, ..p.turn("thing/a", consumes("wake", version)) };
    p.commit(commit);
    assert_eq!((p.alarms_due(), p.timers().alarm_at), (vec![], Some(next)));
}

fn a_cleared_alarm_cannot_be_consumed(p: &mut Probe<'_>) {
    let at = p.now;
    let version = set(p, "thing/a", "wake", at);
    let alarms = vec![AlarmWrite::Clear { name: alarm_name("wake") }];
    let commit = Commit { alarms, ..p.call("thing/a") };
    p.commit(commit);
    assert_eq!((p.alarms_due(), set_for(p, "thing/a", "wake")), (vec![], None));
    let commit = p.turn("thing/a", consumes("wake", version));
    assert_eq!(p.try_commit(commit), Err(Refused::EventGone));
}

fn a_failed_alarm_is_due_later_and_keeps_its_time(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    let later = at.plus_ms(2_000);
    assert_eq!(p.fail(event(&alarm), AfterFailure::RetryAt(later)), EventFate::Retried);
    assert_eq!((p.woken.alarm_at, p.timers().alarm_at), (Some(later), Some(later)));
    assert_eq!(p.alarms_due(), []);
    assert_eq!(set_for(p, "thing/a", "wake"), Some(at));
    p.pass(2_000);
    assert_eq!(p.alarms_due(), [DueAlarm { due_at: later, failures: 1, ..alarm }]);
}

fn setting_an_alarm_again_forgets_its_failures(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    p.fail(event(&alarm), AfterFailure::RetryAt(at));
    let failed = p.alarms_due().remove(0);
    p.crash(event(&failed));
    assert_eq!((p.alarms_due()[0].failures, p.alarms_due()[0].crashes), (1, 1));
    set(p, "thing/a", "wake", at);
    assert_eq!((p.alarms_due()[0].failures, p.alarms_due()[0].crashes), (0, 0));
    assert_eq!(p.fail(event(&failed), AfterFailure::Dead), EventFate::Gone);
    assert_eq!(p.alarms_due().len(), 1);
}

fn due_alarms_are_paged_in_order(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/b", "x", at.plus_ms(1));
    set(p, "thing/b", "w", at.plus_ms(1));
    set(p, "thing/a", "z", at.plus_ms(1));
    set(p, "thing/a", "y", at);
    p.pass(1);
    let all = p.alarms_due();
    let names: Vec<&str> = all.iter().map(|alarm| alarm.name.as_str()).collect();
    assert_eq!(names, ["y", "w", "x", "z"], "by due time, then life, then name");
    let last = &all[1];
    let after =
        Some(AlarmCursor { due_at: last.due_at, incarnation: last.incarnation, name: last.name.clone() });
    let page = answer!(p.read(Read::AlarmsDue { after, limit: 1 }), Answer::AlarmsDue(alarms) => alarms);
    assert_eq!(page, all[2..3]);
}

fn a_dead_alarm_is_replayed_for_now(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    p.fail(event(&alarm), AfterFailure::Dead);
    assert_eq!((p.alarms_due(), p.timers().alarm_at), (vec![], None));
    let letter = dead(p).remove(0);
    assert_eq!(letter.event, DeadEvent::Alarm { name: alarm_name("wake"), at });
    assert_eq!(letter.incarnation, Some(alarm.incarnation));
    let version = p.make("thing/a");
    p.pass(70);
    assert_eq!(p.write(Write::ReplayDead { id: letter.id }), Written::Dead(true));
    assert_eq!(p.woken.alarm_at, Some(p.now));
    let expected = DueAlarm { at: p.now, due_at: p.now, set_version: version, ..alarm };
    assert_eq!(p.alarms_due(), [expected]);
    let commit = p.turn("thing/a", consumes("wake", version));
    p.commit(commit);
}

fn a_dead_alarm_is_not_replayed_over_a_new_setting(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    p.fail(event(&alarm), AfterFailure::Dead);
    let next = at.plus_ms(500);
    set(p, "thing/a", "wake", next);
    let id = dead(p).remove(0).id;
    assert_eq!(p.write(Write::ReplayDead { id }), Written::Dead(true));
    assert_eq!((set_for(p, "thing/a", "wake"), dead(p)), (Some(next), vec![]));
}

fn a_dead_alarm_of_a_life_that_is_over_is_not_replayed(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    p.fail(event(&alarm), AfterFailure::Dead);
    p.delete("thing/a");
    p.make("thing/a");
    let id = dead(p).remove(0).id;
    assert_eq!(p.write(Write::ReplayDead { id }), Written::Dead(true));
    assert_eq!((p.alarms_due(), dead(p)), (vec![], vec![]));
}

fn an_alarm_in_three_crashes_is_a_dead_letter(p: &mut Probe<'_>) {
    let at = p.now;
    set(p, "thing/a", "wake", at);
    let alarm = p.alarms_due().remove(0);
    for _ in 1..EVENT_CRASHES {
        assert_eq!(p.crash(event(&alarm)), EventFate::Retried);
        assert_eq!(p.alarms_due().len(), 1);
    }
    assert_eq!(p.crash(event(&alarm)), EventFate::Dead(dead(p)[0].id));
    assert_eq!(p.alarms_due(), []);
}
