//! A world with entities.

use abide_core::ticket::{Resolution, Ticket};
use abide_engine::testing::World;
use abide_engine::{CallError, store::view::TicketView};
use abide_entities::answer::{Made, Shown};
use abide_entities::request::{Append, Create};
use abide_entities::{Blobs, Call, Catalog, Codec, ContentId, Entity, EntityId, Reply};
use serde_json::Value;

pub(crate) fn world(seed: u64) -> World {
    let mut world = World::with_seed(seed);
    world.object(Entity);
    world.object(Catalog);
    world.object(Blobs);
    world
}

/// The id that ends with this number.
pub(crate) fn id(number: usize) -> EntityId {
    EntityId::parse(&format!("{number:026}")).unwrap()
}

pub(crate) fn blob(text: &str) -> ContentId {
    ContentId::of(Codec::Raw, text.as_bytes())
}

/// Asks an entity, also for an answer that comes later.
pub(crate) fn ask(world: &mut World, id: &EntityId, call: &Call) -> Result<Reply, CallError> {
    let value: Value = world.call(&format!("entity/{id}"), call)?;
    if let Ok(ticket) = serde_json::from_value::<Ticket>(value.clone()) {
        return match world.ticket(&ticket) {
            Some(TicketView::Resolved(Resolution::Reply(reply))) => Ok(reply.decode().unwrap()),
            other => panic!("a ticket with {other:?}"),
        };
    }
    Ok(serde_json::from_value(value).unwrap())
}

pub(crate) fn create(world: &mut World, id: &EntityId, create: Create) -> Result<Made, CallError> {
    ask(world, id, &Call::Create(Box::new(create))).map(made)
}

pub(crate) fn append(world: &mut World, id: &EntityId, append: Append) -> Result<Made, CallError> {
    ask(world, id, &Call::Append(Box::new(append))).map(made)
}

pub(crate) fn get(world: &mut World, id: &EntityId) -> Shown {
    match ask(world, id, &Call::Get).unwrap() {
        Reply::Shown(shown) => *shown,
        other => panic!("{other:?}"),
    }
}

fn made(reply: Reply) -> Made {
    match reply {
        Reply::Made(made) => made,
        other => panic!("{other:?}"),
    }
}
