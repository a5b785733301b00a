//! Parts of the path that name something, percent-decoded and checked.

use crate::app::App;
use crate::error::ApiError;
use abide_core::dead::DeadId;
use abide_core::job::JobId;
use abide_core::name::{LimitKey, QueueName};
use abide_core::object::ObjectKey;
use abide_core::ticket::Ticket;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// What the path names.
pub(crate) struct At<T>(pub(crate) T);

/// Something that a path can name.
pub(crate) trait Named: Sized {
    /// Its segments.
    type Segments: DeserializeOwned + Send;

    /// Checks them.
    fn named(segments: Self::Segments) -> Result<Self, ApiError>;
}

impl<T: Named> FromRequestParts<App> for At<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<At<T>, ApiError> {
        match Path::<T::Segments>::from_request_parts(parts, app).await {
            Ok(Path(segments)) => T::named(segments).map(At),
            Err(rejection) => {
                Err(ApiError::bad(format!("the path {:?}: {}", parts.uri.path(), rejection.body_text())))
            }
        }
    }
}

impl Named for ObjectKey {
    type Segments = (String, String);

    fn named((kind, name): (String, String)) -> Result<ObjectKey, ApiError> {
        Ok(ObjectKey::new(kind, name)?)
    }
}

/// A name that whoever it is for checks.
impl Named for String {
    type Segments = String;

    fn named(segment: String) -> Result<String, ApiError> {
        Ok(segment)
    }
}

/// Two names that whoever they are for checks.
impl Named for (String, String) {
    type Segments = (String, String);

    fn named(segments: (String, String)) -> Result<(String, String), ApiError> {
        Ok(segments)
    }
}

impl Named for QueueName {
    type Segments = String;

    fn named(segment: String) -> Result<QueueName, ApiError> {
        Ok(QueueName::new(segment)?)
    }
}

impl Named for LimitKey {
    type Segments = String;

    fn named(segment: String) -> Result<LimitKey, ApiError> {
        Ok(LimitKey::new(segment)?)
    }
}

impl Named for Ticket {
    type Segments = String;

    fn named(segment: String) -> Result<Ticket, ApiError> {
        Ok(Ticket::parse(&segment)?)
    }
}

impl Named for JobId {
    type Segments = String;

    fn named(segment: String) -> Result<JobId, ApiError> {
        number("a job's id", &segment).map(JobId)
    }
}

impl Named for DeadId {
    type Segments = String;

    fn named(segment: String) -> Result<DeadId, ApiError> {
        number("a dead letter's id", &segment).map(DeadId)
    }
}

fn number(what: &str, segment: &str) -> Result<i64, ApiError> {
    let shown: String = segment.chars().take(80).collect();
    segment.parse().map_err(|_| ApiError::bad(format!("{what} is a whole number, and {shown:?} is not")))
}
