//! Whether a record is whole.

use super::record::Pinax;
use super::types::DcmiType;
use crate::dates::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wrong with a record, if anything. One that is not valid is published all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Validation {
    /// Whether every required field is there and right.
    pub valid: bool,
    /// Required fields that are not there.
    pub missing_required: Vec<String>,
    /// What else is to be said.
    pub warnings: Vec<String>,
    /// Each field that was looked at.
    pub field_validations: BTreeMap<String, FieldCheck>,
}

/// How a field is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldCheck {
    /// Whether it is right.
    pub valid: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Pinax {
    /// Looks at every field.
    #[must_use]
    pub fn validate(&self) -> Validation {
        let mut found = Validation::default();
        let is_id = matches!(self.id.len(), 26 | 36)
            && self.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        found.required("id", &self.id, is_id, "it is neither a ULID nor a UUID");
        found.required("title", &self.title, true, "");
        let is_type = DcmiType::ALL.iter().any(|(_, name)| *name == self.kind);
        found.required("type", &self.kind, is_type, "it is no type of the DCMI vocabulary");
        let creators: Vec<&str> = self.creator.iter().map(String::as_str).collect();
        found.required("creator", creators.join(", ").trim(), true, "");
        found.required("institution", &self.institution, true, "");
        let is_date = Span::parse(&self.created).is_some();
        found.required(
            "created",
            &self.created,
            is_date,
            "it is neither YYYY nor YYYY-MM-DD nor two of them as from/to",
        );
        let is_url = ["http://", "https://"].iter().any(|scheme| self.access_url.starts_with(scheme));
        found.required("access_url", &self.access_url, is_url, "it is no http or https URL");
        if let Some(language) = &self.language {
            let is_tag = language.split('-').all(|part| {
                (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }) && language.split('-').next().is_some_and(|code| (2..=3).contains(&code.len()));
            found.note("language", is_tag, "it is no BCP 47 tag");
        }
        found.valid =
            found.missing_required.is_empty() && found.field_validations.values().all(|field| field.valid);
        found
    }
}

impl Validation {
    fn required(&mut self, field: &str, value: &str, is_right: bool, wrong: &str) {
        if value.trim().is_empty() {
            self.missing_required.push(field.to_owned());
            self.field_validations.insert(
                field.to_owned(),
                FieldCheck { valid: false, message: Some("it is missing".to_owned()) },
            );
        } else {
            self.note(field, is_right, wrong);
        }
    }

    fn note(&mut self, field: &str, is_right: bool, wrong: &str) {
        let message = (!is_right).then(|| wrong.to_owned());
        if !is_right {
            self.warnings.push(format!("{field}: {wrong}"));
        }
        self.field_validations.insert(field.to_owned(), FieldCheck { valid: is_right, message });
    }
}
