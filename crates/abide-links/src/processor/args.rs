//! Details of events as the projection takes them. Whoever may write to a log may write anything: ids must be usable in keys,
//! texts are cut to their bounds, and what fits nowhere is passed over.

use crate::event::Event;
use crate::limits::{
    DESCRIPTION_CHARS, DOMAIN_CHARS, ERROR_CHARS, ID_BYTES, MODEL_CHARS, REASON_CHARS, SOURCE_CHARS,
    SUMMARY_KEPT_CHARS, TAG_NAME_CHARS, TITLE_CHARS, URL_BYTES,
};
use serde_json::Value;

/// Events that mean something to the projection.
const NAMES: [&str; 22] = [
    "v1.LinkCreated",
    "v2.LinkCreated",
    "v1.LinkMetadataFetched",
    "v1.LinkSummarized",
    "v1.LinkCompleted",
    "v1.LinkUncompleted",
    "v1.LinkDeleted",
    "v1.LinkRestored",
    "v1.LinkProcessingStarted",
    "v1.LinkReprocessRequested",
    "v1.LinkProcessingCompleted",
    "v1.LinkProcessingFailed",
    "v1.LinkProcessingCancelled",
    "v1.TagCreated",
    "v1.TagRenamed",
    "v1.TagDeleted",
    "v1.LinkTagged",
    "v1.LinkUntagged",
    "v2.LinkUntagged",
    "v1.TagSuggested",
    "v1.TagSuggestionAccepted",
    "v1.TagSuggestionDismissed",
];

/// Texts that are cut, and to how many characters.
const TEXTS: [(&str, usize); 10] = [
    ("name", TAG_NAME_CHARS),
    ("suggestedName", TAG_NAME_CHARS),
    ("title", TITLE_CHARS),
    ("description", DESCRIPTION_CHARS),
    ("summary", SUMMARY_KEPT_CHARS),
    ("model", MODEL_CHARS),
    ("error", ERROR_CHARS),
    ("reason", REASON_CHARS),
    ("domain", DOMAIN_CHARS),
    ("source", SOURCE_CHARS),
];

/// What there is to read in an event.
#[derive(Debug)]
pub(super) enum Args {
    /// Details within every bound.
    Of(Value),
    /// The event is about something else.
    OfNoConcern,
    /// It cannot be projected, for this reason.
    Unusable(String),
}

impl Args {
    /// The details of `event`.
    pub(super) fn of(event: &Event) -> Args {
        if !NAMES.contains(&event.name.as_str()) {
            return Args::OfNoConcern;
        }
        let Ok(mut args) = event.args.decode::<Value>() else {
            return Args::Unusable("its args cannot be read".to_owned());
        };
        let Some(fields) = args.as_object_mut() else {
            return Args::Unusable("its args are not an object".to_owned());
        };
        for name in ["id", "linkId", "tagId"] {
            if let Some(Value::String(id)) = fields.get(name)
                && !is_usable(id)
            {
                let rule = format!("1 to {ID_BYTES} bytes without / and control characters");
                return Args::Unusable(format!("its {name} is not an id: {rule}"));
            }
        }
        if let Some(Value::String(url)) = fields.get("url")
            && (url.len() > URL_BYTES || url.chars().any(char::is_control))
        {
            let rule = format!("a URL has at most {URL_BYTES} bytes and no control characters");
            return Args::Unusable(format!("its url is not one: {rule}"));
        }
        for (name, chars) in TEXTS {
            if let Some(Value::String(text)) = fields.get_mut(name) {
                *text = text.chars().filter(|c| !c.is_control() || *c == '\n').take(chars).collect();
            }
        }
        for name in ["image", "favicon"] {
            fields
                .retain(|key, value| key != name || value.as_str().is_some_and(|url| url.len() <= URL_BYTES));
        }
        Args::Of(args)
    }
}

/// Whether an id can be a part of the keys of rows and jobs.
fn is_usable(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES && !id.contains('/') && !id.chars().any(char::is_control)
}
