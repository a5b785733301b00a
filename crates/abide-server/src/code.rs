//! The closed set of error codes at the edge.

use abide_engine::RefusalClass;
use axum::http::StatusCode;

/// Why a request failed. Each code is documented in `docs/errors.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The request cannot be read.
    BadRequest,
    /// Something in the request is larger than its bound.
    TooLarge,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The request came under a name that is not this machine's.
    ForeignHost,
    /// The request came from a page of another site.
    ForeignOrigin,
    /// The route needs a token that was not shown, or the one shown is not known.
    Unauthorized,
    /// The token's role is too small for the route.
    Forbidden,
    /// There is no such route.
    UnknownRoute,
    /// The route does not take that method.
    MethodNotAllowed,
    /// No object of that kind can be called from outside.
    UnknownKind,
    /// There is no such object.
    UnknownObject,
    /// There is no such ticket, or not any more.
    UnknownTicket,
    /// There is no such job.
    UnknownJob,
    /// There is no such queue.
    UnknownQueue,
    /// There is no such dead letter.
    UnknownDeadLetter,
    /// The object says no, in its own words.
    Refused(RefusalClass),
    /// The object was deleted before it answered.
    Gone,
    /// The object's turn could not go on.
    TurnFailed,
    /// The idempotency key was used for another request.
    KeyReused,
    /// The job is not in a state for that.
    WrongState,
    /// The lease is not the current one.
    LeaseLost,
    /// Too many calls wait for the object.
    Overloaded,
    /// It is not known whether the request took effect.
    OutcomeUnknown,
    /// The disk is full.
    StoreFull,
    /// The store cannot be written.
    StoreReadOnly,
    /// The store did not answer.
    StoreUnavailable,
    /// The store cannot take the write, whatever is tried.
    StoreRejected,
    /// The store is damaged.
    StoreDamaged,
    /// The server is stopping.
    Stopping,
}

impl ErrorCode {
    /// Every code, [`ErrorCode::Refused`] once for each class.
    pub const ALL: [ErrorCode; 33] = [
        ErrorCode::BadRequest,
        ErrorCode::TooLarge,
        ErrorCode::RequestTimeout,
        ErrorCode::ForeignHost,
        ErrorCode::ForeignOrigin,
        ErrorCode::Unauthorized,
        ErrorCode::Forbidden,
        ErrorCode::UnknownRoute,
        ErrorCode::MethodNotAllowed,
        ErrorCode::UnknownKind,
        ErrorCode::UnknownObject,
        ErrorCode::UnknownTicket,
        ErrorCode::UnknownJob,
        ErrorCode::UnknownQueue,
        ErrorCode::UnknownDeadLetter,
        ErrorCode::Refused(RefusalClass::Invalid),
        ErrorCode::Refused(RefusalClass::NotFound),
        ErrorCode::Refused(RefusalClass::Conflict),
        ErrorCode::Refused(RefusalClass::Forbidden),
        ErrorCode::Refused(RefusalClass::TooMany),
        ErrorCode::Gone,
        ErrorCode::TurnFailed,
        ErrorCode::KeyReused,
        ErrorCode::WrongState,
        ErrorCode::LeaseLost,
        ErrorCode::Overloaded,
        ErrorCode::OutcomeUnknown,
        ErrorCode::StoreFull,
        ErrorCode::StoreReadOnly,
        ErrorCode::StoreUnavailable,
        ErrorCode::StoreRejected,
        ErrorCode::StoreDamaged,
        ErrorCode::Stopping,
    ];

    /// The word that programs branch on.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::BadRequest => "bad_request",
            ErrorCode::TooLarge => "too_large",
            ErrorCode::RequestTimeout => "request_timeout",
            ErrorCode::ForeignHost => "foreign_host",
            ErrorCode::ForeignOrigin => "foreign_origin",
            ErrorCode::Unauthorized => "unauthorized",
            ErrorCode::Forbidden => "forbidden",
            ErrorCode::UnknownRoute => "unknown_route",
            ErrorCode::MethodNotAllowed => "method_not_allowed",
            ErrorCode::UnknownKind => "unknown_kind",
            ErrorCode::UnknownObject => "unknown_object",
            ErrorCode::UnknownTicket => "unknown_ticket",
            ErrorCode::UnknownJob => "unknown_job",
            ErrorCode::UnknownQueue => "unknown_queue",
            ErrorCode::UnknownDeadLetter => "unknown_dead_letter",
            ErrorCode::Refused(_) => "refused",
            ErrorCode::Gone => "gone",
            ErrorCode::TurnFailed => "turn_failed",
            ErrorCode::KeyReused => "key_reused",
            ErrorCode::WrongState => "wrong_state",
            ErrorCode::LeaseLost => "lease_lost",
            ErrorCode::Overloaded => "overloaded",
            ErrorCode::OutcomeUnknown => "outcome_unknown",
            ErrorCode::StoreFull => "store_full",
            ErrorCode::StoreReadOnly => "store_read_only",
            ErrorCode::StoreUnavailable => "store_unavailable",
            ErrorCode::StoreRejected => "store_rejected",
            ErrorCode::StoreDamaged => "store_damaged",
            ErrorCode::Stopping => "stopping",
        }
    }

    /// The status of the answer.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            ErrorCode::BadRequest | ErrorCode::Refused(RefusalClass::Invalid) => StatusCode::BAD_REQUEST,
            ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
            ErrorCode::ForeignHost
            | ErrorCode::ForeignOrigin
            | ErrorCode::Forbidden
            | ErrorCode::Refused(RefusalClass::Forbidden) => StatusCode::FORBIDDEN,
            ErrorCode::UnknownRoute
            | ErrorCode::UnknownKind
            | ErrorCode::UnknownObject
            | ErrorCode::UnknownTicket
            | ErrorCode::UnknownJob
            | ErrorCode::UnknownQueue
            | ErrorCode::UnknownDeadLetter
            | ErrorCode::Refused(RefusalClass::NotFound) => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::WrongState | ErrorCode::LeaseLost | ErrorCode::Refused(RefusalClass::Conflict) => {
                StatusCode::CONFLICT
            }
            ErrorCode::Gone => StatusCode::GONE,
            ErrorCode::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::Overloaded | ErrorCode::Refused(RefusalClass::TooMany) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            ErrorCode::TurnFailed
            | ErrorCode::OutcomeUnknown
            | ErrorCode::StoreRejected
            | ErrorCode::StoreDamaged => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorCode::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
            ErrorCode::StoreReadOnly | ErrorCode::StoreUnavailable | ErrorCode::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// Whether the same request may succeed later and did nothing now, so that repeating it is safe.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        match self {
            ErrorCode::RequestTimeout
            | ErrorCode::Refused(RefusalClass::TooMany)
            | ErrorCode::Overloaded
            | ErrorCode::StoreFull
            | ErrorCode::StoreReadOnly
            | ErrorCode::StoreUnavailable
            | ErrorCode::Stopping => true,
            ErrorCode::BadRequest
            | ErrorCode::TooLarge
            | ErrorCode::ForeignHost
            | ErrorCode::ForeignOrigin
            | ErrorCode::Unauthorized
            | ErrorCode::Forbidden
            | ErrorCode::UnknownRoute
            | ErrorCode::MethodNotAllowed
            | ErrorCode::UnknownKind
            | ErrorCode::UnknownObject
            | ErrorCode::UnknownTicket
            | ErrorCode::UnknownJob
            | ErrorCode::UnknownQueue
            | ErrorCode::UnknownDeadLetter
            | ErrorCode::Refused(
                RefusalClass::Invalid
                | RefusalClass::NotFound
                | RefusalClass::Conflict
                | RefusalClass::Forbidden,
            )
            | ErrorCode::Gone
            | ErrorCode::TurnFailed
            | ErrorCode::KeyReused
            | ErrorCode::WrongState
            | ErrorCode::LeaseLost
            | ErrorCode::OutcomeUnknown
            | ErrorCode::StoreRejected
            | ErrorCode::StoreDamaged => false,
        }
    }
}
