//! A collection that somebody deletes while a run works on it: the run stops, and leaves nothing behind.

use std::time::Duration;

use abide_collections::snapshot::{directories, directory_id};
use abide_collections::{Collection, sweep};
use abide_entities::EntityError;

use super::Going;
use crate::failure::Failure;
use crate::reach::Path;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(150);
/// Looks at a deletion that is under way: one that was stopped is finished by the next.
const LOOKS: usize = 200;

impl Going<'_> {
    /// Comes back when somebody deletes the collection.
    pub(super) async fn deleted(&self) {
        while !self.is_deleted().await {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether somebody deletes the collection, or has.
    pub(super) async fn is_deleted(&self) -> bool {
        let Some(life) = self.life.get() else { return false };
        match self.find().await {
            Ok(Some(collection)) => collection.deleting || collection.life != *life,
            Ok(None) => true,
            // Whatever is wrong with the server, the work meets it, too.
            Err(_) => false,
        }
    }

    /// What is remembered of the collection, if anything.
    pub(super) async fn find(&self) -> Result<Option<Collection>, Failure> {
        Ok(self.client.find(&Path::of(["collections", self.order.name])).await?)
    }

    /// Removes what this run made while the collection was being deleted.
    pub(super) async fn clear(&self) -> Result<(), Failure> {
        let mut looks = 0;
        while self.find().await?.is_some() {
            looks += 1;
            if looks == LOOKS {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        // Each before the one that it is in.
        for dir in directories(self.order.folder.files.iter().map(|file| file.path.as_str())).iter().rev() {
            match self.entities.delete(&directory_id(self.order.name, dir), None).await {
                Ok(_) | Err(EntityError::NotFound(_) | EntityError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let batch = self.batch_id.borrow().clone();
        match batch {
            Some(batch) => Ok(sweep(&self.staging, &batch).await?),
            None => Ok(()),
        }
    }
}
