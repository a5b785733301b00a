//! Workers as machines of Fly: one for each attempt, asked about until it is gone.

use super::environment::Environment;
use super::fleet::{Fleet, attempt_of};
use super::{Run, begin, not_told};
use crate::callback::Waiting;
use crate::jobs::{Ended, Order};
use crate::metrics::Started;
use crate::site::Site;
use abide_blob::{BlobError, Signer};
use abide_core::time::Time;
use abide_engine::{CallError, JobContext};
use abide_fetch::certificates;
use abide_fetch::retry_after::retry_after_ms;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Where machines of one kind of work come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlyApp {
    /// The app.
    pub app: String,
    /// The image that its machines run.
    pub image: String,
}

/// Starts machines.
#[derive(Clone)]
pub struct Fly {
    /// The API: `https://api.machines.dev`.
    pub api_base: String,
    /// Who asks.
    pub token: String,
    /// Where machines run.
    pub region: String,
    /// By the word that says what is to be done.
    pub apps: BTreeMap<String, FlyApp>,
    /// How often a machine is asked about.
    pub poll: Duration,
}

impl std::fmt::Debug for Fly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fly").field("api_base", &self.api_base).field("apps", &self.apps).finish()
    }
}

/// What a machine has: two cores of its own kind.
const CPUS: u32 = 2;
/// How long one request may take.
const TAKES: Duration = Duration::from_secs(30);
/// How long nothing is started after a 429 that does not say.
const REST_MS: i64 = 10_000;
/// How long a machine may take until it runs, beside the time of its task: an image is brought to it first.
pub(super) const STARTS: Duration = Duration::from_secs(5 * 60);
/// How long a machine may be unknown to the API before it counts as lost.
const UNREACHED: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct Machine {
    id: String,
    #[serde(default)]
    state: String,
}

/// A machine as it is listed.
#[derive(Deserialize)]
pub(super) struct Listed {
    pub(super) id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    pub(super) config: ListedConfig,
}

#[derive(Default, Deserialize)]
pub(super) struct ListedConfig {
    #[serde(default)]
    pub(super) env: serde_json::Map<String, serde_json::Value>,
}

impl Listed {
    /// Whether it takes up a place.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.state.as_str(), "destroyed" | "destroying")
    }

    /// Whether it will do nothing more.
    pub(super) fn has_ended(&self) -> bool {
        is_gone(&self.state)
    }
}

/// What a run of a machine needs beside its order.
pub(super) struct Reach<'a> {
    pub(super) site: &'a Site,
    pub(super) client: &'a reqwest::Client,
    pub(super) fleet: &'a Fleet,
    /// What we sign callbacks with.
    pub(super) signer: &'a Signer,
    /// Its callback, as soon as it comes here.
    pub(super) heard: Waiting<'a>,
}

/// What asks the API.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    certificates::client(|| reqwest::Client::builder().timeout(TAKES))
}

/// What became of a request.
enum Asked<T> {
    Got(T),
    Missing,
    Conflict,
    TooMany { rest_ms: i64 },
    Failed(String),
}

impl Fly {
    /// Watches the machine of an attempt, which is started if none is known; `started` is called once there is one.
    pub(super) async fn run(
        &self,
        reach: &Reach<'_>,
        order: &Order,
        environment: impl Future<Output = Result<Environment, BlobError>> + Send,
        known: Option<String>,
        job: &mut JobContext,
        started: impl FnOnce(Started) + Send,
    ) -> Run {
        let not_started = |reason: String| Run::NotStarted { reason, rest_ms: None };
        let Some(app) = self.apps.get(&order.tag) else {
            return not_started(format!("no Fly app is configured for {}", order.tag));
        };
        let machines = Machines { fly: self, client: reach.client, site: reach.site, app };
        let (id, _watched) = match known {
            Some(id) => {
                let watched = reach.fleet.found(&id);
                started(Started::Before);
                (id, watched)
            }
            None => {
                let mut watched = tokio::select! {
                    () = job.stopped() => return Run::Stopped,
                    room = reach.fleet.room() => room,
                };
                // Room may have come because nothing is to be done any more.
                match begin(reach.site, order.batch_id.as_str(), &order.attempt, None).await {
                    Ok(begun) if begun.go => {}
                    Ok(_) => return Run::Over,
                    Err(error) => return unasked(error),
                }
                let environment = match environment.await {
                    Ok(environment) => environment,
                    Err(error) => return not_told(error),
                };
                let id = match machines.create(order, &environment, reach.signer).await {
                    Ok(id) => id,
                    Err(run) => return run,
                };
                watched.is(&id);
                started(Started::Now);
                (id, watched)
            }
        };
        match begin(reach.site, order.batch_id.as_str(), &order.attempt, Some(id.clone())).await {
            Ok(begun) if begun.go => {}
            Ok(_) | Err(CallError::Refused(_)) => {
                machines.destroy(&id).await;
                return Run::Over;
            }
            // It is found again, and noted then.
            Err(error) => return unasked(error),
        }
        machines.watch(order, &id, &reach.heard, job).await
    }
}

/// Whose a machine is that has the name of an attempt's.
enum Named {
    /// That of the attempt.
    Ours(String),
    /// That of the same attempt in a former life of its batch.
    Former(String),
    /// Somebody else's, or it is not listed.
    Nobodys,
}

/// What the machine of an attempt is called.
fn name(order: &Order) -> String {
    let prefix = if order.tag == "image" { "img" } else { order.tag.as_str() };
    let task = &order.attempt.task_id;
    match order.attempt.attempt {
        1 => format!("{prefix}-{task}"),
        attempt => format!("{prefix}-{task}-{attempt}"),
    }
}

/// The machines of one app.
pub(super) struct Machines<'a> {
    pub(super) fly: &'a Fly,
    pub(super) client: &'a reqwest::Client,
    pub(super) site: &'a Site,
    pub(super) app: &'a FlyApp,
}

impl Machines<'_> {
    fn url(&self, rest: &str) -> String {
        format!("{}/v1/apps/{}/machines{rest}", self.fly.api_base.trim_end_matches('/'), self.app.app)
    }

    /// Starts the machine of an attempt, or finds the one that was started for it and not noted.
    async fn create(&self, order: &Order, environment: &Environment, signer: &Signer) -> Result<String, Run> {
        let name = name(order);
        let body = json!({
            "name": name,
            "region": self.fly.region,
            "config": {
                "image": self.app.image,
                "auto_destroy": true,
                "restart": { "policy": "no" },
                "guest": { "memory_mb": order.memory_mb, "cpus": CPUS, "cpu_kind": "shared" },
                "env": environment,
            },
        });
        let not_started = |reason: String| Run::NotStarted { reason, rest_ms: None };
        for _ in 0..2 {
            let sent = self.client.post(self.url("")).bearer_auth(&self.fly.token).json(&body).send().await;
            match asked::<Machine>(sent, self.site.engine.now()).await {
                Asked::Got(machine) => return Ok(machine.id),
                Asked::TooMany { rest_ms } => {
                    let reason = "Fly answered 429: too many machines".to_owned();
                    return Err(Run::NotStarted { reason, rest_ms: Some(rest_ms) });
                }
                Asked::Conflict => match self.named(&name, order, signer).await {
                    // By us, before we could note it.
                    Named::Ours(id) => return Ok(id),
                    Named::Former(id) => drop(self.destroy(&id).await),
                    Named::Nobodys => {
                        let reason =
                            format!("Fly has a machine {name} and lists none of ours that has the name");
                        return Err(not_started(reason));
                    }
                },
                Asked::Missing => return Err(not_started(format!("Fly has no app {}", self.app.app))),
                Asked::Failed(reason) => return Err(not_started(reason)),
            }
        }
        Err(not_started(format!("Fly still has the machine {name} of a batch that was reset")))
    }

    /// Whose the machine with a taken name is: it is told how to call back, and only we can have signed that.
    async fn named(&self, name: &str, order: &Order, signer: &Signer) -> Named {
        let listed = self.list().await.unwrap_or_default();
        let mut named = listed.into_iter().filter(|machine| machine.is_there() && machine.name == name);
        let Some(machine) = named.next() else { return Named::Nobodys };
        match attempt_of(&machine, signer) {
            Some((batch, attempt)) if batch == order.batch_id.as_str() && attempt == order.attempt => {
                Named::Ours(machine.id)
            }
            Some(_) => Named::Former(machine.id),
            None => Named::Nobodys,
        }
    }

    /// All that are there; nothing if they cannot be listed now.
    pub(super) async fn list(&self) -> Option<Vec<Listed>> {
        let sent = self.client.get(self.url("")).bearer_auth(&self.fly.token).send().await;
        match asked::<Vec<Listed>>(sent, self.site.engine.now()).await {
            Asked::Got(all) => Some(all),
            Asked::Missing | Asked::Conflict | Asked::TooMany { .. } => None,
            Asked::Failed(reason) => {
                tracing::warn!(target: "preprocess", app = self.app.app, reason, "machines cannot be listed");
                None
            }
        }
    }

    /// Asks about a machine until it is gone, its task is over, or its time is up.
    async fn watch(&self, order: &Order, id: &str, heard: &Waiting<'_>, job: &mut JobContext) -> Run {
        let timeout = Duration::from_millis(order.timeout_ms.unsigned_abs());
        let mut ends_at = Instant::now() + STARTS + timeout;
        let (mut heard_at, mut runs) = (Instant::now(), false);
        loop {
            tokio::select! {
                () = job.stopped() => {
                    // Whether we are stopping or the task is: one that goes on knows its machine.
                    let asked = begin(self.site, order.batch_id.as_str(), &order.attempt, None).await;
                    if asked.is_ok_and(|begun| !begun.go) {
                        self.destroy(id).await;
                    }
                    return Run::Stopped;
                }
                () = heard.came() => {}
                () = tokio::time::sleep(self.fly.poll) => {}
            }
            match begin(self.site, order.batch_id.as_str(), &order.attempt, None).await {
                Ok(begun) if begun.go => {}
                Ok(_) => {
                    self.destroy(id).await;
                    return Run::Over;
                }
                // It is asked again.
                Err(_) => continue,
            }
            if Instant::now() >= ends_at {
                self.destroy(id).await;
                let most = if runs { timeout } else { STARTS + timeout };
                let reason = format!("its machine {id} took longer than {} ms", most.as_millis());
                return Run::Ended(Ended::Failed { reason });
            }
            let path = format!("/{id}");
            let sent = self.client.get(self.url(&path)).bearer_auth(&self.fly.token).send().await;
            let gone = match asked::<Machine>(sent, self.site.engine.now()).await {
                Asked::Got(machine) => {
                    heard_at = Instant::now();
                    if !runs && !is_starting(&machine.state) {
                        (runs, ends_at) = (true, heard_at + timeout);
                    }
                    is_gone(&machine.state).then_some(machine.state)
                }
                Asked::Missing => Some("gone".to_owned()),
                Asked::Conflict | Asked::TooMany { .. } | Asked::Failed(_) => {
                    (heard_at.elapsed() > UNREACHED).then(|| "not heard of".to_owned())
                }
            };
            if let Some(state) = gone {
                // Its callback may be on its way: the batch decides what came first.
                let reason = format!("its machine {id} is {state} and did not call back");
                self.destroy(id).await;
                return Run::Ended(Ended::Failed { reason });
            }
        }
    }

    /// Destroys a machine. One that is gone is fine. Whether it is gone; one that is not is found again, and asked about again.
    pub(super) async fn destroy(&self, id: &str) -> bool {
        let path = format!("/{id}?force=true");
        let sent = self.client.delete(self.url(&path)).bearer_auth(&self.fly.token).send().await;
        match asked::<serde_json::Value>(sent, self.site.engine.now()).await {
            Asked::Got(_) | Asked::Missing => return true,
            Asked::Conflict => tracing::debug!(target: "preprocess", machine = id, "being destroyed"),
            Asked::TooMany { .. } => {
                tracing::warn!(target: "preprocess", machine = id, "not destroyed: Fly answered 429; it is asked again");
            }
            Asked::Failed(reason) => {
                tracing::warn!(target: "preprocess", machine = id, reason, "not destroyed; Fly is asked again");
            }
        }
        false
    }
}

/// The batch could not be asked.
fn unasked(error: CallError) -> Run {
    match error {
        CallError::Refused(_) => Run::Over,
        CallError::Stopping => Run::Stopped,
        other => Run::NotStarted { reason: other.to_string(), rest_ms: None },
    }
}

fn is_starting(state: &str) -> bool {
    matches!(state, "creating" | "created" | "starting")
}

fn is_gone(state: &str) -> bool {
    matches!(state, "stopped" | "destroyed" | "destroying" | "failed" | "launch_failed" | "suspended")
}

async fn asked<T: DeserializeOwned>(sent: Result<Response, reqwest::Error>, now: Time) -> Asked<T> {
    let response = match sent {
        Ok(response) => response,
        Err(error) => return Asked::Failed(format!("Fly cannot be reached: {error}")),
    };
    match response.status() {
        StatusCode::NOT_FOUND => Asked::Missing,
        StatusCode::CONFLICT => Asked::Conflict,
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = response.headers().get(reqwest::header::RETRY_AFTER);
            let wait_ms = wait.and_then(|text| retry_after_ms(text.to_str().ok()?, now));
            Asked::TooMany { rest_ms: wait_ms.unwrap_or(REST_MS) }
        }
        status if status.is_success() => match response.json().await {
            Ok(body) => Asked::Got(body),
            Err(error) => Asked::Failed(format!("Fly answered what cannot be read: {error}")),
        },
        status => {
            let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
            Asked::Failed(format!("Fly answered {status}: {said}"))
        }
    }
}
