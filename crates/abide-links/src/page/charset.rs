//! Character sets: the byte order mark, what the server says, what the page says, and else what it looks like.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// Bytes in which a page may name its character set.
const DECLARED_WITHIN: usize = 4_096;

/// The text of a page. What cannot be read becomes U+FFFD.
#[must_use]
pub fn decode(bytes: &[u8], content_type: Option<&str>) -> String {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| content_type.and_then(|text| label_behind("charset", text)))
        .or_else(|| declared(bytes))
        .unwrap_or_else(|| looks_like(bytes));
    encoding.decode(bytes).0.into_owned()
}

/// What `<meta charset>` or `<?xml encoding>` near the start says. A page that could be read so far is not UTF-16.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    let encoding = label_behind("charset", &start).or_else(|| label_behind("encoding", &start))?;
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

/// The first encoding that is named behind `word` and `=`. The word may also stand where it names none: in a comment, a script, a
/// title.
fn label_behind(word: &str, text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    lower.match_indices(word).find_map(|(at, _)| {
        let after = lower[at + word.len()..].trim_start().strip_prefix('=')?;
        let label = after.trim_start().trim_start_matches(['"', '\'']);
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c));
        Encoding::for_label(&label.as_bytes()[..label.find(is_end).unwrap_or(label.len())])
    })
}

fn looks_like(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}
