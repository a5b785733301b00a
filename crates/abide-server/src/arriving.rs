//! The body of a request as it arrives: how long its client has been waited for, and its end when others need the place
//! more.

use axum::BoxError;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// How long a body may be waited for before it is looked at how fast it comes.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes in a second, below which a client only seems to send something. Slow lines bring more.
const PACE: u128 = 8 * 1024;

/// A body whose error says so when it was given up for others.
pub(crate) struct Arriving<B> {
    body: B,
    arrival: Arc<Arrival>,
    bytes: u64,
    /// How long its client was waited for until what came last. What the server itself takes is not counted.
    waited: Duration,
    /// Since when it would have been waited for in one piece, while it is.
    since: Option<Instant>,
}

/// How far the body of a connection's request is, for whoever needs its place.
// Locked by the connection at each piece that does not come at once, and by whoever looks for a place.
#[derive(Debug, Default)]
pub(crate) struct Arrival(Mutex<Stage>);

#[derive(Debug, Default)]
enum Stage {
    /// No client is waited for.
    #[default]
    Still,
    Awaited {
        since: Instant,
        bytes: u64,
        waker: Waker,
    },
    GivenUp,
}

/// Others needed the place of whoever sends this body.
#[derive(Debug, thiserror::Error)]
#[error("it came too slowly while others waited")]
pub(crate) struct GivenUp;

impl<B> Arriving<B> {
    /// The next body of the connection that `arrival` is about.
    pub(crate) fn new(body: B, arrival: Arc<Arrival>) -> Arriving<B> {
        Arriving { body, arrival, bytes: 0, waited: Duration::ZERO, since: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Arriving<B>
where
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        let mut stage = this.arrival.stage();
        if matches!(*stage, Stage::GivenUp) {
            return Poll::Ready(Some(Err(GivenUp.into())));
        }
        match polled {
            Poll::Pending => {
                let since = *this.since.get_or_insert_with(|| Instant::now() - this.waited);
                *stage = Stage::Awaited { since, bytes: this.bytes, waker: context.waker().clone() };
                Poll::Pending
            }
            Poll::Ready(frame) => {
                if let Some(since) = this.since.take() {
                    this.waited = since.elapsed();
                }
                *stage = Stage::Still;
                if let Some(Ok(frame)) = &frame {
                    this.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Arriving<B> {
    fn drop(&mut self) {
        *self.arrival.stage() = Stage::Still;
    }
}

impl Arrival {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        // A stage is whole whatever became of whoever held it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits no longer for a body that hardly comes; whether it was one. One that has just begun is of a request that is served to its
    /// end.
    pub(crate) fn give_up(&self) -> bool {
        let mut stage = self.stage();
        match &*stage {
            Stage::Awaited { since, bytes, waker } if is_slow(since.elapsed(), *bytes) => {
                waker.wake_by_ref();
                *stage = Stage::GivenUp;
                true
            }
            Stage::Awaited { .. } | Stage::Still | Stage::GivenUp => false,
        }
    }
}

fn is_slow(waited: Duration, bytes: u64) -> bool {
    waited >= PATIENCE && u128::from(bytes) * 1_000 < waited.as_millis() * PACE
}

#[cfg(test)]
mod tests {
    use super::is_slow;
    use std::time::Duration;

    #[test]
    fn a_body_is_slow_when_it_has_had_time_and_hardly_comes() {
        for (waited_ms, bytes, expected) in [
            (0, 0, false),
            (2_999, 1, false),
            (3_000, 1, true),
            (3_000, 24 * 1024 - 1, true),
            (3_000, 24 * 1024, false),
            (60_000, 24 * 1024, true),
            (3_600_000, 100 << 20, false),
        ] {
            let slow = is_slow(Duration::from_millis(waited_ms), bytes);
            assert_eq!(slow, expected, "{bytes} bytes in {waited_ms} ms");
        }
    }
}
