//! `abide links`: who may sync.

use clap::{Args, Subcommand};

/// What to do about links.
#[derive(Debug, Subcommand)]
pub(crate) enum LinksCommand {
    /// Make, list or revoke API keys, each bound to one organization. The server must not be running.
    Key {
        /// What to do with them.
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Make a token for development, signed with sync.jwt_secret or sync.jwt_private_key_file.
    Token(TokenFlags),
}

/// What to do with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key. It is shown once: only a digest of it is kept.
    Create {
        /// The organization whose store the key opens.
        #[arg(long, value_name = "ORG")]
        org: String,
        /// Where what comes with the key comes from.
        #[arg(long, value_name = "SOURCE", default_value = "api")]
        source: String,
    },
    /// List the keys, without their secrets.
    List,
    /// Make a key worthless.
    Revoke {
        /// The key's id: the part between lb_ and the next underscore.
        id: String,
    },
}

/// What a token says.
#[derive(Debug, Args)]
pub(crate) struct TokenFlags {
    /// The organization whose store the token opens.
    #[arg(long, value_name = "ORG")]
    pub(crate) org: String,
    /// Who bears it.
    #[arg(long, value_name = "WHO", default_value = "developer")]
    pub(crate) subject: String,
    /// How long it counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(i64).range(1..=31_536_000))]
    pub(crate) seconds: i64,
}
