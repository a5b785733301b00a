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
        .or_else(|| content_type.and_then(label_in))
        .or_else(|| declared(bytes))
        .unwrap_or_else(|| looks_like(bytes));
    encoding.decode(bytes).0.into_owned()
}

/// What `<meta charset>` or `<?xml encoding>` near the start says. A page that could be read so far is not UTF-16.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let from = start.find("charset").or_else(|| start.find("encoding"))?;
    let encoding = label_in(&start[from..])?;
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

/// The encoding named behind `charset=` or `encoding=`.
fn label_in(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, after) = lower.split_once("charset").or_else(|| lower.split_once("encoding"))?;
    let label = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(label.len());
    Encoding::for_label(&label.as_bytes()[..end])
}

fn looks_like(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}
