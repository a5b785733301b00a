//! Where a command writes: data on standard output, messages on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use abide_core::time::Time;
use serde::{Serialize, Serializer};

use crate::failure::Failure;

/// How this run prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: String,
}

impl Output {
    /// The output that `--json` asks for.
    pub(crate) fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }

    /// Prints `text` for a person or `document` for a program.
    pub(crate) fn data(self, text: &str, document: &impl Serialize) -> Result<(), Failure> {
        match self {
            Self::Text => write_out(harmless(text).as_bytes()),
            Self::Json => {
                let mut bytes =
                    serde_json::to_vec_pretty(document).map_err(|error| Failure::Output(error.into()))?;
                bytes.push(b'\n');
                write_out(&bytes)
            }
        }
    }

    /// Tells the person or the program something beside the data. Nobody listening is fine.
    pub(crate) fn message(self, text: &str, document: &impl Serialize) {
        let line = match self {
            Self::Text => harmless(text).into_owned(),
            Self::Json => match serde_json::to_string(document) {
                Ok(line) => line,
                Err(error) => format!("{text} (and it has no JSON form: {error})"),
            },
        };
        drop(writeln!(io::stderr().lock(), "{line}"));
    }

    /// Tells a person something that a program finds in the data.
    pub(crate) fn note(self, text: &str) {
        match self {
            Self::Text => drop(writeln!(io::stderr().lock(), "{}", harmless(text))),
            Self::Json => {}
        }
    }

    /// Prints why the command failed.
    pub(crate) fn failure(self, failure: &Failure) {
        match self {
            Self::Text => {
                for line in failure.to_string().lines() {
                    eprintln!("error: {}", harmless(line));
                }
            }
            Self::Json => {
                let body = ErrorBody { code: failure.code(), message: failure.to_string() };
                match serde_json::to_string(&ErrorDocument { error: body }) {
                    Ok(document) => eprintln!("{document}"),
                    Err(error) => eprintln!("error: {failure} (and it has no JSON form: {error})"),
                }
            }
        }
    }
}

/// The text as a terminal may show it. Names, reasons and payloads come from anywhere: what would move the cursor, change
/// colours, hide or turn the text around is replaced.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_harmful, "\u{fffd}"))
}

fn is_harmful(c: char) -> bool {
    let is_invisible = matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() && c != '\n' && c != '\t' || is_invisible
}

/// A name in a line: one with a line break in it would go on as a line of ours.
pub(crate) fn in_a_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// So many of something: `1 error`, `2 errors`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// What became of a list.
pub(crate) fn import_complete(new: u64, duplicate: u64, skipped: u64, errors: u64) -> String {
    let mark = if errors == 0 { '\u{2713}' } else { '\u{26a0}' };
    let skipped = if skipped == 0 { String::new() } else { format!("{skipped} skipped, ") };
    let errors = counted(errors, "error");
    format!("{mark} Import complete: {new} new, {duplicate} duplicate, {skipped}{errors}\n")
}

/// An instant as people read it, in UTC.
pub(crate) fn instant(at: Time) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => format!("{} ms", at.0),
    }
}

/// The first `most` characters on one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.replace(char::is_control, " ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}\u{2026}", &line[..end]),
        None => line,
    }
}

/// A text in a table: as much of it as has room at a terminal, and all of it for a program.
pub(crate) fn cell(text: &str, most: usize) -> String {
    if io::stdout().is_terminal() { shortened(text, most) } else { shortened(text, usize::MAX) }
}

/// A path in a document: as it is displayed, since JSON cannot hold every path that a system can.
pub(crate) fn displayed<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// A reader that went away (`abide … | head`) has what it wanted: that is not a failure.
pub(crate) fn write_out(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{harmless, in_a_line};

    #[test]
    fn a_name_stays_in_its_line() {
        for (name, shown) in [
            ("a b\u{e9}.tif", "a b\u{e9}.tif"),
            ("a\nfailed: b.tif: gone", "a\\nfailed: b.tif: gone"),
            ("a\tb\r\u{1b}[2J", "a\\tb\\r\\u{1b}[2J"),
        ] {
            assert_eq!(in_a_line(name), shown, "{name:?}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        for (text, shown) in [
            ("plain\ttext\nand more: \u{e9}\u{4e2d}", "plain\ttext\nand more: \u{e9}\u{4e2d}"),
            ("\u{1b}[2Jgone", "\u{fffd}[2Jgone"),
            ("a\rb\u{7}\u{9b}31m\u{7f}", "a\u{fffd}b\u{fffd}\u{fffd}31m\u{fffd}"),
            ("\u{202e}gpj.exe\u{2066}\u{200b}", "\u{fffd}gpj.exe\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }
}
