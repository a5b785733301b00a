//! Tokens: who may do what from outside.
//!
//! One object keeps them all, and of each only the SHA-256 of its secret: whoever reads the store cannot get in with what
//! is there. The secret is drawn here, shown once and forgotten.

use crate::role::Grant;
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::name::{Kind, Name};
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::registry::RegisterError;
use abide_engine::{
    Answer, CallError, Engine, Halt, Nothing, Object, Record, Refusal, RefusalClass, Registry, Turn,
};
use abide_store::read::{Got, Load, Want};
use abide_store::{Read, Reader, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many tokens there may be.
pub const TOKENS: usize = 500;
/// Longest label.
const LABEL_CHARS: usize = 200;
/// How every secret begins, so that people and scanners know one when they see it.
const SECRET_PREFIX: &str = "abide_";
/// How the keys of their rows begin.
const ROWS: &str = "token/";
/// The row that counts what was made and revoked.
const CHANGES: &str = "changes";

/// A token as everybody may see it who may see tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// Names it.
    pub id: String,
    /// What it allows.
    pub role: Grant,
    /// For people: whose it is, what for.
    pub label: String,
    /// When it was made.
    pub created_at: Time,
}

/// A token that was just made. Nobody can be shown its secret again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewToken {
    /// The secret.
    pub token: String,
    /// What is kept of it.
    #[serde(flatten)]
    pub info: TokenInfo,
}

/// Why there is no new token, list or revocation.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The object that keeps them says no, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The system has no randomness.
    #[error("the system gives no random bytes for a token: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// The fingerprint of a secret.
pub(crate) type Fingerprint = [u8; 32];

/// All tokens as of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Book {
    pub(crate) changes: u64,
    pub(crate) tokens: Vec<Kept>,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    #[serde(flatten)]
    pub(crate) info: TokenInfo,
    /// Fields of this name are not shown to those who may only read.
    pub(crate) secret_sha256: Fingerprint,
}

impl Record for Kept {}

/// Brings the object that keeps tokens to an engine.
pub fn register(registry: &mut Registry) -> Result<(), RegisterError> {
    registry.object(Tokens)
}

/// Makes a token.
pub async fn create(engine: &Engine, role: Grant, label: &str) -> Result<NewToken, TokenError> {
    create_in_book(engine, role, label).await.map(|(made, _)| made)
}

/// Every token, oldest first.
pub async fn list(engine: &Engine) -> Result<Vec<TokenInfo>, TokenError> {
    let book = ask(engine, &Ask::List).await?;
    let mut tokens: Vec<TokenInfo> = book.tokens.into_iter().map(|kept| kept.info).collect();
    tokens.sort_by_key(|info| info.created_at);
    Ok(tokens)
}

/// Makes a token void.
pub async fn revoke(engine: &Engine, id: &str) -> Result<(), TokenError> {
    revoke_in_book(engine, id).await.map(drop)
}

/// Whether a store has a token, for whoever must know before an engine runs on it.
pub fn exist(reader: &mut dyn Reader, now: Time) -> Result<bool, StoreError> {
    let first = Want::Scan { prefix: ROWS.to_owned(), from: None, limit: 1 };
    let load = Load { object: keeper(), wants: vec![first], reply_for: None };
    match reader.read(now, &Read::Load(load))? {
        abide_store::Answer::Load(loaded) => {
            Ok(matches!(loaded.got.first(), Some(Got::Scan { rows, .. }) if !rows.is_empty()))
        }
        other => unreachable!("the store answered a load with {other:?}"),
    }
}

pub(crate) async fn create_in_book(
    engine: &Engine,
    role: Grant,
    label: &str,
) -> Result<(NewToken, Book), TokenError> {
    let token = format!("{SECRET_PREFIX}{}", random_hex::<32>()?);
    let id = random_hex::<4>()?;
    let ask_for =
        Ask::Create { id: id.clone(), role, label: label.to_owned(), secret_sha256: fingerprint(&token) };
    let book = ask(engine, &ask_for).await?;
    let made = book.tokens.iter().find(|kept| kept.info.id == id);
    let info = made.expect("the keeper answers with the token that it took").info.clone();
    Ok((NewToken { token, info }, book))
}

pub(crate) async fn revoke_in_book(engine: &Engine, id: &str) -> Result<Book, TokenError> {
    Ok(ask(engine, &Ask::Revoke { id: id.to_owned() }).await?)
}

/// All of them. An engine without the keeper has none.
pub(crate) async fn book(engine: &Engine) -> Result<Book, CallError> {
    match ask(engine, &Ask::List).await {
        Err(CallError::UnknownKind(_)) => Ok(Book::default()),
        answer => answer,
    }
}

pub(crate) fn fingerprint(secret: &str) -> Fingerprint {
    Sha256::digest(secret.as_bytes()).into()
}

/// Compares in the same time wherever the difference is.
pub(crate) fn is_same(a: &Fingerprint, b: &Fingerprint) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

fn random_hex<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn keeper() -> ObjectKey {
    ObjectKey { kind: Kind::trusted(Tokens::KIND), name: Name::trusted("all") }
}

async fn ask(engine: &Engine, ask: &Ask) -> Result<Book, CallError> {
    let body = Json::encode(ask).expect("what is asked of the keeper is JSON");
    let call = abide_engine::Call { object: keeper(), body, key: None };
    match engine.call(call).await? {
        Reply::Now(reply) => Ok(reply.decode().expect("the keeper answers with the book")),
        Reply::Later(_) => unreachable!("the keeper answers at once"),
    }
}

/// The object that keeps tokens.
struct Tokens;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ask {
    Create { id: String, role: Grant, label: String, secret_sha256: Fingerprint },
    Revoke { id: String },
    List,
}

/// Why the keeper says no.
#[derive(Debug, thiserror::Error)]
enum No {
    #[error("there are {TOKENS} tokens already: revoke those that nobody uses")]
    TooMany,
    #[error("the label has {0} characters: use at most {LABEL_CHARS}, and no control characters")]
    BadLabel(usize),
    #[error("there is a token {0} already: try again")]
    Taken(String),
    #[error("there is no token {0:?}: it was revoked already, or never made")]
    Unknown(String),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::TooMany => "too_many_tokens",
            No::BadLabel(_) => "bad_label",
            No::Taken(_) => "token_id_taken",
            No::Unknown(_) => "unknown_token",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::TooMany | No::Taken(_) => RefusalClass::Conflict,
            No::BadLabel(_) => RefusalClass::Invalid,
            No::Unknown(_) => RefusalClass::NotFound,
        }
    }
}

impl Object for Tokens {
    const KIND: &'static str = "tokens";
    type Call = Ask;
    type Reply = Book;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<Book>, Halt<No>> {
        let found = turn.scan::<Kept>(ROWS, None, TOKENS)?;
        let mut tokens: Vec<Kept> = found.into_iter().map(|(_, kept)| kept).collect();
        let mut changes = turn.get::<u64>(CHANGES)?.unwrap_or(0);
        match ask {
            Ask::List => {}
            Ask::Create { id, role, label, secret_sha256 } => {
                let kept =
                    Kept { info: TokenInfo { id, role, label, created_at: turn.now() }, secret_sha256 };
                check(&tokens, &kept.info)?;
                changes += 1;
                turn.put(&row_key(&kept.info.id), &kept)?;
                turn.put(CHANGES, &changes)?;
                tokens.push(kept);
            }
            Ask::Revoke { id } => {
                let place = tokens.iter().position(|kept| kept.info.id == id);
                let place = place.ok_or_else(|| No::Unknown(id.chars().take(80).collect()))?;
                changes += 1;
                turn.delete(&row_key(&tokens.remove(place).info.id));
                turn.put(CHANGES, &changes)?;
            }
        }
        Ok(Book { changes, tokens }.into())
    }
}

fn row_key(id: &str) -> String {
    format!("{ROWS}{id}")
}

fn check(tokens: &[Kept], new: &TokenInfo) -> Result<(), No> {
    if tokens.len() >= TOKENS {
        return Err(No::TooMany);
    }
    if new.label.chars().count() > LABEL_CHARS || new.label.chars().any(char::is_control) {
        return Err(No::BadLabel(new.label.chars().count()));
    }
    if tokens.iter().any(|kept| kept.info.id == new.id) {
        return Err(No::Taken(new.id.clone()));
    }
    Ok(())
}
