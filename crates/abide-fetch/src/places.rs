//! Places at hosts: how many requests of this process are with one host at a time, when redirects lead there.
//!
//! Whoever asks a host first has a place there already: the engine's limits gave it. A redirect leads where nobody
//! reckoned with it, so that hop has to find a place. Nobody holds a place while it waits for another one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Who is at which host, and who waits. Cheap to clone; a lock is held only for one step, never across an `await`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    by_host: Arc<Mutex<BTreeMap<String, AtHost>>>,
}

/// How a request came to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// It was asked for there.
    Directly,
    /// A redirect led it there, where so many may be.
    Led {
        /// How many.
        cap: usize,
    },
}

#[derive(Debug, Default)]
struct AtHost {
    direct: usize,
    led: usize,
    /// How many may be there, as was last known; it counts where redirects lead.
    cap: usize,
    /// The first is served first.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    came: Came,
    /// The URL that was asked for.
    asked: String,
    tell: oneshot::Sender<Place>,
}

/// One place at a host. Dropped, it is free for the next.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    host: String,
    came: Came,
}

impl Places {
    /// A place at `host`, for the fetch of `asked`, when one more may be there. Dropped, it waits no longer.
    pub(crate) async fn enter(&self, host: &str, came: Came, asked: &str) -> Place {
        let place = {
            let mut by_host = self.lock();
            let at = by_host.entry(host.to_owned()).or_default();
            if let Came::Led { cap } = came {
                at.cap = cap.max(1);
            }
            at.waiting.retain(|waiting| !waiting.tell.is_closed());
            let is_next = at.waiting.is_empty() || (came, at.led) == (Came::Directly, 0);
            if is_next && has_room(came, at.cap, at.direct, at.led) {
                *at.of(came) += 1;
                Ok(self.place(host, came))
            } else {
                let (tell, told) = oneshot::channel();
                at.waiting.push_back(Waiting { came, asked: asked.to_owned(), tell });
                Err(told)
            }
        };
        match place {
            Ok(place) => place,
            Err(told) => told.await.expect("the next is told as long as somebody waits"),
        }
    }

    /// The host at which the fetch of `asked` waits for a place.
    pub(crate) fn waits_at(&self, asked: &str) -> Option<String> {
        let waits = |waiting: &Waiting| waiting.asked == asked && !waiting.tell.is_closed();
        self.lock().iter().find(|(_, at)| at.waiting.iter().any(waits)).map(|(host, _)| host.clone())
    }

    fn place(&self, host: &str, came: Came) -> Place {
        Place { places: self.clone(), host: host.to_owned(), came }
    }

    /// Frees a place and gives what is free to whoever waits.
    fn leave(&self, host: &str, came: Came) {
        let mut served = Vec::new();
        {
            let mut by_host = self.lock();
            let Some(at) = by_host.get_mut(host) else { return };
            *at.of(came) -= 1;
            at.waiting.retain(|waiting| !waiting.tell.is_closed());
            while let Some(next) =
                at.waiting.pop_front_if(|next| has_room(next.came, at.cap, at.direct, at.led))
            {
                *at.of(next.came) += 1;
                served.push((next.tell, self.place(host, next.came)));
            }
            if at.direct + at.led == 0 && at.waiting.is_empty() {
                by_host.remove(host);
            }
        }
        for (tell, place) in served {
            // Whoever gave up meanwhile leaves its place to the next.
            drop(tell.send(place));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AtHost>> {
        // Each step leaves the map whole, so a panic elsewhere under the lock spoils nothing.
        self.by_host.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtHost {
    fn of(&mut self, came: Came) -> &mut usize {
        match came {
            Came::Directly => &mut self.direct,
            Came::Led { .. } => &mut self.led,
        }
    }
}

/// Whether one more may enter where so many are. Where no redirect leads, the engine's limit alone counts: it may allow more.
fn has_room(came: Came, cap: usize, direct: usize, led: usize) -> bool {
    direct + led < cap || (came, led) == (Came::Directly, 0)
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.leave(&self.host, self.came);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    const LED: Came = Came::Led { cap: 1 };

    #[test]
    fn who_may_enter() {
        for (came, cap, direct, led, expected) in [
            (LED, 2, 0, 0, true),
            (LED, 2, 1, 0, true),
            (LED, 2, 1, 1, false),
            (LED, 2, 2, 0, false),
            (Came::Directly, 2, 1, 0, true),
            (Came::Directly, 2, 5, 0, true),
            (Came::Directly, 2, 0, 1, true),
            (Came::Directly, 2, 1, 1, false),
        ] {
            assert_eq!(has_room(came, cap, direct, led), expected, "{came:?} {cap} {direct} {led}");
        }
    }

    #[test]
    fn the_first_to_wait_is_the_first_to_enter_and_who_gives_up_keeps_nobody_waiting() {
        let places = Places::default();
        let first = now(pin!(places.enter("h", LED, "a"))).unwrap();
        let mut gives_up = Box::pin(places.enter("h", LED, "b"));
        let mut second = Box::pin(places.enter("h", LED, "c"));
        let mut third = Box::pin(places.enter("h", Came::Directly, "d"));
        for waiting in [&mut gives_up, &mut second, &mut third] {
            assert!(now(waiting.as_mut()).is_none());
        }
        assert_eq!(places.waits_at("b").as_deref(), Some("h"));
        drop(gives_up);
        assert_eq!(places.waits_at("b"), None);
        drop(first);
        assert!(now(third.as_mut()).is_none());
        drop(now(second.as_mut()).unwrap());
        drop(now(third.as_mut()).unwrap());
        assert!(places.lock().is_empty(), "nothing is remembered of a host where nobody is");
    }

    #[test]
    fn a_place_that_was_given_to_nobody_goes_to_the_next() {
        let places = Places::default();
        let first = now(pin!(places.enter("h", LED, "a"))).unwrap();
        let mut second = Box::pin(places.enter("h", LED, "b"));
        let mut third = Box::pin(places.enter("h", LED, "c"));
        assert!(now(second.as_mut()).is_none() && now(third.as_mut()).is_none());
        drop(first);
        // It has its place, and ends before it hears of it.
        drop(second);
        assert!(now(third.as_mut()).is_some());
    }
}
