//! A model that sees, at an endpoint that speaks as OpenAI's does.

use super::{Image, OcrError, Reading, Unread};
use crate::limits::{IMAGE_BYTES, READING_TOKENS, TEXT_BYTES};
use abide_llm::{Ask, Client, LlmError, Model, Shape, Spent};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Raised when the wording changes.
const PROMPT_VERSION: u32 = 1;
/// What models of this kind take.
const TAKEN: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];

/// Asks a model that sees.
#[derive(Debug, Clone)]
pub struct Vision {
    client: Client,
}

impl Vision {
    /// One that asks through `client`.
    #[must_use]
    pub const fn new(client: Client) -> Vision {
        Vision { client }
    }

    pub(super) fn name(&self) -> &str {
        Model::name(&self.client)
    }

    /// Where the image is public, its medium size and then itself are named; in the end, or where it is not, it is sent along.
    pub(super) async fn read(&self, image: &Image) -> Result<Reading, Unread> {
        let mut spent = Spent::default();
        self.look(image, &mut spent).await.map_err(|why| Unread { why, spent })
    }

    async fn look(&self, image: &Image, spent: &mut Spent) -> Result<Reading, OcrError> {
        if !TAKEN.contains(&image.content_type.as_str()) {
            let message = format!("the model reads {}, and this is {}", TAKEN.join(", "), image.content_type);
            return Err(OcrError::Permanent(message));
        }
        if let Some(url) = &image.public_url {
            for url in [format!("{url}/medium"), url.clone()] {
                match self.asked(&url, spent).await {
                    // Whatever it does not like about the address, it may like the bytes.
                    Err(LlmError::Refused { status: 400 | 404 | 415 | 422, .. }) => {}
                    read => return read.map_err(class),
                }
            }
        }
        if image.bytes.len() > IMAGE_BYTES {
            let message = format!("the image has {} bytes, and {IMAGE_BYTES} can be sent", image.bytes.len());
            return Err(OcrError::Permanent(message));
        }
        let data = format!("data:{};base64,{}", image.content_type, STANDARD.encode(&image.bytes));
        self.asked(&data, spent).await.map_err(class)
    }

    async fn asked(&self, url: &str, spent: &mut Spent) -> Result<Reading, LlmError> {
        let (answer, took) = self.client.look(&ask(), url).await;
        *spent = spent.plus(took);
        let answer = answer?;
        let text = answer.value.as_str().unwrap_or_default().trim();
        let end = text
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .take_while(|end| *end as u64 <= TEXT_BYTES)
            .last();
        let text = text[..end.unwrap_or(0)].to_owned();
        Ok(Reading { text, by: answer.model, usage: spent.usage, cost_micros: spent.cost_micros })
    }
}

fn ask() -> Ask {
    Ask {
        system: String::new(),
        user: "Extract all text from this image.".to_owned(),
        shape: Shape::Text,
        max_tokens: READING_TOKENS,
        prompt_version: PROMPT_VERSION,
    }
}

/// What a refusal asks for, by its status and the code of its error.
fn class(error: LlmError) -> OcrError {
    let message = error.to_string();
    match error {
        LlmError::Limited { wait_ms, .. } => OcrError::Limited { message, wait_ms },
        LlmError::Refused { code: Some(code), .. }
            if matches!(code.as_str(), "rate_limit_exceeded" | "insufficient_quota") =>
        {
            OcrError::Limited { message, wait_ms: None }
        }
        // A key that is wrong today may be right tomorrow; the image is not at fault.
        LlmError::Refused { status: 401..=403, .. } => OcrError::Transient(message),
        LlmError::Refused { .. } | LlmError::Declined(_) | LlmError::Cut { .. } => {
            OcrError::Permanent(message)
        }
        LlmError::Setup(_)
        | LlmError::Unavailable { .. }
        | LlmError::Timeout { .. }
        | LlmError::BadAnswer(_)
        | LlmError::OverBudget { .. }
        | LlmError::NotNoted(_)
        | LlmError::NotRecorded(_) => OcrError::Transient(message),
    }
}
