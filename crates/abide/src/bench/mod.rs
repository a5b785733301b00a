//! `abide bench`: what this machine does, as figures beside the floors of the same run.

mod alarms;
mod big;
mod children;
pub(crate) mod downloads;
mod floor;
mod jobs;
mod limits;
mod load;
mod objects;
pub(crate) mod preprocess;
mod rig;
pub(crate) mod sync;

pub(crate) use children::ChildTask;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

/// The bench could not go on, or what it found does not add up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The store.
    #[error(transparent)]
    Open(#[from] abide_sqlite::OpenError),
    /// The engine did not start.
    #[error(transparent)]
    Start(#[from] abide_engine::StartError),
    /// The engine did not answer.
    #[error(transparent)]
    Engine(#[from] abide_engine::EngineError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] abide_engine::CallError),
    /// A kind or worker of the bench cannot be registered.
    #[error(transparent)]
    Register(#[from] abide_engine::registry::RegisterError),
    /// An answer was not what it should be.
    #[error(transparent)]
    Json(#[from] abide_core::json::BadJson),
    /// After a phase the store does not hold what was acknowledged.
    #[error("{what}: {acknowledged} were acknowledged and the store has {found}")]
    DoesNotAddUp {
        /// Of what.
        what: &'static str,
        /// What was acknowledged.
        acknowledged: u64,
        /// What is there.
        found: u64,
    },
    /// Something else went wrong.
    #[error("{0}")]
    Wrong(String),
}

fn expect_equal(what: &'static str, acknowledged: u64, found: u64) -> Result<(), BenchError> {
    if acknowledged == found { Ok(()) } else { Err(BenchError::DoesNotAddUp { what, acknowledged, found }) }
}

macro_rules! figures {
    ($($name:ident),* $(,)?) => {
        /// Every figure. One that could not be measured is absent.
        #[derive(Debug, Default, Serialize)]
        pub(crate) struct Figures {
            $($name: Option<f64>,)*
        }

        impl Figures {
            /// The figures as a table for a person.
            pub(crate) fn table(&self) -> String {
                let shown = |figure: Option<f64>| match figure {
                    Some(figure) if figure >= 100.0 => format!("{figure:.0}"),
                    Some(figure) => format!("{figure:.2}"),
                    None => "not measured".to_owned(),
                };
                let rows = [$((stringify!($name), self.$name)),*];
                rows.into_iter().map(|(name, figure)| format!("{name:<26}{:>14}\n", shown(figure))).collect()
            }
        }
    };
}

figures!(
    http_floor_rps,
    fsync_per_s,
    object_one_c32_rps,
    object_one_p50_ms,
    object_one_p99_ms,
    object_1000_c32_rps,
    object_1000_c128_rps,
    object_1000_c128_p99_ms,
    object_inproc_rps,
    object_new_per_s,
    enqueue_http_8_rps,
    enqueue_bulk_per_s,
    lifecycle_per_s,
    pickup_p50_ms,
    pickup_p99_ms,
    alarms_10000_burst_ms,
    alarm_late_p99_ms,
    alarms_1m_rss_mib,
    start_100k_objects_ms,
    rss_idle_mib,
    rss_10k_objects_mib,
    idle_syscalls_60s,
    big_object_turn_ratio,
    limit_keys_100k_ratio,
    saturated_key_ratio,
);

/// How thorough a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thoroughness {
    /// How long each load is measured.
    pub(crate) measured: Duration,
    /// How long system calls of an idle engine are counted.
    pub(crate) idle_seconds: u32,
}

/// Runs every phase in fresh directories below `dir`; `tell` hears what is under way.
pub(crate) async fn run(
    dir: &Path,
    thoroughness: Thoroughness,
    tell: impl Fn(&str),
) -> Result<Figures, BenchError> {
    let Thoroughness { measured, idle_seconds } = thoroughness;
    let mut figures = Figures::default();
    let f = &mut figures;
    tell("floors: bare HTTP, bare disk");
    f.http_floor_rps = Some(floor::http_rps(measured).await?);
    f.fsync_per_s = Some(floor::fsyncs_per_s(dir, measured)?);
    tell("objects over HTTP");
    objects::over_http(dir, measured, f).await?;
    tell("objects in the process");
    f.object_inproc_rps = Some(objects::in_process(&dir.join("inproc"), measured).await?);
    f.object_new_per_s = Some(objects::new_objects(&dir.join("new"), measured).await?);
    tell("jobs: enqueuing, whole lives, pickup");
    jobs::enqueue(&dir.join("enqueue"), measured, f).await?;
    f.lifecycle_per_s = Some(jobs::lives(&dir.join("lives")).await?);
    jobs::pickup(&dir.join("pickup"), measured * 2, f).await?;
    tell("alarms: a burst, lateness");
    alarms::measure(&dir.join("alarms"), f).await?;
    tell("a big object");
    f.big_object_turn_ratio = Some(big::ratio(&dir.join("big")).await?);
    tell("limits: many keys, a full key");
    limits::measure(&dir.join("limits"), f).await?;
    tell("processes of their own: memory, system calls, a start after kill -9");
    children::measure(&dir.join("children"), idle_seconds, f).await?;
    Ok(figures)
}

/// What a child process of the bench does.
pub(crate) async fn run_child(task: ChildTask, dir: &Path) -> Result<(), BenchError> {
    children::run(task, dir).await
}
