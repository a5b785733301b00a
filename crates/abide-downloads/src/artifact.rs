//! One thing to get: a line of a list, and the job that it becomes.

use crate::{DOWNLOAD, QUEUE, RESOLVE};
use abide_core::job::NewJob;
use abide_core::json::{BadJson, Json};
use abide_core::name::{BadName, JobKind, LimitKey, QueueName, UniqueKey};
use abide_fetch::limit_key::{NoLimitKey, limit_keys};
use abide_fetch::refused::Refused;
use abide_fetch::{Guard, Reach};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What is known of one artifact. Fields beyond these are kept in the job's payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Line")]
pub struct Artifact {
    /// Names it: a second job for the same id changes nothing. `doi:10.1234/example`, `url:…`.
    pub artifact_id: String,
    /// Where to get it.
    pub url: Option<String>,
    /// Who can find out where, or did.
    pub resolver_hint: Option<String>,
    /// Higher starts first.
    pub priority: i32,
    /// The file's name without its extension; the id made safe if none.
    pub base_stem: Option<String>,
    /// Only this content type.
    pub expected_mime: Option<String>,
    /// At most so many bytes.
    pub max_bytes: Option<u64>,
}

/// An artifact as it is written. `id` names it only where there is no `artifact_id`: else it is a field like others.
#[derive(Deserialize)]
struct Line {
    artifact_id: Option<String>,
    id: Option<Value>,
    url: Option<String>,
    resolver_hint: Option<String>,
    #[serde(default)]
    priority: i32,
    base_stem: Option<String>,
    expected_mime: Option<String>,
    max_bytes: Option<u64>,
}

/// What a table has where it has nothing is as good as nothing.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

impl TryFrom<Line> for Artifact {
    type Error = &'static str;

    fn try_from(line: Line) -> Result<Artifact, &'static str> {
        let artifact_id = match (line.artifact_id, line.id) {
            (Some(id), _) | (None, Some(Value::String(id))) => id,
            (None, Some(_)) => return Err("expected a string"),
            (None, None) => return Err("it has neither artifact_id nor id"),
        };
        Ok(Artifact {
            artifact_id,
            url: line.url,
            resolver_hint: given(line.resolver_hint),
            priority: line.priority,
            base_stem: given(line.base_stem),
            expected_mime: given(line.expected_mime),
            max_bytes: line.max_bytes,
        })
    }
}

/// A line that is no artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadArtifact {
    /// Not JSON, or without `artifact_id`.
    #[error("{}", of_a_line(&.0.0))]
    Json(#[from] BadJson),
    /// A field has a value that it cannot have.
    #[error("{field}: {}", of_a_line(&.error.0))]
    Field {
        /// Which.
        field: String,
        /// What is wrong with its value.
        error: BadJson,
    },
    /// Its id, or its resolver, is no name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Its URL cannot be followed, wherever it leads.
    #[error("url: {0}")]
    Url(#[from] Refused),
    /// Its URL has no host that could be limited.
    #[error("url: {0}")]
    Host(#[from] NoLimitKey),
    /// Its host or its resolver is `*`, which stands for all of them.
    #[error("{field}: * stands for every one of them: name one")]
    Class {
        /// Which field says so.
        field: &'static str,
    },
}

impl Artifact {
    /// Reads a line of a list: a JSON object with at least `artifact_id` (or `id`).
    pub fn parse(line: &str) -> Result<NewJob, BadArtifact> {
        let payload = Json::parse(line.trim())?;
        let artifact: Artifact = payload.decode().map_err(|error| blame(&payload, error))?;
        artifact.job(payload)
    }

    /// The job for it. Its limits are those of its host and its resolver.
    fn job(&self, payload: Json) -> Result<NewJob, BadArtifact> {
        let mut keys = Vec::new();
        if let Some(url) = &self.url {
            // What may be reached is up to whoever downloads.
            Guard::new(Reach::Anywhere).url(url)?;
            keys.extend(limit_keys(url)?.into_iter().map(|key| ("url", key)));
        }
        if let Some(resolver) = &self.resolver_hint {
            keys.push(("resolver_hint", LimitKey::new(format!("resolver:{resolver}"))?));
        }
        if let Some((field, _)) = keys.iter().find(|(_, key)| key.as_str().ends_with(":*")) {
            return Err(BadArtifact::Class { field });
        }
        let kind = if self.url.is_some() { DOWNLOAD } else { RESOLVE };
        let mut job = NewJob::new(QueueName::new(QUEUE)?, JobKind::new(kind)?, payload);
        job.unique_key = Some(UniqueKey::new(&self.artifact_id)?);
        job.priority = self.priority;
        job.limit_keys = keys.into_iter().map(|(_, key)| key).collect();
        Ok(job)
    }
}

/// Finds the field that an error is about: the one that makes an artifact bad that is good without it.
fn blame(payload: &Json, error: BadJson) -> BadArtifact {
    let Ok(fields) = payload.decode::<Map<String, Value>>() else { return error.into() };
    let is_bad = |(field, value): &(String, Value)| {
        let id = (field != "id" || value.is_null()).then(|| ("artifact_id".to_owned(), Value::from("a")));
        let alone: Map<_, _> = id.into_iter().chain([(field.clone(), value.clone())]).collect();
        serde_json::from_value::<Artifact>(Value::Object(alone)).is_err()
    };
    match fields.into_iter().find(is_bad) {
        Some((field, _)) => BadArtifact::Field { field, error },
        None => error.into(),
    }
}

/// What is wrong, with the column alone, since whoever reads lines knows the line, and in words of JSON rather than of a
/// programming language.
fn of_a_line(error: &str) -> String {
    [
        (" at line 1 column ", " at column "),
        ("invalid length 0, expected struct Line with 8 elements", "it is not a JSON object"),
        ("expected struct Line", "expected a JSON object"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected i32", "expected a whole number from -2147483648 to 2147483647"),
    ]
    .iter()
    .fold(error.to_owned(), |error, (rust, plain)| error.replace(rust, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(line: &str) -> NewJob {
        Artifact::parse(line).unwrap()
    }

    #[test]
    fn a_line_becomes_a_job_that_keeps_every_field() {
        let line = r#"{"artifact_id": "doi:10.1/a", "url": "https://EXAMPLE.org/a.pdf", "title": "A", "priority": 3}"#;
        let job = job(line);
        assert_eq!((job.queue.as_str(), job.kind.as_str()), ("download", "download"));
        assert_eq!(job.payload.as_str(), line);
        assert_eq!(job.unique_key, Some(UniqueKey::new("doi:10.1/a").unwrap()));
        assert_eq!(job.limit_keys, [LimitKey::new("host:example.org").unwrap()]);
        assert_eq!(job.priority, 3);
    }

    #[test]
    fn id_is_a_synonym_and_a_line_without_a_url_waits_for_a_resolver() {
        let job = job(r#"{"id": "doi:10.1/a", "resolver_hint": "arxiv"}"#);
        assert_eq!(job.kind.as_str(), "resolve");
        assert_eq!(job.limit_keys, [LimitKey::new("resolver:arxiv").unwrap()]);
    }

    #[test]
    fn an_id_beside_the_artifact_id_is_a_field_like_others() {
        for line in
            [r#"{"artifact_id": "a", "id": 7}"#, r#"{"id": "https://x.example/W1", "artifact_id": "a"}"#]
        {
            let job = job(line);
            assert_eq!((job.unique_key.unwrap().as_str(), job.payload.as_str()), ("a", line));
        }
    }

    #[test]
    fn what_is_empty_is_not_given() {
        let job = job(r#"{"id": "a", "resolver_hint": "", "base_stem": "", "expected_mime": ""}"#);
        assert_eq!(job.limit_keys, []);
        let artifact: Artifact = job.payload.decode().unwrap();
        assert_eq!((artifact.resolver_hint, artifact.base_stem, artifact.expected_mime), (None, None, None));
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        for (line, expected) in [
            ("", "EOF while parsing a value at column 0"),
            ("{", "EOF while parsing an object at column 1"),
            ("[]", "it is not a JSON object at column 2"),
            ("{}", "it has neither artifact_id nor id"),
            (r#"{"artifact_id": ""}"#, "a unique key \"\" is empty"),
            (
                r#"{"artifact_id": "a", "url": "ftp://example.org/a"}"#,
                "url: ftp: is not followed: only http and https are",
            ),
            (
                r#"{"artifact_id": "a", "url": 7}"#,
                "url: invalid type: integer `7`, expected a string at column 29",
            ),
            (r#"{"id": null}"#, "it has neither artifact_id nor id"),
            (r#"{"id": 7}"#, "id: expected a string"),
            (
                r#"{"id": "a", "x": {}, "max_bytes": -1, "priority": 0}"#,
                "max_bytes: invalid value: integer `-1`, expected a whole number that is not negative at column 36",
            ),
            (
                r#"{"id": "a", "priority": 0.5}"#,
                "priority: invalid type: floating point `0.5`, expected a whole number from -2147483648 to 2147483647 at \
                 column 27",
            ),
            (r#"{"id": "a", "url": "http://*/"}"#, "url: * stands for every one of them: name one"),
            (
                r#"{"id": "a", "resolver_hint": "*"}"#,
                "resolver_hint: * stands for every one of them: name one",
            ),
            (
                r#"{"id": "a", "url": "http://e.example:99999/"}"#,
                "url: \"http://e.example:99999/\" is not a URL (invalid port number): give an absolute http or https URL",
            ),
            (
                r#"{"id": "a", "url": "http://[fe80::1%25lo]/"}"#,
                "url: \"http://[fe80::1%25lo]/\" is not a URL (invalid IPv6 address): give an absolute http or https URL",
            ),
            (
                r#"{"id": "a", "url": "http://me:secret@e.example/"}"#,
                "url: the URL for e.example carries credentials: remove what stands before the @",
            ),
            (
                r#"{"id": "a", "url": "example.org/a"}"#,
                "url: \"example.org/a\" is not a URL (relative URL without a base): give an absolute http or https URL",
            ),
        ] {
            assert_eq!(Artifact::parse(line).unwrap_err().to_string(), expected, "{line}");
        }
    }
}
