//! Memory for pages on their way to clients: all sockets share it, however many of them are slow.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Bytes of all pages that are on their way, with what is around them.
const ALL_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of a page that needs no room: the system takes as much for a client that takes nothing.
const SMALL_BYTES: usize = 8 * 1024;
/// A page is there as what is sent, and once more as the bytes of its frame.
const COPIES: usize = 2;
/// What is counted.
const UNIT_BYTES: usize = 1024;
/// How long a page waits for room: a client that hears nothing for twenty seconds goes away.
const PATIENCE: Duration = Duration::from_secs(10);

/// The room for pages.
pub(crate) struct PageRoom {
    units: Arc<Semaphore>,
    patience: Duration,
}

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(Option<OwnedSemaphorePermit>);

/// Others take all room, and do not go on.
#[derive(Debug)]
pub(crate) struct NoRoom;

impl Default for PageRoom {
    fn default() -> PageRoom {
        PageRoom::of(ALL_BYTES, PATIENCE)
    }
}

impl PageRoom {
    fn of(bytes: usize, patience: Duration) -> PageRoom {
        PageRoom { units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)), patience }
    }

    /// Takes room for a page of so many bytes; waits a while for others to go on.
    pub(crate) async fn take(&self, bytes: usize) -> Result<Taken, NoRoom> {
        match units(bytes) {
            0 => Ok(Taken(None)),
            units => match timeout(self.patience, Arc::clone(&self.units).acquire_many_owned(units)).await {
                Ok(Ok(permit)) => Ok(Taken(Some(permit))),
                Ok(Err(_)) | Err(_) => Err(NoRoom),
            },
        }
    }
}

impl Taken {
    /// Gives back what a page of so many bytes does not need.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        if let Some(permit) = &mut self.0 {
            let surplus = permit.num_permits().saturating_sub(units(bytes) as usize);
            drop(permit.split(surplus));
        }
    }
}

fn units(bytes: usize) -> u32 {
    if bytes <= SMALL_BYTES {
        0
    } else {
        u32::try_from((bytes * COPIES).div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_pages_share_the_room_and_small_ones_need_none() {
        let room = PageRoom::of(4 * 1024 * 1024, Duration::ZERO);
        let mut first = room.take(1024 * 1024).await.unwrap();
        let second = room.take(1024 * 1024).await.unwrap();
        assert!(room.take(SMALL_BYTES + 1).await.is_err(), "two pages of a megabyte take all of it");
        assert!(room.take(SMALL_BYTES).await.is_ok());
        first.shrink(512 * 1024);
        let third = room.take(512 * 1024).await.unwrap();
        assert!(room.take(SMALL_BYTES + 1).await.is_err());
        drop((first, second, third));
        assert!(room.take(2 * 1024 * 1024).await.is_ok());
    }

    #[tokio::test]
    async fn who_waits_goes_on_when_another_is_through() {
        let room = Arc::new(PageRoom::of(2 * 1024 * 1024, Duration::from_secs(60)));
        let taken = room.take(1024 * 1024).await.unwrap();
        let waiting = tokio::spawn({
            let room = Arc::clone(&room);
            async move { room.take(1024 * 1024).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(taken);
        assert!(waiting.await.unwrap());
    }
}
