//! `sync/{store_id}`: the object that owns a store's log.
//!
//! | row | what |
//! |---|---|
//! | `backend` | the log's id, drawn when the store is first opened, and again after it was restored from a backup |
//! | `wrote/{day}/{key}` | where the log ended after the append with that key, and what it wrote, so that a repeated one changes nothing. Forgotten after a day |
//! | `append/{key}` | the same as it was kept before there were days: forgotten as soon as anything is |

use super::calls::{Ahead, Call, Opened, OtherBackend, Push, Pushed, Reply};
use super::limits::{APPEND_KEY_BYTES, EVENTS_PER_APPEND, EVENTS_PER_MESSAGE, KEYS_FORGOTTEN};
use super::refusal::No;
use crate::event::{Append, POKES, SYNC, ToLinks, ToSync, links};
use crate::hash::hash;
use abide_core::event::{Event, Sender};
use abide_core::json::Json;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Record, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The row that has the log's id. A copy of the log that goes its own way must not have it.
pub const BACKEND: &str = "backend";
const WROTE: &str = "wrote/";
const WROTE_BEFORE: &str = "append/";
/// Forgets old keys of appends.
const FORGET: &str = "forget";
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The kind of object that owns a store's log.
#[derive(Debug, Clone, Copy)]
pub struct SyncLog {
    on_new_links: OnNewLinks,
}

/// What a log does about events that bring work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnNewLinks {
    PokeTheProcessor,
    Nothing,
}

/// What a repeated key of an append says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// That it is the same append: authors inside draw ids and times anew when they write again what they wrote.
    IsTheSame,
    /// That it should be, which is looked at.
    IsCompared,
}

/// What is known of an append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Wrote {
    /// Where the log ended after it.
    Head(i64),
    /// And what it was.
    Of { head: i64, digest: String },
}

impl Record for Wrote {}

impl SyncLog {
    /// A log and nothing else.
    #[must_use]
    pub fn alone() -> SyncLog {
        SyncLog { on_new_links: OnNewLinks::Nothing }
    }

    /// A log that pokes the store's link processor, which must be registered too.
    #[must_use]
    pub fn with_processor() -> SyncLog {
        SyncLog { on_new_links: OnNewLinks::PokeTheProcessor }
    }

    fn push(&self, turn: &mut Turn<'_>, push: Push) -> Result<Reply, Halt<No>> {
        let expected = backend_id(turn)?;
        if let Some(received) = push.backend_id.filter(|received| *received != expected) {
            return Ok(Reply::OtherBackend(OtherBackend { expected, received }));
        }
        let head = turn.log_head().0;
        let Some(first) = push.batch.first() else { return Ok(Reply::Appended { head }) };
        if push.batch.len() > EVENTS_PER_MESSAGE {
            return Err(No::LargePush(push.batch.len()).into());
        }
        if first.parent_seq_num != head {
            let ahead = Ahead { minimum_expected_num: head, provided_num: first.parent_seq_num };
            return Ok(Reply::Ahead(ahead));
        }
        follow_each_other(&push.batch, head)?;
        for event in &push.batch {
            turn.append(event)?;
        }
        self.poke(turn, push.batch.iter().map(|event| event.name.as_str()))?;
        Ok(Reply::Appended { head: turn.log_head().0 })
    }

    fn append(&self, turn: &mut Turn<'_>, append: &Append, repeat: Repeat) -> Result<Reply, Halt<No>> {
        backend_id(turn)?;
        if append.key.is_empty() || append.key.len() > APPEND_KEY_BYTES {
            return Err(No::BadKey(append.key.len()).into());
        }
        let names = append.events.iter().map(|event| ("the name of an event", &event.name));
        let authors = [("clientId", &append.client_id), ("sessionId", &append.session_id)];
        if let Some((what, _)) = authors.into_iter().chain(names).find(|(_, text)| text.is_empty()) {
            return Err(No::Empty(what).into());
        }
        if append.events.len() > EVENTS_PER_APPEND {
            return Err(No::LargeAppend(append.events.len()).into());
        }
        let today = day(turn.now());
        // Both are read before either counts: what is not in memory is loaded at once.
        let [of_today, of_yesterday] =
            [today, today - 1].map(|day| turn.get::<Wrote>(&wrote(day, &append.key)));
        let digest = match repeat {
            Repeat::IsTheSame => None,
            Repeat::IsCompared => Some(digest(append)?),
        };
        match (of_today?.or(of_yesterday?), &digest) {
            (Some(Wrote::Of { digest, .. }), Some(other)) if digest != *other => {
                return Err(No::KeyReused(append.key.clone()).into());
            }
            (Some(Wrote::Of { head, .. } | Wrote::Head(head)), _) => return Ok(Reply::Appended { head }),
            (None, _) => {}
        }
        for event in &append.events {
            let before = turn.log_head().0;
            turn.append(&Pushed {
                name: event.name.clone(),
                args: Some(event.args.clone()),
                seq_num: before + 1,
                parent_seq_num: before,
                client_id: append.client_id.clone(),
                session_id: append.session_id.clone(),
            })?;
        }
        let head = turn.log_head().0;
        let written = digest.map_or(Wrote::Head(head), |digest| Wrote::Of { head, digest });
        turn.put(&wrote(today, &append.key), &written)?;
        if turn.alarm(FORGET)?.is_none() {
            let at = turn.now().plus_ms(2 * DAY_MS);
            turn.set_alarm(FORGET, at)?;
        }
        self.poke(turn, append.events.iter().map(|event| event.name.as_str()))?;
        Ok(Reply::Appended { head })
    }

    /// Wakes the processor if there may be something to do. It gets no data: it looks for itself.
    fn poke<'a>(
        &self,
        turn: &mut Turn<'_>,
        mut names: impl Iterator<Item = &'a str>,
    ) -> Result<(), Halt<No>> {
        match self.on_new_links {
            OnNewLinks::PokeTheProcessor if names.any(|name| POKES.contains(&name)) => {
                let processor = links(turn.object().name.as_str())?;
                Ok(turn.send(&processor, &ToLinks::Poke)?)
            }
            OnNewLinks::PokeTheProcessor | OnNewLinks::Nothing => Ok(()),
        }
    }
}

impl Object for SyncLog {
    const KIND: &'static str = SYNC;
    type Call = Call;
    type Reply = Reply;
    type Message = ToSync;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::Open => {
                let backend_id = backend_id(turn)?;
                Reply::Opened(Opened { backend_id, head: turn.log_head().0, life: turn.incarnation() })
            }
            Call::Push(push) => self.push(turn, push)?,
            Call::Append(append) => self.append(turn, &append, Repeat::IsCompared)?,
        };
        Ok(reply.into())
    }

    fn message(&self, turn: &mut Turn<'_>, from: Option<&Sender>, message: ToSync) -> Result<(), Halt<No>> {
        match message {
            ToSync::Append(append) => self.append(turn, &append, Repeat::IsTheSame).map(drop),
            ToSync::AskHead { session } => match from {
                Some(asker) => {
                    let head = turn.log_head().0;
                    Ok(turn.answer(asker, &ToLinks::Head { session, head })?)
                }
                None => Ok(()),
            },
        }
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<No>> {
        if name == FORGET { forget(turn) } else { Ok(()) }
    }

    fn prefetch(&self, _event: &Event) -> Vec<String> {
        vec![BACKEND.to_owned()]
    }
}

fn day(at: Time) -> i64 {
    at.0.div_euclid(DAY_MS)
}

fn wrote(day: i64, key: &str) -> String {
    format!("{WROTE}{day:08}/{key}")
}

/// What tells an append from others.
fn digest(append: &Append) -> Result<String, Halt<No>> {
    Ok(hash(Json::encode(append)?.as_str()))
}

/// Forgets keys of appends of which nobody asks any more, so many at a time; later again while there are others.
fn forget(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let yesterday = wrote(day(turn.now()) - 1, "");
    let mut kept: Vec<(String, Value)> = turn.scan(WROTE_BEFORE, None, KEYS_FORGOTTEN)?;
    kept.extend(turn.scan::<Value>(WROTE, None, KEYS_FORGOTTEN - kept.len())?);
    let is_old = |key: &&String| key.starts_with(WROTE_BEFORE) || **key < yesterday;
    let old: Vec<&String> = kept.iter().map(|(key, _)| key).filter(is_old).collect();
    old.iter().for_each(|key| turn.delete(key));
    if !kept.is_empty() {
        let is_all = old.len() < kept.len();
        let at = turn.now().plus_ms(if is_all { DAY_MS } else { 1 });
        turn.set_alarm(FORGET, at)?;
    }
    Ok(())
}

/// The log's id. The first who asks makes it.
fn backend_id(turn: &mut Turn<'_>) -> Result<String, Halt<No>> {
    if let Some(id) = turn.get::<String>(BACKEND)? {
        return Ok(id);
    }
    let id = turn.seed().hex128();
    turn.put(BACKEND, &id)?;
    Ok(id)
}

fn follow_each_other(batch: &[Pushed], head: i64) -> Result<(), No> {
    let mut before = head;
    for (place, event) in batch.iter().enumerate() {
        let Pushed { seq_num, parent_seq_num, .. } = *event;
        if parent_seq_num != before || seq_num != before + 1 {
            return Err(No::NotContiguous {
                at: place + 1,
                seq_num,
                parent_seq_num,
                expected: before + 1,
                before,
            });
        }
        before = seq_num;
    }
    Ok(())
}
