//! A client that is not let in, as the routes for people say it.

use crate::code::ErrorCode;
use crate::error::ApiError;
use abide_engine::RefusalClass;
use abide_links::auth::Denied;

/// The error for somebody who may not.
pub(crate) fn denied(denied: &Denied) -> ApiError {
    match denied {
        Denied::Missing
        | Denied::NoTokens
        | Denied::BadToken(_)
        | Denied::UnknownKey
        | Denied::NotAMember => {
            let code = ErrorCode::Refused(RefusalClass::Forbidden);
            ApiError::refused(code, "access_denied", denied.to_string())
        }
        Denied::Unavailable(_) => ApiError::new(ErrorCode::StoreUnavailable, denied.to_string()),
    }
}
