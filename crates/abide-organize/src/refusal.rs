//! What an organizer says no with.

use crate::contract::BadRequest;
use abide_engine::{Refusal, RefusalClass};

/// The request cannot be done, by the caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct No(#[from] pub BadRequest);

impl Refusal for No {
    fn code(&self) -> &'static str {
        "bad_request"
    }

    fn class(&self) -> RefusalClass {
        RefusalClass::Invalid
    }
}
