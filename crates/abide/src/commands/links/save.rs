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
use crate::host::runtime;
use crate::output::{Output, import_complete};
use crate::reach::{Client, Missing, Path, Way};

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

/// Something to say about an entry.
#[derive(Serialize)]
struct Remark<'a> {
    number: usize,
    kind: RemarkKind,
    reason: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RemarkKind {
    /// It leads to no page.
    Skipped,
    /// It cannot be saved.
    Error,
    /// It is saved, and some of its tags are not, or under another name.
    Tags,
}

/// How far an import came that was broken off.
#[derive(Serialize)]
struct BrokenOff {
    saved: usize,
    left: usize,
}

/// Saves links that the command names.
pub(super) fn add(config: &Config, urls: &[String], save: &SaveFlags, output: Output) -> Result<(), Failure> {
    let entry = |(at, url): (usize, &String)| {
        let found = Found { link: NewLink::of(url.clone()), left_out: Vec::new(), renamed: Vec::new() };
        Entry { number: at + 1, link: Ok(found) }
    };
    let Usable { links, errors, .. } = usable(urls.iter().enumerate().map(entry).collect(), output);
    let mut added = Vec::new();
    send_all(config, &links, save, |_, part| added.extend(part)).map_err(|(_, failure)| failure)?;
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
    let done = send_all(config, &links, save, |count, added| {
        let new = added.iter().filter(|added| added.created).count();
        saved.new += new;
        saved.duplicate += added.len() - new;
        bar.inc(count as u64);
    });
    if let Err((sent, failure)) = done {
        bar.finish_and_clear();
        let (saved, left) = (sent, links.len() - sent);
        let text = format!(
            "{saved} links of the file are saved, {left} are not known to be: the same command again saves the rest, and none twice"
        );
        output.message(&text, &BrokenOff { saved, left });
        return Err(failure);
    }
    bar.finish_and_clear();
    let Saved { new, duplicate, skipped, errors } = saved;
    let text = import_complete(new as u64, duplicate as u64, skipped as u64, errors as u64);
    output.data(&text, &saved)?;
    end(errors)
}

/// Saves links, and says of each request how many it had and what became of them; how many were sent if it breaks off. A link that is
/// there is not saved again, so whoever takes the place of a process that ends can be asked the same.
fn send_all(
    config: &Config,
    links: &[NewLink],
    save: &SaveFlags,
    mut saved: impl FnMut(usize, Vec<Added>),
) -> Result<(), (usize, Failure)> {
    let runtime = runtime().map_err(|failure| (0, failure))?;
    runtime.block_on(async {
        let mut way = Way::open(config, Missing::Create).await.map_err(|failure| (0, failure))?;
        let path = Path::links(["api", "import"]).of_store(&save.store);
        let (mut sent, mut done) = (0, Ok(()));
        for part in parts(links, save) {
            let body = json!({ "urls": part, "tags": save.tags });
            let send = async |client: &Client| client.post::<Imported>(&path, &body).await;
            match way.ask(send).await {
                Ok(Imported { links }) => saved(part.len(), links),
                Err(failure) => {
                    done = Err((sent, failure));
                    break;
                }
            }
            sent += part.len();
        }
        way.close().await;
        done
    })
}

/// The links that can be saved; of the others it is said why not, and of tags that they cannot have as they are written.
fn usable(entries: Vec<Entry>, output: Output) -> Usable {
    let mut usable = Usable::default();
    for Entry { number, link } in entries {
        let remark = |kind, said: &str, reason: &str| {
            output.message(&format!("link {number}: {said}{reason}"), &Remark { number, kind, reason });
        };
        let link = link.map(|found| {
            if let Some(reason) = about_tags(&found) {
                remark(RemarkKind::Tags, "", &reason);
            }
            let link = found.link;
            Identity::of(&link.url).map(|Identity { url, .. }| NewLink { url, ..link })
        });
        match link {
            Ok(Ok(link)) => usable.links.push(link),
            Err(no @ NoUrl::NoPage(_)) => {
                usable.skipped += 1;
                remark(RemarkKind::Skipped, "skipped: ", &no.to_string());
            }
            Err(no @ (NoUrl::Unreadable(_) | NoUrl::BadInstant(_))) => {
                usable.errors += 1;
                remark(RemarkKind::Error, "", &no.to_string());
            }
            Ok(Err(error)) => {
                usable.errors += 1;
                remark(RemarkKind::Error, "", &error.to_string());
            }
        }
    }
    usable
}

/// What there is to say about the tags of a link.
fn about_tags(found: &Found) -> Option<String> {
    let left_out = (!found.left_out.is_empty())
        .then(|| format!("tags that it cannot have are left out: {}", found.left_out.join(", ")));
    let renamed = found.renamed.iter().map(|(text, name)| format!("{text} is {name}"));
    let renamed = renamed.reduce(|all, one| format!("{all}, {one}"));
    let renamed = renamed.map(|all| format!("tags that cannot be written so have another name: {all}"));
    left_out.into_iter().chain(renamed).reduce(|a, b| format!("{a}; {b}"))
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
