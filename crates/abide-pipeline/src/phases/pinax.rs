//! Metadata: a record for each directory, from its texts and the records of its children.

use super::{Order, Phase, Taken, lost, written};
use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::orders::PINAX;
use crate::refusal::No;
use crate::status::PhaseName;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

pub(crate) struct Pinax;

impl Phase for Pinax {
    fn order(&self) -> Order {
        Order::BottomUp
    }

    fn window(&self, options: &Options) -> u32 {
        options.batch_size_pinax
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
        if let Some(lost) = lost(node) {
            return Ok(lost);
        }
        if !node.processing_config.pinax {
            return Ok(Taken::Through(End::Skipped(Some("pinax is false".to_owned()))));
        }
        let order = flow.order(node)?;
        flow.enqueue(&JobKey::new(PhaseName::Pinax, node, "write"), PINAX, &order)?;
        Ok(Taken::InHand)
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        node: Node,
        _key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        written(flow, node, PhaseName::Pinax, outcome)
    }
}
