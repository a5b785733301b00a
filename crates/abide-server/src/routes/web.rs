//! `/`: the page for people. For who may read, what is so now stands in it; what comes, and whatever a visitor's token allows,
//! its script asks for.

use crate::access::{Caller, enough};
use crate::app::App;
use crate::rendered::rendered;
use crate::role::Role;
use crate::route::Routes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

const INDEX: &str = include_str!("../web/index.html");
const STYLE: &str = include_str!("../web/style.css");
const SCRIPT: &str = include_str!("../web/app.js");
const LINKS_SCRIPT: &str = include_str!("../web/links.js");
const COLLECTIONS_SCRIPT: &str = include_str!("../web/collections.js");
const BATCHES_SCRIPT: &str = include_str!("../web/batches.js");

const HTML: &str = "text/html; charset=utf-8";

/// Nothing but what this server gives out, and in no frame. Links show pictures of their sites, which do not hear from where.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob: http: https:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .get("/", Role::Anyone, "the page for people", index)
        .get("/assets/style.css", Role::Anyone, "its style", style)
        .get("/assets/app.js", Role::Anyone, "its script", script)
        .get("/assets/links.js", Role::Anyone, "its script for links", links_script)
        .get("/assets/collections.js", Role::Anyone, "its script for collections", collections_script)
        .get("/assets/batches.js", Role::Anyone, "its script for batches", batches_script)
}

async fn index(State(app): State<App>, caller: Caller) -> Response {
    let page = match enough(caller, Role::Read) {
        Ok(()) => rendered(INDEX, &app, caller).await.ok(),
        Err(_) => None,
    };
    match page {
        Some(page) => ([(header::CACHE_CONTROL, "no-store")], with_headers(HTML, page)).into_response(),
        // Its script shows what there is, or why there is nothing.
        None => with_headers(HTML, INDEX),
    }
}

async fn style() -> Response {
    with_headers("text/css; charset=utf-8", STYLE)
}

async fn script() -> Response {
    with_headers("text/javascript; charset=utf-8", SCRIPT)
}

async fn links_script() -> Response {
    with_headers("text/javascript; charset=utf-8", LINKS_SCRIPT)
}

async fn collections_script() -> Response {
    with_headers("text/javascript; charset=utf-8", COLLECTIONS_SCRIPT)
}

async fn batches_script() -> Response {
    with_headers("text/javascript; charset=utf-8", BATCHES_SCRIPT)
}

fn with_headers(media: &'static str, text: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
