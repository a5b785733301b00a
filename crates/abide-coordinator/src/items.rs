//! The items of a coordinator: one row each, with their index and tally in the same commit.

use crate::item::Item;
use crate::tally::Tally;
use crate::work::{Status, WorkId};
use abide_core::time::Time;
use abide_engine::halt::ReadHalt;
use abide_engine::{Halt, Record, Refusal, Turn};
use serde::{Deserialize, Serialize};

/// Where the tally is.
pub(crate) const TALLY: &str = "tally";
/// How the keys of items begin.
const ITEM: &str = "item/";
/// How the keys of finished items begin.
const DONE: &str = "done/";

/// The place of an item among all that a coordinator has taken: 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub i64);

impl Record for Place {}

/// An entry in a coordinator's log: an item has this status now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Which item.
    pub work_id: WorkId,
    /// Which status.
    pub status: Status,
}

/// An item and its place.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) place: Place,
    pub(crate) item: Item,
}

/// A finished item, ordered by when it finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Done {
    pub(crate) id: WorkId,
    pub(crate) place: Place,
    pub(crate) status: Status,
    pub(crate) finished_at: Time,
}

impl Record for Done {}

impl Done {
    /// The entry of an item, if it is finished.
    fn of(placed: &Placed) -> Option<Done> {
        let Placed { place, item } = placed;
        item.is_finished().then(|| Done {
            id: item.id.clone(),
            place: *place,
            status: item.status(),
            finished_at: item.updated_at,
        })
    }

    fn key(&self) -> String {
        format!("{DONE}{:016}/{:016}", self.finished_at.0, self.place.0)
    }
}

fn item_key(place: Place) -> String {
    format!("{ITEM}{:016}", place.0)
}

/// Where an item's place is.
pub(crate) fn id_key(id: &WorkId) -> String {
    format!("id/{id}")
}

pub(crate) fn tally(turn: &mut Turn<'_>) -> Result<Tally, ReadHalt> {
    Ok(turn.get(TALLY)?.unwrap_or_default())
}

pub(crate) fn find(turn: &mut Turn<'_>, id: &WorkId) -> Result<Option<Placed>, ReadHalt> {
    let Some(place) = turn.get::<Place>(&id_key(id))? else { return Ok(None) };
    Ok(turn.get::<Item>(&item_key(place))?.map(|item| Placed { place, item }))
}

/// Adds a new item at the end.
pub(crate) fn add<E: Refusal>(turn: &mut Turn<'_>, item: &Item) -> Result<(), Halt<E>> {
    let mut tally = tally(turn)?;
    let place = tally.next_place();
    tally.count(item.status());
    turn.put(TALLY, &tally)?;
    turn.put(&id_key(&item.id), &place)?;
    turn.put(&item_key(place), item)?;
    note(turn, item)
}

/// Puts `after` in the place of an item.
pub(crate) fn replace<E: Refusal>(
    turn: &mut Turn<'_>,
    before: &Placed,
    after: Item,
) -> Result<Placed, Halt<E>> {
    let after = Placed { place: before.place, item: after };
    if let Some(done) = Done::of(before) {
        turn.delete(&done.key());
    }
    if let Some(done) = Done::of(&after) {
        turn.put(&done.key(), &done)?;
    }
    turn.put(&item_key(after.place), &after.item)?;
    if before.item.status() != after.item.status() {
        let mut tally = tally(turn)?;
        tally.uncount(before.item.status());
        tally.count(after.item.status());
        turn.put(TALLY, &tally)?;
        note(turn, &after.item)?;
    }
    Ok(after)
}

fn note<E: Refusal>(turn: &mut Turn<'_>, item: &Item) -> Result<(), Halt<E>> {
    turn.append(&Change { work_id: item.id.clone(), status: item.status() })?;
    Ok(())
}

/// Items after a place, oldest first.
pub(crate) fn page(turn: &mut Turn<'_>, after: Option<Place>, limit: usize) -> Result<Vec<Placed>, ReadHalt> {
    let after = after.map(item_key);
    let rows = turn.scan::<Item>(ITEM, after.as_deref(), limit)?;
    let place = |key: &str| key.strip_prefix(ITEM).and_then(|digits| digits.parse().ok()).map(Place);
    Ok(rows.into_iter().filter_map(|(key, item)| Some(Placed { place: place(&key)?, item })).collect())
}

/// Those that finished first.
pub(crate) fn first_done(turn: &mut Turn<'_>, limit: usize) -> Result<Vec<Done>, ReadHalt> {
    Ok(turn.scan(DONE, None, limit)?.into_iter().map(|(_, done)| done).collect())
}

/// Removes a finished item; the tally is the caller's to put.
pub(crate) fn remove(turn: &mut Turn<'_>, done: &Done, tally: &mut Tally) {
    turn.delete(&done.key());
    turn.delete(&id_key(&done.id));
    turn.delete(&item_key(done.place));
    tally.uncount(done.status);
}
