//! `abide links`: links to save and to find, and who may sync them.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueHint};

use super::whole::whole;

const FORMATS: &str = "\
A file is one of:
  bookmarks as a browser exports them (HTML)
  lines of JSON, each with a url
  a plain list of URLs, one in a line; lines that begin with # say nothing
A link that is there already is not saved again. What leads to no page (javascript:, place:, ftp:, …) is skipped, and what
cannot be saved is an error; both are reported on standard error with their number and reason. The rest is saved; the exit code
is 4 if there were errors.";

/// What to do about links.
#[derive(Debug, Subcommand)]
pub(crate) enum LinksCommand {
    /// Save links.
    Add {
        /// Their URLs.
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
        /// How.
        #[command(flatten)]
        save: SaveFlags,
    },
    /// Save every link in a file.
    #[command(after_help = FORMATS)]
    Import {
        /// The file; - reads standard input.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How.
        #[command(flatten)]
        save: SaveFlags,
    },
    /// List links, newest first.
    List(LinksListArgs),
    /// Show a link.
    Show {
        /// Its id.
        #[arg(value_name = "ID", allow_hyphen_values = true)]
        id: String,
        /// Of which store.
        #[arg(long, value_name = "STORE", default_value = LOCAL)]
        store: String,
    },
    /// Find links by words in their titles, summaries, descriptions and URLs, best first.
    Search {
        /// The words.
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
        /// Only links that have all of them.
        #[arg(long)]
        all: bool,
        /// Which of them.
        #[command(flatten)]
        page: LinksPage,
    },
    /// Make, list or revoke API keys, each bound to one organization.
    Key {
        /// What to do with them.
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Make a token for development, signed with sync.jwt_secret or sync.jwt_private_key_file.
    Token(TokenFlags),
}

/// The store of who has none of an organization.
const LOCAL: &str = "local";

/// How links are saved.
#[derive(Debug, Args)]
pub(crate) struct SaveFlags {
    /// Give each that is new a tag; may be repeated.
    #[arg(long = "tag", value_name = "NAME")]
    pub(crate) tags: Vec<String>,
    /// In which store.
    #[arg(long, value_name = "STORE", default_value = LOCAL)]
    pub(crate) store: String,
}

/// Which links.
#[derive(Debug, Args)]
pub(crate) struct LinksPage {
    /// In this state: inbox, completed, archive, active (not archived) or all.
    #[arg(long, value_name = "STATE", default_value = "active")]
    pub(crate) state: String,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole(1_u16..=100))]
    pub(crate) limit: u16,
    /// Of which store.
    #[arg(long, value_name = "STORE", default_value = LOCAL)]
    pub(crate) store: String,
    /// Go on where an earlier list ended.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// Which links, and in which order.
#[derive(Debug, Args)]
pub(crate) struct LinksListArgs {
    /// Which.
    #[command(flatten)]
    pub(crate) page: LinksPage,
    /// The oldest first.
    #[arg(long)]
    pub(crate) oldest: bool,
}

/// What to do with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key. It is shown once: only a digest of it is kept.
    Create {
        /// The organization whose store the key opens.
        #[arg(long, value_name = "ORG", value_parser = NonEmptyStringValueParser::new())]
        org: String,
        /// Where what comes with the key comes from.
        #[arg(long, value_name = "SOURCE", default_value = "api", value_parser = NonEmptyStringValueParser::new())]
        source: String,
    },
    /// List the keys, without their secrets.
    List {
        /// Go on past this id.
        #[arg(long, value_name = "ID")]
        after: Option<String>,
    },
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
    #[arg(long, value_name = "ORG", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) org: String,
    /// Who bears it.
    #[arg(long, value_name = "WHO", default_value = "developer", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) subject: String,
    /// How long it counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = whole(1_i64..=31_536_000))]
    pub(crate) seconds: i64,
}
