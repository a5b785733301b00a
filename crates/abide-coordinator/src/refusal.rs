//! What a coordinator says no with.

use crate::invalid::Invalid;
use crate::limits::ATTEMPTS;
use crate::work::WorkId;
use abide_engine::{Refusal, RefusalClass};

/// What a coordinator says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such item, or not any more.
    #[error("there is no work item {0}")]
    UnknownWork(WorkId),
    /// The result does not come from who processes the item.
    #[error("this is not the proof of attempt {attempt} of work item {work_id}")]
    WrongProof {
        /// Which item.
        work_id: WorkId,
        /// Which attempt.
        attempt: u32,
    },
    /// The item was begun too often.
    #[error("work item {0} was begun {ATTEMPTS} times: submit it again")]
    TooManyAttempts(WorkId),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::UnknownWork(_) => "unknown_work",
            No::WrongProof { .. } => "wrong_proof",
            No::TooManyAttempts(_) => "too_many_attempts",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::UnknownWork(_) => RefusalClass::NotFound,
            No::WrongProof { .. } => RefusalClass::Forbidden,
            No::TooManyAttempts(_) => RefusalClass::Conflict,
        }
    }
}

impl Refusal for Invalid {
    fn code(&self) -> &'static str {
        Invalid::CODE
    }

    fn class(&self) -> RefusalClass {
        RefusalClass::Invalid
    }
}
