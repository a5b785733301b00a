//! Records: typed rows, upgraded purely when they are read.

use crate::halt::TurnError;
use abide_core::json::Json;
use abide_core::row::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A type that rows are made of. `impl Record for Item {}` is enough for the first shape.
///
/// When the shape changes, raise [`SCHEMA`](Record::SCHEMA) and say in [`upgrade`](Record::upgrade) how the older shape
/// becomes the next one. Rows are upgraded when they are read and written in the new shape at their next put.
pub trait Record: Serialize + DeserializeOwned {
    /// The present shape.
    const SCHEMA: u16 = 1;

    /// Turns a value of shape `from` into one of shape `from + 1`. Called once for each step up to [`Record::SCHEMA`].
    fn upgrade(from: u16, old: Value) -> Result<Value, String> {
        drop(old);
        Err(format!("there is no upgrade from schema {from}"))
    }
}

macro_rules! plain_records {
    ($($type:ty),*) => { $(impl Record for $type {})* };
}

plain_records!(bool, i32, i64, u16, u32, u64, f64, String, Value);

impl<T: Serialize + DeserializeOwned> Record for Vec<T> {}

/// Reads a row as a record.
pub(crate) fn decode<R: Record>(key: &str, row: &Row) -> Result<R, TurnError> {
    let bad = |reason: String| TurnError::BadRow { key: key.to_owned(), reason };
    if row.schema > R::SCHEMA {
        return Err(TurnError::NewerRow { key: key.to_owned(), found: row.schema, known: R::SCHEMA });
    }
    if row.schema == R::SCHEMA {
        return row.value.decode().map_err(|e| bad(e.0));
    }
    let mut value: Value = row.value.decode().map_err(|e| bad(e.0))?;
    for from in row.schema..R::SCHEMA {
        value = R::upgrade(from, value).map_err(&bad)?;
    }
    serde_json::from_value(value).map_err(|e| bad(e.to_string()))
}

/// Writes a record as a row.
pub(crate) fn encode<R: Record>(key: &str, record: &R) -> Result<Row, TurnError> {
    let value = Json::encode(record)
        .map_err(|e| TurnError::BadValue { what: format!("row {key:?}"), reason: e.0 })?;
    Ok(Row { schema: R::SCHEMA, value })
}
