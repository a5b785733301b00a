//! What moves a batch forward: nodes are taken in hand as the phase has room, and the next phase begins when all are through.

use crate::again;
use crate::calls::ToPipeline;
use crate::limits::NODES_PER_TURN;
use crate::node::Node;
use crate::options::Options;
use crate::orders::{BatchOrder, NodeOrder, QUEUE};
use crate::phases::{self, Order, Taken};
use crate::refusal::No;
use crate::rows::{self, LATER, LaterRow, STATE, TODO};
use crate::state::{State, Step};
use crate::status::{PhaseName, Status};
use abide_core::job::NewJob;
use abide_core::limits::cut_reason;
use abide_core::name::UniqueKey;
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Object, Turn};
use abide_preprocess::{Batch, BatchId, ToBatch};
use serde::{Deserialize, Serialize};

/// An entry of a batch's log: how far it is, about a hundred times in each phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Where the batch is.
    pub status: Status,
    /// Directories that are through with the phase.
    pub complete: u64,
    /// All of them.
    pub total: u64,
}

/// A batch on its way through a turn.
pub(crate) struct Flow<'a, 't> {
    pub(crate) turn: &'a mut Turn<'t>,
    pub(crate) state: State,
    pub(crate) options: &'a Options,
}

/// How a node came through a phase.
pub(crate) enum End {
    /// Well.
    Done,
    /// There was nothing to do, for a reason if that is worth saying.
    Skipped(Option<String>),
    /// It was given up.
    Failed(String),
}

impl<'a, 't> Flow<'a, 't> {
    /// The batch as it is.
    pub(crate) fn load(turn: &'a mut Turn<'t>, options: &'a Options) -> Result<Flow<'a, 't>, Halt<No>> {
        let state = rows::state(turn)?;
        Ok(Flow { turn, state, options })
    }

    /// Writes the state.
    pub(crate) fn save(mut self) -> Result<(), Halt<No>> {
        self.state.updated_at = self.turn.now();
        Ok(self.turn.put(STATE, &self.state)?)
    }

    pub(crate) fn batch_id(&self) -> Result<BatchId, Halt<No>> {
        let name = self.turn.object().name.as_str().to_owned();
        Ok(BatchId::new(name.clone()).map_err(|_| No::UnknownBatch(name))?)
    }

    /// What a job about a node is told.
    pub(crate) fn order(&self, node: &Node) -> Result<NodeOrder, Halt<No>> {
        let pi = node.pi.clone().ok_or(No::UnknownNode(node.place))?;
        let batch = BatchOrder { batch_id: self.batch_id()?, life: self.turn.incarnation() };
        Ok(NodeOrder { batch, place: node.place, pi })
    }

    /// Enqueues a job that the phase waits for.
    pub(crate) fn enqueue<P: Serialize>(
        &mut self,
        key: &JobKey,
        kind: &str,
        payload: &P,
    ) -> Result<(), Halt<No>> {
        self.state.live += 1;
        let attempts = self.options.max_directory_retries;
        self.turn.put(&rows::live_key(&key.text()), &true)?;
        let job = NewJob::of(QUEUE, kind, payload)?;
        let unique_key = Some(UniqueKey::new(key.text())?);
        Ok(self.turn.enqueue(NewJob { unique_key, max_attempts: Some(attempts), ..job })?)
    }

    /// Begins a phase.
    pub(crate) fn enter(&mut self, phase: PhaseName) -> Result<(), Halt<No>> {
        self.state.step = Step::Phase { phase, sweep: Some(0) };
        self.state.live = 0;
        self.log()?;
        self.tick()
    }

    fn log(&mut self) -> Result<(), Halt<No>> {
        let total = self.state.progress.directories_total;
        let complete = self.state.phase().map_or(total, |phase| *self.state.progress.complete(phase));
        self.turn.append(&Note { status: self.state.status(), complete, total })?;
        Ok(())
    }

    /// Goes on in a turn of its own.
    pub(crate) fn tick(&mut self) -> Result<(), Halt<No>> {
        if !self.state.ticking {
            self.state.ticking = true;
            let me: ObjectKey = self.turn.object().clone();
            self.turn.send(&me, &ToPipeline::Tick)?;
        }
        Ok(())
    }

    /// Goes on: looks at nodes that the phase has not seen, takes as many in hand as it has room for, and goes to the next
    /// phase when all are through.
    pub(crate) fn go(&mut self) -> Result<(), Halt<No>> {
        let Some(phase) = self.state.phase() else { return Ok(()) };
        self.sweep(phase)?;
        let is_more = self.fill(phase)?;
        let Step::Phase { sweep, .. } = self.state.step else { return Ok(()) };
        let total = self.state.progress.directories_total;
        let is_over = *self.state.progress.complete(phase) == total && sweep.is_none();
        match (is_over, phase.next()) {
            (true, Some(next)) => self.enter(next),
            (true, None) => self.finish(),
            (false, _) if sweep.is_some() || is_more => self.tick(),
            (false, _) => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Halt<No>> {
        self.state.step = Step::Done;
        self.state.completed_at = Some(self.turn.now());
        self.log()?;
        if let Some(later) = self.turn.get::<LaterRow>(LATER)? {
            self.turn.delete(LATER);
            return again::begin(self.turn, &mut self.state, later);
        }
        if rows::message(self.turn)?.is_preprocessed() {
            // Whoever preprocessed it may empty its staging.
            let to = ObjectKey::new(Batch::KIND, self.batch_id()?.as_str())?;
            self.turn.send(&to, &ToBatch::Taken { finishes: self.state.finishes })?;
        }
        self.state.empties.take().map_or(Ok(()), |finishes| again::empty(self.turn, finishes))
    }

    /// Puts nodes in line: all of them, or from the bottom up those whose children are all through. Others follow their
    /// children, which are looked at after them.
    fn sweep(&mut self, phase: PhaseName) -> Result<(), Halt<No>> {
        let Step::Phase { sweep: Some(from), .. } = self.state.step else { return Ok(()) };
        let total = u32::try_from(self.state.progress.directories_total).unwrap_or(u32::MAX);
        let until = from.saturating_add(NODES_PER_TURN as u32).min(total);
        for place in from..until {
            let node = rows::node(self.turn, place)?;
            let is_next = match phases::of(phase).order() {
                Order::Any => true,
                Order::BottomUp => {
                    node.children == 0
                        || (node.round > 0 && node.children == rows::kids_done(self.turn, phase, place)?)
                }
            };
            if is_next && !phase.is_complete(&node) {
                self.turn.put(&rows::todo_key(place), &true)?;
            }
        }
        let sweep = (until < total).then_some(until);
        self.state.step = Step::Phase { phase, sweep };
        Ok(())
    }

    /// Takes nodes in hand as long as there is room. Whether there are more that could be taken in another turn.
    fn fill(&mut self, phase: PhaseName) -> Result<bool, Halt<No>> {
        let of_phase = phases::of(phase);
        let window = of_phase.window(self.options);
        let room = window.saturating_sub(self.state.live);
        if room == 0 {
            return Ok(false);
        }
        of_phase.resume(self, room)?;
        let line = self.turn.scan::<bool>(TODO, None, NODES_PER_TURN)?;
        let is_full = line.len() == NODES_PER_TURN;
        for (key, _) in line {
            let room = window.saturating_sub(self.state.live);
            if room == 0 {
                return Ok(false);
            }
            let Some(place) = rows::place_of(TODO, &key) else { continue };
            let mut node = rows::node(self.turn, place)?;
            match of_phase.take(self, &mut node, room)? {
                Taken::InHand => {
                    self.turn.delete(&key);
                    rows::put_node(self.turn, &node)?;
                }
                Taken::InPart => rows::put_node(self.turn, &node)?,
                Taken::Through(end) => {
                    self.turn.delete(&key);
                    self.through(&mut node, phase, end)?;
                }
            }
        }
        Ok(is_full || !self.turn.scan::<bool>(TODO, None, 1)?.is_empty())
    }

    /// A node is through with a phase; its parent's turn comes when all children are.
    pub(crate) fn through(&mut self, node: &mut Node, phase: PhaseName, end: End) -> Result<(), Halt<No>> {
        *phase.flag(node) = true;
        node.processing_complete |= phase == PhaseName::Description;
        node.open = 0;
        node.after = None;
        let word = phase.as_str().to_owned();
        match end {
            End::Done | End::Skipped(None) => {}
            End::Skipped(Some(reason)) => drop(node.phase_skips.insert(word, reason)),
            End::Failed(reason) => {
                let reason = cut_reason(&reason).to_owned();
                self.state.note(format!("{} failed for {}: {reason}", phase.as_str(), node.path));
                // A directory is counted once, however many phases give up on it.
                let is_first = node.phase_errors.keys().all(|known| *known == word);
                self.state.failed += u64::from(is_first);
                node.phase_errors.insert(word, reason);
            }
        }
        *self.state.progress.complete(phase) += 1;
        rows::put_node(self.turn, node)?;
        if let (Order::BottomUp, Some(parent)) = (phases::of(phase).order(), node.parent) {
            let done = rows::kids_done(self.turn, phase, parent)? + 1;
            self.turn.put(&rows::kids_done_key(phase, parent), &done)?;
            let above = rows::node(self.turn, parent)?;
            // In a later round it may have nothing new itself.
            if done == above.children && !phase.is_complete(&above) {
                self.turn.put(&rows::todo_key(parent), &true)?;
            }
        }
        let part = (self.state.progress.directories_total / 100).max(1);
        if self.state.progress.complete(phase).is_multiple_of(part) { self.log() } else { Ok(()) }
    }

    /// A job of the phase is over.
    pub(crate) fn ended(&mut self, key: &JobKey) {
        self.turn.delete(&rows::live_key(&key.text()));
        self.state.live = self.state.live.saturating_sub(1);
    }
}

/// The unique key of a job: its phase, its node, which of the node's jobs it is, and for which round of the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobKey {
    pub(crate) phase: PhaseName,
    pub(crate) place: u32,
    pub(crate) which: String,
    round: u32,
}

impl JobKey {
    pub(crate) fn new(phase: PhaseName, node: &Node, which: impl Into<String>) -> JobKey {
        JobKey { phase, place: node.place, which: which.into(), round: node.round }
    }

    pub(crate) fn text(&self) -> String {
        let JobKey { phase, place, which, round } = self;
        match round {
            0 => format!("{}/{place:07}/{which}", phase.as_str()),
            round => format!("{}/{place:07}.{round}/{which}", phase.as_str()),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<JobKey> {
        let (phase, rest) = text.split_once('/')?;
        let (place, which) = rest.split_once('/')?;
        let (place, round) = place.split_once('.').unwrap_or((place, "0"));
        let phase = PhaseName::ALL.into_iter().find(|known| known.as_str() == phase)?;
        Some(JobKey {
            phase,
            place: place.parse().ok()?,
            which: which.to_owned(),
            round: round.parse().ok()?,
        })
    }
}
