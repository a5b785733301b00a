//! Schemas, forward only: each step once, in one transaction.

use crate::db::Db;
use crate::error::{OpenError, Outcome};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Marks a database as ours: "Abid".
pub(crate) const APPLICATION_ID: i64 = 0x4162_6964;

/// Step `n` takes schema `n` to `n + 1`.
const STEPS: [&str; 6] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
];

/// The newest schema this program knows.
pub(crate) const NEWEST: i64 = STEPS.len() as i64;

/// Says why the database must not be touched, if so. Changes nothing.
pub(crate) fn identify(path: &Path, conn: &Connection) -> Result<(), OpenError> {
    let number = |sql: &str| {
        let found = conn.query_row(sql, [], |row| row.get::<_, i64>(0));
        found.map_err(|error| OpenError::of_fault(path, error.into()))
    };
    let found = number("PRAGMA application_id")?;
    let is_empty = || number("SELECT count(*) FROM sqlite_schema").map(|tables| tables == 0);
    if found != APPLICATION_ID && !(found == 0 && is_empty()?) {
        return Err(OpenError::Foreign { path: path.into(), found });
    }
    match number("PRAGMA user_version")? {
        found if found > NEWEST => Err(OpenError::Newer { path: path.into(), found, known: NEWEST }),
        _ => Ok(()),
    }
}

/// Brings the database to the newest schema.
pub(crate) fn migrate(conn: &mut Connection) -> Outcome<()> {
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let schema: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if schema < NEWEST {
        for step in STEPS.iter().skip(usize::try_from(schema).unwrap_or(0)) {
            transaction.execute_batch(step)?;
        }
        transaction.execute_batch(&format!(
            "PRAGMA user_version = {NEWEST}; PRAGMA application_id = {APPLICATION_ID};"
        ))?;
    }
    Ok(transaction.commit()?)
}

/// Reads what every write will need, so that a damaged file is noticed at once.
pub(crate) fn look(db: &Db<'_>) -> Outcome<()> {
    crate::meta::Meta::load(db).map(drop)
}
