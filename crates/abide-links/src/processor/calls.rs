//! What can be asked of `links/{store_id}`, and what it answers: the shapes of the links API.

use super::rows::{Link, Status};
use abide_llm::{Spent, Usage};
use serde::{Deserialize, Serialize};

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Call {
    /// Save links; those that are there already are left as they are.
    Add {
        /// Which.
        #[serde(alias = "urls")]
        links: Vec<NewLink>,
        /// Names of tags for each.
        tags: Vec<String>,
        /// Who brings them.
        source: String,
    },
    /// One link.
    Get {
        /// Which.
        id: String,
    },
    /// These links, in this order.
    Named {
        /// Which.
        ids: Vec<String>,
    },
    /// Links.
    List(Query),
    /// Change links.
    Update {
        /// Which.
        ids: Vec<String>,
        /// How.
        changes: Changes,
    },
    /// Change those links that a list would give.
    UpdateListed {
        /// Which list.
        query: Query,
        /// How.
        changes: Changes,
    },
    /// Process a link again.
    Reprocess {
        /// Which.
        id: String,
    },
    /// Stop processing a link.
    Cancel {
        /// Which.
        id: String,
    },
}

/// A link to save: a URL, or with it what is known about it elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NewLinkForm", into = "NewLinkForm")]
pub struct NewLink {
    /// Its URL.
    pub url: String,
    /// Names of tags.
    pub tags: Vec<String>,
    /// When it was created, as ISO 8601; now if none, and never later than now.
    pub created_at: Option<String>,
}

impl NewLink {
    /// A URL and nothing else.
    #[must_use]
    pub fn of(url: String) -> NewLink {
        NewLink { url, tags: Vec::new(), created_at: None }
    }
}

/// How a link to save is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "it is neither a URL nor an object with url, tags and createdAt")]
enum NewLinkForm {
    Url(String),
    With(With),
}

/// A URL with what is known about it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct With {
    url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
}

impl From<NewLinkForm> for NewLink {
    fn from(form: NewLinkForm) -> NewLink {
        match form {
            NewLinkForm::Url(url) => NewLink::of(url),
            NewLinkForm::With(With { url, tags, created_at }) => NewLink { url, tags, created_at },
        }
    }
}

impl From<NewLink> for NewLinkForm {
    fn from(NewLink { url, tags, created_at }: NewLink) -> NewLinkForm {
        if tags.is_empty() && created_at.is_none() {
            return NewLinkForm::Url(url);
        }
        NewLinkForm::With(With { url, tags, created_at })
    }
}

/// Which links are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Query {
    /// `inbox`, `completed`, `active`, `any`, `all` or `archive`; `active` if none.
    pub state: Option<String>,
    /// `newest` or `oldest` first; `newest` if none.
    pub sort: Option<String>,
    /// Only links that were created later than this instant.
    pub created_after: Option<String>,
    /// Only links that were created earlier than this instant.
    pub created_before: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// Words to look for.
    pub q: Option<String>,
    /// Whether `any` of the words is enough or `all` must be there.
    #[serde(rename = "match")]
    pub matching: Option<String>,
}

/// What to change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// The new state.
    pub state: Option<State>,
    /// Tags to add, to remove, or to have in place of all.
    pub tags: Option<TagChanges>,
}

/// How tags change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TagChanges {
    /// To add.
    pub add: Vec<String>,
    /// To remove.
    pub remove: Vec<String>,
    /// To have, and no others.
    pub set: Option<Vec<String>>,
}

impl TagChanges {
    /// Whether it says what tags there are to be, and changes to them too.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.set.is_some() && !(self.add.is_empty() && self.remove.is_empty())
    }
}

/// Where a link is for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// To be read.
    Inbox,
    /// Read.
    Completed,
    /// Put away.
    Archive,
}

impl State {
    /// The state of a link.
    #[must_use]
    pub fn of(link: &Link) -> State {
        match (link.deleted_at, link.completed_at) {
            (Some(_), _) => State::Archive,
            (None, Some(_)) => State::Completed,
            (None, None) => State::Inbox,
        }
    }

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Inbox => "inbox",
            State::Completed => "completed",
            State::Archive => "archive",
        }
    }
}

/// A link as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkView {
    /// Its id.
    pub id: String,
    /// As it was saved.
    pub url: String,
    /// From its page.
    pub title: Option<String>,
    /// From its page.
    pub description: Option<String>,
    /// What its page says, in short.
    pub summary: Option<String>,
    /// What made the summary: a model, or `abide/extractive-1`, which picks sentences of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// Its host.
    pub domain: String,
    /// A picture.
    pub image: Option<String>,
    /// The sign of its site.
    pub favicon: Option<String>,
    /// Names of its tags.
    pub tags: Vec<String>,
    /// Where it is.
    pub state: State,
    /// `pending`, `processing`, `done`, `failed` or `none`.
    pub processing: String,
    /// The code of its failure.
    pub error: Option<String>,
    /// What was the matter, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who brought it.
    pub source: Option<String>,
    /// When.
    pub created_at: String,
    /// When it was read.
    pub completed_at: Option<String>,
    /// When it was put away.
    pub deleted_at: Option<String>,
    /// Links that lead to the same page and are not listed beside it: all of them with one link, the first with many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
    /// How many there are, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_count: Option<usize>,
    /// The link that is listed in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// What a model took to summarize it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<SpentView>,
    /// How well it fits what was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// In which fields it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_fields: Option<Vec<String>>,
}

/// A link that leads to the same page as another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate {
    /// Its id.
    pub id: String,
    /// As it was saved.
    pub url: String,
}

/// What a model took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpentView {
    /// Requests that it was sent.
    pub requests: u64,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// What they cost, in millionths of the currency of the price.
    pub cost_micros: u64,
}

impl From<Spent> for SpentView {
    fn from(Spent { requests, usage, cost_micros }: Spent) -> SpentView {
        let Usage { input_tokens, output_tokens } = usage;
        SpentView { requests, input_tokens, output_tokens, cost_micros }
    }
}

/// The word of the API for where processing stands.
pub(super) fn processing_word(link: &Link, is_under_way: bool) -> &'static str {
    match link.processing.as_ref().map(|processing| processing.status) {
        _ if is_under_way => "processing",
        None if link.deleted_at.is_some() => "none",
        None | Some(Status::Pending | Status::ReprocessRequested) => "pending",
        Some(Status::Completed) => "done",
        Some(Status::Failed) => "failed",
        Some(Status::Cancelled) => "none",
    }
}

/// A link that was saved, or was there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Whether it is new.
    pub created: bool,
    /// The link.
    pub link: LinkView,
}

/// What became of a link that somebody wrote about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Whether it is new.
    pub created: bool,
    /// Which.
    pub id: String,
}

/// A page of links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The links.
    pub links: Vec<LinkView>,
    /// How many there are on all pages.
    pub total: u64,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
    /// Events of the log that could not be projected; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<u64>,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// To [`Call::Add`], in the order of the URLs.
    Added(Vec<Added>),
    /// The same, if the links are too much for an answer that is kept: [`Call::Named`] gives them.
    Done(Vec<Done>),
    /// One link or those that were changed.
    Links(Vec<LinkView>),
    /// To [`Call::List`].
    Listed(Listed),
}
