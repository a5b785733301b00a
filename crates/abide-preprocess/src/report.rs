//! Callbacks: what a worker says about its task.

use crate::manifest::wrong_name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The body of a callback. Fields that are not known are passed over: workers of others have their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Which task, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Of which batch, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<String>,
    /// How it went.
    pub status: ReportStatus,
    /// What it made.
    #[serde(flatten)]
    pub made: Outputs,
    /// Every page, if there may be more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<PageOutput>>,
    /// How many pages the worker found, if it counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_count: Option<u32>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether trying again may help; it may if this is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// What had no room for it, if that is why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindered_by: Option<Hindrance>,
}

/// What kept a worker from its task, which is no failure of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hindrance {
    /// The bucket is full.
    Bucket,
    /// The disk of the worker's machine is full.
    Machine,
}

/// What a worker says of its outputs, and everybody is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outputs {
    /// Where the output, or its first page, is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_r2_key: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file_name: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file_size: Option<u64>,
    /// Where the ref is that stands for an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_json_r2_key: Option<String>,
    /// What is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_data: Option<RefData>,
    /// Where the original is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_r2_key: Option<String>,
    /// How long it took, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub performance: Option<Value>,
}

/// How a task went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportStatus {
    /// The outputs are there.
    Success,
    /// There are none.
    Error,
}

/// One page of a file that became many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageOutput {
    /// Which page, from 1.
    pub page: u32,
    /// Where its image is.
    pub r2_key: String,
    /// The name of it.
    pub file_name: String,
    /// Its size.
    pub file_size: u64,
    /// Where its text is, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_r2_key: Option<String>,
    /// The size of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_file_size: Option<u64>,
}

/// What stands for an image that is kept elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefData {
    /// Where it is served.
    pub url: String,
    /// Its content id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipfs_cid: Option<String>,
    /// What it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// The page whose key this is: `name-p0012.jpg` is that of page 12.
fn number(key: &str) -> Option<u32> {
    let (stem, _) = key.rsplit_once('.')?;
    stem.rsplit_once("-p")?.1.parse().ok()
}

impl Hindrance {
    /// Whether it is the same for every task, and somebody will look after it. A machine of its own that is too small for a task
    /// is so each time.
    #[must_use]
    pub const fn is_waited_for(self, shares_disk: bool) -> bool {
        match self {
            Hindrance::Bucket => true,
            Hindrance::Machine => shares_disk,
        }
    }
}

impl Report {
    /// A report of success with nothing in it yet.
    #[must_use]
    pub fn success() -> Report {
        Report {
            task_id: None,
            batch_id: None,
            status: ReportStatus::Success,
            made: Outputs::default(),
            outputs: None,
            page_count: None,
            error: None,
            retryable: None,
            hindered_by: None,
        }
    }

    /// A report of failure.
    #[must_use]
    pub fn error(reason: impl Into<String>) -> Report {
        Report { status: ReportStatus::Error, error: Some(reason.into()), ..Report::success() }
    }

    /// Every key of staging that it names.
    fn staged(&self) -> impl Iterator<Item = &String> {
        let own = [&self.made.output_r2_key, &self.made.ref_json_r2_key].into_iter().flatten();
        let pages = self.outputs.iter().flatten();
        own.chain(pages.flat_map(|page| std::iter::once(&page.r2_key).chain(&page.text_r2_key)))
    }

    /// The first key of staging that it names and that is not below `prefix`.
    #[must_use]
    pub fn outside_of(&self, prefix: &str) -> Option<String> {
        let outside = self.staged().find(|key| !key.starts_with(prefix));
        outside.map(|key| format!("the worker wrote {key}, outside of {prefix}"))
    }

    /// Whether every key of staging that it names is one that its task may write; the reason if not: another file may have it.
    pub fn check_keys(&self, may_put: impl Fn(&str) -> bool) -> Result<(), String> {
        match self.staged().find(|key| !may_put(key)) {
            Some(key) => Err(format!("the worker reported {key}, which is not for its task to write")),
            None => Ok(()),
        }
    }

    /// Whether its names are names of files, and each key is that of one output; the reason if not. Of many pages, of which these
    /// may be a part, each key has its number, so that none is that of a page before.
    pub fn check_names(&self) -> Result<(), String> {
        let pages = self.pages();
        let named = self.made.output_file_name.iter().chain(pages.iter().map(|page| &page.file_name));
        if let Some(wrong) = named.into_iter().find_map(|name| wrong_name(name)) {
            return Err(format!("the worker reported the file_name {wrong}"));
        }
        let is_paged = self.is_paged() || pages.first().is_some_and(|first| first.page > 1);
        let mut keys = BTreeSet::new();
        for page in &pages {
            for key in std::iter::once(&page.r2_key).chain(&page.text_r2_key) {
                if !keys.insert(key) {
                    return Err(format!("the worker reported {key} twice"));
                }
                if is_paged && number(key) != Some(page.page) {
                    return Err(format!("the worker reported {key} as page {}", page.page));
                }
            }
        }
        Ok(())
    }

    /// The pages in their order; `output_*` is the only page of a report without `outputs`.
    #[must_use]
    pub fn pages(&self) -> Vec<PageOutput> {
        match (&self.outputs, &self.made.output_r2_key, &self.made.output_file_name) {
            (Some(outputs), ..) => {
                let mut outputs = outputs.clone();
                outputs.sort_by_key(|output| output.page);
                outputs
            }
            (None, Some(r2_key), Some(file_name)) => vec![PageOutput {
                page: 1,
                r2_key: r2_key.clone(),
                file_name: file_name.clone(),
                file_size: self.made.output_file_size.unwrap_or(0),
                text_r2_key: None,
                text_file_size: None,
            }],
            (None, ..) => Vec::new(),
        }
    }

    /// Whether it tells of more than one page, of which these may be a part.
    #[must_use]
    pub fn is_paged(&self) -> bool {
        self.page_count.map_or_else(|| self.pages().len(), |count| count as usize) > 1
    }

    /// Whether the pages behind the first `from` go on without a gap; the reason if not.
    pub fn check_pages(&self, from: u32) -> Result<(), String> {
        let pages = self.pages();
        if pages.is_empty() {
            return Err("the worker reported success without a page".to_owned());
        }
        if let Some(empty) = pages.iter().find(|page| page.file_size == 0) {
            return Err(format!("page {} has no bytes", empty.page));
        }
        let in_order = pages.iter().zip(from + 1..).all(|(page, number)| page.page == number);
        if in_order {
            Ok(())
        } else {
            Err("the pages of the report are not 1, 2, 3 … each once".to_owned())
        }
    }

    /// Whether `output_*` is the first page, where a report tells of both; the reason if not.
    pub fn check_first(&self) -> Result<(), String> {
        let Some(first) = self.outputs.as_ref().and_then(|_| self.pages().into_iter().next()) else {
            return Ok(());
        };
        let Outputs { output_r2_key, output_file_name, output_file_size, .. } = &self.made;
        let size = |bytes: u64| format!("{bytes} bytes");
        let both = [
            (output_r2_key.clone(), first.r2_key),
            (output_file_name.clone(), first.file_name),
            (output_file_size.map(size), size(first.file_size)),
        ];
        match both.into_iter().find(|(only, page)| only.as_ref().is_some_and(|only| only != page)) {
            Some((Some(only), page)) => {
                Err(format!("the worker reported {only} as its output, and {page} as its first page"))
            }
            Some((None, _)) | None => Ok(()),
        }
    }

    /// Whether it has as many pages as the worker found; the reason if not.
    pub fn check_count(&self, pages: usize) -> Result<(), String> {
        match self.page_count {
            Some(count) if count as usize != pages => {
                Err(format!("the file has {count} pages, and the worker reported {pages}"))
            }
            _ => Ok(()),
        }
    }
}
