//! Memory for pages on their way to clients: all sockets share it, however many of them are slow.
//!
//! Whoever takes long makes way as soon as somebody waits for room: a few that take nothing do not keep out the others.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::time::{sleep, timeout};

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
/// How long a page may take while others wait for room.
const OWN_TIME: Duration = Duration::from_secs(5);
/// Pages that are put together at a time: what is read of the log for one is more than goes into it.
const READ_AT_ONCE: usize = 4;

/// The room for pages.
pub(crate) struct PageRoom {
    units: Arc<Semaphore>,
    patience: Duration,
    own_time: Duration,
    /// How many wait for room.
    waiting: watch::Sender<usize>,
    reads: Semaphore,
}

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(Option<Held>);

#[derive(Debug)]
struct Held {
    permit: OwnedSemaphorePermit,
    own_time: Duration,
    waiting: watch::Receiver<usize>,
}

/// Somebody who waits for room, until this is dropped.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a watch::Sender<usize>) -> Waiting<'a> {
        waiting.send_modify(|count| *count += 1);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Others take all room, and do not go on.
#[derive(Debug)]
pub(crate) struct NoRoom;

impl Default for PageRoom {
    fn default() -> PageRoom {
        PageRoom::of(ALL_BYTES, PATIENCE, OWN_TIME)
    }
}

impl PageRoom {
    fn of(bytes: usize, patience: Duration, own_time: Duration) -> PageRoom {
        let units = Arc::new(Semaphore::new(bytes / UNIT_BYTES));
        let (waiting, reads) = (watch::channel(0).0, Semaphore::new(READ_AT_ONCE));
        PageRoom { units, patience, own_time, waiting, reads }
    }

    /// A turn to put a page together from the store, until it is dropped.
    pub(crate) async fn reading(&self) -> SemaphorePermit<'_> {
        self.reads.acquire().await.expect("nobody closes it")
    }

    /// Takes room for a page of so many bytes; waits a while for others to go on.
    pub(crate) async fn take(&self, bytes: usize) -> Result<Taken, NoRoom> {
        let units = units(bytes);
        if units == 0 {
            return Ok(Taken(None));
        }
        let permit = match Arc::clone(&self.units).try_acquire_many_owned(units) {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = Waiting::new(&self.waiting);
                let permit = timeout(self.patience, Arc::clone(&self.units).acquire_many_owned(units)).await;
                permit.map_err(|_| NoRoom)?.map_err(|_| NoRoom)?
            }
        };
        let (own_time, waiting) = (self.own_time, self.waiting.subscribe());
        Ok(Taken(Some(Held { permit, own_time, waiting })))
    }
}

impl Taken {
    /// Gives back what a page of so many bytes does not need.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        if let Some(Held { permit, .. }) = &mut self.0 {
            let surplus = permit.num_permits().saturating_sub(units(bytes) as usize);
            drop(permit.split(surplus));
        }
    }

    /// Resolves when somebody waits for room and this was had for long enough.
    pub(crate) async fn is_due(&mut self) {
        let Some(Held { own_time, waiting, .. }) = &mut self.0 else { return std::future::pending().await };
        sleep(*own_time).await;
        if waiting.wait_for(|count| *count > 0).await.is_err() {
            // Nobody else is left who could wait.
            std::future::pending().await
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
        let room = PageRoom::of(4 * 1024 * 1024, Duration::ZERO, Duration::ZERO);
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
        let long = Duration::from_secs(60);
        let room = Arc::new(PageRoom::of(2 * 1024 * 1024, long, long));
        let taken = room.take(1024 * 1024).await.unwrap();
        let waiting = tokio::spawn({
            let room = Arc::clone(&room);
            async move { room.take(1024 * 1024).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(taken);
        assert!(waiting.await.unwrap());
    }

    #[tokio::test]
    async fn who_takes_long_makes_way_only_for_somebody_who_waits() {
        let room = PageRoom::of(2 * 1024 * 1024, Duration::from_secs(60), Duration::ZERO);
        let mut slow = room.take(1024 * 1024).await.unwrap();
        let alone = timeout(Duration::ZERO, slow.is_due()).await;
        assert!(alone.is_err(), "nobody waits");
        let makes_way = async {
            slow.is_due().await;
            drop(slow);
        };
        let (other, ()) = tokio::join!(room.take(1024 * 1024), makes_way);
        let mut other = other.unwrap();
        assert!(timeout(Duration::ZERO, other.is_due()).await.is_err(), "nobody waits any more");
    }
}
