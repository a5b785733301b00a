//! What is due by itself: alarms, put-off events, leases, retention; and the passes over the store that find it.

use super::slot::SlotId;
use super::{Machine, Phase, WriteFor};
use abide_core::event::MessageId;
use abide_core::limits::SWEEP_ROWS;
use abide_core::object::ObjectKey;
use abide_core::time::{Time, earliest};
use abide_store::read::{AlarmCursor, Timers, Want};
use abide_store::{Read, Write};

/// Alarms, objects or followers in one page of a pass.
const PAGE: usize = 1_000;
/// Alarms in memory past which a pass waits.
const ALARMS_HELD: usize = 4_000;
/// Slots with something to do past which a pass waits.
const SLOTS_BUSY: usize = 4_000;
/// How often idle objects are looked for.
const TIDY_MS: i64 = 30_000;
/// Runs of the machine between two looks at how much memory is used, if it does not grow.
const MEMORY_RUNS: u32 = 256;
/// By which part of what it may be memory grows between two looks.
const MEMORY_PART: usize = 8;

/// What a read is for.
#[derive(Debug)]
pub(super) enum ReadFor {
    /// Parts of an object that a turn wants.
    Load {
        slot: SlotId,
        wants: Vec<Want>,
    },
    /// The next messages of an object.
    Messages {
        slot: SlotId,
        after: MessageId,
    },
    /// The next entries of the logs an object follows.
    Entries {
        slot: SlotId,
    },
    AlarmsDue,
    /// Put-off messages that are due at this time.
    MessagesDue {
        at: Time,
    },
    Inboxes,
    Followers,
    Timers,
}

/// When the machine has something to do by itself.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    alarm_at: Option<Time>,
    message_at: Option<Time>,
    lease_at: Option<Time>,
    prune_at: Option<Time>,
    poll_at: Option<Time>,
    tidy_at: Option<Time>,
    sweep: bool,
    removing: bool,
    alarms: Option<AlarmPass>,
    inboxes: Option<Pass>,
    followers: Option<Pass>,
    /// Runs of the machine, and bytes taken into memory, since the last look at how much it is.
    runs: u32,
    grown: usize,
}

/// A pass over all due alarms.
#[derive(Debug)]
struct AlarmPass {
    after: Option<AlarmCursor>,
    reading: bool,
    /// Alarms due up to here are found by this pass.
    until: Time,
}

/// A pass over objects.
#[derive(Debug, Default)]
struct Pass {
    after: Option<ObjectKey>,
    reading: bool,
}

impl Timetable {
    pub(super) fn wake_at(&self) -> Option<Time> {
        let alarm_at = self.alarm_at.filter(|_| self.alarms.is_none());
        let prune_at = self.prune_at.filter(|_| !self.removing);
        [alarm_at, self.message_at, self.lease_at, prune_at, self.poll_at, self.tidy_at]
            .into_iter()
            .fold(None, earliest)
    }

    pub(super) fn tidy_due(&mut self, now: Time, slots: usize) -> bool {
        match self.tidy_at {
            Some(at) if at <= now => {
                self.tidy_at = (slots > 0).then(|| now.plus_ms(TIDY_MS));
                true
            }
            Some(_) => false,
            None => {
                self.tidy_at = (slots > 0).then(|| now.plus_ms(TIDY_MS));
                false
            }
        }
    }

    /// Objects hold so many bytes more.
    pub(super) fn memory_grew(&mut self, bytes: usize) {
        self.grown = self.grown.saturating_add(bytes);
    }

    /// Whether that is so much that it must be looked at, if it may be `bound` bytes.
    pub(super) const fn memory_grew_much(&self, bound: usize) -> bool {
        self.grown > bound / MEMORY_PART
    }

    /// The machine ran once more. Whether it is time to look at how much memory is used, if that may be `bound` bytes.
    pub(super) fn memory_look_due(&mut self, bound: usize) -> bool {
        self.runs += 1;
        let is_due = self.runs >= MEMORY_RUNS || self.memory_grew_much(bound);
        if is_due {
            (self.runs, self.grown) = (0, 0);
        }
        is_due
    }

    pub(super) fn alarm(&mut self, at: Option<Time>) {
        self.alarm_at = earliest(self.alarm_at, at);
    }

    pub(super) fn message(&mut self, at: Option<Time>) {
        self.message_at = earliest(self.message_at, at);
    }

    pub(super) fn lease(&mut self, at: Option<Time>) {
        self.lease_at = earliest(self.lease_at, at);
    }

    pub(super) fn prune(&mut self, at: Option<Time>) {
        self.prune_at = earliest(self.prune_at, at);
    }

    pub(super) fn sweep(&mut self) {
        self.sweep = true;
    }
}

fn take_due(at: &mut Option<Time>, now: Time) -> bool {
    let due = at.is_some_and(|at| at <= now);
    if due {
        *at = None;
    }
    due
}

impl Machine {
    /// Looks at the whole store for what there is to do: at the start, after an ambiguous write, and when polling.
    pub(super) fn look_around(&mut self) {
        self.timetable.alarm_at = Some(self.now);
        self.timetable.message_at = Some(self.now);
        self.timetable.inboxes.get_or_insert_default();
        self.timetable.followers.get_or_insert_default();
        self.timetable.poll_at = (!self.options.alone).then(|| self.now.plus_ms(self.options.poll_ms));
        self.jobs.hint_all();
    }

    /// Whether the pass that finds what waits in inboxes has not come to its end.
    pub(super) fn finds_inboxes(&self) -> bool {
        self.timetable.inboxes.is_some()
    }

    /// Forgets passes that were under way: their answers will not come.
    pub(super) fn drop_passes(&mut self) {
        let sweep = self.timetable.sweep;
        self.timetable = Timetable { sweep, ..Timetable::default() };
    }

    pub(super) fn do_what_is_due(&mut self) {
        let now = self.now;
        if self.phase == Phase::Draining {
            return self.jobs_due();
        }
        if take_due(&mut self.timetable.poll_at, now) {
            self.look_around();
        }
        self.go_on_with_alarms();
        if take_due(&mut self.timetable.message_at, now) {
            self.read(ReadFor::MessagesDue { at: now }, Read::MessagesDue { limit: PAGE });
            self.timetable.followers.get_or_insert_default();
        }
        self.go_on_with_passes();
        // Before leases are taken back: a heartbeat that is due keeps its own.
        self.jobs_due();
        if take_due(&mut self.timetable.lease_at, now) {
            self.write(WriteFor::Release, Write::ReleaseExpired);
        }
        if !self.timetable.removing {
            if self.timetable.sweep {
                self.timetable.removing = true;
                self.write(WriteFor::Sweep, Write::Sweep { max: SWEEP_ROWS });
            } else if take_due(&mut self.timetable.prune_at, now) {
                self.timetable.removing = true;
                self.write(WriteFor::Prune, Write::Prune { max: SWEEP_ROWS });
            }
        }
    }

    fn go_on_with_alarms(&mut self) {
        let now = self.now;
        if self.timetable.alarms.is_none() && take_due(&mut self.timetable.alarm_at, now) {
            self.timetable.alarms = Some(AlarmPass { after: None, reading: false, until: now });
        }
        let held = self.alarms_held.len();
        if let Some(pass) = &mut self.timetable.alarms
            && !pass.reading
            && held < ALARMS_HELD
        {
            pass.reading = true;
            let read = Read::AlarmsDue { after: pass.after.clone(), limit: PAGE };
            self.read(ReadFor::AlarmsDue, read);
        }
    }

    fn go_on_with_passes(&mut self) {
        if self.ready.len() >= SLOTS_BUSY {
            return;
        }
        if let Some(pass) = &mut self.timetable.inboxes
            && !pass.reading
        {
            pass.reading = true;
            let read = Read::Inboxes { after: pass.after.clone(), limit: PAGE };
            self.read(ReadFor::Inboxes, read);
        }
        if let Some(pass) = &mut self.timetable.followers
            && !pass.reading
        {
            pass.reading = true;
            let read = Read::Followers { after: pass.after.clone(), limit: PAGE };
            self.read(ReadFor::Followers, read);
        }
    }

    pub(super) fn alarms_due(&mut self, page: Vec<abide_core::event::DueAlarm>) {
        let Some(pass) = &mut self.timetable.alarms else { return };
        pass.reading = false;
        let until = pass.until;
        pass.after = page.last().map(|last| AlarmCursor {
            due_at: last.due_at,
            incarnation: last.incarnation,
            name: last.name.clone(),
        });
        if page.len() < PAGE {
            self.timetable.alarms = None;
            self.read(ReadFor::Timers, Read::Timers { after: until });
        }
        for alarm in page {
            self.deliver_alarm(alarm);
        }
    }

    pub(super) fn messages_due(&mut self, at: Time, page: Vec<abide_core::event::Message>) {
        if page.len() < PAGE {
            // What became due while the page was on its way was not in it.
            self.read(ReadFor::Timers, Read::Timers { after: at });
        } else {
            self.timetable.message_at = Some(self.now);
        }
        for message in page {
            self.deliver_put_off(message);
        }
    }

    pub(super) fn inboxes(&mut self, page: Vec<ObjectKey>) {
        self.timetable.inboxes = next_pass(&page);
        for object in page {
            self.has_stored_messages(&object);
        }
    }

    pub(super) fn followers(&mut self, page: Vec<ObjectKey>) {
        self.timetable.followers = next_pass(&page);
        for object in page {
            self.is_behind(&object);
        }
    }

    pub(super) fn set_timers(&mut self, timers: Timers) {
        self.timetable.alarm(timers.alarm_at);
        self.timetable.message(timers.message_at);
        self.timetable.lease(timers.lease_at);
        self.timetable.prune(timers.prune_at);
        self.timetable.sweep |= timers.sweep;
        self.jobs.ready_at(timers.job_at);
    }

    pub(super) fn ask_for_timers(&mut self) {
        self.read(ReadFor::Timers, Read::Timers { after: self.now });
    }

    pub(super) fn removed(&mut self, swept: bool, more: bool) {
        self.timetable.removing = false;
        match (swept, more) {
            (true, more) => self.timetable.sweep = more,
            (false, true) => self.timetable.prune_at = Some(self.now),
            (false, false) => self.ask_for_timers(),
        }
    }
}

fn next_pass(page: &[ObjectKey]) -> Option<Pass> {
    page.last().filter(|_| page.len() >= PAGE).map(|last| Pass { after: Some(last.clone()), reading: false })
}
