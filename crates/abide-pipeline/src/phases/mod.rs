//! The phases of a batch, one file each behind one interface.

mod cheimarros;
mod description;
pub(crate) mod discovery;
mod ocr;
mod pinax;
pub(crate) mod reorganization;
pub(crate) mod waiting;
mod writing;

use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::orders::Published;
use crate::refusal::No;
use crate::status::PhaseName;
use abide_core::job::{JobOutcome, JobState};
use abide_engine::Halt;

/// In which order nodes are taken in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they come.
    Any,
    /// A parent after all its children.
    BottomUp,
}

/// What came of taking a node in hand.
pub(crate) enum Taken {
    /// Jobs or requests about it are under way.
    InHand,
    /// The same, and it waits for room for more.
    InPart,
    /// Nothing is to be done any more.
    Through(End),
}

/// A phase.
pub(crate) trait Phase: Sync {
    /// In which order nodes are taken in hand.
    fn order(&self) -> Order;

    /// Jobs and requests at a time.
    fn window(&self, options: &Options) -> u32;

    /// Goes on with what is held up; `room` says how many jobs or requests may begin.
    fn resume(&self, _flow: &mut Flow<'_, '_>, _room: u32) -> Result<(), Halt<No>> {
        Ok(())
    }

    /// Takes a node in hand; `room` says how many jobs or requests may begin.
    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, room: u32) -> Result<Taken, Halt<No>>;

    /// A job about a node is over.
    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        node: Node,
        key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>>;
}

/// The phase of that name.
pub(crate) fn of(phase: PhaseName) -> &'static dyn Phase {
    match phase {
        PhaseName::Discovery => &discovery::Discovery,
        PhaseName::Ocr => &ocr::OcrPhase,
        PhaseName::Reorganization => &reorganization::Reorganization,
        PhaseName::Pinax => &pinax::PINAX,
        PhaseName::Cheimarros => &cheimarros::Cheimarros,
        PhaseName::Description => &description::DESCRIPTION,
    }
}

/// Why nothing more can be done with a node, if that is so.
fn lost(node: &Node) -> Option<Taken> {
    let has_no_entity = node.phase_errors.contains_key(PhaseName::Discovery.as_str());
    has_no_entity.then(|| Taken::Through(End::Skipped(Some("its entity could not be made".to_owned()))))
}

/// What a job published, or why it did not.
fn published(outcome: &JobOutcome) -> Result<Published, String> {
    match (&outcome.state, &outcome.result) {
        (JobState::Done, Some(result)) => result.decode().map_err(|error| error.0),
        (state, _) => Err(outcome.reason.clone().unwrap_or_else(|| format!("its job was {state}"))),
    }
}
