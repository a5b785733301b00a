//! What reads images.

section! {
    /// What reads images.
    ocr: Ocr {
        /// What reads: tesseract, a vision model, nothing, or whatever of these is there.
        kind: &'static str = {
            kind: Kind::Choice(&["auto", "tesseract", "vision", "off"]),
            default: DefaultValue::Text("auto"),
        }
        /// The program.
        tesseract: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("tesseract"),
        }
        /// Languages of texts, as tesseract names them, with + between them.
        languages: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("eng"),
        }
        /// The model that sees, at llm.base_url; none if empty.
        model: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Images that are read at the same time; as many as there are cores by default.
        slots: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Cores,
        }
    }
}
