//! Commits: a turn's one value, applied whole or not at all.

use crate::error::Outcome;
use crate::messages::Draft;
use crate::writer::Writer;
use abide_core::commit::{Commit, Ending};
use abide_core::event::{Consumes, MessageBody, Sender};
use abide_core::job::Owner;
use abide_core::object::Fence;
use abide_store::write::{Receipt, Refused};

impl Writer<'_> {
    pub(crate) fn commit(&mut self, commit: &Commit) -> Outcome<Result<Receipt, Refused>> {
        if let Some(reply) = &commit.keyed_reply
            && self.has_reply(&commit.object, &reply.key)?
        {
            return Ok(Err(Refused::Moved));
        }
        let receipt = match (commit.ending, commit.fence) {
            (Ending::Stays, Fence::At { .. }) if matches!(commit.consumes, Consumes::Call) => {
                // Nothing is consumed, so nothing has to be looked at before the fence moves.
                self.go_on(commit)?
            }
            (ending, _) => {
                if let Err(refused) = self.check_fence(&commit.object, &commit.fence)? {
                    return Ok(Err(refused));
                }
                if !self.consume(commit)? {
                    return Ok(Err(Refused::EventGone));
                }
                match ending {
                    Ending::Stays => self.go_on(commit)?,
                    Ending::Deleted => Some(self.end(commit)?),
                }
            }
        };
        let Some(receipt) = receipt else { return Ok(Err(Refused::Moved)) };
        if let Some(reply) = &commit.keyed_reply {
            self.keep_reply(&commit.object, reply)?;
        }
        self.send_messages(commit)?;
        Ok(Ok(receipt))
    }

    /// Takes the event away; whether it was there. Writes nothing if it was not.
    fn consume(&mut self, commit: &Commit) -> Outcome<bool> {
        let life = commit.fence.incarnation();
        match &commit.consumes {
            Consumes::Call => Ok(true),
            Consumes::Message(id) => self.consume_message(*id, &commit.object),
            Consumes::Alarm { name, set_version } => self.consume_alarm(life, name, *set_version),
            Consumes::Entries { source, source_incarnation, from, to } => {
                self.consume_entries(life, source, *source_incarnation, *from, *to)
            }
        }
    }

    /// The object goes on, or begins. None if it is not where the fence says.
    fn go_on(&mut self, commit: &Commit) -> Outcome<Option<Receipt>> {
        let life = commit.fence.incarnation();
        let head = match commit.fence {
            Fence::Absent { .. } if !commit.keeps_state() => {
                return Ok(Some(Receipt { version: None, jobs: Vec::new() }));
            }
            Fence::Absent { .. } => self.create_object(commit)?,
            Fence::At { incarnation, version, by } => {
                match self.advance_object(commit, (incarnation, version, by))? {
                    Some(head) => head,
                    None => return Ok(None),
                }
            }
        };
        self.write_rows(life, &commit.rows)?;
        self.write_alarms(commit)?;
        for follow in &commit.follows {
            self.write_follow(&commit.object, life, follow)?;
        }
        self.append(commit, head)?;
        for ticket in &commit.tickets {
            self.write_ticket(life, ticket)?;
        }
        for key in &commit.cancels {
            self.cancel_owned(life, key)?;
        }
        let owner = Owner { object: commit.object.clone(), incarnation: life };
        let jobs = self.enqueue_all(&commit.jobs, Some(&owner))?;
        Ok(Some(Receipt { version: Some(commit.fence.version_after()), jobs }))
    }

    /// The object ends. Of what the commit writes only tickets count, so that whoever was promised an answer gets one.
    fn end(&mut self, commit: &Commit) -> Outcome<Receipt> {
        let life = commit.fence.incarnation();
        for ticket in &commit.tickets {
            self.write_ticket(life, ticket)?;
        }
        match commit.fence {
            Fence::At { .. } => self.delete_object(&commit.object, life)?,
            Fence::Absent { .. } => self.resolve_as_gone(life)?,
        }
        Ok(Receipt { version: None, jobs: Vec::new() })
    }

    fn send_messages(&mut self, commit: &Commit) -> Outcome<()> {
        let from = Sender { object: commit.object.clone(), incarnation: commit.fence.incarnation() };
        for outgoing in &commit.messages {
            self.send(Draft {
                to: outgoing.to.clone(),
                to_incarnation: outgoing.to_incarnation,
                from: Some(from.clone()),
                body: MessageBody::Sent(outgoing.body.clone()),
                trace: outgoing.trace.clone(),
            })?;
        }
        Ok(())
    }
}
