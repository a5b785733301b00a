//! A world with a pipeline, an organizer that does what the test says, and work that is done at once.

use abide_core::event::Sender;
use abide_core::job::Lease;
use abide_engine::object::NoRefusal;
use abide_engine::testing::World;
use abide_engine::worker::{done, failed};
use abide_engine::{Answer, Halt, Object, Record, Turn};
use abide_entities::{Codec, ContentId, EntityId};
use abide_organize::contract::{
    CallbackPayload, CallbackStatus, FromOrganizer, GroupEntity, Operation, OrganizerKind, Phase, PiResult,
    PiStatus, ProcessRequest, Spend, StrategizeResult, Summary, ToOrganizer,
};
use abide_pipeline::calls::{HaveAnswer, Item, NodesAnswer};
use abide_pipeline::contract::*;
use abide_pipeline::orders::{AWAY, DISCOVER, DISPATCH};
use abide_pipeline::{Call, Options, Pipeline, ids};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(crate) const BATCH: &str = "pipeline/b1";

pub(crate) fn cid(text: &str) -> ContentId {
    ContentId::of(Codec::Raw, text.as_bytes())
}

/// Groups by the first letter of names; `u…` stays ungrouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Organizing {
    /// At once.
    AtOnce,
    /// When the test says so; until then it is at it.
    Held,
    /// Never: it knows nothing of what it was asked.
    Lost,
    /// Never, and it does not say how far it is either.
    Mute,
}

/// An organizer that a test steers.
pub(crate) struct Scripted(pub(crate) Organizing);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HeldRow {
    pub(crate) request: ProcessRequest,
    from: Sender,
}

impl Record for HeldRow {}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Steer {
    /// What was asked.
    Show,
    /// Send this to whoever asked.
    Send(Box<CallbackPayload>),
}

impl Object for Scripted {
    const KIND: &'static str = "organizer";
    type Call = Steer;
    type Reply = Option<ProcessRequest>;
    type Message = ToOrganizer;
    type Refusal = NoRefusal;

    fn call(
        &self,
        turn: &mut Turn<'_>,
        call: Steer,
    ) -> Result<Answer<Option<ProcessRequest>>, Halt<NoRefusal>> {
        let held: Option<HeldRow> = turn.get("held")?;
        if let (Steer::Send(payload), Some(held)) = (call, &held) {
            turn.answer(&held.from, &FromOrganizer::OrganizerCallback(payload))?;
        }
        Ok(held.map(|held| held.request).into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: ToOrganizer,
    ) -> Result<(), Halt<NoRefusal>> {
        let from = from.expect("a pipeline asks").clone();
        match (message, self.0) {
            (ToOrganizer::Process(request), organizing) => {
                if organizing == Organizing::AtOnce {
                    turn.answer(&from, &FromOrganizer::OrganizerCallback(Box::new(answer(&request))))?;
                }
                Ok(turn.put("held", &HeldRow { request: *request, from })?)
            }
            (ToOrganizer::HowFar { chunk_id }, Organizing::AtOnce | Organizing::Held) => {
                let phase = Some(Phase::Processing);
                Ok(turn.answer(&from, &FromOrganizer::OrganizerPhase { chunk_id, phase })?)
            }
            (ToOrganizer::HowFar { chunk_id }, Organizing::Lost) => {
                Ok(turn.answer(&from, &FromOrganizer::OrganizerPhase { chunk_id, phase: None })?)
            }
            (ToOrganizer::HowFar { .. }, Organizing::Mute) | (ToOrganizer::Cancel { .. }, _) => Ok(()),
        }
    }
}

/// The id of a group: what it is called in which directory.
pub(crate) fn group_id(parent: &EntityId, name: &str) -> EntityId {
    ids::of_directory(parent.as_str(), name)
}

/// A payload with nothing in it.
pub(crate) fn payload(request: &ProcessRequest, status: CallbackStatus) -> CallbackPayload {
    CallbackPayload {
        batch_id: request.batch_id.clone(),
        chunk_id: request.chunk_id.clone(),
        operation: request.operation,
        status,
        results: None,
        new_pis: Vec::new(),
        strategize_result: None,
        summary: Summary::default(),
        organizer: OrganizerKind::Builtin,
        model: None,
        spend: Spend::default(),
        batch: None,
        error: None,
        retryable: None,
    }
}

pub(crate) fn error(request: &ProcessRequest, reason: &str) -> CallbackPayload {
    CallbackPayload { error: Some(reason.to_owned()), ..payload(request, CallbackStatus::Error) }
}

/// What a request is answered with: groups by the first letter.
pub(crate) fn answer(request: &ProcessRequest) -> CallbackPayload {
    if request.operation == Operation::Strategize {
        let strategize_result = Some(StrategizeResult {
            should_coordinate: true,
            guidance: "by the first letter".to_owned(),
            reasoning: String::new(),
        });
        return CallbackPayload { strategize_result, ..payload(request, CallbackStatus::Success) };
    }
    let asked = &request.pis[0];
    let names = asked.files.iter().flatten().map(|file| file.name.clone());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut ungrouped_files = Vec::new();
    for name in names {
        match name.chars().next() {
            Some('u') | None => ungrouped_files.push(name),
            Some(first) => groups.entry(first.to_uppercase().to_string()).or_default().push(name),
        }
    }
    let group_entities = groups.into_iter().map(|(name, files)| GroupEntity {
        pi: group_id(&asked.pi, &name),
        tip: Some(cid(&name)),
        ver: Some(1),
        description: format!("files with {name}"),
        group_name: name,
        files,
    });
    let result = PiResult {
        pi: asked.pi.clone(),
        status: PiStatus::Success,
        new_parent_tip: Some(cid("reorganized")),
        new_tip: Some(cid("reorganized")),
        new_parent_version: Some(7),
        new_version: Some(7),
        group_entities: Some(group_entities.collect()),
        ungrouped_files: Some(ungrouped_files),
        reorganization_description: Some("by the first letter".to_owned()),
        llm_metrics: None,
        skipped: None,
        spend: Spend::default(),
        error: None,
        retryable: None,
    };
    CallbackPayload { results: Some(vec![result]), ..payload(request, CallbackStatus::Success) }
}

/// A world, and the jobs that ran in it.
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) ran: Rc<RefCell<Vec<String>>>,
}

pub(crate) fn rig(options: Options, organizing: Organizing) -> Rig {
    rig_with(options, |world| world.object(Scripted(organizing)))
}

/// One with this organizer.
pub(crate) fn rig_with(options: Options, organizer: impl FnOnce(&mut World)) -> Rig {
    let mut world = World::new();
    let ran = Rc::new(RefCell::new(Vec::new()));
    world.object(Pipeline::new(options));
    organizer(&mut world);
    world.object(abide_pipeline::upload::Intake);
    let note = |ran: &Rc<RefCell<Vec<String>>>, lease: &Lease| {
        ran.borrow_mut().push(format!("{} {}", lease.kind, lease.payload.as_str()));
    };
    let log = Rc::clone(&ran);
    world.worker(QUEUE, DISCOVER, move |lease| {
        note(&log, lease);
        done(&0)
    });
    for kind in [AWAY, DISPATCH] {
        let log = Rc::clone(&ran);
        world.worker(QUEUE, kind, move |lease| {
            note(&log, lease);
            done(&0)
        });
    }
    for kind in [SNAPSHOT, PINAX, DESCRIBE, abide_pipeline::orders::LOOK] {
        let log = Rc::clone(&ran);
        world.worker(QUEUE, kind, move |lease| {
            note(&log, lease);
            let spent = Spent { cost_usd: 0.5, tokens: 10, model: "scripted".to_owned() };
            done(&Published { tip: cid(kind), ver: 2, warnings: Vec::new(), spent })
        });
    }
    let log = Rc::clone(&ran);
    world.worker(QUEUE, OCR, move |lease| {
        note(&log, lease);
        let order: OcrOrder = lease.payload.decode().unwrap();
        if order.filename.starts_with("tired") {
            return failed("nobody answers");
        }
        done(&match order.filename.as_str() {
            name if name.starts_with("bad") => OcrDone::Unreadable { reason: "it is torn".to_owned() },
            name => OcrDone::Read {
                cid: cid(&format!("read {name}")),
                chars: 4,
                by: "scripted".to_owned(),
                spent: Spent::default(),
            },
        })
    });
    Rig { world, ran }
}

/// A directory of a test: its path and the names of its files.
pub(crate) type Dir<'a> = (&'a str, Vec<String>);

pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n:03}.txt")).collect()
}

pub(crate) fn pi_of(path: &str) -> EntityId {
    ids::of_directory("b1", path)
}

/// What the worker that finds files would bring.
pub(crate) fn items(dirs: &[Dir<'_>], config: ProcessingConfig) -> Vec<Item> {
    let mut tree = abide_pipeline::tree::Tree::default();
    for (path, files) in dirs {
        let known = abide_pipeline::tree::KnownDirectory { config: Some(config), ..Default::default() };
        tree.know(path, known).unwrap();
        for name in files {
            let logical_path = format!("{}/{name}", path.trim_end_matches('/'));
            let staging_key = format!("staging/b1{logical_path}");
            let found = abide_pipeline::tree::FoundFile { logical_path, staging_key, config: Some(config) };
            tree.add(found).unwrap();
        }
    }
    let items = tree.into_items("b1", &BTreeMap::new());
    // Files of a world are kept already: nothing there uploads them.
    items
        .into_iter()
        .map(|item| match item {
            Item::File { place, file } => {
                let cid = Some(cid(&file.filename));
                Item::File { place, file: FileRecord { cid, ..file } }
            }
            node => node,
        })
        .collect()
}

pub(crate) fn message() -> serde_json::Value {
    serde_json::json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json", "r2_prefix": "staging/b1/"})
}

impl Rig {
    pub(crate) fn start(&mut self) {
        self.world.send(BATCH, &serde_json::json!({ "start": message() }));
    }

    /// Brings items as the worker that finds files does.
    pub(crate) fn bring(&mut self, items: &[Item]) {
        let life = self.life();
        let mut from = 0;
        loop {
            let part: Vec<Item> = items[from..].iter().take(100).cloned().collect();
            let last = from + part.len() == items.len();
            let call = Call::Items { life, from: from as u64, items: part, last };
            match self.world.call::<HaveAnswer>(BATCH, &call) {
                Ok(HaveAnswer { have: Some(have) }) => from = usize::try_from(have).unwrap(),
                Ok(HaveAnswer { have: None }) => return,
                // The engine died: the worker tries again.
                Err(_) => {}
            }
        }
    }

    pub(crate) fn life(&self) -> abide_core::object::Incarnation {
        let ran = self.ran.borrow();
        let last = ran.iter().rev().find(|job| job.starts_with(DISCOVER)).unwrap();
        let payload = last.split_once(' ').unwrap().1;
        serde_json::from_str::<abide_pipeline::orders::DiscoverOrder>(payload).unwrap().batch.life
    }

    pub(crate) fn begin(&mut self, dirs: &[Dir<'_>]) {
        self.begin_with(dirs, ProcessingConfig::default());
    }

    pub(crate) fn begin_with(&mut self, dirs: &[Dir<'_>], config: ProcessingConfig) {
        self.start();
        self.bring(&items(dirs, config));
    }

    pub(crate) fn status(&mut self) -> StatusAnswer {
        self.world.call(BATCH, &Call::Status).unwrap()
    }

    pub(crate) fn nodes(&mut self) -> Vec<Node> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page: NodesAnswer = self.world.call(BATCH, &Call::Nodes { after, limit: None }).unwrap();
            found.extend(page.nodes);
            match page.next {
                Some(next) => after = Some(next),
                None => return found,
            }
        }
    }

    pub(crate) fn node(&mut self, path: &str) -> NodeDocument {
        let place = self.nodes().into_iter().find(|node| node.path == path).unwrap().place;
        self.world.call(BATCH, &Call::Node { place }).unwrap()
    }

    /// Every directory with its files and how it is, in the order of paths: what two runs are compared by.
    pub(crate) fn tree(&mut self) -> BTreeMap<String, (BTreeSet<String>, String)> {
        let nodes = self.nodes();
        let mut tree = BTreeMap::new();
        for node in nodes {
            let document: NodeDocument = self.world.call(BATCH, &Call::Node { place: node.place }).unwrap();
            let files = document.text_files.iter().map(|file| file.filename.clone());
            let refs = document.refs.iter().map(|file| file.filename.clone());
            let how = format!(
                "{:?} {:?} {} {:?} {:?}",
                node.pi, node.parent_path, node.processing_complete, node.phase_errors, node.phase_skips
            );
            let before = tree.insert(node.path.clone(), (files.chain(refs).collect(), how));
            assert!(before.is_none(), "{} is there twice", node.path);
        }
        tree
    }

    /// Requests that wait for an answer, oldest first.
    pub(crate) fn held(&mut self) -> Vec<ProcessRequest> {
        let mut held = Vec::new();
        for name in self.organizers() {
            let shown: Option<ProcessRequest> = self.world.call(&name, &Steer::Show).unwrap();
            held.extend(shown);
        }
        held
    }

    fn organizers(&mut self) -> BTreeSet<String> {
        self.to_organizers().into_iter().map(|(to, _)| to).collect()
    }

    /// Everything that was sent to organizers, in order.
    pub(crate) fn to_organizers(&self) -> Vec<(String, ToOrganizer)> {
        let by_batch = self.world.commits().iter().filter(|commit| commit.object.to_string() == BATCH);
        let sent = by_batch.flat_map(|commit| &commit.messages);
        let sent = sent.map(|message| (message.to.to_string(), &message.body));
        let to_organizers = sent.filter(|(to, _)| to.starts_with("organizer/"));
        to_organizers.map(|(to, body)| (to, body.decode().unwrap())).collect()
    }

    /// Requests that were sent, also those that were sent again.
    pub(crate) fn requests(&self) -> usize {
        let sent = self.to_organizers();
        sent.iter().filter(|(_, message)| matches!(message, ToOrganizer::Process(_))).count()
    }

    pub(crate) fn answer(&mut self, payload: CallbackPayload) {
        let object = format!("organizer/{}:{}", payload.batch_id, payload.chunk_id);
        let _: Option<ProcessRequest> = self.world.call(&object, &Steer::Send(Box::new(payload))).unwrap();
    }

    /// The counters of a status are those of its nodes.
    pub(crate) fn check_counters(&mut self) {
        let status = self.status();
        let nodes = self.nodes();
        let count = |phase: PhaseName| nodes.iter().filter(|node| phase.is_complete(node)).count() as u64;
        let counted = Progress {
            directories_total: nodes.len() as u64,
            directories_snapshot_published: count(PhaseName::Discovery),
            directories_ocr_complete: count(PhaseName::Ocr),
            directories_reorganization_complete: count(PhaseName::Reorganization),
            directories_pinax_complete: count(PhaseName::Pinax),
            directories_cheimarros_complete: count(PhaseName::Cheimarros),
            directories_description_complete: count(PhaseName::Description),
        };
        assert_eq!(status.progress, counted);
        let failed = nodes.iter().filter(|node| !node.phase_errors.is_empty()).count() as u64;
        assert_eq!(status.directories_failed, failed);
        let files = status.files;
        assert_eq!(files.total, files.open + files.published + files.failed);
        let children = |place| nodes.iter().filter(|node| node.parent == Some(place)).count();
        for node in &nodes {
            assert_eq!(node.children as usize, children(node.place), "children of {}", node.path);
        }
    }
}
