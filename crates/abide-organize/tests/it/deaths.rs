//! The engine dies at each write of a request, and another one goes on.

use crate::rig::{Orchestrator, Rig, whole, with_model, with_model_within};
use crate::stand_in::{Play, StandIn, by_letter, good};
use crate::tree::{Grouped, Tree, tree};
use abide_organize::contract::CallbackStatus;
use std::time::Duration;

const FILES: [(&str, &str); 5] =
    [("a1", "apples"), ("a2", "apples"), ("b1", "bears"), ("b2", "bears"), ("z", "odd")];

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_write_gives_the_same_entities_and_pays_once() {
    let undisturbed = died_after(None).await;
    let mut deaths = 0;
    for writes in 0.. {
        let Some(tree) = died_after(Some(writes)).await.filter(|_| writes < 60) else { break };
        deaths += 1;
        let names = |tree: &Tree| -> Vec<Grouped> { tree.groups.values().cloned().collect() };
        let sorted = |tree: &Tree| {
            let mut groups = names(tree);
            groups.sort();
            groups
        };
        let expected = undisturbed.as_ref().unwrap();
        assert_eq!(sorted(&tree), sorted(expected), "after {writes} writes");
        assert_eq!(tree.description, expected.description, "after {writes} writes");
    }
    assert!(deaths > 20, "{deaths}");
}

/// A request during which the engine dies after so many writes; none if it was over before.
async fn died_after(writes: Option<usize>) -> Option<Tree> {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let mut rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    if let Some(writes) = writes {
        rig.die_after(writes);
    }
    let died = rig.died();
    // A client that does not know whether it was heard asks again. What reaches a dead machine may never be answered.
    let was_heard = tokio::select! {
        heard = rig.service.process(whole("0", &[&before.id])) => heard.is_ok(),
        () = rig.died() => false,
    };
    let is_over = tokio::select! {
        payload = orchestrator.next() => { assert_eq!(payload.status, CallbackStatus::Success); true }
        () = died => false,
    };
    if !is_over {
        rig = rig.again();
        if !was_heard {
            drop(rig.process(whole("0", &[&before.id])).await);
        }
        let payload = orchestrator.next().await;
        assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
        rig.finished("batch-1", "0").await;
    }
    // An answer that was kept is not asked for again; one that was on its way when the engine died may be.
    assert!(model.asked().len() <= 2, "{}", model.asked().len());
    let tree = tree(&rig, &before).await;
    rig.engine.stop().await;
    (!is_over || writes.is_none()).then_some(tree)
}

/// How an engine ends.
#[derive(Debug, Clone, Copy)]
enum Ends {
    ByDeath,
    Orderly,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_paid_for_is_not_asked_for_again() {
    for ends in [Ends::ByDeath, Ends::Orderly] {
        // The first answer leaves a file out; the engine ends while that one is asked about.
        let model = StandIn::start(|question| match question.number {
            0 => Play::Says(by_letter(&question.files[..4]).to_string()),
            1 => Play::Hangs,
            _ => good(question),
        })
        .await;
        let mut orchestrator = Orchestrator::start(0).await;
        let rig = Rig::start(with_model_within(&model.base_url, 3_000), &orchestrator.url);
        let before = rig.directory_of(&FILES).await;
        rig.process(whole("0", &[&before.id])).await;
        while model.asked().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match ends {
            Ends::ByDeath => rig.kill(),
            Ends::Orderly => rig.engine.stop().await,
        }
        let rig = rig.again();
        let payload = orchestrator.next().await;
        let asked: Vec<usize> = model.asked().iter().map(|question| question.files.len()).collect();
        assert!(
            asked.len() >= 3 && asked[0] == 5 && asked[1..].iter().all(|files| *files == 1),
            "{ends:?} {asked:?}"
        );
        assert_eq!(payload.spend.tokens.prompt, 2_000, "{ends:?}");
        assert_eq!(
            payload.results.unwrap()[0].llm_metrics.as_ref().unwrap().missing_files_count,
            0,
            "{ends:?}"
        );
        assert_eq!(tree(&rig, &before).await.groups.len(), 2);
        rig.engine.stop().await;
    }
}
