//! Somebody who was let in to a store and goes on reading: asked for access again while they do.

use crate::access::Credentials;
use crate::app::App;
use crate::role::Role;
use crate::services::SyncService;
use abide_core::time::Time;
use abide_links::auth::{Access, Credential, Denied};
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// Access to a store that is asked for again every `sync.recheck_ms`, and when it runs out.
pub(crate) struct Pass {
    shown: Shown,
    store_id: String,
    until: Option<Time>,
    asked_at: Instant,
}

/// What somebody showed to get in.
enum Shown {
    /// What members show.
    Credential(Credential),
    /// What lets them do everything with this server.
    TheServer(Credentials),
}

impl Pass {
    /// Of a member who was let in just now.
    pub(crate) fn of_member(store_id: &str, credential: Credential, access: &Access) -> Pass {
        let (store_id, until) = (store_id.to_owned(), access.until);
        Pass { shown: Shown::Credential(credential), store_id, until, asked_at: Instant::now() }
    }

    /// Of somebody who may do everything with this server.
    pub(crate) fn of_the_server(store_id: &str, credentials: Credentials) -> Pass {
        let store_id = store_id.to_owned();
        Pass { shown: Shown::TheServer(credentials), store_id, until: None, asked_at: Instant::now() }
    }

    /// How long it may be until it has to be asked for again.
    pub(crate) fn good_for(&self, app: &App) -> Duration {
        let left = |until: Time| Duration::from_millis(until.since(app.engine().now()).max(0).unsigned_abs());
        let recheck = service(app).recheck.saturating_sub(self.asked_at.elapsed());
        self.until.map_or(recheck, |until| left(until).min(recheck))
    }

    /// Asks again, if it is time to.
    pub(crate) async fn check(&mut self, app: &App) -> Result<(), Denied> {
        if !self.good_for(app).is_zero() {
            return Ok(());
        }
        match self.admitted(app).await {
            Ok(until) => self.until = until,
            // Not being able to ask is no reason to cut off who was let in, while what they showed is good.
            Err(Denied::Unavailable(_)) if self.until.is_none_or(|until| until > app.engine().now()) => {}
            Err(reason) => return Err(reason),
        }
        self.asked_at = Instant::now();
        Ok(())
    }

    /// Until when they may still read.
    async fn admitted(&self, app: &App) -> Result<Option<Time>, Denied> {
        match &self.shown {
            Shown::Credential(credential) => {
                let access = service(app).authority.admit(app.engine(), &self.store_id, credential).await?;
                Ok(access.until)
            }
            Shown::TheServer(credentials) => match credentials.still_allow(app, Role::Admin).await {
                Ok(()) => Ok(None),
                Err(error) if error.code().is_retryable() => Err(Denied::Unavailable(error.to_string())),
                Err(error) => Err(Denied::BadToken(error.message().to_owned())),
            },
        }
    }

    /// Like [`Pass::check`], for bodies: they break off.
    pub(crate) async fn check_body(&mut self, app: &App) -> io::Result<()> {
        self.check(app).await.map_err(|reason| io::Error::other(reason.to_string()))
    }
}

fn service(app: &App) -> &SyncService {
    app.services().sync.as_ref().expect("these routes are there only with their service")
}
