//! The organizer: takes a request, has each directory grouped and published, and tells whoever asked.

use crate::calls::{Accept, Call, Paying, Publish, Reply, Work};
use crate::contract::{
    BadRequest, FromOrganizer, Operation, OrganizerKind, Phase, PiRequest, ProcessReply, ProcessRequest,
    Progress, Standing, StatusReply,
};
use crate::flow;
use crate::jobs::{self, JobKey, Order};
use crate::limits::BEGIN_AT_ONCE;
use crate::options::Options;
use crate::paid::Paid;
use crate::refusal::No;
use crate::report;
use crate::rows::{
    self, Asked, Kept, PROMPTS, Pi, Prompts, ReplyTo, STATE, State, Status, Task, answer_key, asked_key,
    pi_key, plan_key,
};
use crate::spending::{Add, Spending};
use abide_core::event::{Event, Sender};
use abide_core::job::JobOutcome;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Turn, TurnError};
use abide_entities::{ContentId, stamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The alarm at which a finished request is forgotten.
const FORGET: &str = "forget";

/// `organizer/{batch_id}:{chunk_id}`.
#[derive(Clone)]
pub struct Organizer {
    options: Options,
}

/// What an organizer is sent. What others send is [`ToOrganizer`](crate::contract::ToOrganizer).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// By others: do this.
    Process(Box<ProcessRequest>),
    /// By others: how far is it?
    HowFar {
        /// Which part of the batch.
        chunk_id: String,
    },
    /// By others: stop.
    Cancel {
        /// Why.
        reason: String,
    },
    /// By itself: go on with the directories from this one.
    Begin {
        /// In which run.
        run: u32,
        /// From which.
        place: usize,
    },
}

impl Organizer {
    /// One that behaves like this.
    #[must_use]
    pub fn new(options: Options) -> Organizer {
        Organizer { options }
    }

    /// The name of the object for a part of a batch.
    #[must_use]
    pub fn name(batch_id: &str, chunk_id: &str) -> String {
        format!("{batch_id}:{chunk_id}")
    }
}

impl Object for Organizer {
    const KIND: &'static str = "organizer";
    type Call = Call;
    type Reply = Reply;
    type Message = Sent;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::Process(accept) => Reply::Process(self.process(turn, *accept, ReplyTo::Orchestrator)?),
            Call::Status => Reply::Status(status(turn)?),
            Call::Work { run, place } => Reply::Work(work(turn, run, place)?),
            Call::Kept { run, key } => Reply::Kept(kept(turn, run, &key)?),
            Call::Paid(paying) => {
                paid(turn, *paying)?;
                Reply::Paid
            }
            Call::Failing { run, place, reason } => {
                failing(turn, run, place, reason)?;
                Reply::Failing
            }
            Call::Plan { run, place } => Reply::Plan(plan(turn, run, place)?),
        };
        Ok(reply.into())
    }

    fn message(&self, turn: &mut Turn<'_>, from: Option<&Sender>, sent: Sent) -> Result<(), Halt<No>> {
        match sent {
            Sent::Begin { run, place } => self.begin(turn, run, place),
            Sent::HowFar { chunk_id } => {
                let Some(sender) = from else { return Ok(()) };
                let phase = turn.get::<State>(STATE)?.map(|state| state.phase);
                Ok(turn.answer(sender, &FromOrganizer::OrganizerPhase { chunk_id, phase })?)
            }
            Sent::Cancel { reason } => match turn.get::<State>(STATE)? {
                Some(state) => flow::cancel(turn, &self.options, state, &reason),
                None => Ok(()),
            },
            Sent::Process(request) => {
                let reply_to = from.cloned().map_or(ReplyTo::Orchestrator, ReplyTo::Sender);
                let (batch_id, chunk_id) = (request.batch_id.clone(), request.chunk_id.clone());
                let operation = request.operation;
                let accept = Accept { request: *request, contents: Vec::new() };
                match (self.process(turn, accept, reply_to), from) {
                    (Err(Halt::Refused(no)), Some(sender)) => {
                        let refused =
                            report::refused(batch_id, chunk_id, operation, self.kind(), no.to_string());
                        Ok(turn.answer(sender, &FromOrganizer::OrganizerCallback(Box::new(refused)))?)
                    }
                    (taken, _) => taken.map(drop),
                }
            }
        }
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        let Some(key) = outcome.unique_key.as_ref().and_then(JobKey::read) else { return Ok(()) };
        let Some(state) = turn.get::<State>(STATE)?.filter(|state| state.run == key.run) else {
            return Ok(());
        };
        flow::outcome(turn, &self.options, state, key, outcome)
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _: Time) -> Result<(), Halt<No>> {
        let is_over = turn.get::<State>(STATE)?.is_none_or(|state| state.phase.is_final());
        if name == FORGET && is_over {
            turn.delete_self();
        }
        Ok(())
    }

    fn prefetch(&self, _: &Event) -> Vec<String> {
        vec![STATE.to_owned()]
    }
}

impl Organizer {
    fn kind(&self) -> OrganizerKind {
        if self.options.model.is_some() { OrganizerKind::Model } else { OrganizerKind::Builtin }
    }

    fn process(
        &self,
        turn: &mut Turn<'_>,
        accept: Accept,
        reply_to: ReplyTo,
    ) -> Result<ProcessReply, Halt<No>> {
        let Accept { request, contents } = accept;
        request.check().map_err(|bad| Halt::Refused(No(bad)))?;
        let name = Organizer::name(&request.batch_id, &request.chunk_id);
        if turn.object().name.as_str() != name {
            let message = format!("the request for {name:?} was sent to {}", turn.object());
            return Err(Halt::Refused(No(BadRequest(message))));
        }
        let before = turn.get::<State>(STATE)?;
        if let Some(state) = before.as_ref().filter(|state| !state.phase.is_final()) {
            let (chunk_id, phase) = (request.chunk_id, state.phase);
            // Whoever asks again may be a later life of who asked before.
            turn.put(STATE, &State { reply_to, ..state.clone() })?;
            return Ok(ProcessReply::AlreadyProcessing { chunk_id, phase });
        }
        let run = before.as_ref().map_or(1, |state| state.run + 1);
        if let Some(state) = &before {
            rows::clear(turn, state.places);
            rows::forget_answers(turn, run)?;
            turn.clear_alarm(FORGET)?;
        }
        self.accept(turn, request, contents, reply_to, run)
    }

    fn accept(
        &self,
        turn: &mut Turn<'_>,
        request: ProcessRequest,
        contents: Vec<Option<ContentId>>,
        reply_to: ReplyTo,
        run: u32,
    ) -> Result<ProcessReply, Halt<No>> {
        let tasks = tasks(&request, &contents);
        let state = State {
            batch_id: request.batch_id,
            chunk_id: request.chunk_id.clone(),
            operation: request.operation,
            phase: Phase::Pending,
            run,
            places: tasks.len(),
            reply_to,
            organizer: self.kind(),
            model: self.options.model.as_ref().map(|model| model.name().to_owned()),
            started_at: turn.now(),
            completed_at: None,
            undelivered: Vec::new(),
            error: None,
        };
        turn.put(STATE, &state)?;
        let prompts =
            Prompts { custom_prompt: request.custom_prompt, strategy_guidance: request.strategy_guidance };
        turn.put(PROMPTS, &prompts)?;
        for (place, asked) in tasks.iter().enumerate() {
            let (pi, config) = match &asked.task {
                Task::Organize(request) => (Some(request.pi.clone()), request.processing_config),
                Task::Strategize(_) => (None, None),
            };
            let new = Pi {
                pi,
                status: Status::Pending,
                config,
                paid: Paid::default(),
                error: None,
                is_hopeless: false,
            };
            turn.put(&pi_key(place), &new)?;
            turn.put(&asked_key(place), asked)?;
        }
        let object = turn.object().clone();
        turn.send(&object, &Sent::Begin { run, place: 0 })?;
        let (chunk_id, operation) = (state.chunk_id, state.operation);
        Ok(ProcessReply::Accepted { chunk_id, total_pis: state.places, operation })
    }

    /// Has the next directories grouped.
    fn begin(&self, turn: &mut Turn<'_>, run: u32, from: usize) -> Result<(), Halt<No>> {
        let Some(state) = turn.get::<State>(STATE)?.filter(|state| state.run == run) else { return Ok(()) };
        let until = state.places.min(from + BEGIN_AT_ONCE);
        turn.prefetch((from..until).map(pi_key))?;
        for place in from..until {
            let key = pi_key(place);
            let Some(pi) = turn.get::<Pi>(&key)?.filter(|pi| pi.status == Status::Pending) else { continue };
            turn.put(&key, &Pi { status: Status::Processing, ..pi })?;
            let order = Order { organizer: turn.object().name.as_str().to_owned(), run, place };
            turn.enqueue(jobs::llm(&order, &self.options).map_err(bad_job)?)?;
        }
        if state.phase == Phase::Pending {
            turn.put(STATE, &State { phase: Phase::Processing, ..state.clone() })?;
        }
        if until < state.places {
            let object = turn.object().clone();
            turn.send(&object, &Sent::Begin { run, place: until })?;
        }
        Ok(())
    }
}

pub(crate) fn bad_job(error: abide_core::job::BadJob) -> TurnError {
    TurnError::BadValue { what: "a job".to_owned(), reason: error.to_string() }
}

/// Sets when a finished request is forgotten.
pub(crate) fn forget_later(turn: &mut Turn<'_>, retain_ms: i64) -> Result<(), TurnError> {
    turn.set_alarm(FORGET, turn.now().plus_ms(retain_ms))
}

/// What is to be done, each directory once.
fn tasks(request: &ProcessRequest, contents: &[Option<ContentId>]) -> Vec<Asked> {
    let content = |place: usize| contents.get(place).copied().flatten();
    match (request.operation, &request.strategize) {
        (Operation::Strategize, Some(input)) => {
            vec![Asked { task: Task::Strategize(input.clone()), contents: content(0) }]
        }
        (Operation::Strategize, None) => Vec::new(),
        (Operation::Organize, _) => {
            let mut places = BTreeMap::new();
            let mut tasks: Vec<(PiRequest, Option<ContentId>)> = Vec::new();
            for (place, pi) in request.pis.iter().enumerate() {
                match places.get(&pi.pi) {
                    None => {
                        places.insert(&pi.pi, tasks.len());
                        tasks.push((pi.clone(), content(place)));
                    }
                    Some(first) => {
                        let (first, kept) = &mut tasks[*first];
                        join(first, pi);
                        *kept = kept.or(content(place));
                    }
                }
            }
            tasks.into_iter().map(|(pi, contents)| Asked { task: Task::Organize(pi), contents }).collect()
        }
    }
}

/// A directory that is named twice is one, with the files of both.
fn join(first: &mut PiRequest, second: &PiRequest) {
    first.files = match (first.files.take(), &second.files) {
        (Some(mut files), Some(more)) => {
            for file in more {
                if files.iter().all(|known| known.name != file.name) {
                    files.push(file.clone());
                }
            }
            Some(files)
        }
        // All files of the entity.
        (_, _) => None,
    };
    if first.directory_path.is_none() {
        first.directory_path.clone_from(&second.directory_path);
    }
    if first.processing_config.is_none() {
        first.processing_config = second.processing_config;
    }
}

fn status(turn: &mut Turn<'_>) -> Result<StatusReply, Halt<No>> {
    let Some(state) = turn.get::<State>(STATE)? else { return Ok(StatusReply::not_found()) };
    let pis = rows::pis::<No>(turn)?;
    let mut progress = Progress { total: state.places, ..Progress::default() };
    for pi in &pis {
        match pi.status {
            Status::Pending => progress.pending += 1,
            Status::Processing => progress.processing += 1,
            Status::Publishing => progress.publishing += 1,
            Status::Done => progress.done += 1,
            Status::Failed => progress.failed += 1,
        }
    }
    let strategize_status = match (state.operation, pis.first().map(|pi| pi.status)) {
        (Operation::Organize, _) | (Operation::Strategize, None) => None,
        (Operation::Strategize, Some(status)) => Some(match status {
            Status::Pending => "pending",
            Status::Processing | Status::Publishing => "processing",
            Status::Done => "done",
            Status::Failed => "error",
        }),
    };
    let paid = pis.iter().fold(Paid::default(), |paid, pi| paid.plus(pi.paid));
    // That nobody could be told hides nothing of what there was to tell.
    let mut errors: Vec<String> =
        pis.into_iter().find_map(|pi| pi.error).into_iter().chain(state.error).collect();
    errors.dedup();
    let error = Some(errors.join("; ")).filter(|error| !error.is_empty());
    Ok(StatusReply::Found(Box::new(Standing {
        status: state.phase.lower().to_owned(),
        phase: state.phase,
        operation: state.operation,
        progress,
        strategize_status: strategize_status.map(str::to_owned),
        organizer: state.organizer,
        model: state.model,
        spend: paid.spend(),
        batch: None,
        started_at: stamp(state.started_at.0),
        completed_at: state.completed_at.map(|at| stamp(at.0)),
        error,
    })))
}

/// A directory in this run and in that status.
fn at(turn: &mut Turn<'_>, run: u32, place: usize, status: Status) -> Result<Option<State>, Halt<No>> {
    let Some(state) = turn.get::<State>(STATE)?.filter(|state| state.run == run) else { return Ok(None) };
    let pi = turn.get::<Pi>(&pi_key(place))?;
    Ok(pi.filter(|pi| pi.status == status).map(|_| state))
}

fn work(turn: &mut Turn<'_>, run: u32, place: usize) -> Result<Option<Box<Work>>, Halt<No>> {
    let Some(state) = at(turn, run, place, Status::Processing)? else { return Ok(None) };
    let Some(asked) = turn.get::<Asked>(&asked_key(place))? else { return Ok(None) };
    let prompts = turn.get::<Prompts>(PROMPTS)?.unwrap_or_default();
    Ok(Some(Box::new(Work { batch_id: state.batch_id, asked, prompts })))
}

fn plan(turn: &mut Turn<'_>, run: u32, place: usize) -> Result<Option<Box<Publish>>, Halt<No>> {
    let Some(state) = at(turn, run, place, Status::Publishing)? else { return Ok(None) };
    let (Some(asked), Some(planned)) = (turn.get(&asked_key(place))?, turn.get(&plan_key(place))?) else {
        return Ok(None);
    };
    let State { batch_id, chunk_id, .. } = state;
    Ok(Some(Box::new(Publish { batch_id, chunk_id, asked, planned })))
}

/// An attempt failed: whoever looks sees why, until one succeeds.
fn failing(turn: &mut Turn<'_>, run: u32, place: usize, reason: String) -> Result<(), Halt<No>> {
    if at(turn, run, place, Status::Processing)?.is_some()
        && let Some(pi) = turn.get::<Pi>(&pi_key(place))?
    {
        turn.put(&pi_key(place), &Pi { error: Some(reason), ..pi })?;
    }
    Ok(())
}

fn kept(turn: &mut Turn<'_>, run: u32, key: &str) -> Result<Option<Box<abide_llm::Answer>>, Halt<No>> {
    let key = answer_key(key);
    let Some(kept) = turn.get::<Kept>(&key)? else { return Ok(None) };
    if kept.run < run {
        turn.put(&key, &Kept { run, ..kept.clone() })?;
    }
    Ok(Some(Box::new(kept.answer)))
}

/// A question is paid for, whatever comes of it, and by whichever run.
fn paid(turn: &mut Turn<'_>, paying: Paying) -> Result<(), Halt<No>> {
    let Paying { run, place, paid, is_reserved, unanswered_micros, answer } = paying;
    let Some(state) = turn.get::<State>(STATE)? else { return Ok(()) };
    let pi = turn.get::<Pi>(&pi_key(place))?.filter(|_| state.run == run);
    if let Some(pi) = pi {
        turn.put(&pi_key(place), &Pi { paid: pi.paid.plus(paid), ..pi })?;
    }
    if let Some((key, answer)) = answer {
        turn.put(&answer_key(&key), &Kept { run, answer })?;
    }
    if is_reserved || paid != Paid::default() {
        let spending = ObjectKey::new(Spending::KIND, &state.batch_id).map_err(TurnError::from)?;
        let question = is_reserved.then(|| jobs::question(turn.object().name.as_str(), run, place));
        turn.send(&spending, &Add { paid, question, unanswered_micros })?;
    }
    Ok(())
}
