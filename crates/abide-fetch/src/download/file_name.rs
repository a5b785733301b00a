//! Names of files that come from outside, made safe.

use super::disk::hex;
use crate::limits::{FILE_NAME_BYTES, STEM_BYTES};
use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap};
use sha2::{Digest, Sha256};
use url::Url;

/// The name of a file: `stem` and the extension that the reply suggests (`Content-Disposition`, then the content type, then
/// the URL), or without a stem the name that the reply or else the URL has. Always one safe component.
#[must_use]
pub fn file_name(stem: Option<&str>, url: &Url, headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).map(|value: &reqwest::header::HeaderValue| value.as_bytes());
    let disposition = text(CONTENT_DISPOSITION).and_then(disposition_name);
    let content_type = text(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value).into_owned());
    let from_url = url_name(url);
    let extension = disposition
        .as_deref()
        .and_then(extension)
        .or_else(|| content_type.as_deref().and_then(type_extension).map(str::to_owned))
        .or_else(|| from_url.as_deref().and_then(extension));
    match stem {
        Some(stem) => {
            let base = cut_at(&safe_name(stem), STEM_BYTES).to_owned();
            // What was lost in making it safe is what tells two stems apart.
            let base = if base == stem { base } else { format!("{base}-{}", short_hash(stem)) };
            with_extension(&base, extension.as_deref())
        }
        None => match disposition.or(from_url) {
            Some(own) => with_extension(&safe_name(&own), extension.as_deref()),
            None => with_extension("download", extension.as_deref()),
        },
    }
}

/// `text` as one component of a path that means nothing special on any system: no separators, no control, formatting or
/// reserved characters, no leading dot, not a device, not too long. What is safe already is left as it is.
#[must_use]
pub fn safe_name(text: &str) -> String {
    let replaced: String = text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let trimmed = replaced.trim_start_matches(['.', ' ']).trim_end_matches(['.', ' ']);
    let cut = cut_name(trimmed);
    let is_device = is_device(&cut);
    match cut.as_str() {
        "" => "download".to_owned(),
        _ if is_device => format!("_{cut}"),
        _ => cut,
    }
}

/// Whether `name` could have been made here.
pub(super) fn is_safe_name(name: &str) -> bool {
    (1..=255).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.')
}

/// `name` with `mark` before its extension.
pub(super) fn marked(name: &str, mark: &str) -> String {
    match extension(name) {
        Some(extension) => format!("{}-{mark}.{extension}", &name[..name.len() - extension.len() - 1]),
        None => format!("{name}-{mark}"),
    }
}

fn is_plain(c: char) -> bool {
    let is_reserved = matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    // Characters that hide or reorder the others.
    let is_invisible = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..);
    !(c.is_control() || is_reserved || is_invisible)
}

/// Cuts a name that is too long, and keeps its extension.
fn cut_name(name: &str) -> String {
    if name.len() <= FILE_NAME_BYTES {
        return name.to_owned();
    }
    let extension = extension(name).map(|extension| format!(".{extension}")).unwrap_or_default();
    let stem = cut_at(name, FILE_NAME_BYTES - extension.len());
    format!("{}{extension}", stem.trim_end_matches(['.', ' ']))
}

/// Names that Windows gives to devices, whatever their extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered
            .is_some_and(|rest| matches!(rest, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"))
}

/// The extension of a name: at most 10 letters and digits behind its last dot.
fn extension(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_plain =
        (1..=10).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    (is_plain && !stem.is_empty()).then(|| extension.to_owned())
}

fn with_extension(name: &str, wanted: Option<&str>) -> String {
    match (wanted, extension(name)) {
        (None, _) => name.to_owned(),
        (Some(wanted), Some(has)) if has.eq_ignore_ascii_case(wanted) => name.to_owned(),
        (Some(wanted), _) => format!("{name}.{}", wanted.to_ascii_lowercase()),
    }
}

fn cut_at(name: &str, bytes: usize) -> &str {
    let mut end = name.len().min(bytes);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

fn type_extension(content_type: &str) -> Option<&'static str> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(match essence.as_str() {
        "application/pdf" | "application/x-pdf" => "pdf",
        "text/html" | "application/xhtml+xml" => "html",
        "text/xml" | "application/xml" => "xml",
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/markdown" => "md",
        "application/json" => "json",
        "application/epub+zip" => "epub",
        "application/zip" => "zip",
        "application/gzip" | "application/x-gzip" => "gz",
        "application/x-tar" => "tar",
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "image/gif" => "gif",
        "image/tiff" => "tif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        "video/mp4" => "mp4",
        _ => return None,
    })
}

/// The last part of a URL's path.
fn url_name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    last_component(&percent_decode_str(last).decode_utf8_lossy())
}

/// The name in `attachment; filename="a.pdf"; filename*=UTF-8''%e2%82%ac.pdf`; the second form wins.
fn disposition_name(value: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(value);
    let parameters = split_parameters(&value);
    let find = |wanted: &str| parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let extended = find("filename*").and_then(|(_, value)| {
        let (charset, rest) = value.split_once('\'')?;
        let (_, encoded) = rest.split_once('\'')?;
        charset
            .eq_ignore_ascii_case("utf-8")
            .then(|| percent_decode_str(encoded).decode_utf8_lossy().into_owned())
    });
    last_component(&extended.or_else(|| find("filename").map(|(_, value)| value.clone()))?)
}

/// The `name=value` pairs behind the first `;`, with quotes undone.
fn split_parameters(value: &str) -> Vec<(String, String)> {
    let mut fields = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in value.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => {
                is_escaped = true;
                continue;
            }
            '"' => {
                is_quoted = !is_quoted;
                continue;
            }
            ';' if !is_quoted => {
                fields.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(field) = fields.last_mut() {
            field.push(c);
        }
    }
    let pair = |field: &String| {
        let (name, value) = field.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    fields.iter().skip(1).filter_map(pair).collect()
}

fn last_component(path: &str) -> Option<String> {
    let last = path.rsplit(['/', '\\']).next()?.trim();
    (!last.is_empty()).then(|| last.to_owned())
}

fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))[..8].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn names_lead_nowhere_else() {
        for (given, expected) in [
            ("paper.pdf", "paper.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("..", "download"),
            (".", "download"),
            ("", "download"),
            ("   ", "download"),
            ("/etc/passwd", "_etc_passwd"),
            ("C:\\Windows\\x.dll", "C__Windows_x.dll"),
            (".bashrc", "bashrc"),
            (".abide", "abide"),
            ("a\0b", "a_b"),
            ("a\nb\r\tc", "a_b__c"),
            ("name.pdf.", "name.pdf"),
            ("name. . .", "name"),
            ("CON", "_CON"),
            ("nul.txt", "_nul.txt"),
            ("com1", "_com1"),
            ("lpt9.log", "_lpt9.log"),
            ("com10", "com10"),
            ("console", "console"),
            ("a\u{202e}fdp.exe", "a_fdp.exe"),
            ("a\u{200b}b", "a_b"),
            ("<a>:\"b\"|?*", "_a___b____"),
            ("übung 1.txt", "übung 1.txt"),
            ("日本語", "日本語"),
        ] {
            let safe = safe_name(given);
            assert_eq!(safe, expected, "{given:?}");
            assert_eq!(safe_name(&safe), safe, "safe already");
            assert!(is_safe_name(&safe), "{safe}");
        }
    }

    #[test]
    fn long_names_keep_their_extension_and_their_letters_whole() {
        let long = format!("{}.pdf", "é".repeat(300));
        let safe = safe_name(&long);
        assert!(safe.len() <= FILE_NAME_BYTES && safe.ends_with("é.pdf"), "{safe}");
        let url = Url::parse("http://example.org/").unwrap();
        let (a, b) = ("x".repeat(400) + "a", "x".repeat(400) + "b");
        let name = |stem| file_name(Some(stem), &url, &headers(&[("content-type", "application/pdf")]));
        assert_ne!(name(&a), name(&b));
        assert!(name(&a).ends_with(".pdf") && marked(&name(&a), "0123456789abcdef").len() <= 255);
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn check(stem: Option<&str>, url: &str, pairs: &[(&'static str, &str)], expected: &str) {
        let found = file_name(stem, &Url::parse(url).unwrap(), &headers(pairs));
        assert_eq!(found, expected, "{stem:?} {url} {pairs:?}");
        assert!(is_safe_name(&found));
    }

    #[test]
    fn the_reply_names_a_file_without_a_stem() {
        let disposition = "content-disposition";
        check(None, "http://a.example/x/paper.pdf?download=1", &[], "paper.pdf");
        check(None, "http://a.example/", &[], "download");
        check(None, "http://a.example/x/", &[("content-type", "text/html; charset=utf-8")], "download.html");
        check(None, "http://a.example/x", &[("content-type", "application/pdf")], "x.pdf");
        check(None, "http://a.example/x.php", &[("content-type", "application/pdf")], "x.php.pdf");
        check(None, "http://a.example/x.PDF", &[("content-type", "application/pdf")], "x.PDF");
        check(None, "http://a.example/%2e%2e%2f%2e%2e%2fetc%2fpasswd", &[], "passwd");
        check(None, "http://a.example/a%00b%0a.txt", &[], "a_b_.txt");
        check(None, "http://a.example/x", &[(disposition, "attachment; filename=\"a b.pdf\"")], "a b.pdf");
        check(None, "http://a.example/x", &[(disposition, "attachment; filename=a.pdf; size=3")], "a.pdf");
        check(
            None,
            "http://a.example/x",
            &[(disposition, "attachment; filename=\"../../.ssh/id;x\"")],
            "id;x",
        );
        check(
            None,
            "http://a.example/x",
            &[(disposition, "attachment; filename=\"..\\\\..\\\\a.pdf\"")],
            "a.pdf",
        );
        let both = "attachment; filename=\"plain.pdf\"; filename*=UTF-8''%e2%82%ac.pdf";
        check(None, "http://a.example/x", &[(disposition, both)], "€.pdf");
        check(None, "http://a.example/x.txt", &[(disposition, "inline")], "x.txt");
    }

    #[test]
    fn a_stem_gets_the_extension_that_the_reply_suggests() {
        let disposition = ("content-disposition", "attachment; filename=\"a.epub\"");
        let pdf = ("content-type", "application/pdf");
        check(Some("w1"), "http://a.example/x.html", &[disposition, pdf], "w1.epub");
        check(Some("w1"), "http://a.example/x.html", &[pdf], "w1.pdf");
        check(
            Some("w1"),
            "http://a.example/x.html",
            &[("content-type", "application/octet-stream")],
            "w1.html",
        );
        check(Some("w1"), "http://a.example/x", &[], "w1");
        check(Some("w1.pdf"), "http://a.example/x", &[pdf], "w1.pdf");
        check(Some("arxiv_2101.00001"), "http://a.example/x", &[pdf], "arxiv_2101.00001.pdf");
        check(Some("doi:10.1/a"), "http://a.example/x", &[pdf], "doi_10.1_a-c5ad1ca9.pdf");
        check(Some("doi:10.1_a"), "http://a.example/x", &[pdf], "doi_10.1_a-0343c87a.pdf");
    }
}
