//! Memory for pages on their way to clients: all who are sent a log share it, however many of them are slow.
//!
//! The clients of one store have a part of it and no more, so that they do not keep out those of another. Whoever takes long
//! makes way as soon as somebody waits for room: a few that take nothing do not keep out the others.

use axum::body::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Bytes of all pages that are on their way over sockets.
const SOCKET_BYTES: usize = 192 * 1024 * 1024;
/// And in answers over HTTP. They are apart since their clients cannot be made to make way for others.
const BODY_BYTES: usize = 64 * 1024 * 1024;
/// Of either, the clients of one store may take this part.
const STORES: usize = 4;
/// Bytes of a page that needs no room on a socket: the system takes as much for a client that takes nothing.
const SMALL_BYTES: usize = 8 * 1024;
/// What is counted.
const UNIT_BYTES: usize = 1024;
/// How long a page waits for room: a client that hears nothing for twenty seconds goes away.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a page may take while others wait for room.
const OWN_TIME: Duration = Duration::from_secs(5);

/// The room for pages.
pub(crate) struct PageRoom {
    all: Pool,
    share_bytes: usize,
    /// Bytes of a page that needs no room.
    small_bytes: usize,
    patience: Duration,
    own_time: Duration,
}

/// What the clients of one store may take of it.
pub(crate) struct Share(Pool);

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(Option<Held>);

#[derive(Debug)]
struct Held {
    /// Of the store and of all.
    permits: [OwnedSemaphorePermit; 2],
    own_time: Duration,
    /// How many wait for either.
    waiting: [watch::Receiver<usize>; 2],
}

/// Others take all room, and do not go on.
#[derive(Debug)]
pub(crate) struct NoRoom;

impl From<NoRoom> for io::Error {
    fn from(_: NoRoom) -> io::Error {
        io::Error::other("too many clients are slow to take what they are sent")
    }
}

/// Room for so much.
struct Pool {
    units: Arc<Semaphore>,
    /// How many wait for it.
    waiting: watch::Sender<usize>,
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

impl Pool {
    fn of(bytes: usize) -> Pool {
        Pool { units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)), waiting: watch::channel(0).0 }
    }

    fn try_take(&self, units: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.units).try_acquire_many_owned(units).ok()
    }

    async fn take(&self, units: u32) -> OwnedSemaphorePermit {
        if let Some(permit) = self.try_take(units) {
            return permit;
        }
        let _waiting = Waiting::new(&self.waiting);
        Arc::clone(&self.units).acquire_many_owned(units).await.expect("nobody closes it")
    }
}

impl PageRoom {
    /// For pages on their way over sockets.
    pub(crate) fn of_sockets() -> PageRoom {
        PageRoom::of(SOCKET_BYTES, SMALL_BYTES, PATIENCE, OWN_TIME)
    }

    /// For pages in answers over HTTP.
    pub(crate) fn of_bodies() -> PageRoom {
        PageRoom::of(BODY_BYTES, 0, PATIENCE, OWN_TIME)
    }

    fn of(bytes: usize, small_bytes: usize, patience: Duration, own_time: Duration) -> PageRoom {
        PageRoom { all: Pool::of(bytes), share_bytes: bytes / STORES, small_bytes, patience, own_time }
    }

    /// A part of it for one store.
    pub(crate) fn share(&self) -> Share {
        Share(Pool::of(self.share_bytes))
    }

    /// Takes room for a page of so many bytes; waits a while for others to go on.
    pub(crate) async fn take(&self, share: &Share, bytes: usize) -> Result<Taken, NoRoom> {
        let Some(units) = self.units(bytes) else { return Ok(Taken(None)) };
        // Those who wait for all have their part already, and nobody who has all waits for a part.
        let both = async { [share.0.take(units).await, self.all.take(units).await] };
        let permits = timeout(self.patience, both).await.map_err(|_| NoRoom)?;
        Ok(self.held(share, permits))
    }

    /// Takes room for a page of so many bytes if there is some.
    pub(crate) fn try_take(&self, share: &Share, bytes: usize) -> Option<Taken> {
        let Some(units) = self.units(bytes) else { return Some(Taken(None)) };
        Some(self.held(share, [share.0.try_take(units)?, self.all.try_take(units)?]))
    }

    fn held(&self, share: &Share, permits: [OwnedSemaphorePermit; 2]) -> Taken {
        let waiting = [share.0.waiting.subscribe(), self.all.waiting.subscribe()];
        Taken(Some(Held { permits, own_time: self.own_time, waiting }))
    }

    fn units(&self, bytes: usize) -> Option<u32> {
        (bytes > self.small_bytes).then(|| units(bytes))
    }
}

impl Taken {
    /// Gives back what a page of so many bytes does not need.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let Some(Held { permits, .. }) = &mut self.0 else { return };
        for permit in permits {
            let surplus = permit.num_permits().saturating_sub(units(bytes) as usize);
            drop(permit.split(surplus));
        }
    }

    /// Resolves when somebody waits for room and this was had for long enough.
    pub(crate) async fn is_due(&mut self) {
        let Some(Held { own_time, waiting: [of_store, of_all], .. }) = &mut self.0 else {
            return std::future::pending().await;
        };
        sleep(*own_time).await;
        tokio::select! {
            () = is_wanted(of_store) => {}
            () = is_wanted(of_all) => {}
        }
    }

    /// Has it taken for as long as somebody holds these bytes.
    pub(crate) fn until_sent(mut self, text: String) -> Bytes {
        self.shrink(text.len());
        Bytes::from_owner(Counted { text, _room: self })
    }
}

/// A part of an answer, with the room that it takes.
struct Counted {
    text: String,
    _room: Taken,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Resolves when somebody waits.
async fn is_wanted(waiting: &mut watch::Receiver<usize>) {
    if waiting.wait_for(|count| *count > 0).await.is_err() {
        // Nobody is left who could wait.
        std::future::pending().await
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;
    const LONG: Duration = Duration::from_secs(60);

    fn room(bytes: usize, patience: Duration, own_time: Duration) -> PageRoom {
        PageRoom::of(bytes, SMALL_BYTES, patience, own_time)
    }

    #[tokio::test]
    async fn large_pages_share_the_room_and_small_ones_need_none() {
        let room = room(8 * MIB, Duration::ZERO, Duration::ZERO);
        let store = room.share();
        let mut first = room.take(&store, MIB).await.unwrap();
        let second = room.take(&store, MIB).await.unwrap();
        assert!(room.take(&store, SMALL_BYTES + 1).await.is_err(), "two pages take all that is the store's");
        assert!(room.try_take(&store, SMALL_BYTES + 1).is_none());
        assert!(room.take(&store, SMALL_BYTES).await.is_ok());
        first.shrink(MIB / 2);
        let third = room.take(&store, MIB / 2).await.unwrap();
        assert!(room.take(&store, SMALL_BYTES + 1).await.is_err());
        drop((first, second, third));
        assert!(room.try_take(&store, 2 * MIB).is_some());
    }

    #[tokio::test]
    async fn the_clients_of_one_store_leave_room_for_those_of_others() {
        let room = room(8 * MIB, Duration::ZERO, Duration::ZERO);
        let stores: Vec<Share> = (0..=STORES).map(|_| room.share()).collect();
        let mut taken = Vec::new();
        for store in &stores[..STORES] {
            taken.push(room.take(store, 2 * MIB).await.unwrap());
            assert!(room.take(store, MIB).await.is_err());
        }
        assert!(room.take(&stores[STORES], MIB).await.is_err(), "all of them take all of it");
        taken.pop();
        assert!(room.take(&stores[STORES], MIB).await.is_ok());
    }

    #[tokio::test]
    async fn who_waits_goes_on_when_another_is_through() {
        let room = room(4 * MIB, LONG, LONG);
        let store = room.share();
        let taken = room.take(&store, MIB).await.unwrap();
        let ends = async {
            tokio::task::yield_now().await;
            drop(taken);
        };
        let (waited, ()) = tokio::join!(room.take(&store, MIB), ends);
        assert!(waited.is_ok());
    }

    #[tokio::test]
    async fn who_takes_long_makes_way_only_for_somebody_who_waits_for_the_same_room() {
        let room = room(4 * MIB, LONG, Duration::ZERO);
        let (store, other_store) = (room.share(), room.share());
        let mut slow = room.take(&store, MIB).await.unwrap();
        assert!(timeout(Duration::ZERO, slow.is_due()).await.is_err(), "nobody waits");
        let elsewhere = room.take(&other_store, MIB).await.unwrap();
        let one_more_there = timeout(Duration::ZERO, room.take(&other_store, MIB));
        let (there, here) = tokio::join!(one_more_there, timeout(Duration::ZERO, slow.is_due()));
        assert!(there.is_err() && here.is_err(), "what they wait for is not here");
        let makes_way = async {
            slow.is_due().await;
            drop(slow);
        };
        let (next, ()) = tokio::join!(room.take(&store, MIB), makes_way);
        let mut next = next.unwrap();
        assert!(timeout(Duration::ZERO, next.is_due()).await.is_err(), "nobody waits any more");
        drop(elsewhere);
    }

    #[tokio::test]
    async fn bytes_of_an_answer_are_counted_until_nobody_holds_them() {
        let room = PageRoom::of(4 * MIB, 0, Duration::ZERO, LONG);
        let store = room.share();
        let taken = room.take(&store, MIB).await.unwrap();
        let bytes = taken.until_sent("x".repeat(MIB / 2));
        let rest = room.try_take(&store, MIB / 2).unwrap();
        assert!(room.try_take(&store, 1).is_none(), "half of it is the answer's");
        let part = bytes.slice(..10);
        drop(bytes);
        assert!(room.try_take(&store, 1).is_none(), "a part of it is still there");
        drop(part);
        assert!(room.try_take(&store, 1).is_some());
        drop(rest);
    }
}
