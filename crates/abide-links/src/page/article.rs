//! What a page says, without menus, advertisements and comments.

use dom_query::Document;
use dom_smoothie::{CandidateSelectMode, Config, Readability, TextMode};
use url::Url;

/// Elements of one page that are looked at; a page with more is read plainly.
const ELEMENTS: usize = 50_000;
/// What is never part of the text.
const AROUND: &str =
    "script, style, nav, footer, aside, iframe, noscript, header, form, button, template, svg, select";

/// The text of the page at `url`, a line for each paragraph.
pub(super) fn text(document: Document, url: &Url) -> String {
    let plain_copy = document.clone();
    let config = Config {
        max_elements_to_parse: ELEMENTS,
        disable_json_ld: true,
        candidate_select_mode: CandidateSelectMode::DomSmoothie,
        text_mode: TextMode::Formatted,
        ..Config::default()
    };
    let article = Readability::with_document(document, Some(url.as_str()), Some(config))
        .and_then(|mut readability| readability.parse());
    let found = article.map(|article| lines(&article.text_content)).unwrap_or_default();
    if found.is_empty() { plainly(&plain_copy) } else { found }
}

/// The longest of the elements that are meant for it, else the body, without what is around the text.
fn plainly(document: &Document) -> String {
    document.select(AROUND).remove();
    let texts = |selector: &str| {
        let all = document.select(selector);
        all.iter().map(|element| lines(&element.formatted_text())).max_by_key(String::len)
    };
    ["article", "main", "[role=main]", "body"].iter().find_map(|selector| texts(selector)).unwrap_or_default()
}

/// `text` without empty lines and with single spaces.
fn lines(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
