//! What may be spent in all. It is set aside before a request is sent, so that no number of them at a time spends more.
//!
//! ```text
//! set aside ──► asked ──► settled: what it took counts, and the rest is free again
//!                 └─► given up ──► counts in full: nobody knows what it took
//! ```

use crate::error::LlmError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// Where it is written down what was spent, so that it is known after a crash.
pub trait Book: Send + Sync + 'static {
    /// Adds to what is written, which may be less than nothing. It is written when this has ended.
    fn add(&self, micros: i64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;
}

/// What all clients that share it may spend. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Purse {
    shared: Arc<Shared>,
}

struct Shared {
    budget_micros: u64,
    /// None while it is not known what was spent before.
    state: watch::Sender<Option<State>>,
}

struct State {
    spent: u64,
    held: u64,
    book: Option<Arc<dyn Book>>,
}

/// What is set aside for a request. If nobody says what it took, it took all of it.
#[must_use]
pub(crate) struct Aside<'a> {
    purse: &'a Purse,
    book: Option<Arc<dyn Book>>,
    micros: u64,
    took_micros: u64,
}

enum Decision {
    Granted(Option<Arc<dyn Book>>),
    Wait,
    Over,
}

impl Purse {
    /// One of which nothing is spent, and which is forgotten with the process until it has a [`Book`].
    #[must_use]
    pub fn new(budget_micros: u64) -> Purse {
        let state = watch::channel(Some(State { spent: 0, held: 0, book: None })).0;
        Purse { shared: Arc::new(Shared { budget_micros, state }) }
    }

    /// Has everybody wait until it is opened.
    pub fn shut(&self) {
        self.shared.state.send_replace(None);
    }

    /// Goes on where `book` is, which says that so much was spent.
    pub fn open(&self, book: Arc<dyn Book>, spent_micros: u64) {
        self.shared.state.send_replace(Some(State { spent: spent_micros, held: 0, book: Some(book) }));
    }

    /// Sets aside what a request may cost. Waits while others have so much aside that it may not be enough.
    pub(crate) async fn set_aside(&self, micros: u64) -> Result<Aside<'_>, LlmError> {
        let budget_micros = self.shared.budget_micros;
        let mut changes = self.shared.state.subscribe();
        let book = loop {
            changes.mark_unchanged();
            match self.decide(micros) {
                Decision::Granted(book) => break book,
                Decision::Over => return Err(LlmError::OverBudget { budget_micros }),
                Decision::Wait => changes.changed().await.expect("this purse holds the sender"),
            }
        };
        let mut aside = Aside { purse: self, book, micros, took_micros: micros };
        if let Some(book) = &aside.book
            && let Err(why) = book.add(signed(micros)).await
        {
            aside.took_micros = 0;
            return Err(LlmError::NotNoted(why));
        }
        Ok(aside)
    }

    fn decide(&self, micros: u64) -> Decision {
        let mut decision = Decision::Wait;
        self.shared.state.send_if_modified(|state| {
            let Some(state) = state else { return false };
            let with_this = state.spent.saturating_add(micros);
            if with_this > self.shared.budget_micros {
                decision = Decision::Over;
            } else if with_this.saturating_add(state.held) <= self.shared.budget_micros {
                state.held += micros;
                decision = Decision::Granted(state.book.clone());
            }
            // Nobody who waits has more because of this.
            false
        });
        decision
    }
}

impl Aside<'_> {
    /// The request took so much.
    pub(crate) async fn settle(mut self, took_micros: u64) {
        self.took_micros = took_micros;
        let (book, micros) = (self.book.take(), self.micros);
        drop(self);
        if let Some(book) = book
            && took_micros != micros
            && let Err(why) = book.add(signed(took_micros).saturating_sub(signed(micros))).await
        {
            tracing::warn!(target: "llm", why, "what a model took stays noted as more than it was");
        }
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.purse.shared.state.send_if_modified(|state| {
            let Some(state) = state else { return false };
            // What was set aside before it was opened anew is in what was spent.
            state.held = state.held.saturating_sub(self.micros);
            state.spent = state.spent.saturating_add(self.took_micros);
            true
        });
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

impl PartialEq for Purse {
    fn eq(&self, other: &Purse) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Purse {}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse").field("budget_micros", &self.shared.budget_micros).finish_non_exhaustive()
    }
}
