//! Alarms: a burst of them, and how late they are.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Registry, Turn};
use abide_store::Read;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::load::percentiles;
use super::rig::Rig;
use super::{BenchError, Figures, expect_equal};

/// Alarms that are due at one instant.
const BURST: u64 = 10_000;

/// Objects that set alarms and note how late they were.
pub(super) struct Sleeper;

/// What a sleeper is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// Wake once at this time.
    WakeAt(Time),
    /// Set so many alarms for that time.
    WakeOften(u32, Time),
    /// How late was the alarm?
    Late,
}

impl Object for Sleeper {
    const KIND: &'static str = "sleeper";
    type Call = Ask;
    type Reply = i64;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<i64>, Halt<NoRefusal>> {
        match ask {
            Ask::WakeAt(at) => turn.set_alarm("wake", at)?,
            Ask::WakeOften(count, at) => {
                for n in 0..count {
                    turn.set_alarm(&format!("wake-{n}"), at)?;
                }
            }
            Ask::Late => return Ok(turn.get::<i64>("late")?.unwrap_or(-1).into()),
        }
        Ok(0.into())
    }

    fn alarm(&self, turn: &mut Turn<'_>, _: &str, at: Time) -> Result<(), Halt<NoRefusal>> {
        Ok(turn.put("late", &turn.now().since(at))?)
    }
}

/// A registry of sleepers.
pub(super) fn registry() -> Result<Registry, BenchError> {
    let mut registry = Registry::new();
    registry.object(Sleeper)?;
    Ok(registry)
}

/// The sleeper of a number.
pub(super) fn sleeper(n: u64) -> ObjectKey {
    ObjectKey::new("sleeper", format!("s{n}")).expect("a plain name")
}

/// Asks sleepers `0..count` at once, from 64 tasks.
pub(super) async fn ask_all(
    rig: &Arc<Rig>,
    count: u64,
    ask: impl Fn(u64) -> Ask + Send + Sync + Copy + 'static,
) -> Result<Vec<i64>, BenchError> {
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let rig = Arc::clone(rig);
        tasks.spawn(async move {
            let mut answers = Vec::new();
            for n in (task..count).step_by(64) {
                answers.push(rig.call(sleeper(n), Json::encode(&ask(n))?).await?.decode::<i64>()?);
            }
            Ok::<_, BenchError>(answers)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.append(&mut done.map_err(|e| BenchError::Wrong(e.to_string()))??);
    }
    Ok(all)
}

/// From the instant 10,000 alarms are due until all their turns are durable; and how late alarms are at 200 a second.
pub(super) async fn measure(dir: &Path, figures: &mut Figures) -> Result<(), BenchError> {
    let rig = Arc::new(Rig::start(&dir.join("burst"), registry()?)?);
    let due = rig.engine.now().plus_ms(10_000);
    ask_all(&rig, BURST, move |_| Ask::WakeAt(due)).await?;
    if rig.engine.now() >= due {
        return Err(BenchError::Wrong("setting the alarms took longer than they were to wait".into()));
    }
    sleep(Duration::from_millis(u64::try_from(due.since(rig.engine.now())).unwrap_or(0))).await;
    let began = Instant::now();
    while alarms_left(&rig).await? {
        sleep(Duration::from_millis(2)).await;
    }
    figures.alarms_10000_burst_ms = Some(began.elapsed().as_secs_f64() * 1_000.0);
    rig.engine.stop().await;
    drop(rig);
    let rig = Arc::new(Rig::start(&dir.join("burst"), registry()?)?);
    let fired = ask_all(&rig, BURST, |_| Ask::Late).await?.into_iter().filter(|late| *late >= 0).count();
    expect_equal("alarms that fired", BURST, fired as u64)?;
    rig.engine.stop().await;
    figures.alarm_late_p99_ms = Some(lateness(&dir.join("late")).await?);
    Ok(())
}

async fn alarms_left(rig: &Rig) -> Result<bool, BenchError> {
    match rig.engine.read(Read::Timers { after: Time::ZERO }).await? {
        abide_store::Answer::Timers(timers) => Ok(timers.alarm_at.is_some()),
        other => Err(BenchError::Wrong(format!("timers were answered with {other:?}"))),
    }
}

async fn lateness(dir: &Path) -> Result<f64, BenchError> {
    let rig = Arc::new(Rig::start(dir, registry()?)?);
    let first = rig.engine.now().plus_ms(2_000);
    let count = 600;
    ask_all(&rig, count, move |n| Ask::WakeAt(first.plus_ms(n as i64 * 5))).await?;
    while alarms_left(&rig).await? {
        sleep(Duration::from_millis(20)).await;
    }
    let late = ask_all(&rig, count, |_| Ask::Late).await?;
    rig.engine.stop().await;
    let micros = late.into_iter().map(|ms| u32::try_from(ms * 1_000).unwrap_or(u32::MAX)).collect();
    let [p99] = percentiles(micros, [0.99]);
    Ok(p99)
}
