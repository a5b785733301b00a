//! Query parameters.

use crate::app::App;
use crate::error::ApiError;
use abide_core::object::ObjectKey;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The query's parameters as a struct that refuses those it does not know.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Params<T>, ApiError> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Params(params)),
            Err(rejection) => Err(ApiError::bad(format!(
                "the query {:?}: {}",
                parts.uri.query().unwrap_or(""),
                std::error::Error::source(&rejection)
                    .map_or_else(|| rejection.to_string(), ToString::to_string),
            ))),
        }
    }
}

/// The object that the parameter `name` names by kind and name.
pub(crate) fn object(name: &str, text: &str) -> Result<ObjectKey, ApiError> {
    if !text.contains('/') {
        let message =
            format!("{name} is {text:?}: name an object by kind and name, such as coordinator/main");
        return Err(ApiError::bad(message));
    }
    text.parse().map_err(|error| ApiError::from(error).within(name))
}
