//! How far a batch is, as it goes.

use super::{service, status_of};
use crate::app::App;
use crate::error::ApiError;
use crate::path::At;
use abide_core::object::ObjectKey;
use abide_engine::Object;
use abide_engine::driver::LogFollower;
use abide_preprocess::Batch;
use abide_preprocess::calls::StatusAnswer;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, stream};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;

/// How often a quiet stream says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Reader {
    app: App,
    batch: String,
    /// The first event, which needs nothing to happen.
    now: Option<StatusAnswer>,
    log: LogFollower,
    /// What workers wait for, which is in the status and in no log.
    hindrance: watch::Receiver<Option<String>>,
}

/// The status now, and again at each note in the batch's log, about a hundred for each phase, and when workers wait or go on.
pub(super) async fn events(
    State(app): State<App>,
    At(batch): At<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let object = ObjectKey::new(Batch::KIND, &batch)?;
    let head = app.engine().log_head(object.clone()).await?;
    let log = app.engine().follow(object, head);
    let hindrance = service(&app).hindrance();
    let now = Some(status_of(&app, &batch).await?);
    let reader = Reader { app, batch, now, log, hindrance };
    let events = stream::unfold(reader, |mut reader| async move {
        let status = reader.next().await?;
        let event = Event::default().event("status").json_data(&status).ok()?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

impl Reader {
    /// The next status; none when the server stops or the batch is gone.
    async fn next(&mut self) -> Option<StatusAnswer> {
        if let Some(now) = self.now.take() {
            return Some(now);
        }
        tokio::select! {
            grown = self.log.next() => drop(grown.ok()?),
            Ok(()) = self.hindrance.changed() => {}
            () = self.app.drain().begun() => return None,
        }
        status_of(&self.app, &self.batch).await.ok()
    }
}
