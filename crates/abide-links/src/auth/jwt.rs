//! Tokens: JSON Web Tokens that say to which organization their bearer belongs.

use super::denied::Denied;
use abide_core::time::Time;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a token claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who bears it.
    pub sub: String,
    /// To which organization they belong, which is the store they may sync.
    #[serde(rename = "orgId")]
    pub org_id: String,
    /// Until when, in seconds.
    pub exp: i64,
    /// From when, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// When it was made, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aud: Option<Audience>,
    /// Their mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// For whom a token is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Audience {
    fn has(&self, wanted: &str) -> bool {
        match self {
            Audience::One(one) => one == wanted,
            Audience::Many(many) => many.iter().any(|one| one == wanted),
        }
    }
}

/// Keys as the operator has them.
pub enum JwtKeys {
    /// HS256 with a shared secret.
    Secret(String),
    /// EdDSA with a public key in PEM.
    PublicKey(Vec<u8>),
}

/// The key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// A short secret is guessed.
    #[error(
        "a secret for HS256 has at least 32 bytes, and this has {0}: make one with `openssl rand -base64 48`"
    )]
    ShortSecret(usize),
    /// The PEM cannot be read.
    #[error("it is not an Ed25519 key in PEM: {0}")]
    Pem(String),
    /// The token could not be made.
    #[error("the token could not be made: {0}")]
    Sign(String),
}

/// Bytes that a shared secret has at least.
const SECRET_BYTES: usize = 32;
/// Seconds that the clock of whoever makes tokens may be off.
const LEEWAY_S: i64 = 5;

/// Checks tokens.
pub struct Verifier {
    key: DecodingKey,
    validation: Validation,
    issuer: Option<String>,
    audience: Option<String>,
}

impl Verifier {
    /// One that checks with this key. Issuer and audience are checked if given.
    pub fn new(keys: &JwtKeys, issuer: Option<String>, audience: Option<String>) -> Result<Verifier, BadKey> {
        let (key, algorithm) = match keys {
            JwtKeys::Secret(secret) if secret.len() < SECRET_BYTES => {
                return Err(BadKey::ShortSecret(secret.len()));
            }
            JwtKeys::Secret(secret) => (DecodingKey::from_secret(secret.as_bytes()), Algorithm::HS256),
            JwtKeys::PublicKey(pem) => {
                let key = DecodingKey::from_ed_pem(pem).map_err(|error| BadKey::Pem(error.to_string()))?;
                (key, Algorithm::EdDSA)
            }
        };
        // Times are compared with the engine's clock, issuer and audience here: only the signature is left to the library.
        let mut validation = Validation::new(algorithm);
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        Ok(Verifier { key, validation, issuer, audience })
    }

    /// What a token that counts at `now` claims.
    pub fn verify(&self, token: &str, now: Time) -> Result<Claims, Denied> {
        let bad = |reason: &str| Denied::BadToken(reason.to_owned());
        let claims = decode::<Claims>(token, &self.key, &self.validation)
            .map_err(|error| Denied::BadToken(format!("the token is not valid: {}", in_words(error.kind()))))?
            .claims;
        let now_s = now.0.div_euclid(1_000);
        if claims.exp <= now_s {
            return Err(bad("the token has expired"));
        }
        if claims.nbf.is_some_and(|from| from > now_s + LEEWAY_S) {
            return Err(bad("the token is not valid yet"));
        }
        if self.issuer.is_some() && claims.iss != self.issuer {
            return Err(bad("the token is from another issuer"));
        }
        let has_audience = |wanted: &String| claims.aud.as_ref().is_some_and(|aud| aud.has(wanted));
        if !self.audience.as_ref().is_none_or(has_audience) {
            return Err(bad("the token is for another audience"));
        }
        if claims.sub.is_empty() {
            return Err(bad("the token has no subject"));
        }
        Ok(claims)
    }
}

/// What is wrong with a token, without the words of the library that found it.
fn in_words(wrong: &ErrorKind) -> String {
    match wrong {
        ErrorKind::InvalidSignature => "it is not signed with the key of this server".to_owned(),
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName | ErrorKind::UnsupportedAlgorithm => {
            "it is signed in a way that is not taken here".to_owned()
        }
        ErrorKind::Json(error) => match error.to_string().split_once("missing field `") {
            Some((_, field)) => format!("it has no {}", field.split('`').next().unwrap_or_default()),
            None => "it cannot be read, or is signed in a way that is not taken here".to_owned(),
        },
        _ => "it is no JSON Web Token".to_owned(),
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("issuer", &self.issuer).field("audience", &self.audience).finish()
    }
}

/// Makes a token with a shared secret, for development. A secret that no server takes makes none.
pub fn sign_with_secret(claims: &Claims, secret: &str) -> Result<String, BadKey> {
    if secret.len() < SECRET_BYTES {
        return Err(BadKey::ShortSecret(secret.len()));
    }
    sign(claims, Algorithm::HS256, &EncodingKey::from_secret(secret.as_bytes()))
}

/// Makes a token with a private Ed25519 key in PEM, for development.
pub fn sign_with_private_key(claims: &Claims, pem: &[u8]) -> Result<String, BadKey> {
    let key = EncodingKey::from_ed_pem(pem).map_err(|error| BadKey::Pem(error.to_string()))?;
    sign(claims, Algorithm::EdDSA, &key)
}

fn sign(claims: &Claims, algorithm: Algorithm, key: &EncodingKey) -> Result<String, BadKey> {
    encode(&Header::new(algorithm), claims, key).map_err(|error| BadKey::Sign(error.to_string()))
}
