//! One connection and its statements: each is prepared once, and counted whenever it runs.

use crate::error::{Fault, Outcome};
use abide_core::json::Json;
use abide_core::name::{Kind, Name};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use rusqlite::{CachedStatement, Connection, Params, StatementStatus};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Statements kept prepared; more than there are.
const PREPARED: usize = 256;

/// A connection.
pub(crate) struct Link {
    conn: Connection,
    statements: Cell<u64>,
    steps: Cell<u64>,
}

impl Link {
    pub(crate) fn new(conn: Connection) -> Link {
        conn.set_prepared_statement_cache_capacity(PREPARED);
        Link { conn, statements: Cell::new(0), steps: Cell::new(0) }
    }

    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }

    /// Statements that were run, and the steps SQLite's machine took for them.
    pub(crate) fn work(&self) -> (u64, u64) {
        (self.statements.get(), self.steps.get())
    }

    pub(crate) fn db(&self) -> Db<'_> {
        Db { link: self, statements: RefCell::new(BTreeMap::new()) }
    }
}

/// A connection in use. The statements it has run are at hand until the end of the use.
pub(crate) struct Db<'a> {
    link: &'a Link,
    /// By where their text lies, which is found faster than the text itself. Behind a cell because running one changes
    /// it; nobody runs one while another runs.
    statements: RefCell<BTreeMap<(usize, usize), CachedStatement<'a>>>,
}

impl Db<'_> {
    fn with<T>(&self, sql: &str, work: impl FnOnce(&mut CachedStatement<'_>) -> Outcome<T>) -> Outcome<T> {
        #[cfg(test)]
        crate::plans::see(sql);
        let mut statements = self.statements.borrow_mut();
        let statement = match statements.entry((sql.as_ptr().addr(), sql.len())) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.link.conn.prepare_cached(sql)?),
        };
        let done = work(statement)?;
        let steps = statement.reset_status(StatementStatus::VmStep);
        self.link.statements.set(self.link.statements.get() + 1);
        self.link.steps.set(self.link.steps.get() + u64::from(steps.unsigned_abs()));
        Ok(done)
    }

    /// Runs a statement; how many rows it changed.
    pub(crate) fn run(&self, sql: &'static str, params: impl Params) -> Outcome<usize> {
        self.with(sql, |statement| Ok(statement.execute(params)?))
    }

    /// The first row, if there is one.
    pub(crate) fn one<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        decode: impl FnOnce(Columns<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        self.with(sql, |statement| match statement.query(params)?.next()? {
            Some(row) => decode(Columns(row)).map(Some),
            None => Ok(None),
        })
    }

    /// Every row, in order.
    pub(crate) fn all<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        decode: impl FnMut(Columns<'_>) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        self.with(sql, |statement| every(statement, params, decode))
    }

    /// The one number of a statement that gives a row with a number or nothing.
    pub(crate) fn number(&self, sql: &'static str, params: impl Params) -> Outcome<Option<i64>> {
        Ok(self.one(sql, params, |row| row.opt_int(0))?.flatten())
    }
}

fn every<T>(
    statement: &mut CachedStatement<'_>,
    params: impl Params,
    mut decode: impl FnMut(Columns<'_>) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let mut found = Vec::new();
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        found.push(decode(Columns(row))?);
    }
    Ok(found)
}

/// A bound as LIMIT takes it.
pub(crate) fn at_most(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A row as its columns, by place.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'r>(&'r rusqlite::Row<'r>);

impl<'r> Columns<'r> {
    pub(crate) fn int(self, at: usize) -> Outcome<i64> {
        Ok(self.0.get_ref(at)?.as_i64()?)
    }

    pub(crate) fn opt_int(self, at: usize) -> Outcome<Option<i64>> {
        Ok(self.0.get_ref(at)?.as_i64_or_null()?)
    }

    pub(crate) fn count(self, at: usize) -> Outcome<u32> {
        u32::try_from(self.int(at)?).map_err(|_| Fault::Damaged(format!("column {at} is not a count")))
    }

    pub(crate) fn flag(self, at: usize) -> Outcome<bool> {
        Ok(self.int(at)? != 0)
    }

    pub(crate) fn time(self, at: usize) -> Outcome<Time> {
        self.int(at).map(Time)
    }

    pub(crate) fn opt_time(self, at: usize) -> Outcome<Option<Time>> {
        Ok(self.opt_int(at)?.map(Time))
    }

    pub(crate) fn text(self, at: usize) -> Outcome<&'r str> {
        Ok(self.0.get_ref(at)?.as_str()?)
    }

    pub(crate) fn opt_text(self, at: usize) -> Outcome<Option<&'r str>> {
        Ok(self.0.get_ref(at)?.as_str_or_null()?)
    }

    pub(crate) fn json(self, at: usize) -> Outcome<Json> {
        self.text(at).map(Json::trusted)
    }

    pub(crate) fn opt_json(self, at: usize) -> Outcome<Option<Json>> {
        Ok(self.opt_text(at)?.map(Json::trusted))
    }

    pub(crate) fn incarnation(self, at: usize) -> Outcome<Incarnation> {
        self.int(at).map(Incarnation)
    }

    /// An object's key from a column with its kind and the next one with its name.
    pub(crate) fn object(self, at: usize) -> Outcome<ObjectKey> {
        Ok(ObjectKey { kind: Kind::trusted(self.text(at)?), name: Name::trusted(self.text(at + 1)?) })
    }
}
