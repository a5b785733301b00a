//! API keys: each is an object that knows which organization and source it is bound to and a digest of its secret.
//!
//! A key is `lb_{id}_{secret}`. `apikey/{id}` has one row, `key`; the secret itself is nowhere. Revoking deletes the object.

use abide_core::time::Time;
use abide_engine::{Answer, Halt, Nothing, Object, Record, Refusal, RefusalClass, Turn};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What every key begins with.
pub const PREFIX: &str = "lb_";
/// The kind of the objects.
pub const KIND: &str = "apikey";
const ROW: &str = "key";
/// Bytes of an organization's id or a source's name.
const TEXT_BYTES: usize = 512;

/// An API key with its secret: shown once, when it is made.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    id: String,
    secret: String,
}

/// The operating system gave no randomness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness: {0}")]
pub struct NoRandomness(String);

impl ApiKey {
    /// A new one.
    pub fn draw() -> Result<ApiKey, NoRandomness> {
        let mut bytes = [0; 40];
        getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
        let (id, secret) = bytes.split_at(8);
        Ok(ApiKey { id: hex(id), secret: hex(secret) })
    }

    /// Reads one; none if it does not look like one.
    #[must_use]
    pub fn parse(text: &str) -> Option<ApiKey> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hex = |text: &str, digits| text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
        (is_hex(id, 16) && is_hex(secret, 64))
            .then(|| ApiKey { id: id.to_owned(), secret: secret.to_owned() })
    }

    /// The part that may be shown: the name of its object.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The whole key, for whoever it is made for.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }

    /// What is kept of its secret.
    #[must_use]
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(self.secret.as_bytes()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

/// What a key is bound to, for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bound {
    /// The organization, which is the store.
    pub org: String,
    /// Where what comes with it comes from: `api`, `extension`, …
    pub source: String,
    /// When it was made.
    pub created_at: Time,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    digest: String,
    bound: Bound,
}

impl Record for Kept {}

/// What can be asked of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// Come to exist.
    Make {
        /// What is kept of the secret.
        digest: String,
        /// Bound to this organization.
        org: String,
        /// And this source.
        source: String,
    },
    /// Whether this is the secret.
    Check {
        /// What is kept of it.
        digest: String,
    },
    /// What it is bound to, for people.
    Show,
    /// Be gone.
    Revoke,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// It exists.
    Made,
    /// It is the secret of a key that is bound to this.
    Bound(Bound),
    /// It is gone.
    Revoked,
}

/// What it says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such key, or the secret is another.
    #[error("there is no such API key")]
    Unknown,
    /// There is one with that id.
    #[error("there is an API key with that id: make another")]
    Taken,
    /// The organization or the source is empty or too long.
    #[error("the organization and the source of a key have 1 to {TEXT_BYTES} bytes")]
    BadText,
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::Unknown => "unknown_key",
            No::Taken => "key_taken",
            No::BadText => "bad_text",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::Unknown => RefusalClass::NotFound,
            No::Taken => RefusalClass::Conflict,
            No::BadText => RefusalClass::Invalid,
        }
    }
}

/// The kind of object that is an API key.
#[derive(Debug, Clone, Copy)]
pub struct ApiKeys;

impl Object for ApiKeys {
    const KIND: &'static str = KIND;
    type Call = Call;
    type Reply = Reply;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let kept = turn.get::<Kept>(ROW)?;
        let reply = match (call, kept) {
            (Call::Make { .. }, Some(_)) => return Err(No::Taken.into()),
            (Call::Make { digest, org, source }, None) => {
                if [&org, &source].iter().any(|text| text.is_empty() || text.len() > TEXT_BYTES) {
                    return Err(No::BadText.into());
                }
                let bound = Bound { org, source, created_at: turn.now() };
                turn.put(ROW, &Kept { digest, bound })?;
                Reply::Made
            }
            (Call::Check { digest }, Some(kept)) if is_same(&digest, &kept.digest) => {
                Reply::Bound(kept.bound)
            }
            (Call::Show, Some(kept)) => Reply::Bound(kept.bound),
            (Call::Revoke, Some(_)) => {
                turn.delete_self();
                Reply::Revoked
            }
            (Call::Check { .. } | Call::Show | Call::Revoke, _) => return Err(No::Unknown.into()),
        };
        Ok(reply.into())
    }
}

/// Compares in a time that does not tell where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
