//! `abide links`: API keys, and tokens for development.

use std::future::Future;

use abide_core::name::Kind;
use abide_core::time::{Clock, Time};
use abide_engine::clock::SystemClock;
use abide_engine::{Answer, CallError, Engine, EngineError, EngineOptions, Registry};
use abide_links::auth::ApiKey;
use abide_links::auth::jwt::{Audience, Claims, sign_with_private_key, sign_with_secret};
use abide_links::auth::keys::{self, ApiKeys, Call, Reply};
use abide_sqlite::{DataDir, SqliteStore};
use abide_store::{Answer as Found, Read};
use serde::Serialize;

use crate::cli::{KeyCommand, LinksCommand, TokenFlags};
use crate::columns::columns;
use crate::config::{Config, Sync};
use crate::failure::Failure;
use crate::output::Output;
use crate::services::sync::read_key;

/// Keys that are listed at most.
const LISTED: usize = 1_000;

/// Why a command about links did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinksError {
    /// Nothing to sign with.
    #[error("there is nothing to sign with: set sync.jwt_secret or sync.jwt_private_key_file")]
    NothingToSignWith,
    /// The token could not be made.
    #[error(transparent)]
    Token(#[from] abide_links::auth::jwt::BadKey),
    /// The key could not be drawn.
    #[error(transparent)]
    Draw(#[from] abide_links::auth::keys::NoRandomness),
    /// The object of the key says no.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The store cannot be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

#[derive(Serialize)]
struct TokenDocument<'a> {
    token: &'a str,
    org: &'a str,
    expires_at: Time,
}

#[derive(Serialize)]
struct MadeDocument<'a> {
    id: &'a str,
    key: &'a str,
    org: &'a str,
    source: &'a str,
}

#[derive(Serialize)]
struct KeyDocument {
    id: String,
    org: String,
    source: String,
    created_at: Time,
}

/// Does what the command says.
pub(crate) fn run(config: &Config, command: &LinksCommand, output: Output) -> Result<(), Failure> {
    match command {
        LinksCommand::Token(flags) => token(&config.sync, flags, output),
        LinksCommand::Key { command } => on_the_store(config, |engine| async move {
            match command {
                KeyCommand::Create { org, source } => create(&engine, org, source, output).await,
                KeyCommand::List => list(&engine, output).await,
                KeyCommand::Revoke { id } => revoke(&engine, id, output).await,
            }
        }),
    }
}

fn token(config: &Sync, flags: &TokenFlags, output: Output) -> Result<(), Failure> {
    let now_s = SystemClock::new().now().0.div_euclid(1_000);
    let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let claims = Claims {
        sub: flags.subject.clone(),
        org_id: flags.org.clone(),
        exp: now_s + flags.seconds,
        nbf: None,
        iat: Some(now_s),
        iss: set(&config.jwt_issuer),
        aud: set(&config.jwt_audience).map(Audience::One),
        email: None,
    };
    let signed = if !config.jwt_secret.is_empty() {
        sign_with_secret(&claims, &config.jwt_secret)
    } else if !config.jwt_private_key_file.is_empty() {
        let pem = read_key("sync.jwt_private_key_file", &config.jwt_private_key_file)?;
        sign_with_private_key(&claims, &pem)
    } else {
        return Err(LinksError::NothingToSignWith.into());
    };
    let token = signed.map_err(LinksError::from)?;
    let expires_at = Time(claims.exp.saturating_mul(1_000));
    output.data(&format!("{token}\n"), &TokenDocument { token: &token, org: &flags.org, expires_at })
}

/// Runs `work` on an engine on the data directory that knows nothing but keys.
fn on_the_store<F>(config: &Config, work: impl FnOnce(Engine) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let data_dir = DataDir::open(&config.store.data_dir)?;
    let store = SqliteStore::open(data_dir.path())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::System)?;
    runtime.block_on(async {
        let mut registry = Registry::new();
        registry.object(ApiKeys)?;
        let engine = Engine::start(Box::new(store), registry, EngineOptions::default())?;
        let done = work(engine.clone()).await;
        engine.stop().await;
        done
    })
}

async fn create(engine: &Engine, org: &str, source: &str, output: Output) -> Result<(), Failure> {
    let key = ApiKey::draw().map_err(LinksError::from)?;
    let make = Call::Make { digest: key.digest(), org: org.to_owned(), source: source.to_owned() };
    engine.ask::<ApiKeys>(key.id(), &make).await.map_err(LinksError::from)?;
    let whole = key.reveal();
    output.data(&format!("{whole}\n"), &MadeDocument { id: key.id(), key: &whole, org, source })
}

async fn list(engine: &Engine, output: Output) -> Result<(), Failure> {
    let kind = Kind::new(keys::KIND).expect("the kind of a registered object");
    let read = Read::Objects { kind: Some(kind), after: None, limit: LISTED };
    let Found::Objects(objects) = engine.read(read).await.map_err(LinksError::from)? else {
        unreachable!("the store answers about objects in kind")
    };
    let mut found = Vec::new();
    for object in objects {
        let id = object.object.name.as_str().to_owned();
        let shown = engine.ask::<ApiKeys>(&id, &Call::Show).await.map_err(LinksError::from)?;
        if let Answer::Now(Reply::Bound(bound)) = shown {
            found.push(KeyDocument {
                id,
                org: bound.org,
                source: bound.source,
                created_at: bound.created_at,
            });
        }
    }
    let rows: Vec<_> =
        found.iter().map(|key| [key.id.clone(), key.org.clone(), key.source.clone()]).collect();
    output.data(&columns(["ID", "ORG", "SOURCE"], &rows), &found)
}

async fn revoke(engine: &Engine, id: &str, output: Output) -> Result<(), Failure> {
    engine.ask::<ApiKeys>(id, &Call::Revoke).await.map_err(LinksError::from)?;
    output.message(&format!("the key {id} opens nothing any more"), &id);
    Ok(())
}
