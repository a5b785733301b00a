//! Signed URLs: who has one may read or write one key, until it ends.

use crate::key::Key;
use abide_core::time::Time;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

/// What stays as it is in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a URL allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read the blob.
    Get,
    /// Write it.
    Put,
}

impl Access {
    /// The HTTP method.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Access::Get => "GET",
            Access::Put => "PUT",
        }
    }
}

/// The signature is not one of ours, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongSignature {
    /// It was not made with this key, or for something else.
    #[error("the signature does not fit this URL")]
    Forged,
    /// It has ended.
    #[error("the URL was good until {0}")]
    Ended(Time),
}

/// Signs with a secret key. Whoever has the key can check.
#[derive(Clone)]
pub struct Signer {
    key: [u8; 32],
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// One with this key.
    #[must_use]
    pub const fn new(key: [u8; 32]) -> Signer {
        Signer { key }
    }

    /// The signature of parts, as 64 hexadecimal digits. Parts are kept apart by their lengths.
    #[must_use]
    pub fn sign(&self, parts: &[&str]) -> String {
        self.mac(parts).finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether `signature` is that of these parts, in constant time.
    #[must_use]
    pub fn verify(&self, parts: &[&str], signature: &str) -> bool {
        let digit = |at: usize| u8::from_str_radix(signature.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..signature.len()).step_by(2).map(digit).collect();
        bytes.is_some_and(|bytes| bytes.len() == 32 && self.mac(parts).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, parts: &[&str]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length is taken");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    /// A URL below `base` that allows `access` to one key until `ends_at`: `{base}/{bucket}/{key}?ends_at=…&signature=…`.
    #[must_use]
    pub fn url(&self, base: &str, bucket: &str, key: &Key, access: Access, ends_at: Time) -> String {
        let signature = self.sign(&["blob", access.method(), bucket, key.as_str(), &ends_at.to_string()]);
        let path = utf8_percent_encode(key.as_str(), IN_PATH);
        format!("{base}/{bucket}/{path}?ends_at={ends_at}&signature={signature}")
    }

    /// Checks what came with a URL.
    pub fn check(
        &self,
        bucket: &str,
        key: &Key,
        access: Access,
        ends_at: Time,
        signature: &str,
        now: Time,
    ) -> Result<(), WrongSignature> {
        let parts = ["blob", access.method(), bucket, key.as_str(), &ends_at.to_string()];
        if !self.verify(&parts, signature) {
            return Err(WrongSignature::Forged);
        }
        if now > ends_at { Err(WrongSignature::Ended(ends_at)) } else { Ok(()) }
    }
}
