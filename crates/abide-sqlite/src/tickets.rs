//! Tickets and kept replies: what a caller may ask for later.

use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::commit::{KeyedReply, Reply, TicketWrite};
use abide_core::json::Json;
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::name::IdempotencyKey;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::ticket::{Resolution, Ticket};

const OPEN: &str =
    "INSERT INTO tickets (ticket, incarnation, opened_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const RESOLVE: &str = "UPDATE tickets SET resolution = ?3, resolved_at = ?4
     WHERE ticket = ?1 AND incarnation = ?2 AND resolved_at IS NULL";
const OPEN_OF: &str =
    "SELECT ticket FROM tickets WHERE incarnation = ?1 AND resolved_at IS NULL ORDER BY ticket";
const KEEP: &str = "INSERT OR REPLACE INTO replies (kind, name, key, request, reply, ticket, kept_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const HAS_REPLY: &str = "SELECT 1 FROM replies WHERE kind = ?1 AND name = ?2 AND key = ?3 AND kept_at > ?4";

impl Writer<'_> {
    /// Whether a call with this key took effect before.
    pub(crate) fn has_reply(&self, object: &ObjectKey, key: &IdempotencyKey) -> Outcome<bool> {
        let (kind, name) = (object.kind.as_str(), object.name.as_str());
        let kept_after = self.now.plus_ms(-REPLY_KEPT_MS).0;
        let found = self.db.number(HAS_REPLY, (kind, name, key.as_str(), kept_after))?;
        Ok(found.is_some())
    }

    pub(crate) fn keep_reply(&mut self, object: &ObjectKey, kept: &KeyedReply) -> Outcome<()> {
        let (reply, ticket) = match &kept.reply {
            Reply::Now(reply) => (Some(reply.as_str()), None),
            Reply::Later(ticket) => (None, Some(ticket.as_str())),
        };
        let (kind, name) = (object.kind.as_str(), object.name.as_str());
        let request = request_text(kept.request);
        self.db.run(KEEP, (kind, name, kept.key.as_str(), request, reply, ticket, self.now.0))?;
        self.woken.prune(self.now.plus_ms(REPLY_KEPT_MS));
        Ok(())
    }

    pub(crate) fn write_ticket(&mut self, life: Incarnation, write: &TicketWrite) -> Outcome<()> {
        match write {
            TicketWrite::Open(ticket) => self.db.run(OPEN, (ticket.as_str(), life.0, self.now.0)).map(drop),
            TicketWrite::Resolve(ticket, resolution) => self.resolve(life, ticket, resolution),
        }
    }

    fn resolve(&mut self, life: Incarnation, ticket: &Ticket, resolution: &Resolution) -> Outcome<()> {
        let text = Json::encode(resolution)?;
        if self.db.run(RESOLVE, (ticket.as_str(), life.0, text.as_str(), self.now.0))? == 1 {
            self.woken.tickets.push((ticket.clone(), resolution.clone()));
            self.woken.prune(self.now.plus_ms(REPLY_KEPT_MS));
        }
        Ok(())
    }

    /// The life that opened them is over.
    pub(crate) fn resolve_as_gone(&mut self, life: Incarnation) -> Outcome<()> {
        let open = self.db.all(OPEN_OF, [life.0], |row| Ok(Ticket::trusted(row.text(0)?.to_owned())))?;
        for ticket in open {
            self.resolve(life, &ticket, &Resolution::Gone)?;
        }
        Ok(())
    }
}

/// The digest of a request as it is stored.
fn request_text(digest: u64) -> String {
    format!("{digest:016x}")
}
