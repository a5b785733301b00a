//! `abide links add` and `import`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path as FilePath;

use abide_links::bookmarks::{Entry, Found, NoUrl, entries};
use abide_links::identity::Identity;
use abide_links::limits::TAGS_AT_ONCE;
use abide_links::processor::{Added, NewLink};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::SaveFlags;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, import_complete};
use crate::reach::{self, Client, Missing, Path};

/// Bytes of a file: the bookmarks of a long life.
const FILE_BYTES: u64 = 256 << 20;
/// Links in one request: what the server knows of links that were there already is in its answer, which it bounds.
const REQUEST_LINKS: usize = 50;
/// Bytes of links in one request, which the server bounds.
const REQUEST_BYTES: usize = 48 * 1024;

#[derive(Deserialize)]
struct Imported {
    links: Vec<Added>,
}

#[derive(Debug, Default, Serialize)]
struct Saved {
    new: usize,
    duplicate: usize,
    skipped: usize,
    errors: usize,
}

/// Links of a file or a command.
#[derive(Debug, Default)]
struct Usable {
    links: Vec<NewLink>,
    /// What leads to no page.
    skipped: usize,
    /// What cannot be saved.
    errors: usize,
}

#[derive(Serialize)]
struct BadEntry<'a> {
    number: usize,
    reason: &'a str,
}

/// Saves links that the command names.
pub(super) fn add(config: &Config, urls: &[String], save: &SaveFlags, output: Output) -> Result<(), Failure> {
    let entry = |(at, url): (usize, &String)| {
        let found = Found { link: NewLink::of(url.clone()), left_out: Vec::new() };
        Entry { number: at + 1, link: Ok(found) }
    };
    let Usable { links, errors, .. } = usable(urls.iter().enumerate().map(entry).collect(), output);
    let added = reach::with(config, Missing::Create, async |client| {
        let mut all = Vec::new();
        for part in parts(&links, save) {
            all.extend(send(client, part, save).await?);
        }
        Ok(all)
    })?;
    let line = |added: &Added| {
        let sign = if added.created { "\u{2713} Saved" } else { "\u{24d8} Already there" };
        format!("{sign}: {} {}\n", added.link.id, added.link.url)
    };
    output.data(&added.iter().map(line).collect::<String>(), &added)?;
    end(errors)
}

/// Saves links of a file.
pub(super) fn import(
    config: &Config,
    file: &FilePath,
    save: &SaveFlags,
    output: Output,
) -> Result<(), Failure> {
    let text = read(file).map_err(|error| Failure::Input { path: file.to_owned(), error })?;
    let Usable { links, skipped, errors } = usable(entries(&text), output);
    let bar = bar(links.len(), output);
    let mut saved = Saved { skipped, errors, ..Saved::default() };
    reach::with(config, Missing::Create, async |client| {
        for part in parts(&links, save) {
            let added = send(client, part, save).await?;
            let new = added.iter().filter(|added| added.created).count();
            saved.new += new;
            saved.duplicate += added.len() - new;
            bar.inc(part.len() as u64);
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    let Saved { new, duplicate, skipped, errors } = saved;
    let text = import_complete(new as u64, duplicate as u64, skipped as u64, errors as u64);
    output.data(&text, &saved)?;
    end(errors)
}

/// Sends links of one request.
async fn send(client: &Client, links: &[NewLink], save: &SaveFlags) -> Result<Vec<Added>, Failure> {
    let path = Path::links(["api", "import"]).of_store(&save.store);
    let Imported { links } = client.post(&path, &json!({ "urls": links, "tags": save.tags })).await?;
    Ok(links)
}

/// The links that can be saved; of the others it is said why not, and of tags that they cannot have.
fn usable(entries: Vec<Entry>, output: Output) -> Usable {
    let mut usable = Usable::default();
    for Entry { number, link } in entries {
        let link = link.map(|Found { link, left_out }| {
            if !left_out.is_empty() {
                let reason = format!("tags that it cannot have are left out: {}", left_out.join(", "));
                output.message(&format!("link {number}: {reason}"), &BadEntry { number, reason: &reason });
            }
            Identity::of(&link.url).map(|Identity { url, .. }| NewLink { url, ..link })
        });
        let (said, reason) = match link {
            Ok(Ok(link)) => {
                usable.links.push(link);
                continue;
            }
            Err(no @ NoUrl::NoPage(_)) => {
                usable.skipped += 1;
                ("skipped: ", no.to_string())
            }
            Err(no @ (NoUrl::Unreadable(_) | NoUrl::BadInstant(_))) => {
                usable.errors += 1;
                ("", no.to_string())
            }
            Ok(Err(error)) => {
                usable.errors += 1;
                ("", error.to_string())
            }
        };
        output.message(&format!("link {number}: {said}{reason}"), &BadEntry { number, reason: &reason });
    }
    usable
}

/// The links in requests of a size that the server takes.
fn parts<'a>(links: &'a [NewLink], save: &'a SaveFlags) -> impl Iterator<Item = &'a [NewLink]> {
    let mut rest = links;
    std::iter::from_fn(move || {
        let (mut bytes, mut tags) = (0, BTreeSet::new());
        let fits = |link: &&'a NewLink| {
            bytes += json!(link).to_string().len() + 1;
            tags.extend(&link.tags);
            bytes <= REQUEST_BYTES && tags.len() + save.tags.len() <= TAGS_AT_ONCE
        };
        let count = rest.iter().take(REQUEST_LINKS).take_while(fits).count().max(1).min(rest.len());
        let (part, left) = rest.split_at(count);
        rest = left;
        (count > 0).then_some(part)
    })
}

fn read(file: &FilePath) -> io::Result<String> {
    let reader: Box<dyn Read> =
        if file == FilePath::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(file)?) };
    let mut bytes = Vec::new();
    reader.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(io::Error::other(format!("it is larger than {FILE_BYTES} bytes: split it")));
    }
    // Old bookmark files are in whatever their browser used; URLs are ASCII in all of them.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn end(errors: usize) -> Result<(), Failure> {
    match errors {
        0 => Ok(()),
        1 => Err(Failure::Partly("1 link was not saved".to_owned())),
        errors => Err(Failure::Partly(format!("{errors} links were not saved"))),
    }
}

fn bar(links: usize, output: Output) -> ProgressBar {
    let target = match output {
        Output::Text if io::stderr().is_terminal() => ProgressDrawTarget::stderr(),
        Output::Text | Output::Json => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} links, {eta} left");
    ProgressBar::with_draw_target(Some(links as u64), target)
        .with_style(style.expect("a template of known keys"))
}
