//! Follows: objects that consume the logs of others.

use super::state::State;
use crate::write::Woken;
use abide_core::commit::FollowWrite;
use abide_core::log::Seq;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;

/// One object's place in the log of another. It is a place in the source's present life: when that ends, it goes back
/// to the beginning.
#[derive(Debug, Clone)]
pub(super) struct Follow {
    pub(super) follower: ObjectKey,
    pub(super) cursor: Seq,
    pub(super) failures: u32,
    pub(super) crashes: u32,
    /// Not before this, after a failed turn.
    pub(super) due_at: Option<Time>,
    /// Its event is a dead letter.
    pub(super) stalled: bool,
}

impl State {
    /// Whether there is something for the follow to consume, now or when it is due.
    pub(super) fn is_behind(&self, follow: &Follow, source: &ObjectKey) -> bool {
        !follow.stalled && self.objects.get(source).is_some_and(|source| source.log_head > follow.cursor)
    }

    /// Whether there is something for the follow to consume at `now`.
    pub(super) fn wants_entries(&self, follow: &Follow, source: &ObjectKey, now: Time) -> bool {
        follow.due_at.is_none_or(|due_at| due_at <= now) && self.is_behind(follow, source)
    }

    pub(super) fn write_follow(
        &mut self,
        follower: &ObjectKey,
        life: Incarnation,
        write: &FollowWrite,
        woken: &mut Woken,
    ) {
        match write {
            FollowWrite::Leave { source } => {
                self.follows.remove(&(life, source.clone()));
            }
            FollowWrite::Follow { source, after } => {
                self.follows.entry((life, source.clone())).or_insert_with(|| Follow {
                    follower: follower.clone(),
                    cursor: *after,
                    failures: 0,
                    crashes: 0,
                    due_at: None,
                    stalled: false,
                });
                self.wake_follow(life, source, woken);
            }
        }
    }

    /// Reports a follower if it has entries to consume now.
    pub(super) fn wake_follow(&self, life: Incarnation, source: &ObjectKey, woken: &mut Woken) {
        let follow = self.follows.get(&(life, source.clone()));
        if let Some(follow) = follow.filter(|follow| self.wants_entries(follow, source, self.now)) {
            woken.followers.push(follow.follower.clone());
        }
    }

    /// Reports everybody who has entries of this log to consume now.
    pub(super) fn wake_followers(&self, source: &ObjectKey, woken: &mut Woken) {
        let behind = self
            .follows
            .iter()
            .filter(|((_, of), follow)| of == source && self.wants_entries(follow, source, self.now))
            .map(|(_, follow)| follow.follower.clone());
        woken.followers.extend(behind);
    }

    /// The source was deleted.
    pub(super) fn reset_follows_of(&mut self, source: &ObjectKey) {
        for (_, follow) in self.follows.iter_mut().filter(|((_, of), _)| of == source) {
            follow.cursor = Seq(0);
        }
    }
}
