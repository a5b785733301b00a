//! Every bound of links, in one place.

use abide_core::limits::{LOG_ENTRY_BYTES, LOG_PAGE_BYTES};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 5_000_000;
/// Time for a page, redirects and all.
pub const PAGE_MS: u64 = 15_000;
/// Bytes of a page that is read sooner than its host's place could be freed for another: the place of a larger one is.
pub const QUICK_BYTES: usize = 64 * 1024;
/// Bytes of a page that somebody only wants to preview.
pub const PREVIEW_BYTES: u64 = 2_000_000;
/// Time for it.
pub const PREVIEW_MS: u64 = 8_000;
/// Previews at a time.
pub const PREVIEWS: usize = 8;
/// Previews that one user may ask for in [`PREVIEW_WINDOW_MS`].
pub const PREVIEWS_PER_USER: u32 = 60;
/// The window in which previews of a user are counted.
pub const PREVIEW_WINDOW_MS: i64 = 60_000;
/// Users whose previews are counted at a time.
pub const PREVIEW_USERS: usize = 10_000;
/// Words below which a page counts as empty.
pub const WORDS_MIN: usize = 20;
/// Characters of a page's text that are kept for its summary.
pub const TEXT_CHARS: usize = 20_000;
/// Characters of a page's text that a model gets.
pub const PROMPT_CHARS: usize = 4_000;
/// Characters of a title.
pub const TITLE_CHARS: usize = 500;
/// Characters of a description.
pub const DESCRIPTION_CHARS: usize = 2_000;
/// Bytes of a URL.
pub const URL_BYTES: usize = 8_192;
/// Characters of a summary that is made here.
pub const SUMMARY_CHARS: usize = 600;
/// Characters of a summary that are kept, whoever made it.
pub const SUMMARY_KEPT_CHARS: usize = 2_000;
/// Characters of a tag's name that are kept, whoever gave it.
pub const TAG_NAME_CHARS: usize = 64;
/// Characters of a host's name.
pub const DOMAIN_CHARS: usize = 255;
/// Characters of a word for who brought a link.
pub const SOURCE_CHARS: usize = 100;
/// Characters of the name of what made a summary.
pub const MODEL_CHARS: usize = 200;
/// Characters of the error of a link.
pub const ERROR_CHARS: usize = 200;
/// Characters of what was the matter with it, for people.
pub const REASON_CHARS: usize = 300;
/// Bytes of the id of a link, a tag or a suggestion.
pub const ID_BYTES: usize = 128;
/// Tags of one link, and names suggested for it.
pub const LINK_TAGS: usize = 100;
/// Bytes of one link with everything that is kept of it: a page of the log that touches a link in each entry must fit into
/// one commit, with the jobs that it asks for.
pub const LINK_BYTES: usize = 20_000;
/// Bytes of the answers to requests that one turn gives, for the same reason.
pub const ANSWERS_BYTES: usize = 256 * 1024;
/// Bytes of names of tags that a summary is told about.
pub const TAGS_TOLD_BYTES: usize = 8_192;
/// Events that were passed over of which it is kept which they were.
pub const PASSED_OVER_KEPT: usize = 10;
/// Jobs that a lane has beside those that it does: the next one begins the moment that one is through, and not when its end is
/// on the disk.
pub const JOBS_AHEAD: usize = 8;
/// Links that one turn begins.
pub const BEGUN_PER_TURN: usize = 50;
/// Entries of the log that come at a time when there are more.
pub const FULL_PAGE: usize = 100;
/// Bytes of entries behind which there may be more, although they are fewer.
pub const FULL_PAGE_BYTES: usize = LOG_PAGE_BYTES - LOG_ENTRY_BYTES;
/// How often the processor looks whether something was left behind, while anything is pending.
pub const LOOK_MS: i64 = 60_000;
/// How long a request waits until the whole log has been read, before it is refused.
pub const ASKED_MS: i64 = 10 * 60 * 1_000;
/// Requests that are refused for it in one turn.
pub const GIVEN_UP_PER_TURN: usize = 500;
/// Bytes of events in one message to the log, which has a bound of its own.
pub const APPEND_BYTES: usize = 128 * 1024;
/// Attempts at a page or a summary.
pub const ATTEMPTS: u32 = 3;
/// Links that are known to lead to the same page as another.
pub const DUPLICATES: usize = 100;
/// Those of them that are shown with a link among others: an answer is bounded.
pub const DUPLICATES_LISTED: usize = 3;
/// Bytes of their ids.
pub const DUPLICATES_BYTES: usize = 4_000;
/// Links whose duplicates get what came of them in one turn.
pub const HANDED_ON_PER_TURN: usize = 5;
/// How long a link waits for a host that is left alone.
pub const HOST_PATIENCE_MS: i64 = 24 * 60 * 60 * 1_000;
/// Tags of one request.
pub const TAGS: usize = 20;
/// Tags of all links of one request.
pub const TAGS_AT_ONCE: usize = 100;
/// Links of one request, one page or one batch.
pub const PAGE_LINKS: usize = 100;
/// Links of a page that does not say how many.
pub const PAGE_LINKS_DEFAULT: usize = 50;
/// Rows that are read at a time.
pub const SCANNED: usize = 1_000;
/// Links that a search looks at.
pub const SEARCHED: usize = 10_000;
