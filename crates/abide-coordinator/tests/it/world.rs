//! A world with a coordinator, its processor and a scripted worker, and short ways to ask them.

use abide_coordinator::{
    BatchAnswer, Call, Coordinator, ItemAnswer, Options, PROCESS, Page, ProcessAnswer, Processor,
    ProcessorCall, ProcessorStats, QUEUE, QueueAnswer, QueueMessage, ResultBy, StatsAnswer, Status,
    SuccessAnswer, WorkId, WorkItem, process,
};
use abide_core::job::{Finish, Lease};
use abide_core::limits::LEASE_MS;
use abide_engine::CallError;
use abide_engine::testing::World;
use abide_engine::worker::done;
use abide_store::read::{Got, Load, Want};
use abide_store::{Answer, Read};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// The coordinator that the tests talk to.
pub(crate) const MAIN: &str = "coordinator/main";

/// A world whose queue nobody works on.
pub(crate) fn idle_world() -> World {
    let mut world = World::new();
    world.object(Coordinator::new(&Options::default()));
    world.object(Processor);
    world
}

/// A world whose worker succeeds.
pub(crate) fn world() -> World {
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, succeed);
    world
}

/// What the real worker would say, at once.
pub(crate) fn succeed(lease: &Lease) -> Finish {
    let picked_up_at = lease.lease_expires_at.plus_ms(-LEASE_MS);
    let message: QueueMessage = lease.payload.decode().unwrap();
    let delay_ms = i64::try_from(process::delay(&message).as_millis()).unwrap();
    done(&process::report(message, picked_up_at, picked_up_at.plus_ms(delay_ms)))
}

/// Messages that a scripted worker saw.
pub(crate) type Seen = Rc<RefCell<Vec<QueueMessage>>>;

/// A script that notes what it sees and does what `then` says.
pub(crate) fn noting<F: FnMut(&Lease) -> Finish>(
    seen: &Seen,
    mut then: F,
) -> impl FnMut(&Lease) -> Finish + use<F> {
    let seen = seen.clone();
    move |lease| {
        seen.borrow_mut().push(lease.payload.decode().unwrap());
        then(lease)
    }
}

pub(crate) fn submit(world: &mut World, body: &Value) -> WorkItem {
    world.call::<ItemAnswer>(MAIN, &Call::submit(body).unwrap()).unwrap().work_item
}

pub(crate) fn submit_batch(world: &mut World, body: &Value) -> Vec<WorkItem> {
    let BatchAnswer { work_items, count } = world.call(MAIN, &Call::submit_batch(body).unwrap()).unwrap();
    assert_eq!(count, work_items.len());
    work_items
}

pub(crate) fn queue(world: &mut World) -> Vec<WorkItem> {
    world.call::<QueueAnswer>(MAIN, &Call::Queue(Page::default())).unwrap().queue
}

pub(crate) fn item(world: &mut World, id: &WorkId) -> WorkItem {
    world.call::<ItemAnswer>(MAIN, &Call::item(&id.0)).unwrap().work_item
}

pub(crate) fn status(world: &mut World, id: &WorkId) -> Status {
    item(world, id).status
}

pub(crate) fn stats(world: &mut World) -> StatsAnswer {
    world.call(MAIN, &Call::Stats).unwrap()
}

/// `[pending, processing, completed, failed, total]`.
pub(crate) fn counts(world: &mut World) -> [u64; 5] {
    let StatsAnswer { pending, processing, completed, failed, total } = stats(world);
    [pending, processing, completed, failed, total]
}

pub(crate) fn process_count(world: &mut World) -> i64 {
    world.call::<ProcessorStats>("processor/main", &ProcessorCall::Stats).unwrap().process_count
}

/// Whether the item was begun again.
pub(crate) fn rerun(world: &mut World, id: &WorkId, body: Option<&Value>) -> bool {
    world.call::<ProcessAnswer>(MAIN, &Call::process(&id.0, body).unwrap()).unwrap().started
}

pub(crate) fn report(world: &mut World, id: &str, by: ResultBy, body: &Value) -> Result<(), CallError> {
    let SuccessAnswer { success } = world.call(MAIN, &Call::result(id, by, body).unwrap())?;
    assert!(success);
    Ok(())
}

pub(crate) fn clear(world: &mut World) {
    assert!(world.call::<SuccessAnswer>(MAIN, &Call::Clear).unwrap().success);
}

pub(crate) fn tags(item: &WorkItem) -> Vec<&str> {
    item.timestamps.iter().map(|stamp| stamp.tag.as_str()).collect()
}

/// The keys of an object's rows.
pub(crate) fn row_keys(world: &mut World, object: &str) -> Vec<String> {
    let wants = vec![Want::Scan { prefix: String::new(), from: None, limit: 10_000 }];
    let load = Load { object: object.parse().unwrap(), wants, reply_for: None };
    match world.read(Read::Load(load)) {
        Answer::Load(loaded) => loaded.got.into_iter().flat_map(keys).collect(),
        other => panic!("{other:?}"),
    }
}

fn keys(got: Got) -> Vec<String> {
    match got {
        Got::Scan { rows, .. } => rows.into_iter().map(|(key, _)| key).collect(),
        other => panic!("{other:?}"),
    }
}
