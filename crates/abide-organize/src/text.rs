//! Texts as they were written: files of an archive are not all of a time that wrote UTF-8.

use encoding_rs::{Encoding, WINDOWS_1252};

/// What the bytes of a file say: UTF-8, or UTF-16 if they begin so, or what was written before there was either.
#[must_use]
pub fn decoded(bytes: &[u8]) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned();
    }
    if is_utf8(bytes) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
}

/// Whether bytes are UTF-8, though some may be damaged, or the last letter cut off: letters of several bytes do not come about by
/// chance.
fn is_utf8(bytes: &[u8]) -> bool {
    let (mut letters, mut damaged) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        letters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        damaged += usize::from(!chunk.invalid().is_empty());
    }
    let is_cut = || std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
    letters > damaged || damaged == 0 || is_cut()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn texts_are_read_as_they_were_written() {
        for bytes in [
            &b"Gr\xC3\xB6\xC3\x9Fe"[..],
            b"\xEF\xBB\xBFGr\xC3\xB6\xC3\x9Fe",
            b"Gr\xF6\xDFe",
            b"\xFF\xFEG\0r\0\xF6\0\xDF\0e\0",
            b"\xFE\xFF\0G\0r\0\xF6\0\xDF\0e",
        ] {
            assert_eq!(decoded(bytes), "Größe");
        }
        assert_eq!(decoded(b"\x84Gr\xF6\xDFe\x93 \x96 5 \x80"), "„Größe“ – 5 €");
        assert_eq!(decoded(b"cut \xC3"), "cut \u{FFFD}");
        assert_eq!(decoded(b"Gr\xC3\xB6\xC3\x9Fe, dam\xFFaged"), "Größe, dam\u{FFFD}aged");
        assert_eq!(decoded(b""), "");
    }
}
