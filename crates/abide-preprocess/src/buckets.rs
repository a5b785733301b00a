//! The two buckets of the service, and how a worker outside gets at one blob of them.

use crate::holder::Holder;
use abide_blob::{Access, BlobError, Bucket, Key, Loan, Signer};
use abide_core::time::Time;
use std::time::Duration;

/// Which bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Inputs, and what phases make of them.
    Staging,
    /// Originals and variants, for good.
    Archive,
}

impl Which {
    /// Its name in URLs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Which::Staging => "staging",
            Which::Archive => "archive",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Which> {
        [Which::Staging, Which::Archive].into_iter().find(|which| which.as_str() == name)
    }
}

/// What a URL is lent for.
#[derive(Debug, Clone, Copy)]
pub enum Lent<'a> {
    /// To read a blob.
    ToRead,
    /// To put one.
    ToPut,
    /// To put one as long as this attempt is under way.
    ToPutBy(&'a Holder),
}

/// Staging and archive. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Buckets {
    /// Inputs, and what phases make of them.
    pub staging: Bucket,
    /// Originals and variants, for good.
    pub archive: Bucket,
    /// Signs URLs into buckets that are directories.
    pub signer: Signer,
}

impl Buckets {
    /// One of them.
    #[must_use]
    pub fn get(&self, which: Which) -> &Bucket {
        match which {
            Which::Staging => &self.staging,
            Which::Archive => &self.archive,
        }
    }

    /// A URL for one key, for so long: of the S3 service, or of our own server at `base`. Ours ends with the attempt that it
    /// was lent to; an S3 service knows nothing of attempts, and its own ends by time alone.
    pub async fn lend(
        &self,
        base: &str,
        (which, key): (Which, &Key),
        lent: Lent<'_>,
        now: Time,
        for_how_long: Duration,
    ) -> Result<String, BlobError> {
        let (access, holder) = match lent {
            Lent::ToRead => (Access::Get, String::new()),
            Lent::ToPut => (Access::Put, String::new()),
            Lent::ToPutBy(holder) => (Access::Put, holder.to_string()),
        };
        if let Some(url) = self.get(which).presigned(key, access, for_how_long).await? {
            return Ok(url);
        }
        let ends_at = now.plus_ms(i64::try_from(for_how_long.as_millis()).unwrap_or(i64::MAX / 2));
        let loan = Loan { bucket: which.as_str(), key, access, ends_at, holder: &holder };
        Ok(self.signer.url(&format!("{base}/blob"), &loan))
    }
}
