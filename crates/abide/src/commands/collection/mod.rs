//! `abide collection`: looking into collections and changing them by hand, through whoever owns the data directory.

mod ask;
pub(crate) mod export;
pub(crate) mod print;

pub(crate) use export::Exported;

use abide_collections::{
    Collection, DeletedCollection, Field, Found, Moved, PartDocument, Renamed, ShownFile, TreeDocument,
    shown_name,
};
use abide_llm::Limiters;
use serde::Deserialize;
use serde_json::json;

use crate::cli::CollectionCommand;
use crate::columns::columns;
use crate::config::Config;
use crate::failure::Failure;
use crate::host::runtime;
use crate::output::Output;
use crate::reach::{Client, Missing, Path, Reach, ReachError};
use crate::services::Hosted;
use crate::services::describing::Crew;
use print::count;

/// Runs one command.
pub(crate) fn run(config: &Config, command: &CollectionCommand, output: Output) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let limiters = Limiters::default();
        // A batch that is to be stopped must be there.
        let crew = match command {
            CollectionCommand::Delete { .. } => Some(Crew::gather(config, &limiters).await?),
            _ => None,
        };
        let hosted = || match &crew {
            Some(crew) => Hosted::for_ingest(config, crew, &limiters),
            None => Hosted::for_collections(config),
        };
        let reach = Reach::open(config, Missing::Refuse, hosted).await?;
        let done = act(reach.client(), command, output).await;
        reach.close().await;
        done
    })
}

/// What is below a collection's name.
fn at(name: &str, what: &str) -> Path {
    Path::of(["collections", name, what])
}

async fn act(client: &Client, command: &CollectionCommand, output: Output) -> Result<(), Failure> {
    match command {
        CollectionCommand::List => list(client, output).await,
        CollectionCommand::Tree { name } => {
            let tree: TreeDocument = client.get(&at(name, "tree")).await?;
            output.data(&print::tree(&tree), &tree)
        }
        CollectionCommand::Show { name, path, ver } => show(client, name, path, *ver, output).await,
        CollectionCommand::Search { name, words } => {
            let found: Found = client.get(&at(name, "search").with("q", Some(words.join(" ")))).await?;
            output.data(&hits(name, &found), &found)
        }
        CollectionCommand::Export { name, dir } => {
            let exported = export::to_folder(client, &client.entities()?, name, dir).await?;
            let mut text =
                format!("{} in {}\n", count(exported.files as usize, "file", "files"), exported.dir);
            for left in &exported.left {
                text.push_str(&format!("not exported: {}: {}\n", left.file, left.reason));
            }
            output.data(&text, &exported)?;
            exported.all_done()
        }
        CollectionCommand::Move { name, what, into } => {
            let body = json!({ "what": what, "into": into });
            let moved: Moved = client.post(&at(name, "move"), &body).await?;
            let names: Vec<&str> = moved.moved.iter().map(|name| shown_name(name)).collect();
            let together = if names.len() > 1 { ", which are of one file," } else { "" };
            output.data(&format!("{}{together} moved\n", names.join(", ")), &moved)
        }
        CollectionCommand::Rename { name, what, to } => {
            let body = json!({ "what": what, "to": to });
            let renamed: Renamed = client.post(&at(name, "rename"), &body).await?;
            let what = if what.is_empty() { name } else { what };
            output.data(&format!("{what} is {}\n", renamed.label), &renamed)
        }
        CollectionCommand::Delete { name, yes } => {
            if !yes {
                ask::before_deleting(client, name).await?;
            }
            let gone: DeletedCollection = client.delete_all(&Path::of(["collections", name])).await?;
            let text = format!(
                "{name} is deleted: {}, {} and {} that nothing else names, {}\n",
                count(gone.entities as usize, "entity", "entities"),
                count(gone.files as usize, "file", "files"),
                count(gone.images as usize, "image", "images"),
                indicatif::HumanBytes(gone.bytes),
            );
            output.data(&text, &gone)
        }
    }
}

#[derive(Deserialize)]
struct CollectionsPage {
    collections: Vec<Collection>,
    next: Option<String>,
}

async fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page: CollectionsPage = client.get(&Path::of(["collections"]).with("after", after)).await?;
        all.extend(page.collections);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let state = |one: &Collection| match (one.deleting, &one.pending) {
        (true, _) => "half deleted",
        (false, Some(_)) => "not finished",
        (false, None) => "ready",
    };
    let rows: Vec<[String; 5]> = all
        .iter()
        .map(|one| {
            let files = one.files.to_string();
            [one.name.clone(), state(one).to_owned(), files, one.root_pi.to_string(), one.folder.clone()]
        })
        .collect();
    output.data(&columns(["NAME", "STATE", "FILES", "ID", "FOLDER"], &rows), &json!({ "collections": all }))
}

/// A part, or else a file.
async fn show(
    client: &Client,
    name: &str,
    path: &str,
    ver: Option<u32>,
    output: Output,
) -> Result<(), Failure> {
    let asked = |what: &str| at(name, what).with("path", Some(path)).with("ver", ver);
    match client.get::<PartDocument>(&asked("part")).await {
        Ok(part) => output.data(&shown(&part), &part),
        Err(none @ ReachError::Refused { status: 404, .. }) => {
            let file: ShownFile = client.find(&asked("file")).await?.ok_or(none)?;
            output.data(&print::file(&file), &file)
        }
        Err(error) => Err(error.into()),
    }
}

fn shown(part: &PartDocument) -> String {
    let entity = &part.entity;
    let mut text = format!("id       {}\nversion  {}\n\n", entity.id, entity.ver);
    text.push_str(part.description.as_deref().unwrap_or("(no description)\n"));
    text.push_str("\nfiles\n");
    for file in &part.files {
        text.push_str(&format!("  {}  {}\n", file.cid, file.name));
    }
    if part.files_count > part.files.len() {
        text.push_str(&format!("  and {} more\n", part.files_count - part.files.len()));
    }
    if !part.children.is_empty() {
        text.push_str("\nparts\n");
    }
    for child in &part.children {
        text.push_str(&format!("  {}  {}\n", child.id, child.label));
    }
    text.push_str("\nversions\n");
    for version in &part.versions {
        let note = version.note.as_deref().unwrap_or_default();
        text.push_str(&format!("  {:>4}  {}  {note}\n", version.ver, version.ts));
    }
    text
}

fn hits(name: &str, found: &Found) -> String {
    let mut text = String::new();
    for hit in &found.hits {
        let place = match (&hit.file, hit.path.as_str()) {
            (Some(file), "") => file.clone(),
            (Some(file), path) => format!("{path}/{file}"),
            (None, "") => name.to_owned(),
            (None, path) => path.to_owned(),
        };
        let field = match hit.field {
            Field::Name => "name",
            Field::Text => "text",
            Field::Description => "description",
        };
        text.push_str(&format!("{place}  ({field})\n    {}\n", hit.excerpt));
    }
    let more = if found.more { ", and there are more" } else { "" };
    text.push_str(&format!("{} found{more}\n", found.hits.len()));
    text
}
