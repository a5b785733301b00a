//! Pages: from bytes to what a link shows, and what may be summarized.
//!
//! Pure. [`read`] is the door; what fetches is `fetch.rs`.

mod article;
mod challenge;
mod charset;
mod json_ld;
mod metadata;
mod outcome;
mod tree;

pub use charset::decode;
pub use metadata::Metadata;
pub use outcome::{Failure, Outcome, Verdict};

use crate::limits::{TEXT_CHARS, URL_BYTES, WORDS_MIN};
use serde::{Deserialize, Serialize};
use url::Url;

/// What is known of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Where it is in the end.
    pub url: String,
    /// What a link to it shows.
    pub metadata: Metadata,
    /// What it says, without its surroundings; empty if that is less than a few sentences.
    pub text: String,
}

/// Reads a page that came from `url` with this content type.
#[must_use]
pub fn read(url: &Url, content_type: Option<&str>, bytes: &[u8]) -> Outcome {
    let text = match media_type(content_type).as_deref() {
        Some("text/html" | "application/xhtml+xml") | None => decode(bytes, content_type),
        Some("text/plain") => return plain(url, &decode(bytes, content_type)),
        Some(other) => {
            let why = format!("it is {other}, and not a page");
            return Outcome::Failed(Failure::unreadable(Verdict::Permanent, why));
        }
    };
    let Ok(document) = tree::of(&text) else {
        return Outcome::Failed(Failure::unreadable(Verdict::Permanent, "its elements are nested too deep"));
    };
    let metadata = metadata::of(&document, url);
    let text = article::text(document, url);
    if challenge::is_challenge(metadata.title.as_deref(), &text) {
        let why = "the host wants to see a human first";
        return Outcome::Failed(Failure::unreadable(Verdict::Blocked, why));
    }
    with_text(url, metadata, text)
}

fn plain(url: &Url, text: &str) -> Outcome {
    let name = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
    let title = (!name.is_empty()).then(|| name.to_owned());
    let metadata = Metadata { title, favicon: metadata::default_favicon(url), ..Metadata::default() };
    with_text(url, metadata, text.to_owned())
}

fn with_text(url: &Url, metadata: Metadata, text: String) -> Outcome {
    let is_empty = words(&text) < WORDS_MIN;
    let text = if is_empty { String::new() } else { text.chars().take(TEXT_CHARS).collect() };
    let page = Page { url: url.as_str().chars().take(URL_BYTES).collect(), metadata, text };
    if is_empty { Outcome::Empty(page) } else { Outcome::Ok(page) }
}

fn media_type(content_type: Option<&str>) -> Option<String> {
    let media = content_type?.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    (!media.is_empty()).then_some(media)
}

/// Words, where scripts without spaces count a word for every two characters.
fn words(text: &str) -> usize {
    let unspaced =
        text.chars().filter(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')).count();
    text.split_whitespace().count() + unspaced / 2
}
