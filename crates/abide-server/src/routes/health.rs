//! `/health` and `/ready`.

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::{ApiError, stopping};
use abide_core::object::{Fence, Incarnation, ObjectKey};
use abide_store::Write;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::time::Duration;

/// How long the engine may take to answer before it counts as not ready.
const ANSWERS: Duration = Duration::from_secs(2);

/// How long a full disk counts: a small write may fit where others do not.
const FULL_MS: i64 = 10_000;

#[derive(Serialize)]
pub(crate) struct Health {
    status: &'static str,
}

/// The process lives.
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// The engine has begun and its store takes writes. A write that changes nothing goes all the way to find out.
pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Health>, ApiError> {
    if app.drain().has_begun() {
        return Err(stopping());
    }
    if app.was_full_within(FULL_MS) {
        let message = format!("a write found the disk full within the last {} s", FULL_MS / 1_000);
        return Err(ApiError::new(ErrorCode::StoreFull, message));
    }
    let object = ObjectKey::new("ready", "?")?;
    let probe = Write::Check { object, fence: Fence::Absent { begin: Incarnation(0) } };
    match tokio::time::timeout(ANSWERS, app.write(probe)).await {
        Ok(answer) => answer.map(|_| Json(Health { status: "ready" })),
        Err(_) => {
            let message = format!("the store did not answer within {} s", ANSWERS.as_secs());
            Err(ApiError::new(ErrorCode::StoreUnavailable, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ready;
    use crate::access::Admission;
    use crate::app::App;
    use crate::drain::DrainSwitch;
    use crate::error::stopping;
    use crate::serve::{Bounds, ServerOptions};
    use crate::services::Services;
    use abide_engine::{Engine, EngineOptions, Registry};
    use abide_store::memory::MemoryStore;
    use axum::extract::State;

    fn options() -> ServerOptions {
        let (services, admission) = (Services::default(), Admission::default());
        ServerOptions { max_body_bytes: 1, services, admission, bounds: Bounds::default() }
    }

    #[tokio::test]
    async fn a_server_that_drains_or_lost_its_engine_is_not_ready() {
        let store = Box::new(MemoryStore::new());
        let engine = Engine::start(store, Registry::new(), EngineOptions::default()).unwrap();
        let (switch, drain) = DrainSwitch::new();
        let app = App::new(engine.clone(), options(), drain);
        assert!(ready(State(app.clone())).await.is_ok());
        app.note_full();
        assert!(ready(State(app.clone())).await.is_err());
        switch.begin();
        assert_eq!(ready(State(app)).await.err(), Some(stopping()));
        engine.stop().await;
        let (_switch, drain) = DrainSwitch::new();
        let app = App::new(engine, options(), drain);
        assert_eq!(ready(State(app)).await.err(), Some(stopping()));
    }
}
