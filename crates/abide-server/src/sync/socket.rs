//! One socket of a sync client, from its upgrade to its close.
//!
//! One task owns it: it reads frames, has one push at a time done, and sends each pull its next page when there is one. What
//! cannot be sent is not read from the log: a slow client costs one page, however far it is behind.

use super::feed::{Feed, Over, Tail};
use super::live_pull::{LivePull, NoPage, NotBegun, begins_after};
use super::page_room::Taken;
use super::push_end::{PushEnd, push_to};
use super::wire::Wire;
use crate::app::App;
use crate::services::Silence;
use abide_core::time::Time;
use abide_links::auth::{Access, Authority, Credential, Denied};
use abide_links::sync::Push;
use abide_links::sync::answer::{self, Failure};
use abide_links::sync::frame::{self, Ask, Frame, Pull, RequestId};
use abide_links::sync::limits::FRAME_BYTES;
use abide_links::sync::page::Page;
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Pulls that one socket may have open.
const PULLS: usize = 16;
/// Pushes that wait for the one before them; frames are not read past this.
const PUSHES_WAITING: usize = 16;
/// Bytes of the frames that brought them; nor past this.
const BYTES_WAITING: usize = FRAME_BYTES;

/// Who is at the other end, and of which store.
pub(crate) struct Party {
    pub(crate) store_id: String,
    pub(crate) credential: Credential,
    pub(crate) access: Access,
    pub(crate) authority: Arc<Authority>,
    /// How often it is asked again.
    pub(crate) recheck: Duration,
    pub(crate) silence: Silence,
    pub(crate) feed: Arc<Feed>,
}

/// Serves a socket until it closes.
pub(crate) async fn serve(app: App, wire: Wire, party: Party, place: OwnedSemaphorePermit) {
    let tail = party.feed.tail();
    let heard_at = Instant::now();
    let mut socket = Socket {
        app,
        wire,
        party,
        tail,
        pulls: Vec::new(),
        pushes: VecDeque::new(),
        under_way: None,
        heard_at,
    };
    let end = socket.run().await;
    match end {
        End::Gone => {}
        End::Close(frame) => socket.wire.close(frame).await,
    }
    drop(place);
}

/// How a socket ends.
enum End {
    /// The client is gone.
    Gone,
    /// It is told so.
    Close(CloseFrame),
}

fn close(code: CloseCode, reason: impl Into<String>) -> End {
    let mut reason: String = reason.into();
    // A close frame has room for 123 bytes.
    while reason.len() > 120 {
        reason.pop();
    }
    End::Close(CloseFrame { code, reason: reason.into() })
}

/// A push that waits for the one before it.
struct Waiting {
    id: RequestId,
    push: Push,
    /// Of the frame that brought it.
    bytes: usize,
}

/// A push that the engine has.
struct UnderWay {
    id: RequestId,
    end: BoxFuture<'static, PushEnd>,
}

/// What a socket waits for.
enum Step {
    Drain,
    Frame(Option<Result<Message, Error>>),
    Pushed(PushEnd),
    Grown(Result<(), watch::error::RecvError>),
    Look,
    Again,
}

struct Socket {
    app: App,
    wire: Wire,
    party: Party,
    tail: watch::Receiver<Tail>,
    pulls: Vec<LivePull>,
    pushes: VecDeque<Waiting>,
    under_way: Option<UnderWay>,
    heard_at: Instant,
}

impl Socket {
    async fn run(&mut self) -> End {
        let drain = self.app.drain().clone();
        let mut draining = pin!(drain.begun());
        let mut look = pin!(sleep_until(self.next_look()));
        loop {
            let more = match self.send_pages().await {
                Ok(more) => more,
                Err(end) => return end,
            };
            self.begin_push();
            let step = tokio::select! {
                biased;
                () = &mut draining => Step::Drain,
                // Before frames: a client that never pauses is asked for access like everybody.
                () = &mut look => Step::Look,
                end = ended(&mut self.under_way) => Step::Pushed(end),
                frame = self.wire.recv(), if self.may_push_more() => Step::Frame(frame),
                grown = self.tail.changed() => Step::Grown(grown),
                () = std::future::ready(()), if more => Step::Again,
            };
            if let Err(end) = self.step(step, look.as_mut()).await {
                return end;
            }
        }
    }

    fn may_push_more(&self) -> bool {
        let bytes: usize = self.pushes.iter().map(|waiting| waiting.bytes).sum();
        self.pushes.len() < PUSHES_WAITING && bytes < BYTES_WAITING
    }

    async fn step(&mut self, step: Step, look: std::pin::Pin<&mut Sleep>) -> Result<(), End> {
        match step {
            Step::Drain => Err(self.restart().await),
            Step::Frame(frame) => self.take(frame).await,
            Step::Pushed(end) => self.pushed(end).await,
            Step::Grown(Err(_)) => Err(close(CloseCode::Restart, "the log is being opened again")),
            Step::Grown(Ok(())) | Step::Again => Ok(()),
            Step::Look => {
                self.look().await?;
                look.reset(self.next_look());
                Ok(())
            }
        }
    }

    /// The server stops: a push that is under way is answered, and the client comes back by itself.
    async fn restart(&mut self) -> End {
        if self.under_way.is_some() {
            let end = ended(&mut self.under_way).await;
            if let Err(end) = self.pushed(end).await {
                return end;
            }
        }
        close(CloseCode::Restart, "the server is restarting")
    }

    async fn take(&mut self, frame: Option<Result<Message, Error>>) -> Result<(), End> {
        let message = match frame {
            None => return Err(End::Gone),
            Some(Err(error)) => return Err(broken(&error)),
            Some(Ok(message)) => message,
        };
        self.heard_at = Instant::now();
        let text = match message {
            Message::Text(text) => text,
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(()),
            Message::Close(_) => return Err(End::Gone),
            Message::Binary(_) => {
                return Err(close(CloseCode::Unsupported, "the sync protocol has only text frames"));
            }
        };
        let frames = frame::read(&text).map_err(|error| close(CloseCode::Invalid, error.to_string()))?;
        for frame in frames {
            match frame {
                Frame::Ping => self.send(answer::PONG.to_owned()).await?,
                Frame::Request { id, ask: Ok(ask) } => self.request(id, ask, text.len()).await?,
                Frame::Request { id, ask: Err(error) } => {
                    self.send(answer::failed(&id, &Failure::Unknown(error.to_string()))).await?;
                }
                Frame::Interrupt(id) => self.pulls.retain(|pull| pull.id != id),
                Frame::Silent => {}
            }
        }
        Ok(())
    }

    async fn request(&mut self, id: RequestId, ask: Ask, bytes: usize) -> Result<(), End> {
        self.still_allowed()?;
        let refused = match ask {
            Ask::Pull(pull) => match self.pull(id.clone(), pull).await {
                Ok(()) => None,
                Err(NotBegun::Failed(failure)) => Some(failure),
                Err(NotBegun::Away(Over)) => {
                    return Err(close(CloseCode::Restart, "the log cannot be read now"));
                }
            },
            Ask::Push { store_id, push } => match self.own_store(&store_id) {
                Ok(()) => {
                    self.pushes.push_back(Waiting { id: id.clone(), push, bytes });
                    None
                }
                Err(failure) => Some(failure),
            },
            Ask::Ping => Some(Failure::Unknown("SyncHttpRpc.Ping is for HTTP: send Ping".to_owned())),
        };
        match refused {
            Some(failure) => self.send(answer::failed(&id, &failure)).await,
            None => Ok(()),
        }
    }

    async fn pull(&mut self, id: RequestId, pull: Pull) -> Result<(), NotBegun> {
        self.own_store(&pull.store_id).map_err(NotBegun::Failed)?;
        self.pulls.retain(|open| open.id != id);
        if self.pulls.len() >= PULLS {
            let message =
                format!("a socket may have {PULLS} pulls open: interrupt one, or open another socket");
            return Err(NotBegun::Failed(Failure::Unknown(message)));
        }
        let after = begins_after(&self.app, &self.party.feed, pull.cursor.as_ref()).await?;
        self.pulls.push(LivePull::new(id, &pull, &self.party.feed, after));
        Ok(())
    }

    /// The store in a request is the one that access was given to, whatever the request says.
    fn own_store(&self, store_id: &str) -> Result<(), Failure> {
        if store_id == self.party.store_id {
            return Ok(());
        }
        let own = &self.party.store_id;
        Err(Failure::Unknown(format!(
            "this socket is for the store {own:?}, and the request for {store_id:?}"
        )))
    }

    /// Sends each pull that is behind one page; whether there is more.
    async fn send_pages(&mut self) -> Result<bool, End> {
        let Tail { head, is_over } = *self.tail.borrow_and_update();
        if is_over {
            return Err(close(CloseCode::Restart, "the log is being opened again"));
        }
        let (mut more, mut at) = (false, 0);
        while at < self.pulls.len() {
            let pull = &mut self.pulls[at];
            if !pull.is_behind(head) {
                at += 1;
                continue;
            }
            let (page, room) = pull.next(&self.app, &self.party.feed).await.map_err(|no| match no {
                NoPage::Over => close(CloseCode::Restart, "the log cannot be read now"),
                NoPage::NoRoom => {
                    close(CloseCode::Again, "too many clients are slow to take what they are sent")
                }
            })?;
            let (id, has_more) = (pull.id.clone(), page.remaining > 0);
            let is_done = !pull.is_live && !has_more;
            self.send_page(&id, page, room).await?;
            if is_done {
                self.pulls.remove(at);
                self.send(answer::pulled(&id)).await?;
            } else {
                more |= has_more;
                at += 1;
            }
        }
        Ok(more)
    }

    /// Gives the engine the next push, if none is under way: they take effect in the order in which they came.
    fn begin_push(&mut self) {
        if self.under_way.is_some() {
            return;
        }
        let Some(Waiting { id, push, .. }) = self.pushes.pop_front() else { return };
        let (engine, store_id) = (self.app.engine().clone(), self.party.store_id.clone());
        let end = Box::pin(async move { push_to(&engine, &store_id, push).await });
        self.under_way = Some(UnderWay { id, end });
    }

    async fn pushed(&mut self, end: PushEnd) -> Result<(), End> {
        let Some(UnderWay { id, .. }) = self.under_way.take() else { return Ok(()) };
        match end {
            PushEnd::Durable => self.send(answer::pushed(&id)).await,
            PushEnd::Failed(failure) => self.send(answer::failed(&id, &failure)).await,
            PushEnd::Stopping => Err(close(CloseCode::Restart, "the server is restarting")),
        }
    }

    /// Sends what takes room. Who takes long has to make way for others, and cannot be told so: it takes nothing.
    async fn send_page(&mut self, id: &RequestId, page: Page, mut room: Taken) -> Result<(), End> {
        let (before, after) = answer::around_page(id);
        let sent = self.wire.send_parts([&before, &page.text, after]);
        tokio::select! {
            biased;
            sent = taken_within(self.party.silence.takes_a_frame, sent) => sent,
            () = room.is_due() => Err(End::Gone),
        }
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        taken_within(self.party.silence.takes_a_frame, self.wire.send(text)).await
    }

    fn still_allowed(&self) -> Result<(), End> {
        match self.party.access.until {
            Some(until) if until <= self.app.engine().now() => {
                Err(denied(&Denied::BadToken("the token has expired".to_owned())))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn next_look(&self) -> Instant {
        let left = |until: Time| until.since(self.app.engine().now()).max(0).unsigned_abs();
        let every = self.party.recheck.min(self.party.silence.ping_after);
        let expires = self.party.access.until.map_or(every, |until| Duration::from_millis(left(until)));
        Instant::now() + expires.min(every)
    }

    /// Asks for access again, and a client that has been silent for a sign of life.
    async fn look(&mut self) -> Result<(), End> {
        let Party { store_id, credential, authority, .. } = &self.party;
        match authority.admit(self.app.engine(), store_id, credential).await {
            Ok(access) => self.party.access = access,
            // Not being able to ask is no reason to cut off who was let in.
            Err(Denied::Unavailable(_)) => {}
            Err(reason) => return Err(denied(&reason)),
        }
        let Silence { ping_after, gone_after, takes_a_frame } = self.party.silence;
        let silent_for = self.heard_at.elapsed();
        if silent_for >= gone_after {
            return Err(close(CloseCode::Away, "nothing was heard for too long"));
        }
        if silent_for >= ping_after {
            taken_within(takes_a_frame, self.wire.ping()).await?;
        }
        Ok(())
    }
}

fn denied(reason: &Denied) -> End {
    close(CloseCode::Policy, reason.to_string())
}

/// A frame that could not be read: too large, not a frame, or the connection is gone.
fn broken(error: &Error) -> End {
    match error {
        Error::Capacity(_) => close(CloseCode::Size, format!("a frame may have at most {FRAME_BYTES} bytes")),
        Error::Utf8(_) => close(CloseCode::Invalid, "a text frame is not UTF-8"),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Error::Protocol(what) => close(CloseCode::Protocol, what.to_string()),
        _ => End::Gone,
    }
}

/// A client that does not take what it is sent is gone.
async fn taken_within(
    patience: Duration,
    sending: impl Future<Output = Result<(), Error>>,
) -> Result<(), End> {
    match tokio::time::timeout(patience, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}

/// How the push that is under way ends; never, if there is none.
async fn ended(under_way: &mut Option<UnderWay>) -> PushEnd {
    match under_way {
        Some(push) => (&mut push.end).await,
        None => std::future::pending().await,
    }
}
