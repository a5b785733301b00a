//! Tickets: every one that was given out is answered, or gone with its object.

use crate::counts::Counts;
use crate::outcome::{Violation, holds};
use abide_core::commit::{Commit, TicketWrite};
use abide_core::ticket::{Resolution, Ticket};
use std::collections::BTreeMap;

/// Every ticket, and whether it was resolved.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    opened: BTreeMap<Ticket, bool>,
}

impl Tickets {
    pub(super) fn written(&mut self, commit: &Commit) {
        for write in &commit.tickets {
            if let TicketWrite::Open(ticket) = write {
                self.opened.entry(ticket.clone()).or_insert(false);
            }
        }
    }

    pub(super) fn resolved(
        &mut self,
        ticket: &Ticket,
        resolution: &Resolution,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        counts.one(match resolution {
            Resolution::Gone => "ticket: gone",
            Resolution::Reply(_) | Resolution::Refused { .. } => "ticket: resolved",
        });
        let was = self.opened.insert(ticket.clone(), true);
        holds("a ticket is resolved once", was == Some(false), || format!("{ticket} was {was:?} before"))
    }

    /// Whether a ticket that a caller was given is durable.
    pub(crate) fn is_known(&self, ticket: &Ticket) -> bool {
        self.opened.contains_key(ticket)
    }

    /// Tickets that nobody has answered.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Ticket> {
        self.opened.iter().filter(|(_, resolved)| !**resolved).map(|(ticket, _)| ticket)
    }
}
