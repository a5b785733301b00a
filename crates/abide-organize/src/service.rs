//! The service as a whole: what runs the jobs of requests, and what its routes need.

use crate::builtin;
use crate::calls::{Accept, Call, Reply};
use crate::contract::{
    BadRequest, FileInput, OrganizeRequest, OrganizeResponse, OrganizerKind, ProcessReply, ProcessRequest,
    Standing, StatusReply, StrategizeRequest, StrategizeResponse, Tokens, at_most,
};
use crate::file::InputFile;
use crate::jobs;
use crate::limits::{CALL_BYTES, DIRECTORY_BYTES, INLINE_BYTES};
use crate::options::Options;
use crate::organizer::Organizer;
use crate::spending::Spending;
use crate::work::{self, AskError, Asking, Callback, Judge, NoAnswers, Publisher, of_batch};
use abide_engine::registry::RegisterError;
use abide_engine::{Answer, CallError, Engine, RefusalClass, Registry};
use abide_entities::{ContentId, EntityError, EntityStore};
use abide_llm::LlmError;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// Directories that are published, and callbacks that are delivered, each at a time.
const SLOTS: usize = 8;
/// What answers are said to be from when no model was asked.
const BUILTIN: &str = "builtin";

/// Where the service runs.
#[derive(Clone)]
pub struct Site {
    /// The engine.
    pub engine: Engine,
    /// Where entities are.
    pub entities: Arc<dyn EntityStore>,
    /// Who is told over HTTP: `{orchestrator_url}/callback/organizer/{batch_id}`.
    pub orchestrator_url: String,
    /// The token that it wants, if any.
    pub token: Option<String>,
}

/// The service, on its way to an engine or on one. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    site: watch::Sender<Option<Site>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("organizer", &self.kind()).finish_non_exhaustive()
    }
}

/// A request that was not done.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The caller's fault.
    #[error(transparent)]
    Bad(#[from] BadRequest),
    /// The model's, or of what keeps its answers.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Contents could not be kept.
    #[error(transparent)]
    Entities(#[from] EntityError),
    /// The engine did not take it.
    #[error(transparent)]
    Engine(Box<CallError>),
    /// A defect.
    #[error("{0}")]
    Internal(String),
}

/// Whose fault it is that a request was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultOf {
    /// The caller's: another request may be done.
    Caller,
    /// The model's: it gave no answer that can be used.
    Model,
    /// The model's: it cannot answer now, or may not cost more.
    ModelForNow,
    /// Ours, for now: what keeps state or files cannot be reached.
    OursForNow,
    /// Ours.
    Ours,
}

impl ServiceError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> FaultOf {
        match self {
            ServiceError::Bad(_) => FaultOf::Caller,
            ServiceError::Ask(error) => match error {
                AskError::OverBudget(_) => FaultOf::Caller,
                AskError::Faulty(_) => FaultOf::Model,
                AskError::Cap { .. } | AskError::Waits => FaultOf::ModelForNow,
                AskError::Answers(_) => FaultOf::OursForNow,
                AskError::Model(error) => match error {
                    LlmError::Limited { .. }
                    | LlmError::Unavailable { .. }
                    | LlmError::Timeout { .. }
                    | LlmError::OverBudget { .. } => FaultOf::ModelForNow,
                    LlmError::NotNoted(_) => FaultOf::OursForNow,
                    LlmError::Setup(_)
                    | LlmError::Refused { .. }
                    | LlmError::Declined(_)
                    | LlmError::BadAnswer(_)
                    | LlmError::Cut { .. }
                    | LlmError::NotRecorded(_) => FaultOf::Model,
                },
            },
            ServiceError::Entities(error) => {
                if error.is_retryable() {
                    FaultOf::OursForNow
                } else {
                    FaultOf::Ours
                }
            }
            ServiceError::Engine(error) => match error.as_ref() {
                CallError::Overloaded { .. }
                | CallError::OutcomeUnknown
                | CallError::Store(_)
                | CallError::Stopping => FaultOf::OursForNow,
                CallError::Refused(_)
                | CallError::Failed(_)
                | CallError::UnknownKind(_)
                | CallError::KeyReused(_) => FaultOf::Ours,
            },
            ServiceError::Internal(_) => FaultOf::Ours,
        }
    }
}

impl Service {
    /// Adds the organizer and everything that runs its jobs.
    pub fn register(registry: &mut Registry, options: Options) -> Result<Service, RegisterError> {
        registry.object(Organizer::new(options.clone()))?;
        registry.object(Spending { retain_ms: options.retain_ms })?;
        let judges = options.concurrency.max(1);
        let service = Service { shared: Arc::new(Shared { options, site: watch::channel(None).0 }) };
        registry.worker(jobs::QUEUE, jobs::LLM, judges, Judge(service.clone()))?;
        registry.worker(jobs::QUEUE, jobs::PUBLISH, SLOTS, Publisher(service.clone()))?;
        registry.worker(jobs::QUEUE, jobs::CALLBACK, SLOTS, Callback(service.clone()))?;
        Ok(service)
    }

    /// The engine has started. Jobs wait for this.
    pub fn begin(&self, site: Site) {
        let orchestrator_url = site.orchestrator_url.trim_end_matches('/').to_owned();
        self.shared.site.send_replace(Some(Site { orchestrator_url, ..site }));
    }

    /// Where it runs, once it does.
    pub async fn site(&self) -> Site {
        let mut site = self.shared.site.subscribe();
        // The sender is here as long as we are.
        match site.wait_for(Option::is_some).await.ok().and_then(|site| site.clone()) {
            Some(site) => site,
            None => std::future::pending().await,
        }
    }

    /// How it behaves.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Who decides.
    #[must_use]
    pub fn kind(&self) -> OrganizerKind {
        if self.options().model.is_some() { OrganizerKind::Model } else { OrganizerKind::Builtin }
    }

    /// Begins a request. Contents that are too large for a row are kept as blobs.
    pub async fn process(&self, mut request: ProcessRequest) -> Result<ProcessReply, ServiceError> {
        request.check()?;
        let site = self.site().await;
        // The newest ones count: what the sender knew of a large directory need not fit a row.
        request.pis.iter_mut().for_each(|pi| pi.parent_components = None);
        let mut contents = Vec::new();
        if bytes(&request) > INLINE_BYTES {
            for pi in &mut request.pis {
                contents.push(set_aside(site.entities.as_ref(), pi.files.iter_mut().flatten()).await?);
            }
            if let Some(input) = &mut request.strategize {
                contents = vec![set_aside(site.entities.as_ref(), input.files.iter_mut()).await?];
            }
        }
        check_bytes(&request)?;
        let name = Organizer::name(&request.batch_id, &request.chunk_id);
        match self.ask(&name, &Call::Process(Box::new(Accept { request, contents }))).await? {
            Reply::Process(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    /// How far a request is.
    pub async fn status(&self, batch_id: &str, chunk_id: &str) -> Result<StatusReply, ServiceError> {
        match self.ask(&Organizer::name(batch_id, chunk_id), &Call::Status).await? {
            Reply::Status(StatusReply::Found(standing)) => {
                let batch = of_batch(&self.site().await.engine, batch_id).await;
                Ok(StatusReply::Found(Box::new(Standing { batch, ..*standing })))
            }
            Reply::Status(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    async fn ask(&self, name: &str, call: &Call) -> Result<Reply, ServiceError> {
        match self.site().await.engine.ask::<Organizer>(name, call).await {
            Ok(Answer::Now(reply)) => Ok(reply),
            Ok(Answer::Later(_)) => Err(ServiceError::Internal("an organizer answers later".to_owned())),
            Err(CallError::Refused(refused)) if refused.class == RefusalClass::Invalid => {
                Err(ServiceError::Bad(BadRequest(refused.message)))
            }
            Err(error) => Err(ServiceError::Engine(Box::new(error))),
        }
    }

    /// Groups files, now; nothing is kept.
    pub async fn organize(&self, request: OrganizeRequest) -> Result<OrganizeResponse, ServiceError> {
        request.check()?;
        let OrganizeRequest { directory_path, files, custom_prompt, strategy_guidance } = request;
        let files = in_order(files);
        let Some(model) = &self.options().model else {
            let plan = move || match strategy_guidance {
                Some(guidance) => builtin::organize_part(&files, &guidance),
                None => builtin::organize(&files),
            };
            let plan = blocking(plan).await?;
            return Ok(OrganizeResponse {
                groups: plan.groups,
                ungrouped_files: plan.ungrouped_files,
                reorganization_description: plan.reorganization_description,
                organizer: OrganizerKind::Builtin,
                model: BUILTIN.to_owned(),
                tokens: Tokens::default(),
                cost_usd: 0.0,
                truncation: None,
                validation_warnings: Vec::new(),
            });
        };
        let asking = Asking {
            model: model.as_ref(),
            answers: &NoAnswers,
            budget: self.options().budget(),
            directory: &directory_path,
            files: &files,
            custom_prompt: custom_prompt.as_deref(),
        };
        let organized = work::organize(asking, strategy_guidance.as_deref()).await?;
        let (checked, spend) = (organized.checked, organized.paid.spend());
        Ok(OrganizeResponse {
            groups: checked.plan.groups,
            ungrouped_files: checked.plan.ungrouped_files,
            reorganization_description: checked.plan.reorganization_description,
            organizer: OrganizerKind::Model,
            model: organized.model,
            tokens: spend.tokens,
            cost_usd: spend.cost_usd,
            truncation: organized.truncation,
            validation_warnings: checked.warnings,
        })
    }

    /// Says how a large directory is best grouped, now; nothing is kept.
    pub async fn strategize(&self, request: StrategizeRequest) -> Result<StrategizeResponse, ServiceError> {
        request.check()?;
        let StrategizeRequest { directory_path, files, total_file_count, chunk_count, custom_prompt } =
            request;
        let files = in_order(files);
        let Some(model) = &self.options().model else {
            let result = blocking(move || builtin::strategize(&files)).await?;
            let (organizer, model) = (OrganizerKind::Builtin, BUILTIN.to_owned());
            let tokens = Tokens::default();
            return Ok(StrategizeResponse {
                result,
                organizer,
                model,
                tokens,
                cost_usd: 0.0,
                truncation: None,
            });
        };
        let asking = Asking {
            model: model.as_ref(),
            answers: &NoAnswers,
            budget: self.options().budget(),
            directory: &directory_path,
            files: &files,
            custom_prompt: custom_prompt.as_deref(),
        };
        let (result, truncation, paid, model) =
            work::strategize(asking, total_file_count, chunk_count).await?;
        let spend = paid.spend();
        let organizer = OrganizerKind::Model;
        Ok(StrategizeResponse {
            result,
            organizer,
            model,
            tokens: spend.tokens,
            cost_usd: spend.cost_usd,
            truncation,
        })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ServiceError::Internal(error.to_string()))
}

fn in_order(files: Vec<FileInput>) -> Vec<InputFile> {
    let mut files: Vec<InputFile> = files.into_iter().map(FileInput::into_file).collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

fn bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

/// Whether a request without contents fits a call, and each of its directories a row.
fn check_bytes(request: &ProcessRequest) -> Result<(), BadRequest> {
    let directories = request.pis.iter().map(bytes).chain(request.strategize.as_ref().map(bytes));
    at_most("bytes about one directory, contents apart", DIRECTORY_BYTES, directories.max().unwrap_or(0))?;
    at_most("bytes of one request, contents apart", CALL_BYTES, bytes(request))
}

/// Takes contents out of a request and keeps them as a blob.
async fn set_aside(
    store: &dyn EntityStore,
    files: impl Iterator<Item = &mut FileInput>,
) -> Result<Option<ContentId>, ServiceError> {
    let mut contents: BTreeMap<String, String> = BTreeMap::new();
    for file in files {
        if let Some(content) = file.content.take() {
            contents.insert(file.name.clone(), content);
        }
    }
    if contents.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&contents).map_err(|error| ServiceError::Internal(error.to_string()))?;
    Ok(Some(work::upload(store, "contents.json", text).await?))
}

fn unexpected(reply: &Reply) -> ServiceError {
    ServiceError::Internal(format!("an answer that nobody asked for: {reply:?}"))
}
