//! `abide links`: links to save and to find, and who may sync them.

mod find;
mod keys;
mod save;
mod token;

use crate::cli::LinksCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;

/// Why a token could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinksError {
    /// Nothing to sign with.
    #[error("there is nothing to sign with: set sync.jwt_secret or sync.jwt_private_key_file")]
    NothingToSignWith,
    /// The token could not be made.
    #[error(transparent)]
    Token(#[from] abide_links::auth::jwt::BadKey),
}

/// Does what the command says.
pub(crate) fn run(config: &Config, command: &LinksCommand, output: Output) -> Result<(), Failure> {
    match command {
        LinksCommand::Add { urls, save } => save::add(config, urls, save, output),
        LinksCommand::Import { file, save } => save::import(config, file, save, output),
        LinksCommand::List(args) => find::list(config, args, output),
        LinksCommand::Show { id, store } => find::show(config, id, store, output),
        LinksCommand::Search { words, all, page } => find::search(config, words, *all, page, output),
        LinksCommand::Token(flags) => token::token(&config.sync, flags, output),
        LinksCommand::Key { command } => keys::run(config, command, output),
    }
}
