//! The record, and how a careless one is put right.

use super::names::Names;
use super::types::DcmiType;
use crate::dates::Span;
use crate::directory::Directory;
use crate::extent::Extent;
use serde::{Deserialize, Serialize};

/// Who made it or who holds it, if nobody knows.
pub const UNKNOWN: &str = "Unknown";
/// Where a record is from, if it does not say.
const SOURCE: &str = "PINAX";

/// A metadata record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinax {
    /// The id of the entity.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// What kind of thing it is; as it was said if that is no known one.
    #[serde(rename = "type")]
    pub kind: String,
    /// Who made it.
    pub creator: Names,
    /// Who holds it.
    pub institution: String,
    /// When it was made: `YYYY`, `YYYY-MM-DD` or two of them with a `/` between; empty if nobody knows.
    pub created: String,
    /// Where it can be looked at; empty if that is not known.
    pub access_url: String,
    /// Its language, as BCP 47 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// A sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where the record is from.
    pub source: String,
    /// What may be done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<String>,
    /// Where it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Names>,
    /// How much there is in it and below it: `154 files, 60 with text`. Counted here, whoever made the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<String>,
}

/// What records of directories with nothing in them say.
const NOTHING: &str = "There is nothing in it.";

/// A record as somebody gives it: anything may be missing or careless.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// See [`Pinax`]; so are the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    /// The kind of thing.
    pub kind: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<Names>,
    /// Who holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub institution: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Where it can be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_url: Option<String>,
    /// Its language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Names>,
    /// A sentence or two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where the record is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What may be done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<String>,
    /// Where it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Names>,
}

impl Pinax {
    /// A draft about a directory as a record: its id is the directory's, what is blank is left out, types and dates are as they
    /// should be where they can be told. The institution and address that somebody gave win.
    #[must_use]
    pub fn finish(draft: Draft, directory: &Directory) -> Pinax {
        let said =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let kind = said(draft.kind);
        let known = kind.as_deref().and_then(DcmiType::read);
        let name_of =
            |kind: DcmiType| DcmiType::ALL.iter().find(|(one, _)| *one == kind).map(|(_, name)| *name);
        let created = said(draft.created);
        let span = created.as_deref().and_then(Span::read);
        let subjects =
            draft.subjects.into_iter().flat_map(|subjects| subjects.iter().cloned().collect::<Vec<_>>());
        let extent = Extent::of(directory).filter(|extent| extent.files > 0);
        Pinax {
            id: directory.pi.clone(),
            title: said(draft.title).unwrap_or_else(|| directory.name.clone()),
            kind: known
                .and_then(name_of)
                .map(str::to_owned)
                .or(kind)
                .unwrap_or_else(|| "Collection".to_owned()),
            creator: blank_dropped(draft.creator).unwrap_or_else(|| Names::One(UNKNOWN.to_owned())),
            institution: said(directory.institution.clone())
                .or_else(|| said(draft.institution))
                .unwrap_or_else(|| UNKNOWN.to_owned()),
            created: span.map(|span| span.to_string()).or(created).unwrap_or_default(),
            access_url: said(directory.access_url.clone())
                .or_else(|| said(draft.access_url))
                .unwrap_or_default(),
            language: said(draft.language),
            subjects: subjects.filter_map(|subject| said(Some(subject))).collect(),
            description: said(draft.description),
            source: said(draft.source).unwrap_or_else(|| SOURCE.to_owned()),
            rights: said(draft.rights),
            place: blank_dropped(draft.place),
            extent: extent.map(|extent| extent.to_string()),
        }
    }

    /// What there is to say about a directory with nothing in it.
    #[must_use]
    pub fn minimal(directory: &Directory, this_year: u32) -> Pinax {
        let description = Some(NOTHING.to_owned());
        let draft = Draft { created: Some(this_year.to_string()), description, ..Draft::default() };
        Pinax::finish(draft, directory)
    }

    /// Whether it is of a directory with nothing in it: then its date is that of the record.
    #[must_use]
    pub fn is_minimal(&self) -> bool {
        self.description.as_deref() == Some(NOTHING)
    }
}

fn blank_dropped(names: Option<Names>) -> Option<Names> {
    names.and_then(|names| Names::of(names.iter().cloned()))
}
