//! `abide token`: who may come in from other machines.

use clap::{Args, Subcommand};

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print its secret, which nobody can be shown again.
    Create(TokenCreateArgs),
    /// Print every token, without its secret.
    List,
    /// Make a token void, at once.
    Revoke {
        /// Its id, as the list says.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// What a token is for.
#[derive(Debug, Args)]
pub(crate) struct TokenCreateArgs {
    /// What it allows: looking; also bringing, doing and steering work; everything.
    #[arg(long, value_parser = ["read", "operate", "admin"])]
    pub(crate) role: String,

    /// Whose it is and what for.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) label: String,
}
