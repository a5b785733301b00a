//! The knowledge graph: accepted and skipped.

use super::{Order, Phase, Taken};
use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::refusal::No;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

/// What people are told whose batch asks for it.
const SKIPPED: &str = "CHEIMARROS_EXTRACTION is skipped: nothing here extracts knowledge graphs";

pub(crate) struct Cheimarros;

impl Phase for Cheimarros {
    fn order(&self) -> Order {
        Order::Any
    }

    fn window(&self, _options: &Options) -> u32 {
        1
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
        if node.processing_config.cheimarros && !flow.state.notes.iter().any(|note| note == SKIPPED) {
            flow.state.note(SKIPPED);
        }
        Ok(Taken::Through(End::Skipped(None)))
    }

    fn ended(
        &self,
        _flow: &mut Flow<'_, '_>,
        _node: Node,
        _key: &JobKey,
        _outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        Ok(())
    }
}
