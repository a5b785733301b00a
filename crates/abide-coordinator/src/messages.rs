//! Messages between coordinator and processor.

use crate::stamp::Stamp;
use crate::work::{ProcessorResult, WorkId, WorkPayload};
use abide_core::object::Incarnation;
use serde::{Deserialize, Serialize};

/// What a processor is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToProcessor {
    /// Process this item, count it and answer.
    Process(Work),
    /// This item was processed elsewhere: count it and answer.
    Count(Work),
    /// Do not process this item.
    Cancel {
        /// Which.
        work_id: WorkId,
    },
    /// These items are gone.
    Forget {
        /// Which.
        work_ids: Vec<WorkId>,
    },
    /// All items of a coordinator's life are gone.
    ForgetLife {
        /// Which life.
        life: Incarnation,
    },
}

/// An item on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Which.
    pub work_id: WorkId,
    /// Which attempt.
    pub attempt: u32,
    /// What it is about.
    pub payload: WorkPayload,
    /// Where it passed when.
    pub timestamps: Vec<Stamp>,
}

/// What a coordinator is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToCoordinator {
    /// By itself: begin these items.
    Begin {
        /// Which.
        work_ids: Vec<WorkId>,
    },
    /// By a processor: this came of an item.
    Processed {
        /// Which.
        work_id: WorkId,
        /// Which attempt.
        attempt: u32,
        /// What.
        result: ProcessorResult,
    },
}
