//! What the phases have in common that write a component of each directory, from the bottom up.

use super::{Order, Phase, Taken, lost, published};
use crate::away;
use crate::config::ProcessingConfig;
use crate::flow::{End, Flow, JobKey};
use crate::node::Node;
use crate::options::Options;
use crate::refusal::No;
use crate::rows::{self, MadeRow};
use crate::status::PhaseName;
use abide_core::job::JobOutcome;
use abide_engine::Halt;

/// A phase that writes a component of each directory.
pub(super) struct Writing {
    pub(super) phase: PhaseName,
    /// The kind of its jobs.
    pub(super) job: &'static str,
    /// Jobs at a time.
    pub(super) window: fn(&Options) -> u32,
    /// Whether a directory is to have it.
    pub(super) is_wanted: fn(&ProcessingConfig) -> bool,
    /// Why one has not.
    pub(super) unwanted: &'static str,
}

impl Phase for Writing {
    fn order(&self) -> Order {
        Order::BottomUp
    }

    fn window(&self, options: &Options) -> u32 {
        (self.window)(options)
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, _room: u32) -> Result<Taken, Halt<No>> {
        if let Some(lost) = lost(node) {
            return Ok(lost);
        }
        if !(self.is_wanted)(&node.processing_config) {
            return Ok(Taken::Through(End::Skipped(Some(self.unwanted.to_owned()))));
        }
        if flow.options.away.does(self.phase) {
            away::send(flow, node, self.phase)?;
            return Ok(Taken::InHand);
        }
        let order = flow.order(node)?;
        flow.enqueue(&JobKey::new(self.phase, node, "write"), self.job, &order)?;
        Ok(Taken::InHand)
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        mut node: Node,
        _key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        let made = rows::made_key(self.phase, node.place);
        let paid = flow.turn.get::<MadeRow>(&made)?.map(|made| made.spent);
        flow.turn.delete(&made);
        if outcome.attempt > 1 {
            node.retry_counts.insert(self.phase.as_str().to_owned(), outcome.attempt - 1);
        }
        let end = match published(outcome) {
            Ok(published) => {
                flow.state.cost.add(&published.spent);
                for warning in published.warnings {
                    flow.state.note(format!("{}: {warning}", node.path));
                }
                node.current_tip = Some(published.tip);
                node.current_version = Some(published.ver);
                End::Done
            }
            Err(reason) => {
                // What was made and could not be published was paid for as well.
                paid.into_iter().for_each(|spent| flow.state.cost.add(&spent));
                End::Failed(reason)
            }
        };
        flow.through(&mut node, self.phase, end)
    }
}
