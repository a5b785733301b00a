//! Texts that are older than UTF-8: what is said about them is in them.

use std::fs;

use crate::ingest::{document, ingest};
use crate::place::Place;

#[test]
fn texts_of_every_time_are_grouped_and_described_by_their_words() {
    let place = Place::new();
    fs::create_dir(place.path("work/papers")).unwrap();
    for (nth, (who, what)) in [
        ("Müller", "Mühle in Düren"),
        ("Müller", "Mühle und das Öl für die Räder"),
        ("Müller", "Mühle, die Bäche und das Öl"),
        ("Schäfer", "Schlüssel der Kapelle in Bückeburg"),
        ("Schäfer", "Schlüssel, und der Küster fragt nach der Kapelle"),
        ("Schäfer", "Schlüssel für den Küster"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!(
            "Köln, den 4. März 188{nth}\n\nLieber Freund,\n\nes geht um {who} und die {what}. Viele Grüße an {who}.\n\nJürgen Böhm\n"
        );
        let bytes: Vec<u8> = match nth % 3 {
            0 => text.into_bytes(),
            1 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
            _ => [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        };
        fs::write(place.path(&format!("work/papers/brief {nth}.txt")), bytes).unwrap();
    }
    let tree = ingest(&place)["tree"].clone();
    let labels: Vec<&str> =
        tree["children"].as_array().unwrap().iter().map(|child| child["label"].as_str().unwrap()).collect();
    assert!(labels.len() == 2 && labels[0].contains("Müller") && labels[1].contains("Schäfer"), "{tree}");
    for child in tree["children"].as_array().unwrap() {
        assert_eq!(child["files"].as_array().unwrap().len(), 3, "{tree}");
        let said = child["description"].as_str().unwrap();
        assert!(said.contains("188") && said.contains("Jürgen Böhm") && !said.contains('\u{FFFD}'), "{said}");
    }
    let found = document(place.run("collection search papers Küster --data-dir data --json"));
    assert_eq!(found["hits"].as_array().unwrap().iter().filter(|hit| hit["field"] == "text").count(), 2);
}
