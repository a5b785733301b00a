//! Descriptions: a text for each directory, from its metadata, its texts and the descriptions of its children.

use super::{Order, Phase, Taken, lost, written};
use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::orders::DESCRIBE;
use crate::refusal::No;
use crate::status::PhaseName;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

pub(crate) struct Description;

impl Phase for Description {
    fn order(&self) -> Order {
        Order::BottomUp
    }

    fn window(&self, options: &Options) -> u32 {
        options.batch_size_description
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
        if let Some(lost) = lost(node) {
            return Ok(lost);
        }
        if !node.processing_config.describe {
            return Ok(Taken::Through(End::Skipped(Some("describe is false".to_owned()))));
        }
        let order = flow.order(node)?;
        flow.enqueue(&JobKey::new(PhaseName::Description, node, "write"), DESCRIBE, &order)?;
        Ok(Taken::InHand)
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        node: Node,
        _key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        written(flow, node, PhaseName::Description, outcome)
    }
}
