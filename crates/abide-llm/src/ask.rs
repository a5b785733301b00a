//! A question.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// One question to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What the model is to do.
    pub system: String,
    /// What it is about. Text from strangers belongs in a [`fence`](crate::fence::fence).
    pub user: String,
    /// In which form the answer is wanted.
    pub shape: Shape,
    /// At most so many tokens of answer.
    pub max_tokens: u32,
    /// Raised when the wording changes, so that answers to the old one are not taken for answers to the new one.
    pub prompt_version: u32,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Words.
    Text,
    /// A JSON object that fits a schema.
    Json {
        /// What the schema is called.
        name: String,
        /// The schema.
        schema: Value,
    },
}

impl Ask {
    /// The name under which the answer of `model` may be kept: the same for the same content and version.
    #[must_use]
    pub fn key(&self, model: &str) -> String {
        let parts = (model, self.prompt_version, &self.system, &self.user, &self.shape, self.max_tokens);
        let text = serde_json::to_string(&parts).expect("text and JSON can be written as JSON");
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
