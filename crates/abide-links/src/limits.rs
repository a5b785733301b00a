//! Every bound of links, in one place.

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 5_000_000;
/// Time for a page, redirects and all.
pub const PAGE_MS: u64 = 15_000;
/// Bytes of a page that somebody only wants to preview.
pub const PREVIEW_BYTES: u64 = 2_000_000;
/// Time for it.
pub const PREVIEW_MS: u64 = 8_000;
/// Words below which a page counts as empty.
pub const WORDS_MIN: usize = 20;
/// Characters of a page's text that are kept for its summary.
pub const TEXT_CHARS: usize = 40_000;
/// Characters of a page's text that a model gets.
pub const PROMPT_CHARS: usize = 4_000;
/// Characters of a title.
pub const TITLE_CHARS: usize = 500;
/// Characters of a description.
pub const DESCRIPTION_CHARS: usize = 2_000;
/// Characters of a URL.
pub const URL_CHARS: usize = 8_192;
/// Characters of a summary.
pub const SUMMARY_CHARS: usize = 600;
