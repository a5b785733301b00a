//! Counts three visits. Run it again on the same directory, and it goes on where it stopped.

use abide_engine::{Answer, Registry};
use abide_examples::counter::{Ask, Counter};
use abide_examples::{Home, call};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_args()?;
    let mut registry = Registry::new();
    registry.object(Counter)?;
    let engine = home.start(registry)?;

    for _ in 0..3 {
        // The reply comes when the new count is on the disk.
        if let Answer::Now(count) = call::<Counter>(&engine, "visits", &Ask::Add(1)).await? {
            println!("counter/visits is {count}");
        }
    }
    if let Err(no) = call::<Counter>(&engine, "visits", &Ask::Add(-1_000)).await {
        println!("refused: {no}");
    }

    engine.stop().await;
    Ok(())
}
