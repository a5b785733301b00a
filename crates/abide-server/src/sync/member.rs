//! Who asks for a store by its name, and whether they may.

use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::role::Role;
use crate::sync::denied;
use abide_core::name::Name;
use abide_links::auth::Credential;
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

/// What a request shows of who it is from.
pub(crate) struct Member {
    caller: Caller,
    credential: Credential,
}

impl FromRequestParts<App> for Member {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Member, Self::Rejection> {
        let bearer = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let credential = bearer
            .and_then(|text| text.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map_or(Credential::None, |(_, text)| Credential::of_bearer(text.trim()));
        Ok(Member { caller: Caller::from_request_parts(parts, app).await?, credential })
    }
}

impl Member {
    /// Whether they may see and change `store`: members may, and who may do everything with this server.
    pub(crate) async fn enter(&self, app: &App, store: &Name) -> Result<(), ApiError> {
        if self.caller.0 >= Role::Admin {
            return Ok(());
        }
        let sync = app.services().sync.as_ref().expect("these routes are there only with their service");
        let admitted = sync.authority.admit(app.engine(), store.as_str(), &self.credential).await;
        admitted.map(drop).map_err(|error| denied(&error))
    }
}
