//! Asking a model how a directory is grouped, and asking again for what its answer left out.

use crate::budget::{Truncation, tokens};
use crate::check::{Answer as Said, Checked, Fault, check};
use crate::contract::StrategizeResult;
use crate::file::InputFile;
use crate::paid::Paid;
use crate::plan::Group;
use crate::prompt::{self, OverBudget, Prompt, Question};
use abide_llm::{Answer, Ask, LlmError, Model, Reckoning, Shape};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::pin::Pin;

/// Raised when the wording of a prompt changes: answers to the old one are not taken for answers to the new one.
const PROMPT_VERSION: u32 = 1;
/// Tokens of an answer beside names of files.
const ANSWER_TOKENS: usize = 2_000;
/// At most so many tokens of answer are asked for at first.
const ANSWER_TOKENS_MAX: usize = 16_384;
/// Tokens that go with a question: the schema in words, for endpoints that take it no other way, and what was wrong with the
/// answer before.
const AROUND_TOKENS: usize = 500;
/// Requests for a question whose answers are no good as a whole.
const REQUESTS: u32 = 3;
/// Tokens of an answer about strategy.
const STRATEGY_TOKENS: u32 = 2_048;

/// Where answers are kept that were paid for.
pub trait Answers: Send + Sync {
    /// The answer to a question, if it was paid for before.
    fn kept<'a>(&'a self, key: &'a str) -> Later<'a, Option<Answer>>;
    /// Notes what a question took, and keeps its answer under its name if that is worth keeping.
    fn paid<'a>(&'a self, bill: Bill, answer: Option<(&'a str, &'a Answer)>) -> Later<'a, ()>;
    /// How much a question may cost of which one request may cost `least_micros`; none if there is no bound.
    fn may_ask(&self, least_micros: u64) -> Later<'_, Option<u64>>;
}

/// What a question took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// What is known.
    pub paid: Paid,
    /// What requests may have cost at most that were never answered.
    pub unanswered_micros: u64,
}

/// What comes later, or why it cannot.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send + 'a>>;

/// Keeps nothing and stops nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoAnswers;

impl Answers for NoAnswers {
    fn kept<'a>(&'a self, _: &'a str) -> Later<'a, Option<Answer>> {
        Box::pin(async { Ok(None) })
    }

    fn paid<'a>(&'a self, _: Bill, _: Option<(&'a str, &'a Answer)>) -> Later<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn may_ask(&self, _: u64) -> Later<'_, Option<u64>> {
        Box::pin(async { Ok(None) })
    }
}

/// A question without an answer that can be acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Not even the instructions fit.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// Its answer is no good as a whole.
    #[error("the model's answer cannot be used: {0}")]
    Faulty(Fault),
    /// The batch would cost more than it may.
    #[error(
        "the batch has cost {spent_micros} millionths, one more question may cost {least_micros}, and {cap_micros} is what it \
         may: it is not asked"
    )]
    Cap {
        /// What it has cost.
        spent_micros: u64,
        /// What one request may cost.
        least_micros: u64,
        /// What it may.
        cap_micros: u64,
    },
    /// Others of the batch are being asked, and may leave enough for this one.
    #[error("what the batch may cost is set aside for questions that are being asked")]
    Waits,
    /// What keeps answers cannot be reached.
    #[error("{0}")]
    Answers(String),
}

impl AskError {
    /// Whether the same question may be answered later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            AskError::OverBudget(_) | AskError::Cap { .. } => false,
            // It was asked for again, and told what is wrong, as often as that may help.
            AskError::Model(LlmError::BadAnswer(_)) => false,
            AskError::Model(error) => error.is_retryable(),
            // So was it here.
            AskError::Faulty(_) => false,
            AskError::Waits | AskError::Answers(_) => true,
        }
    }
}

/// What is asked, and of whom.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Of whom.
    pub model: &'a dyn Model,
    /// Who keeps answers.
    pub answers: &'a dyn Answers,
    /// What the question may take, in tokens.
    pub budget: usize,
    /// The directory.
    pub directory: &'a str,
    /// Its files, or those of a chunk, or a sample.
    pub files: &'a [InputFile],
    /// What the owner wants.
    pub custom_prompt: Option<&'a str>,
}

/// A plan, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Organized {
    /// The plan, everything that was repaired, and what the answers left out.
    pub checked: Checked,
    /// What was cut.
    pub truncation: Option<Truncation>,
    /// What it took.
    pub paid: Paid,
    /// Who answered.
    pub model: String,
}

/// Has files grouped. What the first answer leaves out is asked for once more, and nothing else.
pub async fn organize(asking: Asking<'_>, guidance: Option<&str>) -> Result<Organized, AskError> {
    let names: Vec<&str> = asking.files.iter().map(|file| file.name.as_str()).collect();
    let prompt = prompt::organize(asking.question(asking.files), guidance)?;
    let (first, paid, model) = asking.first(organize_ask(&prompt, asking.files), &names).await?;
    let mut organized = Organized { checked: first, truncation: prompt.truncation, paid, model };
    if organized.checked.missing.is_empty() {
        return Ok(organized);
    }
    match asking.repair(&organized.checked).await {
        Ok((second, paid)) => {
            organized.checked = merge(&names, organized.checked, second);
            organized.paid = organized.paid.plus(paid);
        }
        // Nobody's answer: what was answered is kept, and the rest is asked when answers can be kept again.
        Err(error @ (AskError::Answers(_) | AskError::Waits)) => return Err(error),
        // A plan that leaves a few files where they are is better than none.
        Err(error) => {
            let warning = format!("files that were left out could not be asked about: {error}");
            organized.checked.warnings.push(warning);
        }
    }
    Ok(organized)
}

/// How a directory of `total` files is best grouped in `chunks` parts.
pub async fn strategize(
    asking: Asking<'_>,
    total: u64,
    chunks: u64,
) -> Result<(StrategizeResult, Option<Truncation>, Paid, String), AskError> {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let prompt = prompt::strategize(asking.question(asking.files), count(total), count(chunks))?;
    let text = || json!({ "type": "string" });
    let properties =
        json!({ "should_coordinate": { "type": "boolean" }, "guidance": text(), "reasoning": text() });
    let schema = object(properties);
    let shape = Shape::Json { name: "strategize_response".to_owned(), schema };
    let asked = asking.ask(ask_of(&prompt, shape, STRATEGY_TOKENS)).await?;
    asking.keep(&asked, Worth::Keeping).await?;
    let result = serde_json::from_value(asked.answer.value.clone())
        .map_err(|error| LlmError::BadAnswer(error.to_string()))?;
    Ok((result, prompt.truncation, asked.paid(), asked.answer.model))
}

/// Whether an answer is asked for again.
#[derive(Clone, Copy)]
enum Worth {
    Keeping,
    Nothing,
}

/// An answer, and whether it was paid for just now.
struct Asked {
    key: String,
    answer: Answer,
    unanswered_micros: u64,
    is_new: bool,
}

impl Asked {
    fn paid(&self) -> Paid {
        Paid::of(&self.answer)
    }
}

impl<'a> Asking<'a> {
    fn question(self, files: &'a [InputFile]) -> Question<'a> {
        let budget = self.budget.saturating_sub(AROUND_TOKENS);
        Question { directory: self.directory, files, custom_prompt: self.custom_prompt, budget }
    }

    async fn ask(self, ask: Ask) -> Result<Asked, AskError> {
        let key = ask.key(self.model.name());
        if let Some(answer) = self.answers.kept(&key).await? {
            return Ok(Asked { key, answer, unanswered_micros: 0, is_new: false });
        }
        let reckoning = match self.answers.may_ask(self.model.most_micros(&ask)).await? {
            Some(allowance) => self.model.ask_within(&ask, allowance).await,
            None => {
                let (answer, spent) = self.model.ask_counted(&ask).await;
                Reckoning { answer, spent, unanswered_micros: 0 }
            }
        };
        let Reckoning { answer, spent, unanswered_micros } = reckoning;
        match answer {
            Ok(answer) => Ok(Asked { key, answer, unanswered_micros, is_new: true }),
            Err(error) => {
                let bill = Bill { paid: Paid::spent(spent), unanswered_micros };
                self.answers.paid(bill, None).await?;
                Err(error.into())
            }
        }
    }

    /// Notes an answer that was paid for just now.
    async fn keep(self, asked: &Asked, worth: Worth) -> Result<(), AskError> {
        if !asked.is_new {
            return Ok(());
        }
        let answer = match worth {
            Worth::Keeping => Some((asked.key.as_str(), &asked.answer)),
            Worth::Nothing => None,
        };
        let bill = Bill { paid: asked.paid(), unanswered_micros: asked.unanswered_micros };
        self.answers.paid(bill, answer).await
    }

    /// Asks for groups until an answer is good as a whole, each time saying what was wrong with the one before.
    async fn first(self, ask: Ask, names: &[&str]) -> Result<(Checked, Paid, String), AskError> {
        let (mut question, mut paid, mut wrong) = (ask.clone(), Paid::default(), None);
        loop {
            let asked = match (self.ask(question).await, wrong) {
                // There is no money for another: the first is not paid for again and again.
                (Err(AskError::Waits | AskError::Cap { .. }), Some(fault)) => {
                    return Err(AskError::Faulty(fault));
                }
                (asked, _) => asked?,
            };
            let model = asked.answer.model.clone();
            paid = paid.plus(asked.paid());
            let fault = match self.judge(asked, names).await? {
                Ok(checked) => return Ok((checked, paid, model)),
                Err(fault) if paid.calls >= REQUESTS => return Err(AskError::Faulty(fault)),
                Err(fault) => fault,
            };
            let user = format!("{}\n\n---\n\nThe last answer could not be used: {fault}.", ask.user);
            (question, wrong) = (Ask { user, ..ask.clone() }, Some(fault));
        }
    }

    /// Checks an answer, and keeps it before anything is done with it.
    async fn judge(self, asked: Asked, names: &[&str]) -> Result<Result<Checked, Fault>, AskError> {
        let said: Result<Said, _> = serde_json::from_value(asked.answer.value.clone());
        let checked = said.map(|said| check(names, &said));
        let fault = checked.as_ref().ok().and_then(|checked| checked.faults.first().copied());
        let is_good = checked.is_ok() && fault.is_none();
        self.keep(&asked, if is_good { Worth::Keeping } else { Worth::Nothing }).await?;
        let checked = checked.map_err(|error| LlmError::BadAnswer(error.to_string()))?;
        Ok(fault.map_or(Ok(checked), Err))
    }

    /// Asks about the files that an answer left out.
    async fn repair(self, first: &Checked) -> Result<(Checked, Paid), AskError> {
        let missing: BTreeSet<&str> = first.missing.iter().map(String::as_str).collect();
        let files: Vec<InputFile> =
            self.files.iter().filter(|file| missing.contains(file.name.as_str())).cloned().collect();
        let groups: Vec<(&str, &str)> = first
            .plan
            .groups
            .iter()
            .map(|group| (group.group_name.as_str(), group.description.as_str()))
            .collect();
        let prompt = prompt::repair(self.question(&files), &groups, &first.foreign)?;
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let asked = self.ask(organize_ask(&prompt, &files)).await?;
        let said: Result<Said, _> = serde_json::from_value(asked.answer.value.clone());
        self.keep(&asked, if said.is_ok() { Worth::Keeping } else { Worth::Nothing }).await?;
        // It has a description already, so that one more is not asked for.
        let said = said.map_err(|error| LlmError::BadAnswer(error.to_string()))?;
        Ok((check(&names, &said), asked.paid()))
    }
}

/// The plan with what a second answer says about files that the first one left out.
fn merge(names: &[&str], mut first: Checked, second: Checked) -> Checked {
    for group in second.plan.groups {
        let same = |known: &&mut Group| known.group_name.to_lowercase() == group.group_name.to_lowercase();
        match first.plan.groups.iter_mut().find(same) {
            Some(known) => known.files.extend(group.files),
            None => first.plan.groups.push(group),
        }
    }
    let grouped: BTreeSet<&str> =
        first.plan.groups.iter().flat_map(|group| group.files.iter().map(String::as_str)).collect();
    let ungrouped = names.iter().filter(|name| !grouped.contains(**name)).map(|name| (*name).to_owned());
    first.plan.ungrouped_files = ungrouped.collect();
    first.warnings.push(format!("{} of the files were asked about once more", first.missing.len()));
    first.warnings.extend(second.warnings);
    first.missing = second.missing;
    first.foreign.extend(second.foreign);
    first
}

fn organize_ask(prompt: &Prompt, files: &[InputFile]) -> Ask {
    let strings = || json!({ "type": "array", "items": { "type": "string" } });
    let text = || json!({ "type": "string" });
    let group = object(json!({ "group_name": text(), "description": text(), "files": strings() }));
    let groups = json!({ "type": "array", "items": group });
    let schema = object(json!({
        "groups": groups, "ungrouped_files": strings(), "reorganization_description": text(),
    }));
    let shape = Shape::Json { name: "organize_response".to_owned(), schema };
    let names: usize = files.iter().map(|file| tokens(&file.name) + 4).sum();
    let room = (ANSWER_TOKENS + 2 * names).min(ANSWER_TOKENS_MAX);
    ask_of(prompt, shape, u32::try_from(room).unwrap_or(u32::MAX))
}

fn ask_of(prompt: &Prompt, shape: Shape, max_tokens: u32) -> Ask {
    let (system, user) = (prompt.system.clone(), prompt.user.clone());
    Ask { system, user, shape, max_tokens, prompt_version: PROMPT_VERSION }
}

fn object(properties: Value) -> Value {
    let required: Vec<String> =
        properties.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
