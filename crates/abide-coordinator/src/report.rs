//! Reports: what whoever processed an item says came of it.

use crate::fields::{self, Fields};
use crate::invalid::Invalid;
use crate::limits::{RESULT_BYTES, STAMPS_REPORTED};
use crate::stamp::Stamp;
use abide_core::json::Json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of an item: the body of `POST /result/:workId`, and the result of its job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Report {
    /// What came of it, if there is more to say than that it was processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Json>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Where it passed when; those it had before stay if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamps: Option<Vec<Stamp>>,
}

impl Report {
    /// `{result?, error?, timestamps?}`.
    pub fn read(body: &Value) -> Result<Report, Invalid> {
        let mut fields = Fields::of(body);
        let result = fields.optional("result", None, |found| fields::any(found, RESULT_BYTES).map(Some));
        let error = fields.optional("error", None, |found| fields::message(found).map(Some));
        let timestamps =
            fields.optional("timestamps", None, |found| fields::stamps(found, STAMPS_REPORTED).map(Some));
        let (Some(result), Some(error), Some(timestamps)) = (result, error, timestamps) else {
            return Err(fields.invalid());
        };
        Ok(Report { result, error, timestamps })
    }

    /// What a worker says that has nothing but timestamps to give.
    #[must_use]
    pub fn processed(timestamps: Vec<Stamp>) -> Report {
        Report { timestamps: Some(timestamps), ..Report::default() }
    }
}

impl TryFrom<Value> for Report {
    type Error = Invalid;
    /// `null` counts as an empty body: a worker that has nothing to say.
    fn try_from(body: Value) -> Result<Report, Invalid> {
        if body.is_null() { Ok(Report::default()) } else { Report::read(&body) }
    }
}
