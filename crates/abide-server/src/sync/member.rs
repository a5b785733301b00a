//! Who asks for a store by its name, and whether they may.

use crate::access::{Caller, Credentials};
use crate::app::App;
use crate::error::ApiError;
use crate::role::Role;
use crate::sync::Pass;
use crate::sync::denied::{denied, forbidden};
use abide_core::name::Name;
use abide_links::auth::{Access, Authority, Credential, Denied};
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

/// The header by which a request names its store.
const STORE: &str = "x-livestore-store-id";
/// The store of a request that names none and is nobody's.
const LOCAL: &str = "local";

/// Who may do everything with this server, as a user of a store.
const ADMIN: &str = "admin";

/// What a request shows of who it is from.
pub(crate) struct Member {
    caller: Caller,
    credential: Credential,
    credentials: Credentials,
    named: Option<String>,
}

impl FromRequestParts<App> for Member {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Member, Self::Rejection> {
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let credential = text(header::AUTHORIZATION.as_str())
            .and_then(|text| text.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map_or(Credential::None, |(_, text)| Credential::of_bearer(text.trim()));
        let named = text(STORE).map(str::to_owned);
        let caller = Caller::from_request_parts(parts, app).await?;
        let credentials = Credentials::from_request_parts(parts, app).await?;
        Ok(Member { caller, credential, credentials, named })
    }
}

impl Member {
    /// Whether they may see and change `store`: members may, and who may do everything with this server.
    pub(crate) async fn enter(&self, app: &App, store: &Name) -> Result<Access, ApiError> {
        if self.caller.0 >= Role::Admin {
            return Ok(Access { user: ADMIN.to_owned(), until: None, source: None });
        }
        let admitted = authority(app).admit(app.engine(), store.as_str(), &self.credential).await;
        admitted.map_err(|error| self.refused(error))
    }

    fn refused(&self, error: Denied) -> ApiError {
        match error {
            // It is one of the server's own, which is good for other routes.
            Denied::BadToken(_) | Denied::NoTokens if self.caller.0 > Role::Anyone => {
                let role = self.caller.0;
                forbidden(format!(
                    "Access denied: a token of the server with the role {role} opens no store: admin does"
                ))
            }
            error => denied(&error),
        }
    }

    /// Enters `store` to read it for as long as they may.
    pub(crate) async fn stay(self, app: &App, store: &Name) -> Result<Pass, ApiError> {
        let access = self.enter(app, store).await?;
        Ok(match self.caller.0 >= Role::Admin {
            true => Pass::of_the_server(store.as_str(), self.credentials),
            false => Pass::of_member(store.as_str(), self.credential, &access),
        })
    }

    /// Enters the store that the request names, or else their own.
    pub(crate) async fn enter_named(&self, app: &App) -> Result<(Name, Access), ApiError> {
        let store = match &self.named {
            Some(named) => Name::new(named)?,
            None if self.caller.0 >= Role::Admin => Name::new(LOCAL)?,
            None => {
                let home = authority(app).home(app.engine(), &self.credential).await;
                Name::new(home.map_err(|error| self.refused(error))?.unwrap_or_else(|| LOCAL.to_owned()))?
            }
        };
        let access = self.enter(app, &store).await?;
        Ok((store, access))
    }
}

fn authority(app: &App) -> &Authority {
    let sync = app.services().sync.as_ref().expect("these routes are there only with their service");
    &sync.authority
}
