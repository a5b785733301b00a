//! URLs in files that people have: bookmarks as browsers write them, lines of JSON, plain lists.

use dom_query::Document;
use serde::Deserialize;

/// A URL in a file, or a line that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The line, or which link of a page of bookmarks, from 1.
    pub number: usize,
    /// The URL, or why there is none.
    pub url: Result<String, String>,
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
    let hrefs =
        page.select("a[href]").iter().filter_map(|link| link.attr("href").map(|href| href.to_string()));
    // Bookmarks of scripts and of the browser itself lead to no page.
    let leads = |href: &String| href.starts_with("http://") || href.starts_with("https://");
    hrefs.filter(leads).enumerate().map(|(at, href)| Entry { number: at + 1, url: Ok(href) }).collect()
}

fn of_lines(text: &str) -> Vec<Entry> {
    let says = |line: &str| !line.is_empty() && !line.starts_with('#');
    let url = |line: &str| {
        if !line.starts_with('{') {
            return Ok(line.to_owned());
        }
        serde_json::from_str::<Line>(line)
            .map(|line| line.url)
            .map_err(|error| format!("not a link: {error}"))
    };
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| says(line));
    lines.map(|(at, line)| Entry { number: at + 1, url: url(line) }).collect()
}

#[cfg(test)]
mod tests {
    use super::entries;

    fn found(text: &str) -> Vec<(usize, Result<String, bool>)> {
        entries(text).into_iter().map(|entry| (entry.number, entry.url.map_err(|_| true))).collect()
    }

    fn ok(number: usize, url: &str) -> (usize, Result<String, bool>) {
        (number, Ok(url.to_owned()))
    }

    #[test]
    fn bookmarks_of_a_browser_are_found_in_every_folder() {
        let page = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><H3>F</H3><DL><p>\
                    <DT><A HREF=\"https://a.example/?x=1&amp;y=2\" ADD_DATE=\"1\">A</A>\
                    <DT><A HREF=\"javascript:void(0)\">B</A></DL><p><DT><A HREF=\"http://b.example/\">C</A></DL>";
        assert_eq!(found(page), [ok(1, "https://a.example/?x=1&y=2"), ok(2, "http://b.example/")]);
    }

    #[test]
    fn lines_are_urls_or_json_and_bad_ones_are_named() {
        let text = "\u{feff}https://a.example/\r\n\n# later\n{\"url\": \"https://b.example/\", \"title\": \"B\"}\n\
                    {\"href\": \"https://c.example/\"}\n{\"title\": \"none\"}\n{oops\n";
        let expected = [
            ok(1, "https://a.example/"),
            ok(4, "https://b.example/"),
            ok(5, "https://c.example/"),
            (6, Err(true)),
            (7, Err(true)),
        ];
        assert_eq!(found(text), expected);
        assert_eq!(found(" \n\n"), []);
    }
}
