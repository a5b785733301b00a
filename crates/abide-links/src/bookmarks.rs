//! URLs in files that people have: bookmarks as browsers write them, lines of JSON, plain lists.

use dom_query::Document;
use html5ever::tendril::StrTendril;
use serde::Deserialize;

/// A URL in a file, or a line that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The line, or which link of a page of bookmarks, from 1.
    pub number: usize,
    /// The URL, or why there is none.
    pub url: Result<String, NoUrl>,
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
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "href", alias = "link")]
    url: String,
}

/// Everything in a file. One that begins with a tag is a page of bookmarks; a line that begins with a brace is JSON with a
/// `url` (or `href`, `link`); of the others each is a URL, and those that begin with `#` say nothing.
#[must_use]
pub fn entries(text: &str) -> Vec<Entry> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('<') { of_bookmarks(text) } else { of_lines(text) }
}

fn of_bookmarks(text: &str) -> Vec<Entry> {
    let page = Document::from(text);
    let hrefs = page.select("a[href]").iter().filter_map(|link| link.attr("href")).collect::<Vec<_>>();
    let entry = |(at, href): (usize, &StrTendril)| Entry { number: at + 1, url: leads(href.trim()) };
    hrefs.iter().enumerate().map(entry).collect()
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
    let url = |line: &str| {
        if !line.starts_with('{') {
            return Ok(line.to_owned());
        }
        serde_json::from_str::<Line>(line)
            .map(|line| line.url)
            .map_err(|error| NoUrl::Unreadable(without_place(&error)))
    };
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| says(line));
    lines.map(|(at, line)| Entry { number: at + 1, url: url(line) }).collect()
}

/// What is wrong, without the line, which is always the first.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::entries;

    fn found(text: &str) -> Vec<(usize, Result<String, String>)> {
        entries(text)
            .into_iter()
            .map(|entry| (entry.number, entry.url.map_err(|no| no.to_string())))
            .collect()
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
