//! Attempts: heartbeats, ends, expiry, restarts, and the fence around all of them.

use super::probe::{Probe, done, failed, job, json, kind, queue, worker};
use super::{answer, stories};
use crate::write::{Claim, Finished, LeaseLost, Renewal, Write, Written};
use abide_core::commit::Commit;
use abide_core::event::MessageBody;
use abide_core::job::{
    Attempt, AttemptEnd, AttemptWord, JobId, JobState, Lease, LeaseRef, LeaseToken, NewJob, RetryWish,
};
use abide_core::limits::{ATTEMPTS_KEPT, JOB_RESTARTS, REASON_BYTES};
use abide_core::object::Life;

stories![
    a_finished_job_is_done,
    a_skipped_job_says_why,
    an_error_is_retried_by_policy_until_attempts_end,
    a_worker_may_say_when_to_retry_or_that_it_cannot_help,
    a_finish_may_be_repeated,
    a_finish_without_the_current_lease_is_refused,
    progress_needs_the_current_lease,
    a_heartbeat_lengthens_the_lease,
    a_lease_that_ran_out_is_current_until_it_is_taken_back,
    an_expired_lease_is_taken_over,
    expiry_uses_up_attempts,
    a_drained_job_is_ready_again_and_nothing_counts,
    a_running_job_is_asked_to_stop,
    a_job_asked_to_stop_ends_as_cancelled_however_it_ends,
    a_failed_job_is_retried_with_fresh_attempts,
    a_restart_voids_leases_of_the_process_only,
    leases_that_an_engine_does_not_know_of_are_handed_back,
    ten_restarts_make_a_dead_letter,
    the_clock_jumped_and_leases_are_granted_again,
    the_owner_hears_of_every_end,
    long_reasons_are_cut,
    only_the_latest_attempts_are_remembered,
];

fn start(p: &mut Probe<'_>, new: NewJob) -> Lease {
    let id = p.enqueue(new);
    p.claims(1, &[id]).remove(0)
}

fn ends(p: &mut Probe<'_>, id: JobId) -> Vec<AttemptWord> {
    p.job(id).attempts.into_iter().map(|attempt| attempt.end).collect()
}

fn release(p: &mut Probe<'_>) -> Vec<JobId> {
    answer!(p.write(Write::ReleaseExpired), Written::Released(jobs) => jobs)
}

fn renew(p: &mut Probe<'_>, lease: LeaseRef, lease_ms: i64) -> Renewal {
    answer!(p.write(Write::Renew { leases: vec![lease], lease_ms }), Written::Renewed(renewals) => renewals[0])
}

fn a_finished_job_is_done(p: &mut Probe<'_>) {
    let started_at = p.now;
    let lease = start(p, job());
    p.pass(20);
    let finished = p.finish(&lease, done());
    assert_eq!(finished, Finished { state: JobState::Done, run_at: None, repeated: false });
    let view = p.job(lease.lease.job);
    assert_eq!((view.state, view.result, view.reason), (JobState::Done, Some(json(r#""made""#)), None));
    assert_eq!((view.finished_at, view.worker, view.lease_expires_at), (Some(p.now), None, None));
    let attempt = Attempt {
        attempt: 1,
        worker: worker("w"),
        started_at,
        ended_at: p.now,
        end: AttemptWord::Done,
        reason: None,
    };
    assert_eq!(view.attempts, [attempt]);
    assert_eq!(p.timers().lease_at, None);
    p.claims(1, &[]);
}

fn a_skipped_job_says_why(p: &mut Probe<'_>) {
    let lease = start(p, job());
    let end = AttemptEnd::Skipped { reason: "nothing new".into() };
    assert_eq!(p.finish(&lease, end).state, JobState::Skipped);
    let view = p.job(lease.lease.job);
    assert_eq!((view.reason.as_deref(), view.result), (Some("nothing new"), None));
    assert_eq!(view.attempts[0].reason.as_deref(), Some("nothing new"));
}

fn an_error_is_retried_by_policy_until_attempts_end(p: &mut Probe<'_>) {
    let lease = start(p, NewJob { max_attempts: Some(2), ..job() });
    let id = lease.lease.job;
    let finished = p.finish(&lease, failed(RetryWish::ByPolicy));
    let run_at = finished.run_at.expect("it runs again");
    assert_eq!(finished.state, JobState::Scheduled);
    assert!((900..=1_100).contains(&run_at.since(p.now)), "{run_at:?}");
    assert_eq!(p.woken.job_at, Some(run_at));
    let view = p.job(id);
    assert_eq!((view.state, view.failures, view.run_at), (JobState::Scheduled, 1, run_at));
    assert_eq!((view.reason.as_deref(), view.finished_at), (Some("no route"), None));
    p.now = run_at;
    let again = p.claims(1, &[id]).remove(0);
    assert_eq!((again.lease.attempt, again.failures), (2, 1));
    let finished = p.finish(&again, failed(RetryWish::ByPolicy));
    assert_eq!((finished.state, finished.run_at), (JobState::Failed, None));
    let view = p.job(id);
    assert_eq!((view.failures, view.finished_at, view.attempts.len()), (2, Some(p.now), 2));
}

fn a_worker_may_say_when_to_retry_or_that_it_cannot_help(p: &mut Probe<'_>) {
    let lease = start(p, NewJob { max_attempts: Some(2), ..job() });
    let at = p.now.plus_ms(77_000);
    assert_eq!(p.finish(&lease, failed(RetryWish::AfterMs(77_000))).run_at, Some(at));
    p.now = at;
    let lease = p.claims(1, &[lease.lease.job]).remove(0);
    let at = p.now.plus_ms(5_000);
    assert_eq!(p.finish(&lease, failed(RetryWish::UncountedAfterMs(5_000))).run_at, Some(at));
    assert_eq!(p.job(lease.lease.job).failures, 1, "an attempt for which there was no room does not count");
    p.now = at;
    let lease = p.claims(1, &[lease.lease.job]).remove(0);
    assert_eq!(p.finish(&lease, failed(RetryWish::Never)).state, JobState::Failed);
}

fn a_finish_may_be_repeated(p: &mut Probe<'_>) {
    let commit = Commit { jobs: vec![job()], ..p.call("thing/a") };
    let id = p.commit(commit).jobs[0].job();
    let lease = p.claims(1, &[id]).remove(0);
    p.finish(&lease, done());
    let before = p.job(id);
    p.pass(10);
    let repeated = p.finish(&lease, done());
    assert_eq!(repeated, Finished { state: JobState::Done, run_at: None, repeated: true });
    assert_eq!((p.job(id), p.woken.messages.len()), (before, 0));
    let lease = start(p, job());
    let first = p.finish(&lease, failed(RetryWish::AfterMs(50)));
    let second = p.finish(&lease, failed(RetryWish::AfterMs(50)));
    assert_eq!(second, Finished { repeated: true, ..first });
    assert_eq!(p.job(lease.lease.job).failures, 1);
    p.pass(50);
    p.claims(1, &[lease.lease.job]);
    let stale = p.try_finish(lease.lease, failed(RetryWish::AfterMs(50)));
    assert_eq!(stale, Err(LeaseLost::Stale(JobState::Running)), "it was claimed since");
}

fn a_finish_without_the_current_lease_is_refused(p: &mut Probe<'_>) {
    let lease = start(p, job());
    let LeaseRef { job: id, attempt, token } = lease.lease;
    let forged = LeaseRef { token: LeaseToken::draw(1, JobId(1), 99), ..lease.lease };
    assert_eq!(p.try_finish(forged, done()), Err(LeaseLost::Stale(JobState::Running)));
    let other = LeaseRef { job: id, attempt: attempt + 1, token };
    assert_eq!(p.try_finish(other, done()), Err(LeaseLost::Stale(JobState::Running)));
    let unknown = LeaseRef { job: JobId(404), attempt, token };
    assert_eq!(p.try_finish(unknown, done()), Err(LeaseLost::NoJob));
    p.pass(5_000);
    assert_eq!(release(p), [id]);
    assert_eq!(p.try_finish(lease.lease, done()), Err(LeaseLost::Stale(JobState::Ready)), "it came too late");
    let second = p.claims(1, &[id]).remove(0);
    assert_eq!(p.try_finish(lease.lease, done()), Err(LeaseLost::Stale(JobState::Running)));
    assert_eq!(p.finish(&second, done()).state, JobState::Done);
    assert_eq!(p.try_finish(lease.lease, done()), Err(LeaseLost::Stale(JobState::Done)));
    assert_eq!(ends(p, id), [AttemptWord::Expired, AttemptWord::Done]);
}

fn progress_needs_the_current_lease(p: &mut Probe<'_>) {
    let lease = start(p, job());
    p.pass(3);
    let note = |lease, text| Write::Progress { lease, progress: json(text) };
    assert_eq!(p.write(note(lease.lease, "1")), Written::Progressed(Ok(())));
    let view = p.job(lease.lease.job);
    assert_eq!((view.progress, view.updated_at), (Some(json("1")), p.now));
    p.finish(&lease, AttemptEnd::HandedBack);
    let lost = Written::Progressed(Err(LeaseLost::Stale(JobState::Ready)));
    assert_eq!(p.write(note(lease.lease, "2")), lost);
    assert_eq!(p.job(lease.lease.job).progress, Some(json("1")));
    p.claims(1, &[lease.lease.job]);
    assert_eq!(p.job(lease.lease.job).progress, None, "a new attempt begins at nothing");
    let unknown = LeaseRef { job: JobId(404), ..lease.lease };
    assert_eq!(p.write(note(unknown, "2")), Written::Progressed(Err(LeaseLost::NoJob)));
}

fn a_heartbeat_lengthens_the_lease(p: &mut Probe<'_>) {
    let lease = start(p, job());
    p.pass(4_000);
    let until = p.now.plus_ms(5_000);
    assert_eq!(renew(p, lease.lease, 5_000), Renewal::Held { until, cancel_asked: false });
    assert_eq!(renew(p, lease.lease, 1_000), Renewal::Held { until, cancel_asked: false }, "never shortens");
    assert_eq!((p.timers().lease_at, p.job(lease.lease.job).lease_expires_at), (Some(until), Some(until)));
    p.pass(4_000);
    assert_eq!(release(p), []);
    let forged = LeaseRef { attempt: 9, ..lease.lease };
    let unknown = LeaseRef { job: JobId(404), ..lease.lease };
    let renew = Write::Renew { leases: vec![forged, lease.lease, unknown], lease_ms: 5_000 };
    let renewed = answer!(p.write(renew), Written::Renewed(renewals) => renewals);
    let until = p.now.plus_ms(5_000);
    assert_eq!(renewed, [Renewal::Lost, Renewal::Held { until, cancel_asked: false }, Renewal::Lost]);
}

fn a_lease_that_ran_out_is_current_until_it_is_taken_back(p: &mut Probe<'_>) {
    let lease = start(p, job());
    p.pass(60_000);
    p.claims(1, &[]);
    let until = p.now.plus_ms(5_000);
    assert_eq!(renew(p, lease.lease, 5_000), Renewal::Held { until, cancel_asked: false });
    p.pass(60_000);
    assert_eq!(p.finish(&lease, done()).state, JobState::Done);
}

fn an_expired_lease_is_taken_over(p: &mut Probe<'_>) {
    let first = start(p, job());
    p.pass(1_000);
    let second = start(p, job());
    p.pass(3_999);
    assert_eq!(release(p), []);
    p.pass(1);
    assert_eq!(release(p), [first.lease.job]);
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let view = p.job(first.lease.job);
    assert_eq!((view.state, view.run_at, view.failures), (JobState::Ready, p.now, 1));
    assert_eq!(renew(p, first.lease, 5_000), Renewal::Lost);
    let again = p.claims(1, &[first.lease.job]).remove(0);
    assert_eq!(again.lease.attempt, 2);
    assert_eq!(ends(p, first.lease.job), [AttemptWord::Expired]);
    assert_eq!(p.state_of(second.lease.job), JobState::Running);
}

fn expiry_uses_up_attempts(p: &mut Probe<'_>) {
    let lease = start(p, NewJob { max_attempts: Some(1), ..job() });
    p.pass(5_000);
    assert_eq!(release(p), [lease.lease.job]);
    let view = p.job(lease.lease.job);
    assert_eq!((view.state, view.failures, view.finished_at), (JobState::Failed, 1, Some(p.now)));
    assert!(view.reason.is_some());
}

fn a_drained_job_is_ready_again_and_nothing_counts(p: &mut Probe<'_>) {
    let lease = start(p, NewJob { max_attempts: Some(1), ..job() });
    p.pass(10);
    let finished = p.finish(&lease, AttemptEnd::HandedBack);
    assert_eq!(finished, Finished { state: JobState::Ready, run_at: Some(p.now), repeated: false });
    assert!(p.finish(&lease, AttemptEnd::HandedBack).repeated);
    let view = p.job(lease.lease.job);
    assert_eq!((view.failures, view.restarts, view.run_at), (0, 0, p.now));
    for _ in 0..=JOB_RESTARTS {
        let again = p.claims(1, &[lease.lease.job]).remove(0);
        assert_eq!(p.finish(&again, AttemptEnd::HandedBack).state, JobState::Ready, "however often");
    }
}

fn a_running_job_is_asked_to_stop(p: &mut Probe<'_>) {
    let lease = start(p, job());
    let id = lease.lease.job;
    p.pass(2);
    assert_eq!(p.write(Write::Cancel { job: id }), Written::Moved(Ok(JobState::Running)));
    assert_eq!(p.woken.cancelling, [id]);
    let view = p.job(id);
    assert_eq!((view.state, view.cancel_asked, view.updated_at), (JobState::Running, true, p.now));
    assert!(matches!(renew(p, lease.lease, 5_000), Renewal::Held { cancel_asked: true, .. }));
    assert_eq!(p.write(Write::Cancel { job: id }), Written::Moved(Ok(JobState::Running)));
}

fn a_job_asked_to_stop_ends_as_cancelled_however_it_ends(p: &mut Probe<'_>) {
    let endings = [done(), failed(RetryWish::ByPolicy), AttemptEnd::HandedBack];
    for end in endings {
        let lease = start(p, job());
        p.write(Write::Cancel { job: lease.lease.job });
        let finished = p.finish(&lease, end);
        assert_eq!((finished.state, finished.run_at), (JobState::Cancelled, None));
        let view = p.job(lease.lease.job);
        assert_eq!((view.reason.as_deref(), view.result), (Some("cancelled"), None));
        assert!(!view.cancel_asked);
    }
    let lease = start(p, job());
    p.write(Write::Cancel { job: lease.lease.job });
    p.pass(5_000);
    release(p);
    assert_eq!(p.state_of(lease.lease.job), JobState::Cancelled);
}

fn a_failed_job_is_retried_with_fresh_attempts(p: &mut Probe<'_>) {
    let lease = start(p, NewJob { max_attempts: Some(1), ..job() });
    let id = lease.lease.job;
    p.finish(&lease, failed(RetryWish::ByPolicy));
    assert_eq!(p.write(Write::Retry { job: id }), Written::Moved(Ok(JobState::Ready)));
    let view = p.job(id);
    assert_eq!((view.attempt, view.failures, view.attempts.len()), (1, 0, 1));
    let again = p.claims(1, &[id]).remove(0);
    assert_eq!(again.lease.attempt, 2);
    p.finish(&again, done());
    assert_eq!(ends(p, id), [AttemptWord::Error, AttemptWord::Done]);
}

fn a_restart_voids_leases_of_the_process_only(p: &mut Probe<'_>) {
    let (inside, outside) = (p.enqueue(job()), p.enqueue(job()));
    let claim = Claim { life: Some(p.life), ..p.asks(1) };
    assert_eq!(p.claim_as(claim).leases[0].lease.job, inside);
    p.claims(1, &[outside]);
    p.pass(10);
    let beside = answer!(p.write(Write::Begin(crate::write::Begin { alone: false })), Written::Began(b) => b);
    assert_eq!((beside.voided, p.state_of(inside)), (0, JobState::Running), "others may be alive");
    let began = p.begin_alone();
    assert_eq!(began.voided, 1);
    assert!(began.life > beside.life && p.woken.ready.contains(&(queue("q"), kind("k"))));
    assert_eq!((p.state_of(inside), p.state_of(outside)), (JobState::Ready, JobState::Running));
    let view = p.job(inside);
    assert_eq!((view.failures, view.restarts, view.run_at), (0, 1, p.now));
    assert_eq!(ends(p, inside), [AttemptWord::Restarted]);
}

fn leases_that_an_engine_does_not_know_of_are_handed_back(p: &mut Probe<'_>) {
    let ids: Vec<JobId> = (0..4).map(|_| p.enqueue(job())).collect();
    let (own, other) = (p.life, Life(p.life.0 + 1));
    let claim = |p: &mut Probe<'_>, life| {
        let claim = Claim { life, ..p.asks(1) };
        p.claim_as(claim).leases.remove(0)
    };
    let known = claim(p, Some(own));
    claim(p, Some(own));
    claim(p, Some(other));
    claim(p, None);
    let stale = LeaseRef { attempt: 7, job: ids[1], ..known.lease };
    let disown = Write::Disown { life: own, held: vec![known.lease, stale] };
    let lost = answer!(p.write(disown.clone()), Written::Released(jobs) => jobs);
    assert_eq!(lost, [ids[1]]);
    assert!(p.woken.ready.contains(&(queue("q"), kind("k"))));
    let view = p.job(ids[1]);
    assert_eq!((view.state, view.failures, view.restarts), (JobState::Ready, 0, 0));
    assert_eq!(ends(p, ids[1]), [AttemptWord::HandedBack]);
    for id in [ids[0], ids[2], ids[3]] {
        assert_eq!(p.state_of(id), JobState::Running);
    }
    assert_eq!(p.write(disown), Written::Released(Vec::new()));
}

fn ten_restarts_make_a_dead_letter(p: &mut Probe<'_>) {
    let id = p.enqueue(NewJob { max_attempts: Some(1), ..job() });
    for restart in 1..=JOB_RESTARTS {
        assert_eq!(p.state_of(id), JobState::Ready);
        let claim = Claim { life: Some(Life(restart)), ..p.asks(1) };
        assert_eq!(p.claim_as(claim).leases.len(), 1);
        assert_eq!(p.begin_alone().voided, 1);
        assert_eq!(p.job(id).restarts, restart);
    }
    assert_eq!(p.state_of(id), JobState::Failed);
}

fn the_clock_jumped_and_leases_are_granted_again(p: &mut Probe<'_>) {
    let short = start(p, job());
    let long = p.enqueue(job());
    let claim = Claim { lease_ms: 9_000_000, ..p.asks(1) };
    let long_until = p.claim_as(claim).leases[0].lease_expires_at;
    p.pass(3_600_000);
    p.set(Write::Regrant { lease_ms: 5_000 });
    assert_eq!(release(p), []);
    assert_eq!(p.job(short.lease.job).lease_expires_at, Some(p.now.plus_ms(5_000)));
    assert_eq!(p.job(long).lease_expires_at, Some(long_until));
    assert_eq!(p.timers().lease_at, Some(p.now.plus_ms(5_000)));
}

fn the_owner_hears_of_every_end(p: &mut Probe<'_>) {
    let jobs = vec![NewJob { max_attempts: Some(1), ..job() }; 4];
    let commit = Commit { jobs, ..p.call("thing/a") };
    let ids: Vec<JobId> = p.commit(commit).jobs.into_iter().map(|enqueued| enqueued.job()).collect();
    let leases = p.claims(3, &ids[..3]);
    p.finish(&leases[0], AttemptEnd::Skipped { reason: "old".into() });
    p.finish(&leases[1], failed(RetryWish::ByPolicy));
    p.write(Write::Cancel { job: ids[3] });
    p.pass(5_000);
    release(p);
    let outcomes: Vec<(JobId, JobState, u32)> = p
        .messages("thing/a")
        .into_iter()
        .map(|message| answer!(message.body, MessageBody::Outcome(o) => (o.job, o.state, o.attempt)))
        .collect();
    let expected = [
        (ids[0], JobState::Skipped, 1),
        (ids[1], JobState::Failed, 1),
        (ids[3], JobState::Cancelled, 0),
        (ids[2], JobState::Failed, 1),
    ];
    assert_eq!(outcomes, expected);
}

fn long_reasons_are_cut(p: &mut Probe<'_>) {
    let lease = start(p, job());
    p.finish(&lease, AttemptEnd::Skipped { reason: "é".repeat(REASON_BYTES) });
    let view = p.job(lease.lease.job);
    let cut = Some("é".repeat(REASON_BYTES / 2));
    assert_eq!((&view.reason, &view.attempts[0].reason), (&cut, &cut));
}

fn only_the_latest_attempts_are_remembered(p: &mut Probe<'_>) {
    let id = p.enqueue(job());
    for _ in 0..ATTEMPTS_KEPT + 3 {
        let lease = p.claims(1, &[id]).remove(0);
        p.finish(&lease, AttemptEnd::HandedBack);
    }
    let view = p.job(id);
    let remembered: Vec<u32> = view.attempts.iter().map(|attempt| attempt.attempt).collect();
    assert_eq!(remembered, (4..=ATTEMPTS_KEPT + 3).collect::<Vec<_>>());
    assert_eq!((view.attempt, view.state), (ATTEMPTS_KEPT + 3, JobState::Ready));
}
