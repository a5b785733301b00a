//! `abide token`: who may come in from other machines.

use abide_server::tokens::TokenInfo;
use serde::Deserialize;
use serde_json::json;

use crate::cli::{TokenCommand, TokenCreateArgs};
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, cell, instant};
use crate::reach::{self, Missing, Path};

#[derive(Deserialize)]
struct TokenList {
    tokens: Vec<TokenInfo>,
}

#[derive(Deserialize)]
struct Made {
    token: String,
    id: String,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &TokenCommand, output: Output) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create(config, args, output),
        TokenCommand::List => list(config, output),
        TokenCommand::Revoke { id } => revoke(config, id, output),
    }
}

/// The secret alone is data, so that `TOKEN=$(abide token create --role read)` works.
fn create(config: &Config, args: &TokenCreateArgs, output: Output) -> Result<(), Failure> {
    let TokenCreateArgs { role, label } = args;
    let document: Document = reach::with(config, Missing::Create, async |client| {
        Ok(client.post(&Path::v1(["tokens"]), &json!({ "role": role, "label": label })).await?)
    })?;
    let Made { token, id } = document.decode()?;
    output.data(&format!("{token}\n"), &document)?;
    let text = format!("This is token {id} with the role {role}. Keep its secret: it is not shown again.");
    output.note(&text);
    Ok(())
}

fn list(config: &Config, output: Output) -> Result<(), Failure> {
    let document: Document =
        reach::with(config, Missing::Refuse, async |client| Ok(client.get(&Path::v1(["tokens"])).await?))?;
    let TokenList { tokens } = document.decode()?;
    let row = |token: &TokenInfo| {
        [token.id.clone(), token.role.to_string(), instant(token.created_at), cell(&token.label, 60)]
    };
    let rows: Vec<_> = tokens.iter().map(row).collect();
    output.data(&columns(["ID", "ROLE", "CREATED", "LABEL"], &rows), &document)
}

fn revoke(config: &Config, id: &str, output: Output) -> Result<(), Failure> {
    let document: Document = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.delete(&Path::v1(["tokens", id])).await?)
    })?;
    output.data(&format!("\u{2713} Token {id} is revoked\n"), &document)
}
