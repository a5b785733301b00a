//! Tickets and kept replies: what a caller may ask for later.

use super::state::State;
use crate::view::TicketView;
use crate::write::Woken;
use abide_core::commit::{KeyedReply, TicketWrite};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::name::IdempotencyKey;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::ticket::{Resolution, Ticket};
use abide_core::time::Time;

/// A ticket.
#[derive(Debug, Clone)]
pub(super) enum TicketState {
    /// Opened by this life.
    Open(Incarnation),
    /// Resolved then.
    Resolved(Resolution, Time),
}

/// A reply and when it was kept.
#[derive(Debug, Clone)]
pub(super) struct KeptReply {
    pub(super) reply: KeyedReply,
    pub(super) kept_at: Time,
}

/// When what was kept at an instant is kept no more.
pub(super) fn kept_until(kept_at: Time) -> Time {
    kept_at.plus_ms(REPLY_KEPT_MS)
}

impl State {
    pub(super) fn keep_reply(&mut self, object: &ObjectKey, reply: &KeyedReply, woken: &mut Woken) {
        let kept = KeptReply { reply: reply.clone(), kept_at: self.now };
        self.replies.insert((object.clone(), reply.key.clone()), kept);
        woken.prune(kept_until(self.now));
    }

    pub(super) fn kept_reply(
        &self,
        object: &ObjectKey,
        key: &IdempotencyKey,
        now: Time,
    ) -> Option<KeyedReply> {
        let kept = self.replies.get(&(object.clone(), key.clone()))?;
        (kept_until(kept.kept_at) > now).then(|| kept.reply.clone())
    }

    pub(super) fn write_ticket(&mut self, life: Incarnation, write: &TicketWrite, woken: &mut Woken) {
        match write {
            TicketWrite::Open(ticket) => {
                self.tickets.entry(ticket.clone()).or_insert(TicketState::Open(life));
            }
            TicketWrite::Resolve(ticket, resolution) => self.resolve(life, ticket, resolution, woken),
        }
    }

    fn resolve(&mut self, life: Incarnation, ticket: &Ticket, resolution: &Resolution, woken: &mut Woken) {
        let Some(state) = self.tickets.get_mut(ticket) else { return };
        if matches!(state, TicketState::Open(opened_by) if *opened_by == life) {
            *state = TicketState::Resolved(resolution.clone(), self.now);
            woken.tickets.push((ticket.clone(), resolution.clone()));
            woken.prune(kept_until(self.now));
        }
    }

    /// The life that opened them is over.
    pub(super) fn resolve_as_gone(&mut self, life: Incarnation, woken: &mut Woken) {
        let tickets: Vec<Ticket> = self.tickets.keys().cloned().collect();
        for ticket in tickets {
            self.resolve(life, &ticket, &Resolution::Gone, woken);
        }
    }

    pub(super) fn ticket_view(&self, ticket: &Ticket, now: Time) -> Option<TicketView> {
        match self.tickets.get(ticket)? {
            TicketState::Open(_) => Some(TicketView::Open),
            TicketState::Resolved(resolution, at) => {
                (kept_until(*at) > now).then(|| TicketView::Resolved(resolution.clone()))
            }
        }
    }
}
