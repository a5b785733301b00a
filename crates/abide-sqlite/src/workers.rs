//! Who takes which jobs.

use crate::db::{Columns, Db};
use crate::error::Outcome;
use crate::jobs::job::decode_life;
use crate::writer::Writer;
use abide_core::json::Json;
use abide_core::name::WorkerId;
use abide_store::write::WorkerCard;

const SET: &str =
    "INSERT OR REPLACE INTO workers (worker, life, queues, kinds, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)";
const REMOVE: &str = "DELETE FROM workers WHERE worker = ?1";
const REMOVE_OF_LIVES: &str = "DELETE FROM workers WHERE life IS NOT NULL";
const LOAD: &str = "SELECT worker, life, queues, kinds, seen_at FROM workers ORDER BY worker";

/// Every known worker, ordered by id.
pub(crate) fn load(db: &Db<'_>) -> Outcome<Vec<WorkerCard>> {
    db.all(LOAD, [], decode)
}

fn decode(row: Columns<'_>) -> Outcome<WorkerCard> {
    Ok(WorkerCard {
        worker: WorkerId::trusted(row.text(0)?),
        life: decode_life(row.opt_int(1)?)?,
        queues: serde_json::from_str(row.text(2)?)?,
        kinds: serde_json::from_str(row.text(3)?)?,
        seen_at: row.time(4)?,
    })
}

impl Writer<'_> {
    pub(crate) fn set_worker(&mut self, card: &WorkerCard) -> Outcome<()> {
        let (queues, kinds) = (Json::encode(&card.queues)?, Json::encode(&card.kinds)?);
        let life = card.life.map(|life| life.0);
        let row = (card.worker.as_str(), life, queues.as_str(), kinds.as_str(), self.now.0);
        self.db.run(SET, row).map(drop)
    }

    pub(crate) fn remove_worker(&mut self, worker: &WorkerId) -> Outcome<()> {
        self.db.run(REMOVE, [worker.as_str()]).map(drop)
    }

    /// An engine begins alone: workers in the process of an earlier one are gone.
    pub(crate) fn remove_workers_of_lives(&mut self) -> Outcome<()> {
        self.db.run(REMOVE_OF_LIVES, []).map(drop)
    }
}
