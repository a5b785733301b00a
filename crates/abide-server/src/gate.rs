//! What every request passes on its way to its handler: it is noted, judged by where it comes from and by who sent it.
//!
//! One future around the handler, not a layer for each: a layer costs every request a copy of all that is behind it.

use crate::access::enough;
use crate::app::App;
use crate::cors::cors;
use crate::guard::guard;
use crate::observe::observe;
use crate::role::Role;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use std::pin::Pin;

/// A handler behind everything that stands before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate<H> {
    /// Who may pass.
    pub(crate) role: Role,
    /// What answers them.
    pub(crate) handler: H,
}

impl<T: 'static, H: Handler<T, App>> Handler<T, App> for Gate<H> {
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Box::pin(async move {
            let pass = |request| self.pass(request, app.clone());
            observe(&app, request, |request| cors(request, pass)).await
        })
    }
}

impl<H> Gate<H> {
    async fn pass<T: 'static>(self, mut request: Request, app: App) -> Response
    where
        H: Handler<T, App>,
    {
        let admitted = guard(&app, request.uri(), request.headers())
            .await
            .and_then(|caller| enough(caller, self.role).map(|()| caller));
        match admitted {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                self.handler.call(request, app).await
            }
            Err(error) => error.into_response(),
        }
    }
}
