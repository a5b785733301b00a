//! Places for connections: a bounded number, and when all are taken, those that only wait for a next request make room.
//!
//! Clients keep connections for later. As many as a server has places for would otherwise keep everybody else out until
//! they have been idle for too long. Where nobody is idle, those go whose body hardly comes: while there is room, they may
//! take their time.

use crate::arriving::{Arrival, Arriving};
use hyper::Request;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Of the places, the share that is asked back at a time: a few more than one, since whoever waits is seldom alone.
const SHARE: usize = 16;
/// How long a connection may take to say what it wants before it is as good as idle.
const FRESH: Duration = Duration::from_secs(3);
/// How long those who were asked may take until others are.
const ASKED: Duration = Duration::from_millis(20);
/// The same for one whose request is given up: what came of it may have to be taken back from elsewhere first.
const GIVEN_UP: Duration = Duration::from_secs(1);

/// The places of a server.
pub(crate) struct Places {
    free: Arc<Semaphore>,
    asked_at_a_time: usize,
    guests: Mutex<Guests>,
}

/// Who has a place, in the order of their coming.
#[derive(Default)]
struct Guests {
    came: u64,
    by_number: BTreeMap<u64, Arc<Guest>>,
    /// Whose request was given up last, and when.
    given_up: Option<(u64, Instant)>,
}

/// One connection, as far as its place goes.
struct Guest {
    came_at: Instant,
    is_served: AtomicBool,
    has_been_served: AtomicBool,
    is_asked: AtomicBool,
    leave: Notify,
    body: Arc<Arrival>,
}

/// A place that is taken, until it is dropped.
pub(crate) struct Place {
    number: u64,
    guest: Arc<Guest>,
    places: Arc<Places>,
    _permit: OwnedSemaphorePermit,
}

/// Tells a connection's place when a request of it is being served.
#[derive(Clone)]
pub(crate) struct Bell(Arc<Guest>);

impl Places {
    pub(crate) fn new(connections: usize) -> Arc<Places> {
        Arc::new(Places {
            free: Arc::new(Semaphore::new(connections)),
            asked_at_a_time: connections.div_ceil(SHARE),
            guests: Mutex::default(),
        })
    }

    /// A place for a connection that is there, as soon as one is free or was made free. `None` never comes while the server
    /// accepts.
    pub(crate) async fn take(self: &Arc<Places>) -> Option<Place> {
        let mut permit = std::pin::pin!(Arc::clone(&self.free).acquire_owned());
        loop {
            tokio::select! {
                biased;
                permit = permit.as_mut() => return permit.ok().map(|permit| self.seat(permit)),
                () = self.ask_back() => {}
            }
        }
    }

    fn seat(self: &Arc<Places>, permit: OwnedSemaphorePermit) -> Place {
        let guest = Arc::new(Guest {
            came_at: Instant::now(),
            is_served: AtomicBool::new(false),
            has_been_served: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            leave: Notify::new(),
            body: Arc::default(),
        });
        let mut guests = self.guests();
        guests.came += 1;
        let number = guests.came;
        guests.by_number.insert(number, Arc::clone(&guest));
        drop(guests);
        Place { number, guest, places: Arc::clone(self), _permit: permit }
    }

    /// Asks some to leave and gives them time to: those who have no request under way, or else one whose request hardly comes.
    async fn ask_back(&self) {
        if !self.ask_idle() {
            self.give_up_one();
        }
        tokio::time::sleep(ASKED).await;
    }

    /// Asks the first comers among those who have no request under way; whether there were any.
    fn ask_idle(&self) -> bool {
        let guests = self.guests();
        let is_idle = |guest: &&Arc<Guest>| guest.is_idle() && !guest.is_asked.load(Ordering::Relaxed);
        let idle = guests.by_number.values().filter(is_idle).take(self.asked_at_a_time);
        idle.map(|guest| guest.ask()).count() > 0
    }

    /// Gives up the request of the first comer whose body hardly comes, also of one that was asked and began it nevertheless. What has
    /// come of it is lost, so that there is one for each that comes.
    fn give_up_one(&self) {
        let mut guests = self.guests();
        if guests
            .given_up
            .is_some_and(|(who, at)| at.elapsed() < GIVEN_UP && guests.by_number.contains_key(&who))
        {
            return;
        }
        if let Some((number, guest)) = guests.by_number.iter().find(|(_, guest)| guest.body.give_up()) {
            guest.ask();
            guests.given_up = Some((*number, Instant::now()));
        }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        // A map is whole whatever became of whoever held it.
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        self.leave.notify_one();
    }

    fn is_idle(&self) -> bool {
        let has_had_time = || self.has_been_served.load(Ordering::Relaxed) || self.came_at.elapsed() >= FRESH;
        !self.is_served.load(Ordering::Relaxed) && has_had_time()
    }
}

impl Place {
    pub(crate) fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.guest))
    }

    /// Resolves when others need the place more.
    pub(crate) async fn is_asked_back(&self) {
        self.guest.leave.notified().await;
    }

    /// Whether it is wanted back of one that has never asked for anything, which nothing holds.
    pub(crate) fn is_wasted(&self) -> bool {
        self.guest.is_asked.load(Ordering::Relaxed)
            && !self.guest.is_served.load(Ordering::Relaxed)
            && !self.guest.has_been_served.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.guests().by_number.remove(&self.number);
    }
}

impl Bell {
    /// A request of the connection whose body is watched.
    pub(crate) fn watching<B>(&self, request: Request<B>) -> Request<Arriving<B>> {
        request.map(|body| Arriving::new(body, Arc::clone(&self.0.body)))
    }

    /// Runs `serving` as a request of the connection.
    pub(crate) async fn during<T>(self, serving: impl Future<Output = T>) -> T {
        self.0.is_served.store(true, Ordering::Relaxed);
        let answer = serving.await;
        self.0.has_been_served.store(true, Ordering::Relaxed);
        self.0.is_served.store(false, Ordering::Relaxed);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use futures_util::stream;
    use http_body_util::BodyExt;
    use hyper::body::Bytes;
    use std::convert::Infallible;
    use std::future::pending;
    use std::sync::atomic::AtomicUsize;

    /// Takes a place with a request whose body does not come, and keeps it whatever is asked of it.
    async fn stay(places: &Arc<Places>, given_up: &Arc<AtomicUsize>) {
        let place = places.take().await.expect("there is room");
        let body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let mut body = place.bell().watching(Request::new(body)).into_body();
        let given_up = Arc::clone(given_up);
        tokio::spawn(async move {
            let served = async {
                assert!(body.frame().await.is_some_and(|frame| frame.is_err()));
                given_up.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
            };
            place.bell().during(served).await;
        });
    }

    #[tokio::test]
    async fn another_request_is_given_up_only_if_the_one_before_does_not_leave() {
        let (places, given_up) = (Places::new(3), Arc::new(AtomicUsize::new(0)));
        for _ in 0..3 {
            stay(&places, &given_up).await;
        }
        let given_up = || given_up.load(Ordering::Relaxed);
        while given_up() == 0 {
            places.ask_back().await;
        }
        let first = Instant::now();
        for _ in 0..5 {
            places.ask_back().await;
        }
        assert!(given_up() == 1 || first.elapsed() >= GIVEN_UP, "{} are given up for one", given_up());
        while given_up() == 1 {
            places.ask_back().await;
        }
    }
}
