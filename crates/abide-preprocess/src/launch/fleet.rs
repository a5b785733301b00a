//! Machines that are there. Those that a launch of this process watches count against the cap, and so do those that nobody
//! watches: started before this process was, or still there when they should be gone. These are looked after here.

use super::begin;
use super::environment::TIMEOUT_MS;
use super::fly::{Fly, Listed, Machines, STARTS};
use crate::calls::AttemptRef;
use crate::jobs;
use crate::service::Service;
use crate::site::Site;
use abide_blob::Signer;
use abide_core::object::Incarnation;
use abide_engine::CallError;
use reqwest::Url;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A look at all machines is taken so much more seldom than at one.
const LOOK_EVERY_POLLS: u32 = 4;
/// How long a machine that was not told may take: no task takes longer by default.
const UNTOLD: Duration = Duration::from_secs(24 * 60 * 60);
/// Looks that fail before machines are started without: whoever may start them may not be allowed to list them.
const LOOKS: u32 = 5;

/// The machines, and how many there may be.
#[derive(Debug)]
pub(crate) struct Fleet {
    cap: usize,
    there: watch::Sender<There>,
}

#[derive(Debug, Default)]
struct There {
    /// Whether it is known what was there before this process.
    is_known: bool,
    /// Launches that are about to have one.
    starting: usize,
    /// Those that launches watch.
    watched: BTreeSet<String>,
    /// Those that nobody watches.
    left: BTreeMap<String, Left>,
}

/// A machine that nobody watches.
#[derive(Debug)]
struct Left {
    app: String,
    /// When that was first seen.
    since: Instant,
}

impl There {
    fn count(&self) -> usize {
        self.starting + self.watched.len() + self.left.len()
    }
}

/// A launch's machine, or that it is about to have one. Dropped when nobody watches it any more.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    fleet: &'a Fleet,
    id: Option<String>,
}

impl Watched<'_> {
    /// It has this one.
    pub(super) fn is(&mut self, id: &str) {
        self.fleet.there.send_modify(|there| {
            if self.id.is_none() {
                there.starting -= 1;
            }
            there.left.remove(id);
            there.watched.insert(id.to_owned());
        });
        self.id = Some(id.to_owned());
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.fleet.there.send_modify(|there| match &self.id {
            Some(id) => drop(there.watched.remove(id)),
            None => there.starting -= 1,
        });
    }
}

impl Fleet {
    pub(crate) fn new(cap: usize) -> Fleet {
        Fleet { cap, there: watch::channel(There::default()).0 }
    }

    /// Room for one machine, once it is known which there are and they are fewer than there may be.
    pub(super) async fn room(&self) -> Watched<'_> {
        let mut there = self.there.subscribe();
        loop {
            // The sender is here as long as we are.
            drop(there.wait_for(|there| there.is_known && there.count() < self.cap).await);
            let taken = self.there.send_if_modified(|there| {
                let has_room = there.count() < self.cap;
                there.starting += usize::from(has_room);
                has_room
            });
            if taken {
                return Watched { fleet: self, id: None };
            }
        }
    }

    /// A machine that was started before and is watched from now on.
    pub(super) fn found(&self, id: &str) -> Watched<'_> {
        self.there.send_modify(|there| {
            there.left.remove(id);
            there.watched.insert(id.to_owned());
        });
        Watched { fleet: self, id: Some(id.to_owned()) }
    }

    /// Looks after what nobody watches, for as long as there is any.
    pub(crate) async fn keep(&self, service: &Service, site: &Site, fly: &Fly) {
        let Ok(client) = super::fly::client() else { return };
        let mut there = self.there.subscribe();
        let mut failures = 0;
        loop {
            // Who was watched until a moment ago may still be there.
            let was_empty = self.there.borrow().count() == 0;
            let looked = Look { fleet: self, service, site, fly, client: &client }.at_all().await;
            failures = if looked { 0 } else { failures + 1 };
            if looked || failures == LOOKS {
                self.there.send_modify(|there| there.is_known = true);
            }
            tokio::time::sleep(fly.poll * LOOK_EVERY_POLLS).await;
            if looked && was_empty {
                drop(there.wait_for(|there| there.count() > 0).await);
            }
        }
    }
}

/// One look at all machines.
struct Look<'a> {
    fleet: &'a Fleet,
    service: &'a Service,
    site: &'a Site,
    fly: &'a Fly,
    client: &'a reqwest::Client,
}

impl Look<'_> {
    /// Whether all could be seen.
    async fn at_all(&self) -> bool {
        let mut are_all_seen = true;
        let apps: BTreeMap<&str, _> = self.fly.apps.values().map(|app| (app.app.as_str(), app)).collect();
        for app in apps.values() {
            let machines = Machines { fly: self.fly, client: self.client, site: self.site, app };
            let Some(listed) = machines.list().await else {
                are_all_seen = false;
                continue;
            };
            let mut seen = BTreeSet::new();
            for machine in listed.into_iter().filter(Listed::is_there) {
                let signer = &self.service.buckets().signer;
                let Some((batch, attempt)) = attempt_of(&machine, signer) else { continue };
                if !self.is_left(&machine.id, &app.app) {
                    continue;
                }
                let noted = Some(machine.id.clone());
                let is_wanted = match begin(self.site, &batch, &attempt, noted).await {
                    Ok(begun) => begun.go,
                    Err(CallError::Refused(_)) => false,
                    // It is looked at again.
                    Err(_) => true,
                };
                // Whoever launched one that ended finds it gone, and tries again.
                let is_over = !is_wanted || machine.has_ended() || self.is_late(&machine);
                if is_over && machines.destroy(&machine.id).await {
                    self.fleet.there.send_modify(|there| drop(there.left.remove(&machine.id)));
                } else {
                    seen.insert(machine.id);
                }
            }
            self.fleet.there.send_modify(|there| {
                there.left.retain(|id, left| left.app != app.app || seen.contains(id));
            });
        }
        are_all_seen
    }

    /// Whether nobody watches it, which is noted.
    fn is_left(&self, id: &str, app: &str) -> bool {
        self.fleet.there.send_if_modified(|there| {
            let is_left = !there.watched.contains(id);
            if is_left {
                let new = || Left { app: app.to_owned(), since: Instant::now() };
                there.left.entry(id.to_owned()).or_insert_with(new);
            }
            is_left
        })
    }

    /// Whether it has been left for longer than its task may take.
    fn is_late(&self, machine: &Listed) -> bool {
        let told = machine.config.env.get(TIMEOUT_MS).and_then(|ms| ms.as_str()?.parse().ok());
        let most = STARTS + told.map_or(UNTOLD, Duration::from_millis);
        self.fleet.there.borrow().left.get(&machine.id).is_some_and(|left| left.since.elapsed() > most)
    }
}

/// Of which attempt of which batch a machine is, if we started it: it is told how to call back, and only we can have signed
/// that.
pub(super) fn attempt_of(machine: &Listed, signer: &Signer) -> Option<(String, AttemptRef)> {
    let url = Url::parse(machine.config.env.get("CALLBACK_URL")?.as_str()?).ok()?;
    let mut segments: Vec<&str> = url.path_segments()?.collect();
    let (task_id, batch) = (segments.pop()?.to_owned(), segments.pop()?.to_owned());
    let query: BTreeMap<_, _> = url.query_pairs().collect();
    let life = Incarnation(query.get("life")?.parse().ok()?);
    let attempt = AttemptRef { life, task_id, attempt: query.get("attempt")?.parse().ok()? };
    jobs::verify(signer, &batch, &attempt, query.get("signature")?).then_some((batch, attempt))
}
