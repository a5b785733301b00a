//! The batch: takes a message, learns its directories and files, goes through its phases.

use crate::again;
use crate::answers;
use crate::away;
use crate::calls::{
    BriefAnswer, Call, CallbackAnswer, FilesAnswer, HaveAnswer, Item, KidsAnswer, NewNode, NodesAnswer,
    OkAnswer, Reply, StartAnswer, StoredFile, ToPipeline,
};
use crate::chunk::Missed;
use crate::flow::{Flow, JobKey};
use crate::limits::{CANCELLED_PER_TURN, DISCOVER_ATTEMPTS, PAGE_ITEMS};
use crate::message::IngestMessage;
use crate::node::{FileRecord, Node};
use crate::options::Options;
use crate::orders::{self, BatchOrder, DiscoverOrder, QUEUE};
use crate::phases;
use crate::phases::reorganization::{self, TIMEOUT};
use crate::phases::waiting;
use crate::refusal::No;
use crate::rows::{self, LATER, LIVE, MESSAGE, MessageRow, STATE};
use crate::show;
use crate::state::{State, Step};
use crate::status::PhaseName;
use crate::upload::{Intake, ToIntake};
use abide_core::event::{Event, Sender};
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::name::UniqueKey;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Turn};
use abide_organize::contract::ToOrganizer;

/// The unique key of the job that finds directories and files.
const DISCOVER_KEY: &str = "discover";

/// A kind of object that takes a batch of directories through phases.
pub struct Pipeline {
    options: Options,
}

impl Pipeline {
    /// One with these options.
    #[must_use]
    pub const fn new(options: Options) -> Pipeline {
        Pipeline { options }
    }
}

impl Object for Pipeline {
    const KIND: &'static str = "pipeline";
    type Call = Call;
    type Reply = Reply;
    type Message = ToPipeline;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::Start(message) => Reply::Started(start(turn, *message)?),
            Call::Status => Reply::Status(Box::new(show::status(turn)?)),
            Call::Reset => reset(turn)?,
            Call::Items { life, from, items, last } => self.items(turn, life, from, items, last)?,
            Call::Brief { life, place, phase } => Reply::Brief(Box::new(brief(turn, life, place, phase)?)),
            Call::Files { place, after } => Reply::Files(files(turn, place, after.as_deref())?),
            Call::Kids { place, after } => Reply::Kids(kids(turn, place, after)?),
            Call::Stored { life, place, files } => self.stored(turn, life, place, files)?,
            Call::Keep { life, place, phase, made } => {
                if is_live(turn, life)? {
                    turn.put(&rows::made_key(phase, place), &made)?;
                }
                ok(None)
            }
            Call::Spent { life, spent } => {
                if is_live(turn, life)? {
                    let mut flow = Flow::load(turn, &self.options)?;
                    flow.state.cost.add(&spent);
                    flow.save()?;
                }
                ok(None)
            }
            Call::Found { life, place, children } => self.found(turn, life, place, &children)?,
            Call::Callback { service, payload, ignored } => {
                if service != "organizer" {
                    return Err(No::UnknownService(service).into());
                }
                let mut flow = Flow::load(turn, &self.options)?;
                let processed = answers::take(&mut flow, *payload)?;
                if processed > 0 {
                    ignored.iter().for_each(|ignored| flow.state.note(ignored));
                }
                flow.go()?;
                flow.save()?;
                Reply::Callback(CallbackAnswer { success: true, processed, ignored })
            }
            Call::Answered { service, payload } => {
                let Some(phase) = self.options.away.phase_of(&service) else {
                    return Err(No::UnknownService(service).into());
                };
                let mut flow = Flow::load(turn, &self.options)?;
                let processed = away::take(&mut flow, phase, *payload)?;
                flow.go()?;
                flow.save()?;
                Reply::Callback(CallbackAnswer { success: true, processed, ignored: Vec::new() })
            }
            Call::Nodes { after, limit } => Reply::Nodes(nodes(turn, after, limit)?),
            Call::Node { place } => Reply::Node(Box::new(show::node(turn, place)?)),
        };
        Ok(reply.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: ToPipeline,
    ) -> Result<(), Halt<No>> {
        match message {
            ToPipeline::Start(message) => start(turn, *message).map(drop),
            ToPipeline::Preprocessed(finished) => again::preprocessed(turn, *finished),
            ToPipeline::Listed(message) => again::listed(turn, *message),
            ToPipeline::MayEmpty { finishes } => again::may_empty(turn, finishes),
            ToPipeline::OrganizerCallback(payload) => {
                self.onward(turn, |flow| answers::take(flow, *payload).map(drop))
            }
            ToPipeline::OrganizerPhase { chunk_id, phase } => {
                self.onward(turn, |flow| waiting::told(flow, &chunk_id, phase))
            }
            ToPipeline::Tick => self.onward(turn, |flow| {
                flow.state.ticking = false;
                Ok(())
            }),
            ToPipeline::Cancel => cancel_live(turn),
        }
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<No>> {
        let state: Option<State> = turn.get(STATE)?;
        if name != TIMEOUT || state.is_none_or(|state| state.phase().is_none()) {
            return Ok(());
        }
        let mut flow = Flow::load(turn, &self.options)?;
        reorganization::timed_out(&mut flow)?;
        flow.go()?;
        flow.save()
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        let Some(key) = outcome.unique_key.as_ref().map(UniqueKey::as_str) else { return Ok(()) };
        if turn.get::<State>(STATE)?.is_none() {
            return Ok(());
        }
        if key == DISCOVER_KEY || key.starts_with(&format!("{DISCOVER_KEY}/")) {
            return discovered(turn, outcome);
        }
        let mut flow = Flow::load(turn, &self.options)?;
        if let Some(chunk_id) = reorganization::dispatched(key) {
            dispatched(&mut flow, chunk_id, outcome)?;
        } else if let Some(chunk_id) = away::brought(key) {
            away::dispatched(&mut flow, chunk_id, outcome)?;
        } else {
            let Some(key) = JobKey::parse(key) else { return Ok(()) };
            if flow.state.phase() != Some(key.phase) {
                return Ok(());
            }
            let node = rows::node(flow.turn, key.place)?;
            flow.ended(&key);
            phases::of(key.phase).ended(&mut flow, node, &key, outcome)?;
        }
        flow.go()?;
        flow.save()
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Call { .. }
            | Event::Message { .. }
            | Event::Alarm { .. }
            | Event::Outcome(_)
            | Event::Entries { .. } => vec![STATE.to_owned()],
        }
    }
}

impl Pipeline {
    /// Something was said to the batch, and it goes on; one that is gone does not.
    fn onward(
        &self,
        turn: &mut Turn<'_>,
        said: impl FnOnce(&mut Flow<'_, '_>) -> Result<(), Halt<No>>,
    ) -> Result<(), Halt<No>> {
        if turn.get::<State>(STATE)?.is_none() {
            return Ok(());
        }
        let mut flow = Flow::load(turn, &self.options)?;
        said(&mut flow)?;
        flow.go()?;
        flow.save()
    }

    /// Directories and files came.
    fn items(
        &self,
        turn: &mut Turn<'_>,
        life: Incarnation,
        from: u64,
        items: Vec<Item>,
        last: bool,
    ) -> Result<Reply, Halt<No>> {
        let mut flow = Flow::load(turn, &self.options)?;
        let have = match flow.state.step {
            Step::Loading { have } if life == flow.turn.incarnation() => have,
            Step::Loading { .. } | Step::Phase { .. } | Step::Done | Step::Error { .. } => {
                return Ok(Reply::Have(HaveAnswer { have: None }));
            }
        };
        if flow.state.round > 0 {
            return again::items(flow, from, items, last);
        }
        // A worker that begins again is told where to go on.
        if from != have {
            return Ok(Reply::Have(HaveAnswer { have: Some(have) }));
        }
        let now_have = have + items.len() as u64;
        for item in items {
            match item {
                Item::Node(node) => add_node(&mut flow, *node)?,
                Item::File { place, file } => add_file(&mut flow, place, &file)?,
            }
        }
        flow.state.step = Step::Loading { have: now_have };
        if last && flow.state.progress.directories_total == 0 {
            return end(flow.turn, flow.state, "the batch has no directories".to_owned())
                .map(|()| Reply::Have(HaveAnswer { have: None }));
        }
        if last {
            flow.enter(PhaseName::Discovery)?;
        }
        flow.save()?;
        Ok(Reply::Have(HaveAnswer { have: (!last).then_some(now_have) }))
    }

    /// Files are where entities find them, or could not be brought there.
    fn stored(
        &self,
        turn: &mut Turn<'_>,
        life: Incarnation,
        place: u32,
        files: Vec<StoredFile>,
    ) -> Result<Reply, Halt<No>> {
        if !is_live(turn, life)? {
            return Ok(ok(None));
        }
        let mut flow = Flow::load(turn, &self.options)?;
        flow.turn.prefetch(files.iter().map(|stored| rows::file_key(place, &stored.filename)))?;
        for stored in files {
            let key = rows::file_key(place, &stored.filename);
            let Some(mut file) = flow.turn.get::<FileRecord>(&key)? else { continue };
            if !file.is_open() {
                continue;
            }
            flow.state.files.open -= 1;
            match stored.cid {
                Some(_) => flow.state.files.published += 1,
                None => {
                    flow.state.files.failed += 1;
                    let unread = u64::from(file.is_unread());
                    flow.state.files.ocr_total = flow.state.files.ocr_total.saturating_sub(unread);
                }
            }
            file.cid = stored.cid;
            file.error = stored.error;
            flow.turn.put(&key, &file)?;
        }
        flow.save()?;
        Ok(ok(None))
    }

    fn found(
        &self,
        turn: &mut Turn<'_>,
        life: Incarnation,
        place: u32,
        children: &[crate::calls::FoundGroup],
    ) -> Result<Reply, Halt<No>> {
        if is_live(turn, life)? {
            let mut flow = Flow::load(turn, &self.options)?;
            if flow.state.phase() == Some(PhaseName::Reorganization) {
                answers::found(&mut flow, place, children)?;
                flow.save()?;
            }
        }
        Ok(ok(None))
    }
}

fn ok(message: Option<String>) -> Reply {
    Reply::Ok(OkAnswer { ok: true, message })
}

/// Whether a batch goes on, in this life.
fn is_live(turn: &mut Turn<'_>, life: Incarnation) -> Result<bool, Halt<No>> {
    let state = rows::state(turn)?;
    Ok(life == turn.incarnation() && state.phase().is_some())
}

/// A message came. One about a batch that goes on or is through changes nothing; one about a batch that ended begins it anew.
pub(crate) fn start(turn: &mut Turn<'_>, message: IngestMessage) -> Result<StartAnswer, Halt<No>> {
    let batch_id = message.batch_id.to_string();
    if let Some(state) = turn.get::<State>(STATE)? {
        let ended = matches!(state.step, Step::Error { .. });
        if ended {
            // The rows of the former life go with it, and so does whatever still arrives for it.
            turn.delete_self();
            let me = turn.object().clone();
            turn.send(&me, &ToPipeline::Start(Box::new(message)))?;
        }
        return Ok(StartAnswer { batch_id, started: ended });
    }
    let state = State::new(turn.now());
    turn.put(STATE, &state)?;
    discover(turn, &state, message)?;
    // Whoever uploaded it learns that it is taken; there may have been no upload.
    turn.send(&ObjectKey::new(Intake::KIND, &batch_id)?, &ToIntake::Taken)?;
    Ok(StartAnswer { batch_id, started: true })
}

/// Has directories and files found, as a message says.
pub(crate) fn discover(turn: &mut Turn<'_>, state: &State, message: IngestMessage) -> Result<(), Halt<No>> {
    let batch = BatchOrder { batch_id: message.batch_id.clone(), life: turn.incarnation() };
    let order = DiscoverOrder { batch, message, round: state.round };
    let job = NewJob::of(QUEUE, orders::DISCOVER, &order)?;
    let unique_key = Some(discover_key(state)?);
    turn.enqueue(NewJob { unique_key, max_attempts: Some(DISCOVER_ATTEMPTS), ..job })?;
    Ok(turn.put(MESSAGE, &MessageRow(order.message))?)
}

/// The unique key of the job that finds directories and files, in each round another.
fn discover_key(state: &State) -> Result<UniqueKey, Halt<No>> {
    Ok(match state.round {
        0 => UniqueKey::new(DISCOVER_KEY)?,
        round => UniqueKey::new(format!("{DISCOVER_KEY}/{round}"))?,
    })
}

/// The worker that finds directories and files is through: with all of them, or without any hope.
fn discovered(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let state = rows::state(turn)?;
    if outcome.unique_key != Some(discover_key(&state)?) {
        return Ok(());
    }
    match (&state.step, outcome.state) {
        (Step::Loading { .. }, JobState::Failed | JobState::Skipped | JobState::Cancelled) => {
            let reason = outcome.reason.clone().unwrap_or_else(|| "its job was cancelled".to_owned());
            end(turn, state, reason)
        }
        (Step::Loading { .. } | Step::Phase { .. } | Step::Done | Step::Error { .. }, _) => Ok(()),
    }
}

/// A request was brought to an organizer of somebody else, or was not.
fn dispatched(flow: &mut Flow<'_, '_>, chunk_id: &str, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    if outcome.state == JobState::Done || flow.state.phase() != Some(PhaseName::Reorganization) {
        return Ok(());
    }
    let Some((node, number, chunk)) = reorganization::no_longer_awaited(flow, chunk_id)? else {
        return Ok(());
    };
    let reason = outcome.reason.clone().unwrap_or_else(|| "the organizer was not reached".to_owned());
    reorganization::missed(flow, node, number, chunk, Missed::Failed, &reason)
}

pub(crate) fn add_node(flow: &mut Flow<'_, '_>, new: NewNode) -> Result<(), Halt<No>> {
    let total = &mut flow.state.progress.directories_total;
    let place = u32::try_from(*total).unwrap_or(u32::MAX);
    *total += 1;
    let mut node = Node {
        depth: 0,
        place,
        parent: new.parent,
        processing_config: new.config,
        pi: Some(new.pi.clone()),
        existed: new.published.is_some(),
        current_tip: new.published.map(|(tip, _)| tip),
        current_version: new.published.map(|(_, ver)| ver),
        path: new.path,
        round: flow.state.round,
        ..Node::default()
    };
    match new.parent {
        Some(parent) => {
            let mut above = rows::node(flow.turn, parent)?;
            above.children += 1;
            node.depth = above.depth + 1;
            node.parent_path = Some(above.path.clone());
            rows::put_node(flow.turn, &above)?;
            flow.turn.put(&rows::kid_key(parent, place), &true)?;
        }
        None if flow.state.root_pi.is_none() => flow.state.root_pi = Some(new.pi.clone()),
        None => {}
    }
    reorganization::offer(flow, &node, new.existing_groups)?;
    flow.turn.put(&rows::pi_key(&new.pi), &place)?;
    rows::put_node(flow.turn, &node)
}

pub(crate) fn add_file(flow: &mut Flow<'_, '_>, place: u32, file: &FileRecord) -> Result<(), Halt<No>> {
    let mut node = rows::node(flow.turn, place)?;
    flow.state.files.total += 1;
    match (file.is_open(), &file.cid) {
        (true, _) => flow.state.files.open += 1,
        (false, Some(_)) => flow.state.files.published += 1,
        (false, None) => flow.state.files.failed += 1,
    }
    let is_read = node.processing_config.ocr && file.is_unread() && (file.is_open() || file.cid.is_some());
    flow.state.files.ocr_total += u64::from(is_read);
    *node.count(file.kind) += 1;
    rows::put_node(flow.turn, &node)?;
    Ok(flow.turn.put(&rows::file_key(place, &file.filename), file)?)
}

fn brief(
    turn: &mut Turn<'_>,
    life: Incarnation,
    place: u32,
    phase: PhaseName,
) -> Result<BriefAnswer, Halt<No>> {
    let message = rows::message(turn)?;
    let node = if is_live(turn, life)? { Some(rows::node(turn, place)?) } else { None };
    let made = turn.get(&rows::made_key(phase, place))?;
    Ok(BriefAnswer {
        parent_pi: message.parent().cloned(),
        node: node.filter(|node| !phase.is_complete(node)),
        made,
        custom_prompt: message.custom_prompts.unwrap_or_default().of(phase),
        custom_note: message.custom_note,
        institution: message.institution,
    })
}

fn files(turn: &mut Turn<'_>, place: u32, after: Option<&str>) -> Result<FilesAnswer, Halt<No>> {
    let after = after.map(|name| rows::file_key(place, name));
    let page = turn.scan::<FileRecord>(&rows::files_prefix(place), after.as_deref(), PAGE_ITEMS)?;
    let files: Vec<FileRecord> = page.into_iter().map(|(_, file)| file).collect();
    let next = (files.len() == PAGE_ITEMS).then(|| files.last().map(|file| file.filename.clone())).flatten();
    Ok(FilesAnswer { files, next })
}

/// Children whose entities are there.
fn kids(turn: &mut Turn<'_>, place: u32, after: Option<u32>) -> Result<KidsAnswer, Halt<No>> {
    let prefix = rows::kids_prefix(place);
    let after = after.map(|kid| rows::kid_key(place, kid));
    let page = turn.scan::<bool>(&prefix, after.as_deref(), PAGE_ITEMS)?;
    let places: Vec<u32> = page.iter().filter_map(|(key, _)| rows::place_of(&prefix, key)).collect();
    let mut kids = Vec::new();
    turn.prefetch(places.iter().map(|kid| rows::node_key(*kid)))?;
    for kid in &places {
        let node = rows::node(turn, *kid)?;
        if !node.phase_errors.contains_key(PhaseName::Discovery.as_str()) {
            kids.extend(node.pi);
        }
    }
    Ok(KidsAnswer { kids, next: (places.len() == PAGE_ITEMS).then(|| places.last().copied()).flatten() })
}

fn nodes(turn: &mut Turn<'_>, after: Option<u32>, limit: Option<usize>) -> Result<NodesAnswer, Halt<No>> {
    rows::state(turn)?;
    let limit = limit.unwrap_or(PAGE_ITEMS).clamp(1, PAGE_ITEMS);
    let after = after.map(rows::node_key);
    let page = turn.scan::<Node>("node/", after.as_deref(), limit)?;
    let next = (page.len() == limit).then(|| page.last().map(|(_, node)| node.place)).flatten();
    Ok(NodesAnswer { nodes: page.into_iter().map(|(_, node)| node).collect(), next })
}

/// Stops everything.
fn reset(turn: &mut Turn<'_>) -> Result<Reply, Halt<No>> {
    let name = turn.object().name.as_str().to_owned();
    let state = rows::state(turn)?;
    if !matches!(state.step, Step::Error { .. }) {
        end(turn, state, "manually reset".to_owned())?;
    }
    Ok(ok(Some(format!("batch {name} is stopped: send its message to begin it again"))))
}

/// The batch has ended for a reason.
fn end(turn: &mut Turn<'_>, state: State, error: String) -> Result<(), Halt<No>> {
    let now = turn.now();
    turn.clear_alarm(TIMEOUT)?;
    turn.cancel(&discover_key(&state)?);
    turn.delete(LATER);
    turn.put(STATE, &State { step: Step::Error { error }, live: 0, updated_at: now, ..state })?;
    cancel_live(turn)
}

/// Cancels jobs, and requests to our own organizer, a part at a time.
fn cancel_live(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let live = turn.scan::<bool>(LIVE, None, CANCELLED_PER_TURN)?;
    let is_more = live.len() == CANCELLED_PER_TURN;
    for (key, _) in live {
        let job = key.strip_prefix(LIVE).unwrap_or_default();
        match reorganization::organizing(job) {
            Some(chunk_id) => {
                let reason = "the batch was stopped".to_owned();
                waiting::tell(turn, chunk_id, &ToOrganizer::Cancel { reason })?;
            }
            None => turn.cancel(&UniqueKey::new(job)?),
        }
        turn.delete(&key);
    }
    if is_more {
        let me = turn.object().clone();
        turn.send(&me, &ToPipeline::Cancel)?;
    }
    Ok(())
}
