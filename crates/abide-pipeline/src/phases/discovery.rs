//! Files become entities: each directory one, with its files as components, under its parent.

use super::{Order, Phase, Taken, published};
use crate::flow::{End, Flow, JobKey};
use crate::node::{FileRecord, Node};
use crate::options::Options;
use crate::orders::{SNAPSHOT, SnapshotOrder};
use crate::refusal::No;
use crate::rows;
use crate::status::PhaseName;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

pub(crate) struct Discovery;

impl Phase for Discovery {
    fn order(&self) -> Order {
        Order::BottomUp
    }

    fn window(&self, options: &Options) -> u32 {
        options.batch_size_discovery
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
        if node.existed {
            return Ok(Taken::Through(End::Done));
        }
        let order = SnapshotOrder { node: flow.order(node)?, phase: PhaseName::Discovery };
        flow.enqueue(&JobKey::new(PhaseName::Discovery, node, "snapshot"), SNAPSHOT, &order)?;
        Ok(Taken::InHand)
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        mut node: Node,
        _key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        match published(outcome) {
            Ok(published) => {
                node.current_tip = Some(published.tip);
                node.current_version = Some(published.ver);
                flow.through(&mut node, PhaseName::Discovery, End::Done)
            }
            Err(reason) => {
                let left = open_files(flow, node.place)?;
                flow.state.files.open -= left;
                flow.state.files.failed += left;
                flow.through(&mut node, PhaseName::Discovery, End::Failed(reason))
            }
        }
    }
}

/// Files of a node that nothing became of.
pub(crate) fn open_files(flow: &mut Flow<'_, '_>, place: u32) -> Result<u64, Halt<No>> {
    const PAGE: usize = 1_000;
    let (mut open, mut after): (u64, Option<String>) = (0, None);
    loop {
        let page = flow.turn.scan::<FileRecord>(&rows::files_prefix(place), after.as_deref(), PAGE)?;
        open += page.iter().filter(|(_, file)| file.is_open()).count() as u64;
        match page.last() {
            Some((key, _)) if page.len() == PAGE => after = Some(key.clone()),
            _ => return Ok(open),
        }
    }
}
