//! Languages of texts, as `tesseract` names them.

use std::fmt;
use std::str::FromStr;

/// One or several languages: `deu+eng`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Languages(Vec<String>);

/// A text that names no languages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no languages: write three-letter codes with + between them, such as deu+eng")]
pub struct BadLanguages(String);

impl Languages {
    /// Each code.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The Debian package that brings one.
    #[must_use]
    pub fn package(code: &str) -> String {
        format!("tesseract-ocr-{}", code.to_lowercase().replace('_', "-"))
    }
}

impl FromStr for Languages {
    type Err = BadLanguages;

    fn from_str(text: &str) -> Result<Languages, BadLanguages> {
        let codes: Vec<String> = text.split('+').map(|code| code.trim().to_owned()).collect();
        // A code becomes an argument and a file name: nothing but letters, digits and underscores.
        let is_code = |code: &String| {
            (3..=24).contains(&code.len())
                && code.starts_with(|c: char| c.is_ascii_alphabetic())
                && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if codes.iter().all(is_code) { Ok(Languages(codes)) } else { Err(BadLanguages(text.to_owned())) }
    }
}

impl fmt::Display for Languages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_codes_and_nothing_else() {
        for (text, expected) in
            [("deu+eng", Some("deu+eng")), ("chi_sim", Some("chi_sim")), (" deu + eng ", Some("deu+eng"))]
        {
            assert_eq!(
                text.parse::<Languages>().ok().map(|languages| languages.to_string()).as_deref(),
                expected
            );
        }
        for text in ["", "de", "deu+", "--psm", "deu;ls", "../x", "deu eng"] {
            assert!(text.parse::<Languages>().is_err(), "{text}");
        }
        assert_eq!(Languages::package("chi_sim"), "tesseract-ocr-chi-sim");
    }
}
