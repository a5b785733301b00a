//! Collecting blobs that nothing names.

use crate::blobs::{BlobsCall, BlobsReply};
use crate::content::ContentId;
use crate::error::EntityError;
use crate::limits::{COLLECT_AGE_MS, COLLECTED_AT_ONCE};
use crate::local::{LocalEntities, blob_key, bucket_failed};
use serde::{Deserialize, Serialize};

/// Whether blobs are really deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collecting {
    /// They are only counted.
    DryRun,
    /// They are deleted.
    ForGood,
}

/// What a collection did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Collected {
    /// Blobs that went.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl LocalEntities {
    pub(crate) async fn collect_unnamed(
        &self,
        collecting: Collecting,
        older_than_ms: i64,
    ) -> Result<Collected, EntityError> {
        if older_than_ms < COLLECT_AGE_MS {
            return Err(EntityError::InvalidParams(format!(
                "blobs are collected when nobody named them for at least {COLLECT_AGE_MS} ms, not {older_than_ms}"
            )));
        }
        let _alone = self.collecting.lock().await;
        let (mut collected, mut after) = (Collected::default(), None);
        loop {
            let call = BlobsCall::Unnamed { older_than_ms, after, limit: COLLECTED_AT_ONCE };
            match self.collect_page(call, collecting, older_than_ms, &mut collected).await? {
                Some(next) => after = Some(next),
                None => return Ok(collected),
            }
        }
    }

    /// Deletes blobs that were named and are not any more.
    pub(crate) async fn free(&self) -> Result<Collected, EntityError> {
        let _alone = self.collecting.lock().await;
        let (mut collected, mut after) = (Collected::default(), None);
        loop {
            let call = BlobsCall::Free { after, limit: COLLECTED_AT_ONCE };
            let next = self.collect_page(call, Collecting::ForGood, COLLECT_AGE_MS, &mut collected).await?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(collected),
            }
        }
    }

    /// What one listing of blobs brings; where the next one begins.
    async fn collect_page(
        &self,
        call: BlobsCall,
        collecting: Collecting,
        older_than_ms: i64,
        collected: &mut Collected,
    ) -> Result<Option<ContentId>, EntityError> {
        let BlobsReply::Unnamed { blobs, next } = self.blobs(call).await? else {
            return Err(EntityError::Internal("blobs were listed in another way than asked".to_owned()));
        };
        for (cid, bytes) in blobs {
            let is_gone = match collecting {
                Collecting::DryRun => true,
                Collecting::ForGood => self.collect_one(cid, older_than_ms).await?,
            };
            if is_gone {
                collected.blobs += 1;
                collected.bytes += bytes;
            }
        }
        Ok(next)
    }

    async fn collect_one(&self, cid: ContentId, older_than_ms: i64) -> Result<bool, EntityError> {
        let reply = self.blobs(BlobsCall::Condemn { cid, older_than_ms }).await?;
        let BlobsReply::Condemned(Some(generation)) = reply else { return Ok(false) };
        self.bucket.delete(&blob_key(cid, generation)?).await.map_err(bucket_failed)?;
        self.blobs(BlobsCall::Deleted { cid, generation }).await?;
        Ok(true)
    }
}
