//! Every route.

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::gate::Gate;
use crate::role::Role;
use crate::route::{RouteInfo, Routes};
use crate::routes::{
    attempts, backup, batches, collections, coordinator, dead, entities, events, health, jobs, lease, limits,
    link_keys, links, metrics, objects, openapi, orchestrator, organizer, preprocess, queues, sync, tickets,
    tokens, web,
};
use crate::services::Services;
use axum::Router;
use axum::http::{Method, Uri};

/// The routes of the engine.
fn of_the_engine() -> Routes {
    use Role::{Admin, Anyone, Operate, Read};
    Routes::new()
        .get("/health", Anyone, "whether the process is there", health::health)
        .get("/ready", Anyone, "whether it can take work", health::ready)
        .get("/v1/objects", Read, "objects by kind and name", objects::list)
        .get("/v1/objects/{kind}/{name}", Read, "an object with its alarms", objects::show)
        .post("/v1/objects/{kind}/{name}/call", Operate, "call an object", objects::call)
        .get("/v1/objects/{kind}/{name}/rows", Read, "its rows", objects::rows)
        .get("/v1/objects/{kind}/{name}/log", Read, "its log past a cursor", objects::log)
        .get("/v1/tickets/{ticket}", Read, "what became of a call that is answered later", tickets::show)
        .get("/v1/jobs", Read, "jobs, newest first", jobs::list)
        .post("/v1/jobs", Operate, "enqueue one job or many", jobs::enqueue)
        .post("/v1/jobs/retry", Operate, "give matching jobs fresh attempts", jobs::retry_matching)
        .get("/v1/jobs/{job}", Read, "a job with its attempts", jobs::show)
        .get("/v1/jobs/{job}/why", Read, "why it is not running", jobs::why)
        .post("/v1/jobs/{job}/cancel", Operate, "cancel it", jobs::cancel)
        .post("/v1/jobs/{job}/retry", Operate, "give it fresh attempts", jobs::retry)
        .post("/v1/jobs/{job}/heartbeat", Operate, "keep a lease", attempts::heartbeat)
        .post("/v1/jobs/{job}/progress", Operate, "say how far it is", attempts::progress)
        .post("/v1/jobs/{job}/vacate", Operate, "free the places of its limit keys", attempts::vacate)
        .post("/v1/jobs/{job}/finish", Operate, "end an attempt", attempts::finish)
        .post("/v1/lease", Operate, "lease jobs, waiting for one if need be", lease::lease)
        .get("/v1/queues", Read, "queues with their counts", queues::list)
        .get("/v1/queues/{queue}", Read, "a queue", queues::show)
        .put("/v1/queues/{queue}", Admin, "set its policy", queues::set)
        .post("/v1/queues/{queue}/pause", Operate, "start none of its jobs", queues::pause)
        .post("/v1/queues/{queue}/resume", Operate, "start them again", queues::resume)
        .get("/v1/limits", Read, "limits with what is used of them", limits::list)
        .put("/v1/limits/{key}", Admin, "set what a key or a class of keys allows", limits::set)
        .delete("/v1/limits/{key}", Admin, "remove that", limits::remove)
        .get("/v1/dead", Read, "dead letters", dead::list)
        .post("/v1/dead/replay", Operate, "try matching ones again", dead::replay_matching)
        .post("/v1/dead/drop", Operate, "drop matching ones for good", dead::drop_matching)
        .delete("/v1/dead/{id}", Operate, "drop one for good", dead::drop_one)
        .post("/v1/dead/{id}/replay", Operate, "try one again", dead::replay)
        .get("/v1/tokens", Admin, "tokens without their secrets", tokens::list)
        .post("/v1/tokens", Admin, "make a token, shown once", tokens::create)
        .delete("/v1/tokens/{id}", Admin, "make a token void", tokens::revoke)
}

/// The routes of the engine and of the services that are there.
fn all(services: &Services) -> Routes {
    let mut routes = of_the_engine()
        .and(metrics::routes())
        .and(events::routes())
        .and(openapi::routes())
        .and(web::routes());
    if services.backup.is_some() {
        routes = routes.and(backup::routes());
    }
    if services.coordinator.is_some() {
        routes = routes.and(coordinator::routes());
    }
    if services.preprocess.is_some() {
        routes = routes.and(preprocess::routes());
    }
    if services.entities.is_some() {
        routes = routes.and(entities::routes());
    }
    if services.organizer.is_some() {
        routes = routes.and(organizer::routes());
    }
    if services.pipeline.is_some() {
        routes = routes.and(orchestrator::routes()).and(batches::routes());
    }
    if services.collections.is_some() {
        routes = routes.and(collections::routes());
    }
    if services.sync.is_some() {
        routes = routes.and(sync::routes());
        if services.links.is_some() {
            routes = routes.and(links::routes()).and(link_keys::routes());
        }
    }
    routes
}

/// Every route that `services` make, as documents have it.
#[must_use]
pub fn routes(services: &Services) -> Vec<RouteInfo> {
    all(services).table().to_vec()
}

/// What answers requests.
pub(crate) fn router(app: App) -> Router {
    answering(all(app.services()), app)
}

/// What answers requests to these routes.
pub(crate) fn answering(routes: Routes, app: App) -> Router {
    routes
        .into_router()
        .method_not_allowed_fallback(Gate { role: Role::Anyone, handler: wrong_method })
        .fallback(Gate { role: Role::Anyone, handler: unknown_route })
        .with_state(app)
}

async fn unknown_route(method: Method, uri: Uri) -> ApiError {
    let message = format!("there is no {method} {}: docs/http.md lists every route", uri.path());
    ApiError::new(ErrorCode::UnknownRoute, message)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not take {method}: the Allow header says what it takes", uri.path());
    ApiError::new(ErrorCode::MethodNotAllowed, message)
}
