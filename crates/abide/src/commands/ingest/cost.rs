//! What models will be asked, and what that may take: from names and sizes of files alone, and rather too much than too little.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_collections::changes::Changes;
use abide_collections::snapshot::{directories, directory_of};
use abide_describe::limits::{DESCRIPTION_TOKENS, READING_TOKENS, RECORD_TOKENS, SHOWN_TOKENS};
use abide_llm::Usage;
use abide_llm::limits::IMAGE_TOKENS;
use abide_pipeline::FileKind;
use abide_pipeline::limits::CONTEXT_FILE_BYTES;

use crate::commands::preprocess::folder::Folder;
use crate::config::Config;

/// What a model takes to answer, about.
const ANSWERING: Duration = Duration::from_secs(10);
/// Tokens of what is asked beside files: instructions, the shape of the answer, a record.
const AROUND_TOKENS: u64 = 4_000;
/// Tokens of a file's name and of what stands around it.
const NAME_TOKENS: u64 = 100;
/// Bytes of a text that are one token to a model, rather too few.
const BYTES_PER_TOKEN: u64 = 3;
/// Bytes of a page in a document, rather too few, and pages that are counted of one.
const PAGE_BYTES: u64 = 32 * 1024;
const PAGES: u64 = 1_000;
/// Files of a group, rather too few.
const FILES_PER_GROUP: u64 = 2;
/// Tokens of an answer that says what belongs together, beside names of files.
const GROUPS_TOKENS: u64 = 2_000;
/// Tokens of a plan for a large directory.
const PLAN_TOKENS: u64 = 2_048;

/// Questions to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Questions {
    pub(super) count: u64,
    /// What they take if each answer is as long as it may be, and each is of use.
    pub(super) usage: Usage,
}

/// Which models there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// One groups, writes records and describes.
    pub(super) about_parts: bool,
    /// One reads images.
    pub(super) about_images: bool,
}

/// What is in a directory.
#[derive(Debug, Clone, Copy, Default)]
struct Content {
    files: u64,
    /// Of them new or edited.
    brought: u64,
    /// Images, and pages of documents, that are new or edited.
    images: u64,
    /// Tokens of texts, and of what is read off images.
    tokens: u64,
    /// Directories in it.
    inside: u64,
}

impl Questions {
    /// About everything that is different in a folder, and what that is in.
    pub(super) fn about(folder: &Folder, changes: &Changes, asked: Asked, config: &Config) -> Questions {
        let mut questions = Questions::default();
        for content in contents(folder, changes).values() {
            if asked.about_images {
                questions.add(content.images, IMAGE_TOKENS as u64, u64::from(READING_TOKENS));
            }
            if asked.about_parts {
                questions.about_parts(content, config);
            }
        }
        questions
    }

    /// A record and a description of a directory and of each of its groups, and what makes the groups.
    fn about_parts(&mut self, content: &Content, config: &Config) {
        let pipeline = &config.pipeline;
        let mut parts = 1;
        if content.brought > 0 && content.files >= u64::from(pipeline.min_files) {
            let chunks = content.files.div_ceil(u64::from(pipeline.max_files).max(1));
            let shown = (content.tokens / chunks).min(config.organizer.max_tokens as u64) + AROUND_TOKENS;
            self.add(chunks, shown, GROUPS_TOKENS + 2 * NAME_TOKENS * content.files.div_ceil(chunks));
            // How a large one is cut, and what was left out of an answer.
            self.add(chunks - 1, shown, PLAN_TOKENS);
            parts += content.files.div_ceil(FILES_PER_GROUP);
        }
        let children = (content.inside + parts - 1) * u64::from(RECORD_TOKENS + DESCRIPTION_TOKENS);
        let most = SHOWN_TOKENS as u64 + AROUND_TOKENS;
        for tokens in [u64::from(RECORD_TOKENS), u64::from(DESCRIPTION_TOKENS)] {
            self.add(1, (content.tokens + children + AROUND_TOKENS).min(most), tokens);
            // Each text is in one group or another.
            self.add(parts - 1, (content.tokens / parts.max(2) + AROUND_TOKENS).min(most), tokens);
        }
    }

    fn add(&mut self, count: u64, input_tokens: u64, output_tokens: u64) {
        self.count += count;
        self.usage = self.usage.plus(Usage {
            input_tokens: count.saturating_mul(input_tokens),
            output_tokens: count.saturating_mul(output_tokens),
        });
    }

    /// How long they take, so many at a time.
    pub(super) fn time(&self, at_once: usize) -> Duration {
        ANSWERING * u32::try_from(self.count.div_ceil(at_once.max(1) as u64)).unwrap_or(u32::MAX)
    }
}

/// Directories of which something is different, and those that they are in.
fn contents(folder: &Folder, changes: &Changes) -> BTreeMap<String, Content> {
    let brought: BTreeSet<&String> = changes.brought().collect();
    if changes.is_empty() {
        return BTreeMap::new();
    }
    let touched = directories(brought.iter().copied().chain(&changes.gone).map(String::as_str));
    let mut contents: BTreeMap<String, Content> =
        touched.into_iter().map(|dir| (dir, Content::default())).collect();
    for file in &folder.files {
        let Some(content) = contents.get_mut(directory_of(&file.path)) else { continue };
        let is_brought = brought.contains(&file.path);
        content.files += 1;
        content.brought += u64::from(is_brought);
        content.tokens += NAME_TOKENS;
        let images = match file.content_type {
            "application/pdf" => (file.bytes / PAGE_BYTES).clamp(1, PAGES),
            _ => u64::from(file.is_convertible()),
        };
        if FileKind::of(&file.path) == FileKind::Text {
            content.tokens += file.bytes.min(CONTEXT_FILE_BYTES as u64).div_ceil(BYTES_PER_TOKEN);
        }
        content.images += if is_brought { images } else { 0 };
        content.tokens += images * u64::from(READING_TOKENS);
    }
    let all = directories(folder.files.iter().map(|file| file.path.as_str()));
    for dir in all.iter().filter(|dir| !dir.is_empty()) {
        if let Some(content) = contents.get_mut(directory_of(dir)) {
            content.inside += 1;
        }
    }
    contents
}
