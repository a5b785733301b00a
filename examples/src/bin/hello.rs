//! The smallest program: an object that remembers, on one file.

use abide_core::{json::Json, object::ObjectKey};
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Call, Engine, EngineOptions, Halt, Nothing, Object, Registry, Turn};
use abide_sqlite::{DataDir, SqliteStore};
use anyhow::Context;

struct Visits;

impl Object for Visits {
    const KIND: &'static str = "visits";
    type Call = String;
    type Reply = u64;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, who: String) -> Result<Answer<u64>, Halt<NoRefusal>> {
        let visits = turn.get::<u64>(&who)?.unwrap_or(0) + 1;
        turn.put(&who, &visits)?;
        Ok(visits.into())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let path = std::env::args_os().nth(1).context("give a data directory")?;
    let dir = DataDir::open(path.as_ref())?;
    let mut registry = Registry::new();
    registry.object(Visits)?;
    let store = SqliteStore::open(dir.path())?;
    let engine = Engine::start(Box::new(store), registry, EngineOptions::default())?;

    let object = ObjectKey::new("visits", "home")?;
    let reply = engine.call(Call { object, body: Json::encode("ada")?, key: None }).await?;
    println!("{reply:?}");

    engine.stop().await;
    Ok(())
}
