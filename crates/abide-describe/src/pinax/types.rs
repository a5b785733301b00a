//! What kind of thing a record is about, by the vocabulary of the DCMI.

use serde::{Deserialize, Serialize};

/// A type of the DCMI vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DcmiType {
    /// Things together.
    Collection,
    /// Data.
    Dataset,
    /// Something that happened.
    Event,
    /// Something seen, still or moving.
    Image,
    /// Something that answers.
    InteractiveResource,
    /// A film.
    MovingImage,
    /// A thing.
    PhysicalObject,
    /// Something that does things for people.
    Service,
    /// A program.
    Software,
    /// Something heard.
    Sound,
    /// A picture.
    StillImage,
    /// Words.
    Text,
}

impl DcmiType {
    /// Each, as it is written.
    pub const ALL: [(DcmiType, &'static str); 12] = [
        (DcmiType::Collection, "Collection"),
        (DcmiType::Dataset, "Dataset"),
        (DcmiType::Event, "Event"),
        (DcmiType::Image, "Image"),
        (DcmiType::InteractiveResource, "InteractiveResource"),
        (DcmiType::MovingImage, "MovingImage"),
        (DcmiType::PhysicalObject, "PhysicalObject"),
        (DcmiType::Service, "Service"),
        (DcmiType::Software, "Software"),
        (DcmiType::Sound, "Sound"),
        (DcmiType::StillImage, "StillImage"),
        (DcmiType::Text, "Text"),
    ];

    /// The type that a word means, however it is written; none if it means none.
    #[must_use]
    pub fn read(word: &str) -> Option<DcmiType> {
        let word: String = word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let exact = Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(&word));
        exact.map(|(kind, _)| *kind).or(match word.as_str() {
            "photo" | "photograph" | "picture" => Some(DcmiType::StillImage),
            "img" | "images" => Some(DcmiType::Image),
            "video" | "movie" | "film" => Some(DcmiType::MovingImage),
            "audio" | "recording" => Some(DcmiType::Sound),
            "document" | "book" | "article" | "manuscript" => Some(DcmiType::Text),
            "object" | "artifact" => Some(DcmiType::PhysicalObject),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_by_synonym() {
        for (word, expected) in [
            ("Collection", Some(DcmiType::Collection)),
            ("still image", Some(DcmiType::StillImage)),
            ("STILLIMAGE", Some(DcmiType::StillImage)),
            ("photograph", Some(DcmiType::StillImage)),
            ("Images", Some(DcmiType::Image)),
            ("film", Some(DcmiType::MovingImage)),
            ("recording", Some(DcmiType::Sound)),
            ("Manuscript", Some(DcmiType::Text)),
            ("artifact", Some(DcmiType::PhysicalObject)),
            ("letters", None),
            ("", None),
        ] {
            assert_eq!(DcmiType::read(word), expected, "{word}");
        }
    }
}
