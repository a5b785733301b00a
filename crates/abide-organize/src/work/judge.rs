//! The job that reads a directory and has it grouped.

use super::ask::{self, AskError, Asking};
use super::bounds::{bound, fitting};
use super::paper::{Paper, ask_organizer, is_stopping};
use super::read::{self, ReadError};
use crate::builtin::{self, Known};
use crate::calls::{Call, Reply, Work};
use crate::contract::{ExistingGroup, LlmMetrics, MIN_FILES, PiRequest, StrategizeInput};
use crate::file::InputFile;
use crate::jobs::{Judged, Order, Planned, Skipped, model_limit};
use crate::options::Options;
use crate::plan::Plan;
use crate::rows::{Asked, Prompts, Task};
use crate::service::{Service, Site};
use abide_core::job::{AttemptEnd, CoolDown, Finish, RetryWish};
use abide_core::name::LimitKey;
use abide_engine::worker::{done, failed_for_good, skipped};
use abide_engine::{JobContext, Worker};
use abide_entities::answer::Shown;
use abide_entities::{EntityError, EntityStore};
use abide_llm::Model;
use std::pin::Pin;

/// How long a question waits whose money is set aside for others.
const WAITS_MS: i64 = 500;

/// Reads directories and has them grouped.
#[derive(Clone)]
pub(crate) struct Judge(pub(crate) Service);

impl Worker for Judge {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let judge = self.clone();
        Box::pin(async move {
            let order: Order = match job.payload() {
                Ok(order) => order,
                Err(error) => return failed_for_good(format!("the payload cannot be read: {error}")),
            };
            let is_last = job.lease().failures + 1 >= job.lease().max_attempts;
            let site = tokio::select! {
                site = judge.0.site() => site,
                () = job.stopped() => return AttemptEnd::HandedBack.into(),
            };
            let judged = tokio::select! {
                judged = judge.judge(&site, &order) => judged,
                () = job.stopped() => return AttemptEnd::HandedBack.into(),
            };
            if judged.is_err() && is_stopping(&site).await {
                return AttemptEnd::HandedBack.into();
            }
            if let Err(error) = &judged
                && error.is_trouble()
                && !is_last
            {
                let (run, place, reason) = (order.run, order.place, error.to_string());
                // It is for people who look: the job goes on without.
                drop(ask_organizer(&site, &order.organizer, &Call::Failing { run, place, reason }).await);
            }
            judge.finish(judged, is_last)
        })
    }
}

/// Why a directory was not judged.
#[derive(Debug, thiserror::Error)]
enum JudgeError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the organizer cannot be asked: {0}")]
    Engine(String),
    #[error("the built-in organizer failed: {0}")]
    Builtin(String),
}

impl From<EntityError> for JudgeError {
    fn from(error: EntityError) -> JudgeError {
        JudgeError::Read(ReadError::Entity(error))
    }
}

impl JudgeError {
    /// Whether people should know of it while it is tried again.
    fn is_trouble(&self) -> bool {
        match self {
            JudgeError::Ask(AskError::Waits) | JudgeError::Engine(_) => false,
            JudgeError::Ask(_) | JudgeError::Read(_) | JudgeError::Builtin(_) => self.is_retryable(),
        }
    }

    fn is_retryable(&self) -> bool {
        match self {
            JudgeError::Ask(error) => error.is_retryable(),
            JudgeError::Read(ReadError::Entity(error)) => error.is_retryable(),
            JudgeError::Read(ReadError::TooMany(_)) => false,
            JudgeError::Engine(_) | JudgeError::Builtin(_) => true,
        }
    }
}

impl Judge {
    fn options(&self) -> &Options {
        self.0.options()
    }

    fn finish(&self, judged: Result<Option<Judged>, JudgeError>, is_last: bool) -> Finish {
        let error = match judged {
            Ok(Some(judged)) => return done(&judged),
            Ok(None) => return skipped("the request was begun again, or is gone"),
            Err(error) => error,
        };
        if let JudgeError::Ask(AskError::Waits) = &error {
            let (reason, retry) = (error.to_string(), RetryWish::UncountedAfterMs(WAITS_MS));
            return AttemptEnd::Error { reason, retry }.into();
        }
        let wait_ms = match &error {
            JudgeError::Ask(AskError::Model(error)) => error.wait_ms(),
            _ => None,
        };
        let mut finish = if error.is_retryable() && !is_last {
            let retry = wait_ms.map_or(RetryWish::ByPolicy, RetryWish::AfterMs);
            AttemptEnd::Error { reason: error.to_string(), retry }.into()
        } else if error.is_retryable() {
            done(&Judged::Failed { reason: error.to_string() })
        } else {
            done(&Judged::Hopeless { reason: error.to_string() })
        };
        let key =
            self.options().model.as_ref().and_then(|model| LimitKey::new(model_limit(model.name())).ok());
        if let (Some(key), Some(for_ms)) = (key, wait_ms) {
            finish.cool_down.push(CoolDown { key, for_ms });
        }
        finish
    }

    /// None if there is nothing to do any more.
    async fn judge(&self, site: &Site, order: &Order) -> Result<Option<Judged>, JudgeError> {
        let call = Call::Work { run: order.run, place: order.place };
        let Reply::Work(Some(work)) =
            ask_organizer(site, &order.organizer, &call).await.map_err(JudgeError::Engine)?
        else {
            return Ok(None);
        };
        let Work { batch_id, asked: Asked { task, contents }, prompts } = *work;
        let answers = Paper { site, order, batch_id: &batch_id, cap_micros: self.options().batch_cap_micros };
        let store = site.entities.as_ref();
        match task {
            Task::Organize(request) => {
                let entity = store.get(&request.pi).await?;
                let read = read::directory(store, Some(&entity), request.files.as_deref(), contents).await?;
                if read.files.len() < MIN_FILES && request.existing_groups.is_empty() || read.files.is_empty()
                {
                    return Ok(Some(Judged::Skipped(few(&read.files, &entity))));
                }
                let planned = self.plan(store, &request, &prompts, &read.files, &answers).await?;
                let plan = planned.plan.with_new_files(request.files.as_deref().unwrap_or_default());
                let mut planned = Planned { plan, ..planned };
                let mut warnings = stale(&request, &entity);
                warnings.extend(read.warnings);
                planned.metrics.validation_warnings.splice(0..0, warnings);
                bound(&mut planned.metrics.validation_warnings);
                Ok(Some(fitting(planned)))
            }
            Task::Strategize(input) => {
                let entity = match &input.pi {
                    Some(pi) => Some(store.get(pi).await?),
                    None => None,
                };
                let read = read::directory(store, entity.as_ref(), Some(&input.files), contents).await?;
                self.strategy(&input, &prompts, read.files, &answers).await.map(Some)
            }
        }
    }

    async fn plan(
        &self,
        store: &dyn EntityStore,
        request: &PiRequest,
        prompts: &Prompts,
        files: &[InputFile],
        answers: &Paper<'_>,
    ) -> Result<Planned, JudgeError> {
        let guidance = prompts.strategy_guidance.as_deref().filter(|guidance| !guidance.trim().is_empty());
        let Some(model) = &self.options().model else {
            let known = known(store, &request.existing_groups).await?;
            let plan = builtin_plan(files.to_vec(), guidance.map(str::to_owned), known).await?;
            return Ok(Planned { plan, metrics: LlmMetrics::default() });
        };
        let tail = request.pi.as_str();
        let usual = &tail[tail.len().saturating_sub(8)..];
        let directory = request.directory_path.as_deref().unwrap_or(usual);
        let asking = self.asking(model.as_ref(), answers, directory, files, prompts);
        let guidance = with_existing(guidance, &request.existing_groups);
        let organized = ask::organize(asking, guidance.as_deref()).await?;
        let checked = organized.checked;
        let metrics = LlmMetrics {
            validation_warnings: checked.warnings,
            missing_files_count: checked.missing.len(),
            missing_files: checked.missing,
        };
        Ok(Planned { plan: checked.plan, metrics })
    }

    fn asking<'a>(
        &self,
        model: &'a dyn Model,
        answers: &'a Paper<'_>,
        directory: &'a str,
        files: &'a [InputFile],
        prompts: &'a Prompts,
    ) -> Asking<'a> {
        let (budget, custom_prompt) = (self.options().budget(), prompts.custom_prompt.as_deref());
        Asking { model, answers, budget, directory, files, custom_prompt }
    }

    async fn strategy(
        &self,
        input: &StrategizeInput,
        prompts: &Prompts,
        files: Vec<InputFile>,
        answers: &Paper<'_>,
    ) -> Result<Judged, JudgeError> {
        let Some(model) = &self.options().model else {
            let strategy = tokio::task::spawn_blocking(move || builtin::strategize(&files)).await;
            return strategy.map(Judged::Strategy).map_err(|error| JudgeError::Builtin(error.to_string()));
        };
        let asking = self.asking(model.as_ref(), answers, &input.directory_path, &files, prompts);
        let (result, ..) = ask::strategize(asking, input.total_file_count, input.chunk_count).await?;
        Ok(Judged::Strategy(result))
    }
}

/// Sorts without a model, beside what the process does otherwise.
async fn builtin_plan(
    files: Vec<InputFile>,
    guidance: Option<String>,
    known: Vec<Known>,
) -> Result<Plan, JudgeError> {
    let plan = move || match guidance {
        _ if !known.is_empty() => builtin::organize_beside(&files, &known),
        Some(guidance) => builtin::organize_part(&files, &guidance),
        None => builtin::organize(&files),
    };
    tokio::task::spawn_blocking(plan).await.map_err(|error| JudgeError::Builtin(error.to_string()))
}

/// Groups of earlier runs, with some of their files. One that is gone is not offered.
async fn known(store: &dyn EntityStore, groups: &[ExistingGroup]) -> Result<Vec<Known>, JudgeError> {
    let mut known = Vec::new();
    for group in groups {
        match store.get(&group.pi).await {
            Ok(entity) => {
                let files = read::sample(store, &entity).await?;
                known.push(Known { group: group.clone(), files });
            }
            Err(EntityError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(known)
}

/// Guidance that names the groups of earlier runs.
fn with_existing(guidance: Option<&str>, existing: &[ExistingGroup]) -> Option<String> {
    if existing.is_empty() {
        return guidance.map(str::to_owned);
    }
    let mut text = guidance.map(|guidance| format!("{guidance}\n\n")).unwrap_or_default();
    text.push_str(
        "These groups exist already. Put what belongs to one of them there, under exactly its name:",
    );
    for group in existing {
        let about: String = group.description.chars().take(300).collect();
        text.push_str(&format!("\n- {}: {about}", group.group_name));
    }
    Some(text)
}

fn few(files: &[InputFile], entity: &Shown) -> Skipped {
    Skipped {
        reason: format!("it has {} files, and fewer than {MIN_FILES} are left as they are", files.len()),
        files: files.iter().map(|file| file.name.clone()).collect(),
        tip: entity.tip,
        ver: entity.ver,
    }
}

fn stale(request: &PiRequest, entity: &Shown) -> Vec<String> {
    let stale = request.current_tip.filter(|tip| *tip != entity.tip);
    let warning =
        stale.map(|tip| format!("current_tip {tip} is not the tip any more: {} was read", entity.tip));
    warning.into_iter().collect()
}
