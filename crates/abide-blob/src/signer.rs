//! Signed URLs: who has one may read or write one key, until it ends.

use crate::key::Key;
use abide_core::time::Time;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

/// What stays as it is in a path, and in what follows it.
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

/// What a URL lends: one way into one blob, for a while.
#[derive(Debug, Clone, Copy)]
pub struct Loan<'a> {
    /// The bucket, by the name that its server has for it.
    pub bucket: &'a str,
    /// The blob.
    pub key: &'a Key,
    /// What may be done.
    pub access: Access,
    /// Until when.
    pub ends_at: Time,
    /// To whom, in words of whoever checks it; empty if to anybody who has the URL.
    pub holder: &'a str,
}

impl Loan<'_> {
    fn parts<'a>(&'a self, ends_at: &'a str) -> [&'a str; 6] {
        ["blob", self.access.method(), self.bucket, self.key.as_str(), ends_at, self.holder]
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

    /// A URL below `base` for a loan: `{base}/{bucket}/{key}?ends_at=…&holder=…&signature=…`.
    #[must_use]
    pub fn url(&self, base: &str, loan: &Loan<'_>) -> String {
        let Loan { bucket, key, ends_at, holder, .. } = loan;
        let signature = self.sign(&loan.parts(&ends_at.to_string()));
        let [path, holder] = [key.as_str(), *holder].map(|text| utf8_percent_encode(text, IN_PATH));
        format!("{base}/{bucket}/{path}?ends_at={ends_at}&holder={holder}&signature={signature}")
    }

    /// Checks the signature that came with a URL for a loan.
    pub fn check(&self, loan: &Loan<'_>, signature: &str, now: Time) -> Result<(), WrongSignature> {
        if !self.verify(&loan.parts(&loan.ends_at.to_string()), signature) {
            return Err(WrongSignature::Forged);
        }
        if now > loan.ends_at { Err(WrongSignature::Ended(loan.ends_at)) } else { Ok(()) }
    }
}
