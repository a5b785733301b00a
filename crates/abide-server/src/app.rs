//! What every route sees.

use crate::access::{Access, Stores};
use crate::code::ErrorCode;
use crate::drain::Drain;
use crate::error::ApiError;
use crate::feed::Feed;
use crate::metrics::HttpMeter;
use crate::poll::KnownWorkers;
use crate::serve::{Bounds, ServerOptions};
use crate::services::Services;
use crate::sync::{Feeds, Sockets};
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::name::IdempotencyKey;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::{Call, Engine};
use abide_store::{Answer, Read, Write, Written};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The engine and what the server knows about itself. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: ServerOptions,
    drain: Drain,
    access: Access,
    workers: KnownWorkers,
    feeds: Feeds,
    sockets: Sockets,
    waits: Arc<Semaphore>,
    full_at: AtomicI64,
    feed: Feed,
    http: HttpMeter,
}

impl App {
    pub(crate) fn new(engine: Engine, options: ServerOptions, drain: Drain) -> App {
        let stores = match &options.services.sync {
            Some(sync) if !sync.authority.is_open() => Stores::AskWhoItIs,
            Some(_) | None => Stores::AskNobody,
        };
        let access = Access::new(&options.admission, stores);
        let Bounds { waits, readers, .. } = options.bounds;
        let feed = Feed::new(engine.now(), readers);
        let max_sockets = options.services.sync.as_ref().map_or(0, |sync| sync.max_sockets);
        App(Arc::new(Shared {
            engine,
            options,
            drain,
            access,
            workers: KnownWorkers::default(),
            feeds: Feeds::default(),
            sockets: Sockets::new(max_sockets),
            waits: Arc::new(Semaphore::new(waits)),
            full_at: AtomicI64::new(i64::MIN),
            feed,
            http: HttpMeter::default(),
        }))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0.options.services
    }

    pub(crate) fn drain(&self) -> &Drain {
        &self.0.drain
    }

    pub(crate) fn access(&self) -> &Access {
        &self.0.access
    }

    pub(crate) fn workers(&self) -> &KnownWorkers {
        &self.0.workers
    }

    /// The logs that are read live.
    pub(crate) fn feeds(&self) -> &Feeds {
        &self.0.feeds
    }

    /// The sockets there are.
    pub(crate) fn sockets(&self) -> &Sockets {
        &self.0.sockets
    }

    /// A place for a request that waits for something to happen. Fewer than there are connections, so that those who do
    /// not wait always get through.
    pub(crate) fn wait_place(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.0.waits).try_acquire_owned().map_err(|_| {
            let waits = self.options().bounds.waits;
            let message = format!("{waits} requests wait already, as many as may: come back later");
            ApiError::new(ErrorCode::Overloaded, message).closing()
        })
    }

    /// The store was full just now.
    pub(crate) fn note_full(&self) {
        self.0.full_at.store(self.engine().now().0, Ordering::Relaxed);
    }

    /// Whether the store was full within the last `ms`.
    pub(crate) fn was_full_within(&self, ms: i64) -> bool {
        self.engine().now().since(Time(self.0.full_at.load(Ordering::Relaxed))) < ms
    }

    /// What changed lately.
    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// What was asked of this server.
    pub(crate) fn http(&self) -> &HttpMeter {
        &self.0.http
    }

    /// Calls an object of a service, which answers now: the reply is the route's answer.
    pub(crate) async fn ask(&self, object: ObjectKey, call: &impl Serialize) -> Result<Json, ApiError> {
        self.ask_once(object, call, None).await
    }

    /// The same. A call that is repeated under its key is made once.
    pub(crate) async fn ask_once(
        &self,
        object: ObjectKey,
        call: &impl Serialize,
        key: Option<IdempotencyKey>,
    ) -> Result<Json, ApiError> {
        let body = Json::encode(call).map_err(|error| ApiError::bad(error.0))?;
        match self.engine().call(Call { object, body, key }).await? {
            Reply::Now(reply) => Ok(reply),
            Reply::Later(_) => unreachable!("a service that answers later has its own way to say so"),
        }
    }

    /// Has a write done.
    pub(crate) async fn write(&self, write: Write) -> Result<Written, ApiError> {
        Ok(self.engine().write(write).await?)
    }

    /// Has a read done.
    pub(crate) async fn read(&self, read: Read) -> Result<Answer, ApiError> {
        Ok(self.engine().read(read).await?)
    }
}
