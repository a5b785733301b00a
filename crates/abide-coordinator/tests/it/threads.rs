//! The real engine with its threads and the real worker.

use abide_coordinator::{Call, Change, ItemAnswer, Options, Status, calls, register};
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_engine::{Call as EngineCall, Engine, EngineOptions, Registry};
use abide_store::memory::MemoryStore;
use serde_json::json;

async fn call(engine: &Engine, call: &Call) -> ItemAnswer {
    let object = calls::coordinator("main").unwrap();
    let call = EngineCall { object, body: Json::encode(call).unwrap(), key: None };
    match engine.call(call).await.unwrap() {
        Reply::Now(json) => json.decode().unwrap(),
        Reply::Later(ticket) => panic!("{ticket}"),
    }
}

#[tokio::test]
async fn both_modes_run_in_the_real_engine_and_are_followed_live() {
    let mut registry = Registry::new();
    register(&mut registry, Options::default()).unwrap();
    let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default()).unwrap();
    let mut log = engine.follow(calls::coordinator("main").unwrap(), Seq(0));
    let mut waits = Vec::new();
    for mode in ["queue", "direct"] {
        let submit = Call::submit(&json!({"message": mode, "delay": 5, "mode": mode})).unwrap();
        waits.push(call(&engine, &submit).await.work_item.id);
    }
    let ids = waits.clone();
    while !waits.is_empty() {
        for entry in log.next().await.unwrap() {
            let change: Change = entry.value.decode().unwrap();
            waits.retain(|id| *id != change.work_id || change.status != Status::Completed);
        }
    }
    for (id, stamps) in ids.iter().zip([5, 4]) {
        let item = call(&engine, &Call::item(&id.0)).await.work_item;
        assert_eq!(item.timestamps.len(), stamps, "{:?}", item.timestamps);
        assert!(item.time_taken.is_some_and(|taken| taken.whole() >= 5));
    }
    engine.stop().await;
}
