//! A big object: what a turn on one row costs when nothing of the object is in memory.

use std::path::Path;

use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::seed::Seed;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Registry, Turn};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::BenchError;
use super::rig::Rig;

/// Cold turns of each sort.
const TURNS: u64 = 60;
/// Rows in one commit.
const CHUNK: u64 = 1_000;

/// Objects with many rows.
struct Shelf;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ask {
    Fill { from: u64, to: u64 },
    Touch(u64),
}

fn row(n: u64) -> String {
    format!("row/{n:08}")
}

impl Object for Shelf {
    const KIND: &'static str = "shelf";
    type Call = Ask;
    type Reply = i64;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<i64>, Halt<NoRefusal>> {
        match ask {
            Ask::Fill { from, to } => {
                for n in from..to {
                    turn.put(&row(n), &0_i64)?;
                }
                Ok(0.into())
            }
            Ask::Touch(n) => {
                let touched = turn.get::<i64>(&row(n))?.unwrap_or(0) + 1;
                turn.put(&row(n), &touched)?;
                Ok(touched.into())
            }
        }
    }
}

fn registry() -> Result<Registry, BenchError> {
    let mut registry = Registry::new();
    registry.object(Shelf)?;
    Ok(registry)
}

/// The median time of a cold turn on a random row of an object of 100,000 rows, over one of 10.
pub(super) async fn ratio(dir: &Path) -> Result<f64, BenchError> {
    let (big, small) = (100_000, 10);
    for (name, rows) in [("big", big), ("small", small)] {
        let rig = Rig::start(dir, registry()?)?;
        for from in (0..rows).step_by(CHUNK as usize) {
            let ask = Ask::Fill { from, to: (from + CHUNK).min(rows) };
            rig.call(shelf(name), Json::encode(&ask)?).await?;
        }
        rig.stop().await;
    }
    let mut seed = Seed::new(1);
    let (mut big_us, mut small_us) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        big_us.push(cold_turn(dir, "big", seed.below(big)).await?);
        small_us.push(cold_turn(dir, "small", seed.below(small)).await?);
    }
    Ok(median(big_us) / median(small_us))
}

fn shelf(name: &str) -> ObjectKey {
    ObjectKey::new("shelf", name).expect("a plain name")
}

async fn cold_turn(dir: &Path, name: &str, row: u64) -> Result<f64, BenchError> {
    let rig = Rig::start(dir, registry()?)?;
    // The engine has begun when it has answered something.
    rig.call(shelf("other"), Json::encode(&Ask::Touch(0))?).await?;
    let began = Instant::now();
    rig.call(shelf(name), Json::encode(&Ask::Touch(row))?).await?;
    let took = began.elapsed().as_secs_f64() * 1e6;
    rig.stop().await;
    Ok(took)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
