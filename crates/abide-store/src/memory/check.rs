//! What must be true of the state after every write.

use super::jobs::Job;
use super::lanes::{LaneId, LaneJobs, Lanes, Place};
use super::state::State;
use abide_core::job::{JobId, JobState};
use abide_core::limit::Room;
use abide_core::limits::ATTEMPTS_KEPT;
use abide_core::name::LimitKey;
use abide_core::object::Incarnation;
use abide_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Something that must be true is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the memory store contradicts itself: {what}")]
pub struct Broken {
    what: String,
}

impl Broken {
    pub(super) fn new(what: String) -> Broken {
        Broken { what }
    }
}

fn holds(is_true: bool, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if is_true { Ok(()) } else { Err(Broken::new(what())) }
}

impl State {
    pub(super) fn check(&self) -> Result<(), Broken> {
        self.check_lives()?;
        self.check_events()?;
        for job in self.jobs.values() {
            self.check_job(job)?;
        }
        self.check_indexes()?;
        self.check_leases_under_keys()?;
        self.check_lanes()?;
        self.check_waiting()
    }

    fn check_lives(&self) -> Result<(), Broken> {
        let alive: BTreeSet<Incarnation> = self.objects.values().map(|object| object.incarnation).collect();
        holds(alive.len() == self.objects.len(), || "two objects have one life".into())?;
        holds(alive.is_disjoint(&self.unswept), || "a living object waits to be swept".into())?;
        for life in self.rows.keys().chain(self.logs.keys()) {
            let has_home = alive.contains(life) || self.unswept.contains(life);
            holds(has_home, || format!("rows or entries of {life:?}, which is nobody's life"))?;
        }
        for (key, object) in &self.objects {
            let entries = self.logs.get(&object.incarnation).map_or(0, Vec::len) as i64;
            holds(entries == object.log_head.0, || {
                format!("{key} has {entries} entries, not {:?}", object.log_head)
            })?;
        }
        Ok(())
    }

    fn check_events(&self) -> Result<(), Broken> {
        let (in_order, put_off) = self.messages.indexed();
        let late = self.messages.all().filter(|held| held.due_at.is_some()).count();
        holds(put_off == late, || format!("{put_off} of {late} messages are noted as put off"))?;
        let all = self.messages.all().count();
        holds(in_order + put_off == all, || format!("{in_order} and {put_off} messages of {all} are noted"))?;
        for held in self.messages.all() {
            let bound = held.message.to_incarnation;
            let fits = bound.is_none_or(|life| self.is_alive(&held.message.to, life));
            holds(fits, || format!("{:?} is bound to a life that is over", held.message))?;
        }
        let alarms = self.alarms.all().count();
        holds(alarms == self.alarms.indexed(), || "an alarm is not in the order of alarms".into())?;
        for alarm in self.alarms.all() {
            holds(self.is_alive(&alarm.object, alarm.incarnation), || {
                format!("{alarm:?} is of a life that is over")
            })?;
        }
        for ((life, source), follow) in &self.follows {
            let fits = self.is_alive(&follow.follower, *life);
            holds(fits, || format!("a life of {} that is over follows {source}", follow.follower))?;
        }
        Ok(())
    }

    fn check_job(&self, job: &Job) -> Result<(), Broken> {
        let (id, state) = (job.id, job.state);
        holds(self.queues.contains_key(&job.queue), || {
            format!("job {id} is in a queue that does not exist")
        })?;
        let is_placed = job.place.is_some();
        holds(is_placed == (state == JobState::Ready), || {
            format!("job {id} is {state}, its place {:?}", job.place)
        })?;
        let runs = job.running.is_some();
        holds(runs == (state == JobState::Running), || {
            format!("job {id} is {state}, its lease {:?}", job.running)
        })?;
        let ended = job.finished_at.is_some();
        holds(ended == state.is_over(), || format!("job {id} is {state}, ended {:?}", job.finished_at))?;
        holds(job.result.is_some() == (state == JobState::Done), || {
            format!("job {id} is {state} with a result")
        })?;
        let over = (job.attempt - u32::from(runs)).min(ATTEMPTS_KEPT);
        holds(job.attempts.len() == over as usize, || {
            format!("job {id} remembers {} of {over} attempts", job.attempts.len())
        })
    }

    fn check_indexes(&self) -> Result<(), Broken> {
        let in_state = |state| self.jobs.values().filter(move |job: &&Job| job.state == state);
        let scheduled: BTreeSet<(Time, JobId)> =
            in_state(JobState::Scheduled).map(|job| (job.run_at, job.id)).collect();
        holds(scheduled == self.scheduled, || "the scheduled jobs are not those noted".into())?;
        let leases: BTreeSet<(Time, JobId)> =
            self.jobs.values().filter_map(|job| Some((job.running.as_ref()?.expires_at, job.id))).collect();
        holds(leases == self.leases, || "the leases are not those noted".into())?;
        for ((scope, key), taken) in &self.unique {
            let Some(job) = self.jobs.get(&taken.job) else { continue };
            let is_its = job.unique_key.as_ref() == Some(key) && job.queue == taken.queue;
            holds(is_its, || format!("unique key {key} in {scope:?} is noted for job {}", job.id))?;
            let aged = taken.ended_at == job.finished_at;
            holds(aged, || {
                format!("unique key {key} ended {:?}, its job {:?}", taken.ended_at, job.finished_at)
            })?;
        }
        Ok(())
    }

    fn check_leases_under_keys(&self) -> Result<(), Broken> {
        let mut running: BTreeMap<LimitKey, u32> = BTreeMap::new();
        for key in self.jobs.values().flat_map(Job::keys_held) {
            *running.entry(key).or_default() += 1;
        }
        for key in running.keys().chain(self.limits.used.keys()) {
            let (counted, leases) = (self.limits.in_use(key), running.get(key).copied().unwrap_or(0));
            holds(counted == leases, || format!("{key} counts {counted} leases of {leases}"))?;
        }
        Ok(())
    }

    fn check_lanes(&self) -> Result<(), Broken> {
        let mut counted = Lanes::default();
        for job in self.jobs.values() {
            let lane = |key: &LimitKey| LaneId {
                key: key.clone(),
                queue: job.queue.clone(),
                kind: job.kind.clone(),
            };
            match &job.place {
                None => {}
                Some(Place::Offered) => {
                    let stream = (job.queue.clone(), job.kind.clone());
                    counted.offered.entry(stream).or_default().insert(job.rank());
                    for key in &job.limit_keys {
                        counted.lanes.entry(lane(key)).or_default().offered += 1;
                    }
                }
                Some(Place::Parked(key)) => {
                    let carries = job.limit_keys.contains(key);
                    holds(carries, || format!("job {} is parked under {key}, not one of its keys", job.id))?;
                    counted.lanes.entry(lane(key)).or_default().parked.insert(job.rank());
                }
            }
        }
        holds(counted.offered == self.lanes.offered, || "the offered jobs are not those noted".into())?;
        let counts = |lanes: &BTreeMap<LaneId, LaneJobs>| -> BTreeMap<LaneId, (u64, Vec<_>)> {
            let of = |jobs: &LaneJobs| (jobs.offered, jobs.parked.iter().copied().collect());
            lanes.iter().map(|(lane, jobs)| (lane.clone(), of(jobs))).collect()
        };
        holds(counts(&counted.lanes) == counts(&self.lanes.lanes), || "the lanes are not those noted".into())
    }

    /// Nothing waits at a limit that has room, unless the next claim will see to it.
    fn check_waiting(&self) -> Result<(), Broken> {
        for (lane, jobs) in &self.lanes.lanes {
            let opens_now = self.limits.wake_at.get(&lane.key).is_some_and(|at| *at <= self.now);
            let waits_well =
                jobs.parked.is_empty() || jobs.offered > 0 || opens_now || self.is_full(&lane.key);
            holds(waits_well, || format!("jobs wait in {lane:?}, which has room"))?;
        }
        for key in self.lanes.lanes.keys().map(|lane| &lane.key).chain(self.limits.wake_at.keys()) {
            let noted = self.limits.wake_at.get(key).copied();
            let opens_at = match self.room(key) {
                Room::For(_) => noted.filter(|at| *at <= self.now),
                Room::Full(blocked) => blocked.until(),
            };
            let opens_at = opens_at.filter(|_| self.lanes.parked_under(key) > 0);
            let is_late = noted.is_some_and(|at| at <= self.now);
            holds(noted == opens_at || is_late, || format!("{key} opens at {opens_at:?}, noted {noted:?}"))?;
        }
        Ok(())
    }
}
