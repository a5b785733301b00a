//! Reading a body field by field, noting all that is wrong instead of stopping at the first.

use crate::invalid::{Invalid, Issue, IssueCode, Step};
use crate::limits::{DELAY_MS, MESSAGE_BYTES, TAG_BYTES};
use crate::millis::Millis;
use crate::mode::Mode;
use crate::stamp::Stamp;
use abide_core::json::Json;
use serde_json::{Map, Value};

/// A body being read. A reading that gives nothing has noted why.
pub(crate) struct Fields<'a> {
    fields: Option<&'a Map<String, Value>>,
    issues: Vec<Issue>,
}

/// A value and where it stands.
pub(crate) struct Found<'a> {
    value: &'a Value,
    path: Vec<Step>,
}

/// What reads one value: it gives the value or the issues.
type Reader<T> = fn(&Found<'_>) -> Result<T, Vec<Issue>>;

impl<'a> Fields<'a> {
    pub(crate) fn of(body: &'a Value) -> Fields<'a> {
        let fields = body.as_object();
        let issues = match fields {
            Some(_) => Vec::new(),
            None => Found { value: body, path: Vec::new() }.is_not("an object"),
        };
        Fields { fields, issues }
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Found<'_>) -> Result<T, Vec<Issue>>,
    ) -> Option<T> {
        let fields = self.fields?;
        let path = vec![Step::Field(name.to_owned())];
        let read = match fields.get(name) {
            Some(value) => read(&Found { value, path }),
            None => Err(issue(path, IssueCode::InvalidType, "is missing".to_owned())),
        };
        read.map_err(|issues| self.issues.extend(issues)).ok()
    }

    /// A field that may be missing.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        absent: T,
        read: impl Fn(&Found<'_>) -> Result<T, Vec<Issue>>,
    ) -> Option<T> {
        if self.fields?.contains_key(name) { self.required(name, read) } else { Some(absent) }
    }

    /// What was wrong.
    pub(crate) fn invalid(self) -> Invalid {
        Invalid { issues: self.issues }
    }
}

impl Found<'_> {
    fn is_not(&self, expected: &str) -> Vec<Issue> {
        let given = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.wrong(IssueCode::InvalidType, format!("must be {expected}, not {given}"))
    }

    fn wrong(&self, code: IssueCode, message: String) -> Vec<Issue> {
        issue(self.path.clone(), code, message)
    }

    /// Text with at most so many bytes as JSON.
    fn text(&self, most_bytes: usize) -> Result<String, Vec<Issue>> {
        let text = self.value.as_str().ok_or_else(|| self.is_not("text"))?;
        let bytes = Json::from(self.value.clone()).len();
        if bytes > most_bytes {
            let message = format!("may have at most {most_bytes} bytes as JSON, and this has {bytes}");
            return Err(self.wrong(IssueCode::TooBig, message));
        }
        Ok(text.to_owned())
    }

    fn number(&self) -> Result<Millis, Vec<Issue>> {
        match self.value {
            Value::Number(number) => Ok(number.clone().into()),
            _ => Err(self.is_not("a number")),
        }
    }

    /// A list with `least` to `most` elements, every one of them read.
    fn list<T>(&self, least: usize, most: usize, read: Reader<T>) -> Result<Vec<T>, Vec<Issue>> {
        let list = self.value.as_array().ok_or_else(|| self.is_not("a list"))?;
        if list.len() < least {
            return Err(self.wrong(IssueCode::TooSmall, format!("must have at least {least}")));
        }
        if list.len() > most {
            let message = format!("may have at most {most}, and this has {}", list.len());
            return Err(self.wrong(IssueCode::TooBig, message));
        }
        let (mut all, mut issues) = (Vec::new(), Vec::new());
        for (index, value) in list.iter().enumerate() {
            let path = self.path.iter().cloned().chain([Step::Index(index)]).collect();
            match read(&Found { value, path }) {
                Ok(one) => all.push(one),
                Err(wrong) => issues.extend(wrong),
            }
        }
        if issues.is_empty() { Ok(all) } else { Err(issues) }
    }

    fn field<T>(&self, name: &str, read: Reader<T>) -> Result<T, Vec<Issue>> {
        let path: Vec<Step> = self.path.iter().cloned().chain([Step::Field(name.to_owned())]).collect();
        match self.value.get(name) {
            Some(value) => read(&Found { value, path }),
            None => Err(issue(path, IssueCode::InvalidType, "is missing".to_owned())),
        }
    }
}

fn issue(path: Vec<Step>, code: IssueCode, message: String) -> Vec<Issue> {
    vec![Issue { path, code, message }]
}

/// Text that is not empty.
pub(crate) fn message(found: &Found<'_>) -> Result<String, Vec<Issue>> {
    match found.text(MESSAGE_BYTES)? {
        text if text.is_empty() => Err(found.wrong(IssueCode::TooSmall, "must not be empty".to_owned())),
        text => Ok(text),
    }
}

/// A list of messages.
pub(crate) fn messages(found: &Found<'_>, most: usize) -> Result<Vec<String>, Vec<Issue>> {
    found.list(1, most, message)
}

/// A delay.
pub(crate) fn delay(found: &Found<'_>) -> Result<Millis, Vec<Issue>> {
    let delay = found.number()?;
    if delay.as_f64() < 0.0 {
        return Err(found.wrong(IssueCode::TooSmall, "must be at least 0".to_owned()));
    }
    if delay.as_f64() > DELAY_MS as f64 {
        return Err(found.wrong(IssueCode::TooBig, format!("must be at most {DELAY_MS}")));
    }
    Ok(delay)
}

/// A mode.
pub(crate) fn mode(found: &Found<'_>) -> Result<Mode, Vec<Issue>> {
    let word = found.value.as_str().ok_or_else(|| found.is_not("text"))?;
    Mode::parse(word)
        .ok_or_else(|| found.wrong(IssueCode::InvalidValue, "must be \"queue\" or \"direct\"".to_owned()))
}

/// A priority.
pub(crate) fn priority(found: &Found<'_>) -> Result<i32, Vec<Issue>> {
    let number = found.value.as_number().ok_or_else(|| found.is_not("a number"))?;
    let whole = number
        .as_i64()
        .ok_or_else(|| found.wrong(IssueCode::InvalidType, "must be a whole number".to_owned()))?;
    i32::try_from(whole).map_err(|_| {
        let (code, message) = if whole < 0 {
            (IssueCode::TooSmall, format!("must be at least {}", i32::MIN))
        } else {
            (IssueCode::TooBig, format!("must be at most {}", i32::MAX))
        };
        found.wrong(code, message)
    })
}

/// Timestamps.
pub(crate) fn stamps(found: &Found<'_>, most: usize) -> Result<Vec<Stamp>, Vec<Issue>> {
    found.list(0, most, stamp)
}

fn stamp(found: &Found<'_>) -> Result<Stamp, Vec<Issue>> {
    if !found.value.is_object() {
        return Err(found.is_not("an object"));
    }
    match (found.field("tag", |tag| tag.text(TAG_BYTES)), found.field("time", |time| time.number())) {
        (Ok(tag), Ok(time)) => Ok(Stamp { tag, time }),
        (tag, time) => Err(tag.err().into_iter().chain(time.err()).flatten().collect()),
    }
}

/// Any value with at most so many bytes.
pub(crate) fn any(found: &Found<'_>, most_bytes: usize) -> Result<Json, Vec<Issue>> {
    let json = Json::from(found.value.clone());
    if json.len() > most_bytes {
        let message = format!("may have at most {most_bytes} bytes as JSON, and this has {}", json.len());
        return Err(found.wrong(IssueCode::TooBig, message));
    }
    Ok(json)
}
