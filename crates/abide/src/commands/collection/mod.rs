//! `abide collection`: looking into collections and changing them by hand.

pub(crate) mod export;
pub(crate) mod print;
mod shelf;

pub(crate) use export::Exported;
pub(crate) use shelf::Shelf;

use std::net::{Ipv4Addr, SocketAddr};

use abide_collections::{Branch, Collection, Field, Tree, move_file, move_node, rename, search, shown_name};
use abide_engine::Registry;
use abide_entities::EntityId;
use abide_sqlite::DataDir;
use serde_json::json;

use crate::cli::CollectionCommand;
use crate::columns::columns;
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, runtime};
use crate::output::Output;
use crate::reach::ReachError;
use crate::services::{Hosted, collections, entities, preprocess};

/// Versions of an entity that are shown.
const VERSIONS: usize = 20;

/// Runs one command on the data directory, which this process owns meanwhile.
pub(crate) fn run(config: &Config, command: &CollectionCommand, output: Output) -> Result<(), Failure> {
    let dir = &config.store.data_dir;
    if DataDir::owner(dir).is_none() && !abide_sqlite::has_data(dir) {
        return Err(ReachError::NoData { dir: dir.clone() }.into());
    }
    runtime()?.block_on(async {
        let mut hosted = Hosted::only(Registry::new());
        let converting = preprocess::begin(&mut hosted, preprocess::setup(config)?, String::new())?;
        entities::add(&mut hosted)?;
        collections::add(&mut hosted)?;
        let (give, given) = tokio::sync::oneshot::channel();
        hosted.after_start.push(Box::new(move |started| {
            let shelf = started.entities.clone().map(|entities| Shelf::new(started.engine.clone(), entities));
            // Whoever asked is still there.
            let _taken = give.send(shelf);
        }));
        let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--data-dir" };
        let host = Host::start(config, hosted, listen).await?;
        let done = match given.await.ok().flatten() {
            Some(shelf) => act(&shelf, &converting, command, output).await,
            None => Err(Failure::Unusable("this process has no entities".to_owned())),
        };
        host.stop().await;
        done
    })
}

async fn act(
    shelf: &Shelf,
    converting: &abide_preprocess::Service,
    command: &CollectionCommand,
    output: Output,
) -> Result<(), Failure> {
    match command {
        CollectionCommand::List => list(shelf, output).await,
        CollectionCommand::Tree { name } => {
            let tree = open(shelf, name).await?.1.document(shelf.entities()).await?;
            output.data(&print::tree(&tree), &tree)
        }
        CollectionCommand::Show { name, path } => show(shelf, name, path, output).await,
        CollectionCommand::Search { name, words } => find(shelf, name, &words.join(" "), output).await,
        CollectionCommand::Export { name, dir } => {
            let exported = export::to_folder(shelf, converting, name, dir).await?;
            output.data(&format!("{} files in {}\n", exported.files, exported.dir), &exported)
        }
        CollectionCommand::Move { name, what, into } => relocate(shelf, name, what, into, output).await,
        CollectionCommand::Rename { name, what, to } => {
            let (_, tree) = open(shelf, name).await?;
            let branch = at(&tree, what)?;
            rename(shelf.entities(), &branch.entity.id, to).await?;
            output.data(&format!("{what} is {to}\n"), &json!({ "id": branch.entity.id, "label": to }))
        }
        CollectionCommand::Delete { name } => {
            let collection = shelf.known(name).await?;
            shelf.remove(name).await?;
            output.data(
                &format!("{name} is forgotten\n"),
                &json!({ "name": name, "root_pi": collection.root_pi }),
            )
        }
    }
}

async fn open(shelf: &Shelf, name: &str) -> Result<(Collection, Tree), Failure> {
    let collection = shelf.known(name).await?;
    let tree = shelf.tree(&collection.root_pi).await?;
    Ok((collection, tree))
}

fn at<'a>(tree: &'a Tree, path: &str) -> Result<&'a Branch, Failure> {
    tree.find(path).ok_or_else(|| {
        Failure::Unusable(format!("there is no {path:?} in it: abide collection tree shows what is"))
    })
}

async fn list(shelf: &Shelf, output: Output) -> Result<(), Failure> {
    let all = shelf.list().await?;
    let rows: Vec<[String; 4]> = all
        .iter()
        .map(|one| [one.name.clone(), one.files.to_string(), one.root_pi.to_string(), one.folder.clone()])
        .collect();
    output.data(&columns(["NAME", "FILES", "ID", "FOLDER"], &rows), &json!({ "collections": all }))
}

async fn show(shelf: &Shelf, name: &str, path: &str, output: Output) -> Result<(), Failure> {
    let (_, tree) = open(shelf, name).await?;
    let branch = at(&tree, path)?;
    let entity = &branch.entity;
    let description = Tree::description(shelf.entities(), branch).await?;
    let versions = shelf.entities().versions(&entity.id, VERSIONS, None).await?;
    let mut text = format!("id       {}\nversion  {}\n\n", entity.id, entity.ver);
    text.push_str(description.as_deref().unwrap_or("(no description)\n"));
    text.push_str("\nfiles\n");
    for file in branch.files() {
        text.push_str(&format!("  {}  {}\n", entity.components[file], shown_name(file)));
    }
    text.push_str("\nversions\n");
    for version in &versions.items {
        let note = version.note.as_deref().unwrap_or_default();
        text.push_str(&format!("  {:>4}  {}  {note}\n", version.ver, version.ts));
    }
    let document = json!({ "entity": entity, "description": description, "versions": versions.items });
    output.data(&text, &document)
}

async fn find(shelf: &Shelf, name: &str, query: &str, output: Output) -> Result<(), Failure> {
    let (_, tree) = open(shelf, name).await?;
    let (hits, more) = search(shelf.entities(), &tree, query).await?;
    let mut text = String::new();
    for hit in &hits {
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
    text.push_str(&format!("{} found{}\n", hits.len(), if more { ", and there are more" } else { "" }));
    output.data(&text, &json!({ "hits": hits, "more": more }))
}

/// Moves a group, or a file and what else became of the same source.
async fn relocate(shelf: &Shelf, name: &str, what: &str, into: &str, output: Output) -> Result<(), Failure> {
    let (_, tree) = open(shelf, name).await?;
    let target = at(&tree, into)?.entity.id.clone();
    if let Some((branch, component)) = tree.find_file(what) {
        let from = branch.entity.id.clone();
        let (moved, sources) = together(shelf, name, branch, component).await?;
        for component in &moved {
            move_file(shelf.entities(), &from, component, &target).await?;
        }
        let put = sources.into_iter().map(|(path, mut file)| {
            file.at = Some(target.clone());
            (path, file)
        });
        shelf.save_files(name, put.collect(), Default::default()).await?;
        return said(&moved.join(", "), &target, output);
    }
    let branch = at(&tree, what)?;
    move_node(shelf.entities(), &branch.entity.id, &target).await?;
    said(branch.label(), &target, output)
}

fn said(what: &str, into: &EntityId, output: Output) -> Result<(), Failure> {
    output.data(&format!("{what} moved\n"), &json!({ "moved": what, "into": into }))
}

/// Components that are of the same source file as one of them, and those files.
async fn together(
    shelf: &Shelf,
    name: &str,
    branch: &Branch,
    component: &str,
) -> Result<(Vec<String>, std::collections::BTreeMap<String, abide_collections::SourceFile>), Failure> {
    let has = |name: &String| branch.entity.components.contains_key(name);
    let files = shelf.files(name).await?;
    let sources: std::collections::BTreeMap<_, _> = files
        .into_iter()
        .filter(|(_, file)| file.made.iter().any(|made| made == component) && file.made.iter().all(has))
        .collect();
    let mut moved: Vec<String> = sources.values().flat_map(|file| file.made.clone()).collect();
    if moved.is_empty() {
        moved.push(component.to_owned());
    }
    moved.sort();
    moved.dedup();
    Ok((moved, sources))
}
