//! `abide links key`: API keys.

use serde::Deserialize;
use serde_json::json;

use crate::cli::KeyCommand;
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{self, Missing, Path};

#[derive(Deserialize)]
struct Made {
    key: String,
}

#[derive(Deserialize)]
struct KeyPage {
    keys: Vec<Key>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Key {
    id: String,
    org: String,
    source: String,
}

/// Does what was asked.
pub(super) fn run(config: &Config, command: &KeyCommand, output: Output) -> Result<(), Failure> {
    match command {
        KeyCommand::Create { org, source } => {
            let wanted = json!({ "org": org, "source": source });
            let document: Document = reach::with(config, Missing::Create, async |client| {
                Ok(client.post(&Path::links(["keys"]), &wanted).await?)
            })?;
            let Made { key } = document.decode()?;
            output.data(&format!("{key}\n"), &document)
        }
        KeyCommand::List { after } => list(config, after.as_deref(), output),
        KeyCommand::Revoke { id } => {
            let document: Document = reach::with(config, Missing::Refuse, async |client| {
                Ok(client.delete(&Path::links(["keys", id])).await?)
            })?;
            output.message(&format!("the key {id} opens nothing any more"), &document);
            Ok(())
        }
    }
}

fn list(config: &Config, after: Option<&str>, output: Output) -> Result<(), Failure> {
    let path = Path::links(["keys"]).with("after", after);
    let document: Document = reach::ask(config, Missing::Refuse, async |client| client.get(&path).await)?;
    let KeyPage { keys, next } = document.decode()?;
    let rows: Vec<_> = keys.into_iter().map(|key| [key.id, key.org, key.source]).collect();
    let text = columns(["ID", "ORG", "SOURCE"], &rows);
    output.data(&text, &document)?;
    if let Some(next) = next {
        output.note(&format!("more: --after {next}"));
    }
    Ok(())
}
