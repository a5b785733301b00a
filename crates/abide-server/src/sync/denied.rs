//! A client that is not let in, as the routes for people say it.

use crate::code::ErrorCode;
use crate::error::ApiError;
use abide_engine::RefusalClass;
use abide_links::auth::Denied;

/// The error for somebody who may not: 401 if it is not known who they are, 403 if it is.
pub(crate) fn denied(denied: &Denied) -> ApiError {
    match denied {
        Denied::Missing | Denied::NoTokens | Denied::BadToken(_) | Denied::UnknownKey => {
            ApiError::new(ErrorCode::Unauthorized, denied.to_string())
        }
        Denied::NotAMember => forbidden(denied.to_string()),
        Denied::Unavailable(_) => ApiError::new(ErrorCode::StoreUnavailable, denied.to_string()),
    }
}

/// The error for somebody who is known and may not.
pub(crate) fn forbidden(message: String) -> ApiError {
    ApiError::refused(ErrorCode::Refused(RefusalClass::Forbidden), "access_denied", message)
}
