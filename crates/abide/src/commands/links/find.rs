//! `abide links list`, `show` and `search`.

use abide_links::processor::calls::SpentView;
use abide_links::processor::{LinkView, Listed};

use crate::cli::{LinksListArgs, LinksPage};
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, shortened};
use crate::reach::{self, Missing, Path};

/// Characters of a title in a table.
const TITLE_CHARS: usize = 60;

pub(super) fn list(config: &Config, args: &LinksListArgs, output: Output) -> Result<(), Failure> {
    let path = page_path(&args.page).with("sort", args.oldest.then_some("oldest"));
    table(config, &path, output)
}

pub(super) fn search(
    config: &Config,
    words: &[String],
    all: bool,
    page: &LinksPage,
    output: Output,
) -> Result<(), Failure> {
    let matching = if all { "all" } else { "any" };
    let path = page_path(page).with("q", Some(words.join(" "))).with("match", Some(matching));
    table(config, &path, output)
}

pub(super) fn show(config: &Config, id: &str, store: &str, output: Output) -> Result<(), Failure> {
    let path = Path::links(["api", "links", id]).of_store(store);
    let document: Document = reach::ask(config, Missing::Refuse, async |client| client.get(&path).await)?;
    let link: LinkView = document.decode()?;
    let processing = match &link.error {
        Some(error) => format!("{} ({error})", link.processing),
        None => link.processing.clone(),
    };
    let duplicates: Vec<String> =
        link.duplicates.into_iter().map(|other| format!("{} {}", other.id, other.url)).collect();
    let spent = link.spent.map(|spent| {
        let SpentView { requests, input_tokens, output_tokens, cost_micros } = spent;
        format!("{input_tokens} tokens read, {output_tokens} written, {requests} requests, {cost_micros} millionths")
    });
    let fields = [
        ("id", Some(link.id)),
        ("url", Some(link.url)),
        ("title", link.title),
        ("description", link.description),
        ("summary", link.summary),
        ("by", link.summary_model),
        ("tags", Some(link.tags.join(", "))),
        ("state", Some(link.state.as_str().to_owned())),
        ("processing", Some(processing)),
        ("reason", link.reason),
        ("source", link.source),
        ("image", link.image),
        ("created", Some(link.created_at)),
        ("duplicates", Some(duplicates.join(", "))),
        ("listed as", link.duplicate_of),
        ("spent", spent),
    ];
    let line = |(name, value): (&str, Option<String>)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some(format!("{name:<12}{}\n", value.replace(char::is_control, " ")))
    };
    let text: String = fields.into_iter().filter_map(line).collect();
    output.data(&text, &document)
}

fn page_path(page: &LinksPage) -> Path {
    Path::links(["api", "links"])
        .of_store(&page.store)
        .with("state", Some(&page.state))
        .with("limit", Some(page.limit))
        .with("cursor", page.cursor.as_ref())
}

fn table(config: &Config, path: &Path, output: Output) -> Result<(), Failure> {
    let document: Document = reach::ask(config, Missing::Refuse, async |client| client.get(path).await)?;
    let listed: Listed = document.decode()?;
    let row = |link: LinkView| {
        let title = link.title.unwrap_or(link.url);
        let title = shortened(&title, TITLE_CHARS);
        [link.id, link.state.as_str().to_owned(), link.processing, link.domain, title]
    };
    let rows: Vec<_> = listed.links.into_iter().map(row).collect();
    let mut text = columns(["ID", "STATE", "PROCESSING", "DOMAIN", "TITLE"], &rows);
    if let Some(next) = listed.next_cursor {
        text.push_str(&format!("more: --cursor {next}\n"));
    }
    output.data(&text, &document)
}
