//! The client: one question, as many requests as it takes.

use crate::answer::Answer;
use crate::ask::{Ask, Shape};
use crate::budget::tokens;
use crate::dialect::{Dialect, Known, Part};
use crate::error::LlmError;
use crate::fit::fit;
use crate::limiter::{Limiter, Limiters};
use crate::limits::{
    AROUND_TOKENS, BACKOFF_MS, IMAGE_TOKENS, MESSAGE_CHARS, REPLY_BYTES, TOKENS_MAX, WAIT_MS,
};
use crate::purse::Purse;
use crate::repair::object_in;
use crate::replay::{Counted, Model, Reckoned, Reckoning};
use crate::spend::{Ledger, Price, Spent, Usage};
use crate::wire::{self, Said};
use abide_core::time::Clock;
use abide_fetch::certificates;
use abide_fetch::error::innermost;
use abide_fetch::retry_after::retry_after_ms;
use jsonschema::Validator;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Where a model is and how it is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Up to and without `/chat/completions`: `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// Which model.
    pub model: String,
    /// For one request.
    pub timeout_ms: u64,
    /// Requests for one question, if they fail in a way that is worth another.
    pub attempts: u32,
    /// How long a question waits in all while the endpoint takes no more for now, beside its attempts: that is no failure.
    pub patience_ms: i64,
    /// Questions at a time to this model at this endpoint, over all clients with the same [`Limiters`].
    pub concurrency: usize,
    /// What its tokens cost.
    pub price: Price,
    /// What is spent comes out of it; no bound if none.
    pub purse: Option<Purse>,
}

impl Endpoint {
    /// A model at an address, with 30 s for a request, three attempts and three questions at a time.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Endpoint {
        Endpoint {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            timeout_ms: 30_000,
            attempts: 3,
            patience_ms: 0,
            concurrency: 3,
            price: Price::default(),
            purse: None,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base_url, model) = (&self.base_url, &self.model);
        f.debug_struct("Endpoint").field("base_url", base_url).field("model", model).finish_non_exhaustive()
    }
}

/// Asks one model. Cheap to clone; clones share what was spent.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
    limiter: Arc<Limiter>,
    ledger: Ledger,
    known: Known,
}

/// Where one question stands between its requests.
struct Going<'a> {
    ask: &'a Ask,
    image_url: Option<&'a str>,
    validator: Option<Validator>,
    max_tokens: u32,
    complaint: Option<String>,
    /// In which the last request was.
    dialect: Dialect,
    usage: Usage,
    requests: u32,
    /// What it may cost, if that is bounded.
    allowance_micros: Option<u64>,
    unanswered_micros: u64,
}

/// Why a request gave no answer.
enum Miss {
    /// Another one cannot help.
    Final(LlmError),
    /// Another one may help, after this wait.
    Again(LlmError, i64),
    /// The same, and it may have been paid for.
    Lost(LlmError, i64),
    /// The endpoint does not take this part of it.
    Part(LlmError, Part),
}

impl<'a> Going<'a> {
    fn begin(
        ask: &'a Ask,
        image_url: Option<&'a str>,
        allowance_micros: Option<u64>,
    ) -> Result<Going<'a>, LlmError> {
        let validator = match &ask.shape {
            Shape::Text => None,
            Shape::Json { schema, .. } => {
                let made = jsonschema::validator_for(schema);
                Some(made.map_err(|why| LlmError::Setup(format!("the schema is not valid: {why}")))?)
            }
        };
        Ok(Going {
            ask,
            image_url,
            validator,
            max_tokens: ask.max_tokens,
            complaint: None,
            dialect: Dialect::FIRST,
            usage: Usage::default(),
            requests: 0,
            allowance_micros,
            unanswered_micros: 0,
        })
    }
}

impl Client {
    /// A client of `endpoint`.
    pub fn new(endpoint: Endpoint, limiters: &Limiters, clock: Arc<dyn Clock>) -> Result<Client, LlmError> {
        let base = reqwest::Url::parse(&endpoint.base_url)
            .map_err(|why| LlmError::Setup(format!("{:?} is not a URL: {why}", endpoint.base_url)))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(LlmError::Setup(format!("{:?} is not an http or https URL", endpoint.base_url)));
        }
        let builder = || reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let http = certificates::client(builder);
        let http = http.map_err(|why| LlmError::Setup(why.to_string()))?;
        let limiter = limiters.of(&endpoint);
        let (ledger, known) = (Ledger::default(), Known::new());
        Ok(Client { shared: Arc::new(Shared { endpoint, http, clock, limiter, ledger, known }) })
    }

    /// Asks, and asks again as far as that may help.
    pub async fn ask(&self, ask: &Ask) -> Result<Answer, LlmError> {
        self.ask_counted(ask).await.0
    }

    /// The same, with what it took also if there is no answer. What a request took that was never answered is not known.
    pub async fn ask_counted(&self, ask: &Ask) -> (Result<Answer, LlmError>, Spent) {
        let Reckoning { answer, spent, .. } = self.reckon(ask, None, None).await;
        (answer, spent)
    }

    /// Asks about an image, which is at a URL; that may be a `data:` URL. Says what it took also if there is no answer.
    pub async fn look(&self, ask: &Ask, image_url: &str) -> (Result<Answer, LlmError>, Spent) {
        let Reckoning { answer, spent, .. } = self.reckon(ask, Some(image_url), None).await;
        (answer, spent)
    }

    async fn reckon(&self, ask: &Ask, image_url: Option<&str>, allowance_micros: Option<u64>) -> Reckoning {
        let mut going = match Going::begin(ask, image_url, allowance_micros) {
            Ok(going) => going,
            Err(error) => {
                return Reckoning { answer: Err(error), spent: Spent::default(), unanswered_micros: 0 };
            }
        };
        let answer = self.go(&mut going).await;
        let (usage, cost_micros) = (going.usage, self.shared.endpoint.price.of(going.usage));
        let spent = Spent { requests: u64::from(going.requests), usage, cost_micros };
        Reckoning { answer, spent, unanswered_micros: going.unanswered_micros }
    }

    /// What the next request of a question may cost.
    fn next_micros(&self, going: &Going<'_>) -> u64 {
        self.request_micros(going.ask, going.image_url, going.max_tokens)
    }

    fn request_micros(&self, ask: &Ask, image_url: Option<&str>, max_tokens: u32) -> u64 {
        let schema = match &ask.shape {
            Shape::Text => 0,
            Shape::Json { schema, .. } => tokens(&schema.to_string()),
        };
        let image = image_url.map_or(0, |_| IMAGE_TOKENS);
        let input = tokens(&ask.system) + tokens(&ask.user) + schema + image + AROUND_TOKENS;
        let usage = Usage { input_tokens: input as u64, output_tokens: u64::from(max_tokens) };
        self.shared.endpoint.price.of(usage)
    }

    /// Whether another request may cost more than is allowed.
    fn is_too_dear(&self, going: &Going<'_>) -> bool {
        let so_far = self.shared.endpoint.price.of(going.usage).saturating_add(going.unanswered_micros);
        let with_next = so_far.saturating_add(self.next_micros(going));
        going.allowance_micros.is_some_and(|allowance| with_next > allowance)
    }

    async fn go(&self, going: &mut Going<'_>) -> Result<Answer, LlmError> {
        let (mut failures, mut waits, mut waited_ms) = (0, 0, 0);
        loop {
            let error = match self.request(going).await {
                Ok(answer) => return Ok(answer),
                Err(Miss::Part(error, part)) => {
                    if self.shared.known.is_refused(going.dialect, part) {
                        continue;
                    }
                    return Err(error);
                }
                Err(Miss::Final(error)) => return Err(error),
                Err(Miss::Again(error @ LlmError::Limited { .. }, wait_ms))
                    if waited_ms + wait_ms <= self.shared.endpoint.patience_ms =>
                {
                    let wait_ms = if error.wait_ms().is_some() { wait_ms } else { wait_ms << waits.min(4) };
                    tracing::debug!(target: "llm", %error, wait_ms, "waiting as asked");
                    self.shared.limiter.rest(wait_ms);
                    waits += 1;
                    waited_ms += wait_ms.max(1);
                    continue;
                }
                Err(Miss::Again(error, wait_ms) | Miss::Lost(error, wait_ms)) => {
                    let wait_ms =
                        if error.wait_ms().is_some() { wait_ms } else { wait_ms << failures.min(4) };
                    self.shared.limiter.rest(wait_ms.min(WAIT_MS));
                    if wait_ms > WAIT_MS {
                        return Err(error);
                    }
                    error
                }
            };
            failures += 1;
            if failures >= self.shared.endpoint.attempts.max(1) || self.is_too_dear(going) {
                return Err(error);
            }
            tracing::debug!(target: "llm", %error, failures, "asking again");
        }
    }

    /// What this client has spent.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.shared.ledger.spent(self.shared.endpoint.price)
    }

    async fn request(&self, going: &mut Going<'_>) -> Result<Answer, Miss> {
        let endpoint = &self.shared.endpoint;
        going.dialect = self.shared.known.dialect();
        let question = wire::Question {
            ask: going.ask,
            image_url: going.image_url,
            max_tokens: going.max_tokens,
            complaint: going.complaint.as_deref(),
        };
        let body = wire::request(&question, &endpoint.model, going.dialect);
        let most_micros = self.next_micros(going);
        let (reply, aside) = {
            let _room = self.shared.limiter.enter().await;
            let aside = match &endpoint.purse {
                Some(purse) => Some(purse.set_aside(most_micros).await.map_err(Miss::Final)?),
                None => None,
            };
            going.requests += 1;
            self.shared.ledger.note_request();
            self.shared.limiter.ledger().note_request();
            let sent =
                tokio::time::timeout(Duration::from_millis(endpoint.timeout_ms), self.send(&body)).await;
            let (base_url, timeout_ms) = (endpoint.base_url.clone(), endpoint.timeout_ms);
            let late = LlmError::Timeout { endpoint: base_url, timeout_ms };
            (sent.unwrap_or(Err(Miss::Lost(late, BACKOFF_MS))), aside)
        };
        // What was answered and cannot be read was paid for as well as what never came.
        let is_lost = matches!(
            &reply,
            Err(Miss::Lost(..)
                | Miss::Again(LlmError::BadAnswer(_), _)
                | Miss::Final(LlmError::BadAnswer(_)))
        );
        if is_lost {
            going.unanswered_micros += most_micros;
        }
        let took_micros = match &reply {
            // Of one that does not say what it took nobody knows it either.
            Ok(said) if said.usage == Usage::default() => most_micros,
            Ok(said) => endpoint.price.of(said.usage),
            Err(_) if is_lost => most_micros,
            Err(_) => 0,
        };
        if let Some(aside) = aside {
            aside.settle(took_micros).await;
        }
        let said = match reply {
            Err(Miss::Part(error, Part::Form)) if going.validator.is_none() => {
                return Err(Miss::Final(error));
            }
            reply => reply?,
        };
        going.usage = going.usage.plus(said.usage);
        self.shared.ledger.note(said.usage);
        self.shared.limiter.ledger().note(said.usage);
        self.judge(going, said)
    }

    async fn send(&self, body: &Value) -> Result<Said, Miss> {
        let endpoint = &self.shared.endpoint;
        let url = format!("{}/chat/completions", endpoint.base_url.trim_end_matches('/'));
        let mut request = self.shared.http.post(url).json(body);
        if let Some(key) = &endpoint.api_key {
            request = request.bearer_auth(key);
        }
        let unavailable = |why: reqwest::Error| {
            let is_sent = !why.is_connect();
            let why = innermost(&why.without_url());
            let error = LlmError::Unavailable { endpoint: endpoint.base_url.clone(), why };
            if is_sent { Miss::Lost(error, BACKOFF_MS) } else { Miss::Again(error, BACKOFF_MS) }
        };
        let mut response = request.send().await.map_err(unavailable)?;
        let status = response.status().as_u16();
        let rest = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait_ms = rest.and_then(|value| retry_after_ms(value, self.shared.clock.now()));
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unavailable)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > REPLY_BYTES {
                let why = format!("the reply has more than {REPLY_BYTES} bytes");
                return Err(Miss::Final(LlmError::BadAnswer(why)));
            }
        }
        if status != 200 {
            return Err(self.status_miss(status, wait_ms, &bytes));
        }
        let reply: Value = serde_json::from_slice(&bytes).map_err(|why| {
            Miss::Again(LlmError::BadAnswer(format!("the reply is not JSON: {why}")), BACKOFF_MS)
        })?;
        wire::read(&reply).map_err(|why| {
            Miss::Again(LlmError::BadAnswer(format!("the reply is no completion: {why}")), BACKOFF_MS)
        })
    }

    fn status_miss(&self, status: u16, wait_ms: Option<i64>, body: &[u8]) -> Miss {
        let endpoint = self.shared.endpoint.base_url.clone();
        let said = String::from_utf8_lossy(body);
        // Some endpoints repeat the key that they refuse.
        let said = match self.shared.endpoint.api_key.as_deref() {
            Some(key) if !key.is_empty() => said.replace(key, "…"),
            Some(_) | None => said.into_owned(),
        };
        let message: String = said.chars().take(MESSAGE_CHARS).collect();
        let code = wire::error_code(body);
        match status {
            429 | 503 | 529 => Miss::Again(
                LlmError::Limited { endpoint, status, wait_ms },
                wait_ms.unwrap_or(BACKOFF_MS * 2),
            ),
            // Somebody between gave up waiting; the model may be at it.
            408 | 504 => {
                let why = format!("it answered {status}");
                Miss::Lost(LlmError::Unavailable { endpoint, why }, wait_ms.unwrap_or(BACKOFF_MS))
            }
            409 | 425 | 500..=599 => {
                let why = format!("it answered {status}");
                Miss::Again(LlmError::Unavailable { endpoint, why }, wait_ms.unwrap_or(BACKOFF_MS))
            }
            400 | 404 | 415 | 422 => {
                let error = LlmError::Refused { endpoint, status, code, message };
                match Part::refused_by(&said) {
                    Some(part) => Miss::Part(error, part),
                    None => Miss::Final(error),
                }
            }
            _ => Miss::Final(LlmError::Refused { endpoint, status, code, message }),
        }
    }

    /// Whether what was said is an answer.
    fn judge(&self, going: &mut Going<'_>, said: Said) -> Result<Answer, Miss> {
        if let Some(refusal) = said.refusal.filter(|refusal| !refusal.is_empty()) {
            return Err(Miss::Final(LlmError::Declined(refusal.chars().take(MESSAGE_CHARS).collect())));
        }
        match said.finish.as_str() {
            "length" => {
                let max_tokens = going.max_tokens;
                let cut = LlmError::Cut { max_tokens };
                going.max_tokens = max_tokens.saturating_mul(2).min(TOKENS_MAX);
                let is_last = going.max_tokens == max_tokens;
                return Err(if is_last { Miss::Final(cut) } else { Miss::Again(cut, 0) });
            }
            "content_filter" => {
                return Err(Miss::Final(LlmError::Declined("the endpoint's filter stopped it".to_owned())));
            }
            _ => {}
        }
        let (value, repaired) = match read_answer(going, said.text.as_deref()) {
            Ok(found) => found,
            Err(why) => {
                going.complaint = Some(why.chars().take(MESSAGE_CHARS).collect());
                return Err(Miss::Again(LlmError::BadAnswer(why), 0));
            }
        };
        let endpoint = &self.shared.endpoint;
        Ok(Answer {
            value,
            model: said.model.unwrap_or_else(|| endpoint.model.clone()),
            usage: going.usage,
            cost_micros: endpoint.price.of(going.usage),
            requests: going.requests,
            repaired,
        })
    }
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.shared.endpoint.model
    }

    fn ask<'a>(
        &'a self,
        ask: &'a Ask,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        Box::pin(Client::ask(self, ask))
    }

    fn ask_counted<'a>(&'a self, ask: &'a Ask) -> Counted<'a> {
        Box::pin(Client::ask_counted(self, ask))
    }

    fn price(&self) -> Price {
        self.shared.endpoint.price
    }

    fn most_micros(&self, ask: &Ask) -> u64 {
        self.request_micros(ask, None, ask.max_tokens)
    }

    fn ask_within<'a>(&'a self, ask: &'a Ask, allowance_micros: u64) -> Reckoned<'a> {
        Box::pin(self.reckon(ask, None, Some(allowance_micros)))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.shared.endpoint).finish_non_exhaustive()
    }
}

/// The answer in `text`, and whether it was repaired.
fn read_answer(going: &Going<'_>, text: Option<&str>) -> Result<(Value, bool), String> {
    let text = text.ok_or("it has no content")?;
    let (Some(validator), Shape::Json { schema, .. }) = (&going.validator, &going.ask.shape) else {
        let text = text.trim();
        // That nothing is written on an image is an answer.
        let is_nothing = text.is_empty() && going.image_url.is_none();
        return if is_nothing { Err("it is empty".to_owned()) } else { Ok((text.into(), false)) };
    };
    let mut found = object_in(text).ok_or("there is no JSON object in it")?;
    let was_careless = fit(schema, &mut found.value);
    let Some(error) = validator.iter_errors(&found.value).next() else {
        return Ok((found.value, found.repaired || was_careless));
    };
    let place = error.instance_path().as_str().to_owned();
    let wrong = if place.is_empty() { error.to_string() } else { format!("at {place}: {error}") };
    // What is missing at the end of JSON that had to be closed was cut away.
    Err(if found.repaired { format!("the JSON is broken or cut off: {wrong}") } else { wrong })
}
