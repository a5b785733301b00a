//! The knowledge graph: accepted and skipped.

use super::{Order, Phase, Taken};
use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::refusal::No;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

pub(crate) struct Cheimarros;

impl Phase for Cheimarros {
    fn order(&self) -> Order {
        Order::Any
    }

    fn window(&self, _options: &Options) -> u32 {
        1
    }

    fn note(&self) -> Option<String> {
        Some("CHEIMARROS_EXTRACTION is skipped: nothing here extracts knowledge graphs".to_owned())
    }

    fn take(&self, _flow: &mut Flow<'_, '_>, _node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
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
