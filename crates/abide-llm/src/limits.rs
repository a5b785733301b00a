//! Every bound of talking to models, in one place.

/// Bytes of one reply.
pub const REPLY_BYTES: usize = 4 * 1024 * 1024;
/// Characters of a refusal that are kept.
pub const MESSAGE_CHARS: usize = 300;
/// The longest wait within one question; an endpoint that wants more is told about to the caller.
pub const WAIT_MS: i64 = 10_000;
/// The wait before the second attempt; it doubles.
pub const BACKOFF_MS: i64 = 500;
/// Tokens that may be asked for when an answer was cut.
pub const TOKENS_MAX: u32 = 16_384;
/// Tokens that go with a question beside its words: who says what, and what was wrong with the answer before.
pub const AROUND_TOKENS: usize = 300;
/// Endpoints and models that have a limiter.
pub const LIMITERS: usize = 1_000;
/// Sentences of a text that are ranked.
pub const SENTENCES: usize = 300;
/// Tokens that an image is taken for until the model says what it took.
pub const IMAGE_TOKENS: usize = 4_000;
