//! Links in files that people have: bookmarks as browsers write them, lines of JSON, plain lists.

use crate::html_feed::{Cost, feed};
use crate::limits::TAGS;
use crate::processor::NewLink;
use crate::stamp::{from_iso, iso};
use crate::tag;
use abide_core::time::Time;
use html5ever::Attribute;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    ParseError, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use serde::Deserialize;
use std::cell::{Cell, RefCell};

/// Attributes of a tag: each is compared with those before it.
const ATTRIBUTES: u64 = 5_000;

/// A link in a file, or a line that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The line, or which link of a page of bookmarks, from 1.
    pub number: usize,
    /// The link, or why there is none.
    pub link: Result<Found, NoUrl>,
}

/// A link in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// With the tags and the date that the file has.
    pub link: NewLink,
    /// Tags whose names cannot be kept, and those that are too many.
    pub left_out: Vec<String>,
    /// Tags that are kept under another name than the file has, beyond case and spaces: as it has them, and as they are kept.
    pub renamed: Vec<(String, String)>,
}

/// Why there is no URL to save.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoUrl {
    /// It leads to no page, as bookmarks of scripts and of the browser itself do.
    #[error("{0}: URLs lead to no page")]
    NoPage(String),
    /// The line cannot be read.
    #[error("not a link: {0}")]
    Unreadable(String),
    /// The line does not say when it was created.
    #[error("createdAt is {0:?}: give an instant such as 2026-01-01T00:00:00.000Z")]
    BadInstant(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(alias = "href", alias = "link")]
    url: String,
    #[serde(default)]
    tags: Tags,
    #[serde(default)]
    created_at: Option<String>,
}

/// Tags of a line: a list, or with commas between them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "tags is neither a list of names nor a text")]
enum Tags {
    List(Vec<String>),
    Text(Option<String>),
}

impl Default for Tags {
    fn default() -> Tags {
        Tags::List(Vec::new())
    }
}

impl Tags {
    fn names(self) -> Vec<String> {
        match self {
            Tags::List(names) => names,
            Tags::Text(text) => split(&text.unwrap_or_default()),
        }
    }
}

/// Everything in a file. One that begins with a tag is a page of bookmarks, whose `TAGS` and `ADD_DATE` are taken; a line that
/// begins with a brace is JSON with a `url` (or `href`, `link`) and perhaps `tags` and `createdAt`; of the others each is a
/// URL, and those that begin with `#` say nothing.
#[must_use]
pub fn entries(text: &str) -> Vec<Entry> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('<') { of_bookmarks(text) } else { of_lines(text) }
}

/// No tree is built: where a link stands says nothing, and files may have any number of folders in each other.
fn of_bookmarks(text: &str) -> Vec<Entry> {
    let tokenizer = Tokenizer::new(Links::default(), TokenizerOpts::default());
    let goes_on = |links: &Links, cost: Cost| {
        links.is_cut.set(cost.attributes > ATTRIBUTES);
        !links.is_cut.get()
    };
    feed(&tokenizer, text, |links| links.tokens.get(), goes_on);
    let is_cut = tokenizer.sink.is_cut.get();
    if !is_cut {
        tokenizer.end();
    }
    let mut links = tokenizer.sink.links.take();
    if is_cut {
        links.push(Err(NoUrl::Unreadable(format!(
            "a tag has more than {ATTRIBUTES} attributes, and what is behind it was not read"
        ))));
    }
    links.into_iter().enumerate().map(|(at, link)| Entry { number: at + 1, link }).collect()
}

/// What the tokenizer gives its tokens to: keeps the links.
#[derive(Default)]
struct Links {
    links: RefCell<Vec<Result<Found, NoUrl>>>,
    tokens: Cell<u64>,
    is_cut: Cell<bool>,
}

impl TokenSink for Links {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if !matches!(token, ParseError(_)) {
            self.tokens.set(self.tokens.get() + 1);
        }
        match token {
            TagToken(Tag { kind: StartTag, name, attrs, .. }) if &*name == "a" => {
                self.links.borrow_mut().extend(bookmark(&attrs));
                TokenSinkResult::Continue
            }
            // What looks like a link in these is none.
            TagToken(Tag { kind: StartTag, name, .. }) if ["script", "style"].contains(&&*name) => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

/// A bookmark, if it has a place to lead to.
fn bookmark(attributes: &[Attribute]) -> Option<Result<Found, NoUrl>> {
    let attr = |name: &str| {
        let found = attributes.iter().find(|attribute| &*attribute.name.local == name);
        found.map(|attribute| attribute.value.trim())
    };
    let names = split(attr("tags").unwrap_or_default());
    let added_at = attr("add_date").and_then(of_stamp);
    Some(leads(attr("href")?).map(|url| found(url, names, added_at)))
}

/// Names with commas between them.
fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// When a bookmark was made: in seconds, or as some programs write it in thousandths or millionths of them.
fn of_stamp(text: &str) -> Option<Time> {
    const THOUSANDTHS: i64 = 100_000_000_000;
    const MILLIONTHS: i64 = 100_000_000_000_000;
    match text.parse::<i64>().ok().filter(|stamp| *stamp > 0)? {
        stamp if stamp >= MILLIONTHS => Some(Time(stamp / 1_000)),
        stamp if stamp >= THOUSANDTHS => Some(Time(stamp)),
        stamp => Some(Time(stamp * 1_000)),
    }
}

/// A link with as much of what the file says of it as can be kept.
fn found(url: String, names: Vec<String>, created_at: Option<Time>) -> Found {
    let (mut tags, mut left_out, mut renamed) = (Vec::new(), Vec::new(), Vec::new());
    for text in names {
        match tag::name(&text) {
            Some(name) if tags.contains(&name) => {}
            Some(name) if tags.len() < TAGS => {
                if !tag::is_plain(&text, &name) {
                    renamed.push((text, name.clone()));
                }
                tags.push(name);
            }
            Some(_) | None => left_out.push(text),
        }
    }
    Found { link: NewLink { url, tags, created_at: created_at.map(iso) }, left_out, renamed }
}

/// A bookmark's URL, if it is one of a page. What has no scheme is left to who saves it.
fn leads(href: &str) -> Result<String, NoUrl> {
    let scheme = href.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme
        .filter(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)))
    {
        Some(scheme) if scheme != "http" && scheme != "https" => {
            Err(NoUrl::NoPage(scheme.chars().take(40).collect()))
        }
        Some(_) | None => Ok(href.to_owned()),
    }
}

fn of_lines(text: &str) -> Vec<Entry> {
    let says = |line: &str| !line.is_empty() && !line.starts_with('#');
    let link = |line: &str| {
        if !line.starts_with('{') {
            return Ok(found(line.to_owned(), Vec::new(), None));
        }
        let Line { url, tags, created_at } = serde_json::from_str(line)
            .map_err(|error: serde_json::Error| NoUrl::Unreadable(without_place(&error)))?;
        let created_at = match created_at {
            Some(text) => Some(from_iso(&text).ok_or(NoUrl::BadInstant(text))?),
            None => None,
        };
        Ok(found(url, tags.names(), created_at))
    };
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| says(line));
    lines.map(|(at, line)| Entry { number: at + 1, link: link(line) }).collect()
}

/// What is wrong, without the line, which is always the first.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Found, NewLink, entries};

    fn found(text: &str) -> Vec<(usize, Result<String, String>)> {
        let url = |found: Found| found.link.url;
        entries(text)
            .into_iter()
            .map(|entry| (entry.number, entry.link.map(url).map_err(|no| no.to_string())))
            .collect()
    }

    /// What a file says of its only link: tags, date, tags that cannot be kept.
    fn said(text: &str) -> (Vec<String>, Option<String>, Vec<String>) {
        let Some(Ok(Found { link: NewLink { tags, created_at, .. }, left_out, .. })) =
            entries(text).pop().map(|entry| entry.link)
        else {
            panic!("no link: {text}")
        };
        (tags, created_at, left_out)
    }

    #[test]
    fn tags_and_dates_of_bookmarks_and_lines_are_taken() {
        let at = || Some("2023-11-14T22:13:20.000Z".to_owned());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let bookmark =
            |attributes: &str| format!("<DL><DT><A HREF=\"https://a.example/\" {attributes}>A</A></DL>");
        for stamp in ["1700000000", "1700000000000", "1700000000000000"] {
            let page = bookmark(&format!("ADD_DATE=\"{stamp}\" TAGS=\"To Read, rust,日本,rust\""));
            assert_eq!(said(&page), (words(&["to-read", "rust"]), at(), words(&["日本"])), "{stamp}");
        }
        for odd in ["", "0", "-5", "soon"] {
            assert_eq!(said(&bookmark(&format!("ADD_DATE=\"{odd}\""))), (vec![], None, vec![]), "{odd}");
        }
        let many: Vec<String> = (0..25).map(|n| format!("t{n}")).collect();
        let page = bookmark(&format!("TAGS=\"{}\"", many.join(",")));
        assert_eq!(said(&page), (many[..20].to_vec(), None, many[20..].to_vec()));
        for tags in [r#"["To Read", "rust"]"#, r#""To Read,rust""#] {
            let line = format!(
                r#"{{"url": "https://a.example/", "tags": {tags}, "createdAt": "2023-11-14T22:13:20Z"}}"#
            );
            assert_eq!(said(&line), (words(&["to-read", "rust"]), at(), vec![]));
        }
        assert_eq!(said(r#"{"url": "https://a.example/", "tags": null}"#), (vec![], None, vec![]));
        let late = entries(r#"{"url": "https://a.example/", "createdAt": "soon"}"#).pop().expect("an entry");
        assert!(late.link.is_err_and(|no| no.to_string().contains("\"soon\"")));
    }

    #[test]
    fn a_tag_that_gets_another_name_is_told_with_it() {
        let line = r#"{"url": "https://a.example/", "tags": "To  Read_later, Rust, éé, a tag of more than sixteen letters, c++"}"#;
        let Some(Ok(Found { renamed, link, .. })) = entries(line).pop().map(|entry| entry.link) else {
            panic!("no link")
        };
        assert_eq!(link.tags, ["to-read-later", "rust", "ee", "a-tag-of-more-th", "c"]);
        let pair = |text: &str, name: &str| (text.to_owned(), name.to_owned());
        let cut = pair("a tag of more than sixteen letters", "a-tag-of-more-th");
        assert_eq!(renamed, [pair("éé", "ee"), cut, pair("c++", "c")]);
    }

    fn ok(number: usize, url: &str) -> (usize, Result<String, String>) {
        (number, Ok(url.to_owned()))
    }

    fn no(number: usize, why: &str) -> (usize, Result<String, String>) {
        (number, Err(why.to_owned()))
    }

    #[test]
    fn bookmarks_of_a_browser_are_found_in_every_folder() {
        let page = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><H3>F</H3><DL><p>\
                    <DT><A HREF=\"https://a.example/?x=1&amp;y=2\" ADD_DATE=\"1\">A</A>\
                    <DT><A HREF=\"javascript:void(0)\">B</A></DL><p><DT><A HREF=\"http://b.example/\">C</A></DL>";
        let script = no(2, "javascript: URLs lead to no page");
        assert_eq!(found(page), [ok(1, "https://a.example/?x=1&y=2"), script, ok(3, "http://b.example/")]);
    }

    #[test]
    fn no_file_costs_more_than_its_length() {
        let link = "<DT><A HREF=\"https://a.example/\">A</A>";
        let folders = format!("{}{link}", "<DL><DT>".repeat(200_000));
        assert_eq!(found(&folders), [ok(1, "https://a.example/")]);
        let icon = format!("<DT><A ICON=\"data:{}\" HREF=\"https://b.example/\">B</A>", "ab/=".repeat(1_000));
        let names: String = (0..300_000).map(|n| format!(" a{n}")).collect();
        let bomb = format!("{link}{icon}<DT><A{names}>C</A>{link}");
        let cut = "not a link: a tag has more than 5000 attributes, and what is behind it was not read";
        assert_eq!(found(&bomb), [ok(1, "https://a.example/"), ok(2, "https://b.example/"), no(3, cut)]);
        let script = format!("<script>x = '{link}'</script>{link}");
        assert_eq!(found(&script), [ok(1, "https://a.example/")]);
    }

    #[test]
    fn urls_are_taken_as_they_are_written_and_what_leads_to_no_page_is_named() {
        let page = "<DL><DT><A HREF=\"HTTP://a.example/\">A</A><DT><A HREF=\" http://b.example/ \">B</A>\
                    <DT><A HREF=\"place:sort=8\">C</A><DT><A HREF=\"ftp://d.example/\">D</A></DL>";
        let expected = [
            ok(1, "HTTP://a.example/"),
            ok(2, "http://b.example/"),
            no(3, "place: URLs lead to no page"),
            no(4, "ftp: URLs lead to no page"),
        ];
        assert_eq!(found(page), expected);
    }

    #[test]
    fn lines_are_urls_or_json_and_bad_ones_are_named() {
        let text = "\u{feff}https://a.example/\r\n\n# later\n{\"url\": \"https://b.example/\", \"title\": \"B\"}\n\
                    {\"href\": \"https://c.example/\"}\n{\"title\": \"none\"}\n{oops\n";
        let expected = [
            ok(1, "https://a.example/"),
            ok(4, "https://b.example/"),
            ok(5, "https://c.example/"),
            no(6, "not a link: missing field `url`"),
            no(7, "not a link: key must be a string"),
        ];
        assert_eq!(found(text), expected);
        assert_eq!(found(" \n\n"), []);
    }
}
