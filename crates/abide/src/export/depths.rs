//! How many jobs wait in each queue, as was last seen: a collector is told also when the engine has stopped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_engine::Engine;
use abide_server::metrics::{Value, families};

/// The family that has them.
pub(super) const NAME: &str = "contentdownload_queue_depth";

/// Jobs that wait, by queue. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Depths {
    // Locked to put in or to copy out what was seen.
    seen: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Depths {
    /// Looks at the store. What cannot be read is as it was.
    pub(super) async fn look(&self, engine: &Engine) {
        let Ok(families) = families(engine).await else { return };
        let samples =
            families.into_iter().filter(|family| family.name == NAME).flat_map(|family| family.samples);
        let depth = |(queue, value)| match value {
            Value::Whole(jobs) => Some((queue, jobs)),
            Value::Histogram(_) => None,
        };
        let found = samples.filter_map(|sample| Some((sample.labels.into_iter().next()?.1, sample.value)));
        *self.lock() = found.filter_map(depth).collect();
    }

    /// What was seen last.
    pub(super) fn seen(&self) -> BTreeMap<String, u64> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        // Each step leaves the map whole, so a panic elsewhere under the lock spoils nothing.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
