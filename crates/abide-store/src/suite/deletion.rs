//! The end of a life, and what is swept after it.

use super::probe::{Probe, alarm_name, job, json, object, put, unique_key};
use super::{answer, stories};
use crate::read::{Answer, Read};
use crate::write::{Removed, Write, Written};
use abide_core::commit::{AlarmWrite, Commit, Ending, FollowWrite, Outgoing};
use abide_core::event::Consumes;
use abide_core::job::{JobId, JobState, NewJob};
use abide_core::log::Seq;
use abide_core::object::Version;

stories![
    a_deleted_object_is_gone_at_once,
    a_later_life_begins_afresh,
    a_deleted_object_has_no_alarms_and_follows_nothing,
    the_jobs_of_a_deleted_object_are_cancelled,
    a_deleting_commit_sends_and_consumes_but_writes_nothing,
    an_absent_object_may_be_deleted,
    a_sweep_goes_in_steps,
    sweeping_does_not_touch_a_later_life,
];

fn a_deleted_object_is_gone_at_once(p: &mut Probe<'_>) {
    let commit = Commit { rows: vec![put("x", "1")], log: vec![json("1")], ..p.call("thing/a") };
    p.commit(commit);
    p.delete("thing/a");
    assert!(p.woken.sweep && p.timers().sweep);
    assert_eq!((p.header("thing/a"), p.row("thing/a", "x")), (None, None));
    let read = Read::Log { object: object("thing/a"), after: Seq(0), limit: 10 };
    assert_eq!(p.read(read), Answer::Log(None));
    assert_eq!(p.read(Read::Object(object("thing/a"))), Answer::Object(None));
}

fn a_later_life_begins_afresh(p: &mut Probe<'_>) {
    let commit = Commit { rows: vec![put("x", "1")], log: vec![json("1")], ..p.call("thing/a") };
    p.commit(commit);
    let first = p.life_of("thing/a");
    p.delete("thing/a");
    assert_eq!(p.make("thing/a"), Version(1));
    assert_ne!(p.life_of("thing/a"), first);
    assert_eq!(p.row("thing/a", "x"), None);
    assert_eq!(p.header("thing/a").map(|header| header.log_head), Some(Seq(0)));
}

fn a_deleted_object_has_no_alarms_and_follows_nothing(p: &mut Probe<'_>) {
    let alarms = vec![AlarmWrite::Set { name: alarm_name("wake"), at: p.now }];
    let follows = vec![FollowWrite::Follow { source: object("log/a"), after: Seq(0) }];
    let commit = Commit { alarms, follows, ..p.call("thing/a") };
    p.commit(commit);
    p.delete("thing/a");
    assert_eq!((p.alarms_due(), p.timers().alarm_at), (vec![], None));
    let commit = Commit { log: vec![json("1")], ..p.call("log/a") };
    p.commit(commit);
    assert_eq!(p.woken.followers, []);
}

fn owned(p: &mut Probe<'_>, name: &str, jobs: Vec<NewJob>) -> Vec<JobId> {
    let commit = Commit { jobs, ..p.call(name) };
    p.commit(commit).jobs.into_iter().map(|enqueued| enqueued.job()).collect()
}

fn the_jobs_of_a_deleted_object_are_cancelled(p: &mut Probe<'_>) {
    let jobs = vec![job(), job(), NewJob { run_at: Some(p.now.plus_ms(99)), ..job() }];
    let jobs = owned(p, "thing/a", jobs);
    let other = p.enqueue(job());
    let leases = p.claims(1, &jobs[..1]);
    p.pass(5);
    p.delete("thing/a");
    assert_eq!(p.woken.cancelling, jobs[..1]);
    assert_eq!(p.woken.messages, []);
    for waiting in &jobs[1..] {
        let view = p.job(*waiting);
        assert_eq!((view.state, view.reason.as_deref()), (JobState::Cancelled, Some("owner deleted")));
        assert_eq!(view.finished_at, Some(p.now));
    }
    let running = p.job(jobs[0]);
    assert_eq!((running.state, running.cancel_asked, running.owner), (JobState::Running, true, None));
    p.finish(&leases[0], super::probe::done());
    let ended = p.job(jobs[0]);
    assert_eq!((ended.state, ended.reason.as_deref()), (JobState::Cancelled, Some("owner deleted")));
    assert_eq!((p.woken.messages.len(), ended.result), (0, None));
    assert_eq!(p.state_of(other), JobState::Ready);
}

fn a_deleting_commit_sends_and_consumes_but_writes_nothing(p: &mut Probe<'_>) {
    p.make("thing/a");
    let sent = p.write(Write::Send { to: object("thing/a"), body: json("1") });
    let id = answer!(sent, Written::Sent(id) => id);
    let commit = Commit {
        rows: vec![put("x", "1")],
        log: vec![json("1")],
        alarms: vec![AlarmWrite::Set { name: alarm_name("wake"), at: p.now }],
        jobs: vec![job()],
        messages: vec![Outgoing {
            to: object("thing/b"),
            to_incarnation: None,
            body: json("2"),
            trace: None,
        }],
        ending: Ending::Deleted,
        ..p.turn("thing/a", Consumes::Message(id))
    };
    let receipt = p.commit(commit);
    assert_eq!((receipt.version, receipt.jobs), (None, vec![]));
    assert_eq!((p.woken.messages.len(), p.woken.logs.len(), p.woken.alarm_at), (1, 0, None));
    assert_eq!((p.messages("thing/a").len(), p.messages("thing/b").len()), (0, 1));
    assert_eq!((p.alarms_due(), p.queues()), (vec![], vec![]));
}

fn an_absent_object_may_be_deleted(p: &mut Probe<'_>) {
    p.delete("thing/a");
    assert_eq!((p.header("thing/a"), p.timers().sweep), (None, false));
}

fn sweep(p: &mut Probe<'_>, max: usize) -> Removed {
    answer!(p.write(Write::Sweep { max }), Written::Removed(removed) => removed)
}

fn a_sweep_goes_in_steps(p: &mut Probe<'_>) {
    let jobs = vec![NewJob { unique_key: Some(unique_key("u")), ..job() }];
    let rows = ["a", "b", "c"].map(|key| put(key, "1")).to_vec();
    let commit = Commit { rows, log: vec![json("1"), json("2")], jobs, ..p.call("thing/a") };
    p.commit(commit);
    p.make("thing/b");
    p.delete("thing/a");
    p.delete("thing/b");
    let steps: Vec<Removed> = (0..3).map(|_| sweep(p, 3)).collect();
    assert_eq!(steps.iter().map(|step| step.count).collect::<Vec<_>>(), [3, 3, 1]);
    assert_eq!(steps.iter().map(|step| step.more).collect::<Vec<_>>(), [true, true, false]);
    assert!(!p.timers().sweep);
    assert_eq!(sweep(p, 3), Removed { count: 0, more: false });
}

fn sweeping_does_not_touch_a_later_life(p: &mut Probe<'_>) {
    p.make("thing/a");
    p.delete("thing/a");
    let commit = Commit { rows: vec![put("x", "1")], log: vec![json("1")], ..p.call("thing/a") };
    p.commit(commit);
    sweep(p, 100);
    assert_eq!(p.row("thing/a", "x").as_deref(), Some("1"));
    assert_eq!(p.header("thing/a").map(|header| header.log_head), Some(Seq(1)));
}
