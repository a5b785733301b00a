//! Who may see and write a store's log.
//!
//! A store belongs to one organization and has its id as name. A client shows a token of the organization ([`jwt`]) or an
//! API key that is bound to it ([`keys`]). In the open mode, which is for loopback only, it shows nothing.

mod denied;
pub mod jwt;
pub mod keys;

pub use denied::Denied;
pub use jwt::{JwtKeys, Verifier};
pub use keys::ApiKey;

use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::{Answer, CallError, Engine};
use keys::{ApiKeys, Bound};
use serde_json::Value;

/// Decides who may see and write a store's log.
#[derive(Debug)]
pub enum Authority {
    /// Everybody who reaches the server may do everything: for loopback only.
    Open,
    /// A token, if there is a key to check it with, or an API key.
    Checked {
        /// Checks tokens.
        tokens: Option<Box<Verifier>>,
    },
}

/// What a client shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Nothing.
    None,
    /// A token.
    Token(String),
    /// An API key.
    ApiKey(String),
}

/// Who a client is that shows nothing, where nothing is asked for.
const ANYBODY: &str = "anybody";

/// A client was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who it is: the bearer of a token or an API key, or anybody.
    pub user: String,
    /// Until then, and to be asked again then; for good if none.
    pub until: Option<Time>,
    /// Where what comes from it comes from, if its key says so.
    pub source: Option<String>,
}

/// Who a client is.
struct Bearer {
    org_id: String,
    access: Access,
}

impl Credential {
    /// What the sync payload of a client shows: `{"authToken": …}` or `{"apiKey": …}`.
    #[must_use]
    pub fn of_payload(payload: Option<&Value>) -> Credential {
        let text = |field| payload.and_then(|payload| payload.get(field)).and_then(Value::as_str);
        match (text("authToken"), text("apiKey")) {
            (Some(token), _) => Credential::of_bearer(token),
            (None, Some(key)) => Credential::ApiKey(key.to_owned()),
            (None, None) => Credential::None,
        }
    }

    /// What an `Authorization: Bearer` header shows.
    #[must_use]
    pub fn of_bearer(text: &str) -> Credential {
        if text.starts_with(keys::PREFIX) {
            Credential::ApiKey(text.to_owned())
        } else {
            Credential::Token(text.to_owned())
        }
    }
}

impl Authority {
    /// Whether anybody may do anything.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Authority::Open)
    }

    /// Whether `credential` lets its bearer into `store_id` now.
    pub async fn admit(
        &self,
        engine: &Engine,
        store_id: &str,
        credential: &Credential,
    ) -> Result<Access, Denied> {
        match self.bearer(engine, credential).await? {
            None => Ok(Access { user: ANYBODY.to_owned(), until: None, source: None }),
            Some(Bearer { org_id, access }) => {
                member(store_id, &org_id)?;
                Ok(access)
            }
        }
    }

    /// The store of whoever shows `credential`; none in the open mode.
    pub async fn home(&self, engine: &Engine, credential: &Credential) -> Result<Option<String>, Denied> {
        Ok(self.bearer(engine, credential).await?.map(|bearer| bearer.org_id))
    }

    async fn bearer(&self, engine: &Engine, credential: &Credential) -> Result<Option<Bearer>, Denied> {
        let Authority::Checked { tokens } = self else { return Ok(None) };
        match credential {
            Credential::None => Err(Denied::Missing),
            Credential::Token(token) => {
                let verifier = tokens.as_ref().ok_or(Denied::NoTokens)?;
                let claims = verifier.verify(token, engine.now())?;
                let until = Some(Time(claims.exp.saturating_mul(1_000)));
                let user = format!("{}/{}", claims.org_id, claims.sub);
                Ok(Some(Bearer { org_id: claims.org_id, access: Access { user, until, source: None } }))
            }
            Credential::ApiKey(text) => {
                let key = ApiKey::parse(text).ok_or(Denied::UnknownKey)?;
                let Bound { org, source, .. } = ask_key(engine, &key).await?;
                let user = format!("{}{}", keys::PREFIX, key.id());
                let access = Access { user, until: None, source: Some(source) };
                Ok(Some(Bearer { org_id: org, access }))
            }
        }
    }
}

/// A store is its organization's.
fn member(store_id: &str, org_id: &str) -> Result<(), Denied> {
    if store_id == org_id { Ok(()) } else { Err(Denied::NotAMember) }
}

async fn ask_key(engine: &Engine, key: &ApiKey) -> Result<Bound, Denied> {
    match engine.ask::<ApiKeys>(key.id(), &keys::Call::Check { digest: key.digest() }).await {
        Ok(Answer::Now(keys::Reply::Bound(bound))) => Ok(bound),
        Ok(Answer::Now(keys::Reply::Made | keys::Reply::Revoked) | Answer::Later(_))
        | Err(CallError::Refused(_)) => Err(Denied::UnknownKey),
        Err(error) => Err(Denied::Unavailable(error.to_string())),
    }
}

/// The object of an API key.
pub fn key_object(id: &str) -> Result<ObjectKey, abide_core::name::BadName> {
    ObjectKey::new(keys::KIND, id)
}
