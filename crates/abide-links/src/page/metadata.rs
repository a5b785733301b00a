//! Metadata: what a link shows. JSON-LD before OpenGraph and Twitter before the title tag; the first value counts.

use super::json_ld;
use crate::limits::{DESCRIPTION_CHARS, TITLE_CHARS, URL_BYTES};
use dom_query::Document;
use serde::{Deserialize, Serialize};
use url::Url;

/// Characters of the longest entity.
const ENTITY_CHARS: usize = 34;

/// What a link shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Metadata {
    /// Its title.
    pub title: Option<String>,
    /// A sentence or two by its author.
    pub description: Option<String>,
    /// The URL of a picture.
    pub image: Option<String>,
    /// The URL of its site's sign.
    pub favicon: Option<String>,
}

/// The metadata of a page at `url`.
pub(super) fn of(document: &Document, url: &Url) -> Metadata {
    let base = base(document, url);
    let linked = json_ld::of(document).unwrap_or_default();
    let meta = |names: &[&str]| names.iter().find_map(|name| meta(document, name));
    let title = linked
        .title
        .and_then(|text| words(&text, TITLE_CHARS))
        .or_else(|| meta(&["og:title", "twitter:title"]).and_then(|text| words(&text, TITLE_CHARS)))
        .or_else(|| {
            first_text(document, "head title, body > title").and_then(|text| words(&text, TITLE_CHARS))
        })
        .or_else(|| first_text(document, "h1").and_then(|text| words(&text, TITLE_CHARS)));
    let description = linked.description.and_then(|text| words(&text, DESCRIPTION_CHARS)).or_else(|| {
        let text = meta(&["og:description", "twitter:description", "description"])?;
        words(&text, DESCRIPTION_CHARS)
    });
    let image = linked.image.and_then(|image| resolve(&base, &image)).or_else(|| {
        let image =
            meta(&["og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"])?;
        resolve(&base, &image)
    });
    Metadata { title, description, image, favicon: favicon(document, &base).or_else(|| default_favicon(url)) }
}

impl Metadata {
    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Metadata::default()
    }
}

/// Where sites have their sign if they do not say.
pub(super) fn default_favicon(url: &Url) -> Option<String> {
    url.join("/favicon.ico").ok().map(String::from)
}

/// What relative URLs are relative to.
fn base(document: &Document, url: &Url) -> Url {
    let href = document.select("base[href]").iter().next().and_then(|base| base.attr("href"));
    href.and_then(|href| url.join(href.trim()).ok()).unwrap_or_else(|| url.clone())
}

fn meta(document: &Document, name: &str) -> Option<String> {
    document.select("meta[content]").iter().find_map(|meta| {
        let is_it = ["property", "name", "itemprop"].iter().any(|attribute| {
            meta.attr(attribute).is_some_and(|value| value.trim().eq_ignore_ascii_case(name))
        });
        let content = meta.attr("content").filter(|content| is_it && !content.trim().is_empty())?;
        Some(content.to_string())
    })
}

fn first_text(document: &Document, selector: &str) -> Option<String> {
    document.select(selector).iter().next().map(|element| element.text().to_string())
}

fn favicon(document: &Document, base: &Url) -> Option<String> {
    ["icon", "shortcut icon", "apple-touch-icon"].iter().find_map(|wanted| {
        document.select("link[rel][href]").iter().find_map(|link| {
            let rel = link.attr("rel")?.trim().to_ascii_lowercase();
            let is_it =
                rel == *wanted || *wanted == "icon" && rel.split_whitespace().any(|word| word == "icon");
            link.attr("href").filter(|_| is_it).and_then(|href| resolve(base, &href))
        })
    })
}

/// An absolute URL that a browser could load a picture from.
fn resolve(base: &Url, href: &str) -> Option<String> {
    if href.len() > URL_BYTES * 2 {
        return None;
    }
    let href = plain(href);
    let url = base.join(href.trim()).ok()?;
    let is_usable = matches!(url.scheme(), "http" | "https")
        && url.as_str().len() <= URL_BYTES
        && !href.trim().is_empty();
    is_usable.then(|| url.into())
}

/// Text with its entities decoded and single spaces, within a bound; none if nothing is left.
fn words(text: &str, chars: usize) -> Option<String> {
    // What comes after so much would be cut off below, whatever entities are in it.
    let text = plain(&text.chars().take(chars * ENTITY_CHARS).collect::<String>());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().filter(|c| !c.is_control()).take(chars).collect();
    (!text.is_empty()).then_some(text)
}

/// Decodes entities that are still there after HTML was read: pages escape twice, and JSON-LD is not HTML.
fn plain(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    Document::from(text.replace('<', "&lt;")).text().to_string()
}
