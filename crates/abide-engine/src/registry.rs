//! Which kinds of objects and which workers an engine runs.

use crate::object::{Handler, Object, Typed};
use crate::worker::{Pool, Worker};
use abide_core::name::{JobKind, Kind, QueueName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything a service brings to an engine.
#[derive(Default, Clone)]
pub struct Registry {
    kinds: BTreeMap<Kind, Arc<dyn Handler>>,
    pools: Vec<Pool>,
}

/// Something was registered twice or under a name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The kind's name cannot be used.
    #[error(transparent)]
    BadName(#[from] abide_core::name::BadName),
    /// There is a handler for that kind.
    #[error("the kind {0} is registered twice")]
    Twice(Kind),
}

impl Registry {
    /// An empty one.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a kind of object.
    pub fn object<O: Object>(&mut self, object: O) -> Result<(), RegisterError> {
        let kind = Kind::new(O::KIND)?;
        if self.kinds.contains_key(&kind) {
            return Err(RegisterError::Twice(kind));
        }
        self.kinds.insert(kind, Arc::new(Typed(object)));
        Ok(())
    }

    /// Adds a kind of object, or puts another version of it in its place.
    pub(crate) fn replace<O: Object>(&mut self, object: O) -> Result<(), RegisterError> {
        self.kinds.insert(Kind::new(O::KIND)?, Arc::new(Typed(object)));
        Ok(())
    }

    /// Adds a worker that runs jobs of one queue and kind in this process, `slots` at a time.
    pub fn worker<W: Worker>(
        &mut self,
        queue: &str,
        kind: &str,
        slots: usize,
        worker: W,
    ) -> Result<(), RegisterError> {
        let (queue, kind) = (QueueName::new(queue)?, JobKind::new(kind)?);
        self.pools.push(Pool { queue, kind, slots, in_all: None, worker: Arc::new(worker) });
        Ok(())
    }

    /// The same, for a worker that runs `in_all` jobs and then no more.
    pub fn worker_for<W: Worker>(
        &mut self,
        in_all: u64,
        queue: &str,
        kind: &str,
        slots: usize,
        worker: W,
    ) -> Result<(), RegisterError> {
        let (queue, kind) = (QueueName::new(queue)?, JobKind::new(kind)?);
        self.pools.push(Pool { queue, kind, slots, in_all: Some(in_all), worker: Arc::new(worker) });
        Ok(())
    }

    /// The handler of a kind.
    #[must_use]
    pub fn handler(&self, kind: &Kind) -> Option<&Arc<dyn Handler>> {
        self.kinds.get(kind)
    }

    /// Every kind.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.keys()
    }

    /// Every pool of workers.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }
}
