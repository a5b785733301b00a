//! A failed request as the client sees it: `{"error":{"code","message",…}}`.

use crate::code::ErrorCode;
use crate::tokens::TokenError;
use abide_core::json::Json;
use abide_core::limits::OverBound;
use abide_core::name::BadName;
use abide_engine::driver::EngineError;
use abide_engine::{CallError, TurnError};
use abide_store::StoreError;
use abide_store::write::{JobRefused, LeaseLost};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// When to come back if nothing better is known.
const RETRY_AFTER_MS: i64 = 1_000;

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub(crate) struct ApiError {
    code: ErrorCode,
    message: String,
    /// The object's own code, if it refused.
    refusal: Option<String>,
    /// What the object says beside it.
    details: Option<Json>,
    retry_after_ms: Option<i64>,
    /// Whether the connection ends with it.
    closes: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    error: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    code: &'static str,
    message: &'a str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<i64>,
}

impl ApiError {
    /// An error with its sentence: what was wrong, with which input, and what to do.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        let retry_after_ms = code.is_retryable().then_some(RETRY_AFTER_MS);
        ApiError {
            code,
            message: message.into(),
            refusal: None,
            details: None,
            retry_after_ms,
            closes: false,
        }
    }

    /// The request cannot be read.
    pub(crate) fn bad(message: impl Into<String>) -> ApiError {
        ApiError::new(ErrorCode::BadRequest, message)
    }

    /// An object refused with its own code.
    pub(crate) fn refused(
        code: ErrorCode,
        refusal: impl Into<String>,
        message: impl Into<String>,
    ) -> ApiError {
        ApiError { refusal: Some(refusal.into()), ..ApiError::new(code, message) }
    }

    /// The code.
    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    /// The object's own code, if it refused.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// The sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same error, after which the connection is closed: its place is for others.
    pub(crate) fn closing(self) -> ApiError {
        ApiError { closes: true, ..self }
    }

    /// The same error, saying when to come back.
    pub(crate) fn after_ms(self, retry_after_ms: i64) -> ApiError {
        ApiError { retry_after_ms: Some(retry_after_ms), ..self }
    }

    /// The same error, saying which part of the request it is about.
    pub(crate) fn within(self, part: &str) -> ApiError {
        ApiError { message: format!("{part}: {}", self.message), ..self }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let content = Content {
            code: self.code.as_str(),
            message: &self.message,
            retryable: self.code.is_retryable(),
            refusal: self.refusal.as_deref(),
            details: self.details.as_ref(),
            retry_after_ms: self.retry_after_ms,
        };
        let mut response = (self.code.status(), axum::Json(Document { error: content })).into_response();
        if let Some(ms) = self.retry_after_ms {
            let seconds = ms.max(0).saturating_add(999) / 1_000;
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.code == ErrorCode::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> ApiError {
        match error {
            TokenError::Call(error) => error.into(),
            TokenError::Randomness(_) => ApiError::new(ErrorCode::StoreUnavailable, error.to_string()),
        }
    }
}

impl From<BadName> for ApiError {
    fn from(error: BadName) -> ApiError {
        ApiError::bad(error.to_string())
    }
}

impl From<OverBound> for ApiError {
    fn from(error: OverBound) -> ApiError {
        ApiError::new(ErrorCode::TooLarge, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        let code = match error {
            StoreError::Ambiguous(_) => ErrorCode::OutcomeUnknown,
            StoreError::Full(_) => ErrorCode::StoreFull,
            StoreError::ReadOnly(_) => ErrorCode::StoreReadOnly,
            StoreError::Unavailable(_) => ErrorCode::StoreUnavailable,
            StoreError::Rejected(_) => ErrorCode::StoreRejected,
            StoreError::Corrupt(_) => ErrorCode::StoreDamaged,
        };
        ApiError::new(code, error.to_string())
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> ApiError {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::OverBound(error) => error.into(),
            EngineError::Stopped => stopping(),
        }
    }
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> ApiError {
        let message = error.to_string();
        match error {
            CallError::Refused(refused) => {
                let code = ErrorCode::Refused(refused.class);
                ApiError {
                    details: refused.details,
                    ..ApiError::refused(code, refused.code, refused.message)
                }
            }
            CallError::Failed(TurnError::OverBound(error)) => error.into(),
            CallError::Failed(
                TurnError::BadName(_)
                | TurnError::BadRow { .. }
                | TurnError::NewerRow { .. }
                | TurnError::BadValue { .. }
                | TurnError::BadInput { .. }
                | TurnError::Unexpected(_)
                | TurnError::Contradiction(_)
                | TurnError::TooManyMisses(_)
                | TurnError::Panicked(_),
            ) => ApiError::new(
                ErrorCode::TurnFailed,
                format!("the call failed and changed nothing: {message}"),
            ),
            CallError::UnknownKind(_) => ApiError::new(ErrorCode::UnknownKind, message),
            CallError::Overloaded { retry_after_ms, .. } => ApiError {
                retry_after_ms: Some(retry_after_ms),
                ..ApiError::new(ErrorCode::Overloaded, message)
            },
            CallError::KeyReused(_) => {
                ApiError::new(ErrorCode::KeyReused, format!("{message}: give each request a key of its own"))
            }
            CallError::OutcomeUnknown => ApiError::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "{message}. Read the object before repeating it, or send an Idempotency-Key next time"
                ),
            ),
            CallError::Store(error) => error.into(),
            CallError::Stopping => stopping(),
        }
    }
}

/// The server does not take this any more.
pub(crate) fn stopping() -> ApiError {
    ApiError::new(
        ErrorCode::Stopping,
        "the server is stopping and did nothing: send it again when it is back",
    )
}

impl From<LeaseLost> for ApiError {
    fn from(error: LeaseLost) -> ApiError {
        match error {
            LeaseLost::NoJob => ApiError::new(ErrorCode::UnknownJob, error.to_string()),
            LeaseLost::Stale(_) => ApiError::new(
                ErrorCode::LeaseLost,
                format!("{error}. Drop this attempt and lease another job"),
            ),
        }
    }
}

impl From<JobRefused> for ApiError {
    fn from(error: JobRefused) -> ApiError {
        match error {
            JobRefused::NoJob => ApiError::new(ErrorCode::UnknownJob, error.to_string()),
            JobRefused::Misfit(_) => ApiError::new(ErrorCode::WrongState, error.to_string()),
        }
    }
}
