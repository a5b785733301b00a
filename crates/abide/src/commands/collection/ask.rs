//! What is asked before something is done that cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use abide_collections::{Collection, TreeDocument};
use indicatif::HumanBytes;

use super::print::count;
use crate::failure::Failure;
use crate::output::harmless;
use crate::reach::{Client, Path};

/// Says what goes with a collection, and asks whether it may. Where nobody can be asked, it may not.
pub(super) async fn before_deleting(client: &Client, name: &str) -> Result<(), Failure> {
    let collection: Collection = client.get(&Path::of(["collections", name])).await?;
    let tree: Option<TreeDocument> = client.find(&Path::of(["collections", name, "tree"])).await?;
    let parts = tree.as_ref().map_or(0, parts);
    let going = format!(
        "{name:?} has {} ({}) of {} in {}: they go with all their versions, and this cannot be undone",
        count(collection.files as usize, "file", "files"),
        HumanBytes(collection.bytes),
        collection.folder,
        count(parts, "folder or group", "folders and groups"),
    );
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::Unusable(format!("{going}: say --yes")));
    }
    let mut stderr = io::stderr().lock();
    let asked = write!(stderr, "{}\ndelete it? [y/N] ", harmless(&going)).and_then(|()| stderr.flush());
    asked.map_err(Failure::Output)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::System)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Unusable("nothing was deleted".to_owned())),
    }
}

fn parts(tree: &TreeDocument) -> usize {
    1 + tree.children.iter().map(parts).sum::<usize>()
}
