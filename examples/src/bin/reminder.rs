//! Sets three reminders and waits for the two that ring soon. Run it again on the same directory: those for tomorrow
//! are still there.

use abide_core::object::ObjectKey;
use abide_engine::{Answer, Engine, Object, Registry};
use abide_examples::reminder::{Ask, List, Rang, Reminders};
use abide_examples::{Home, call};
use anyhow::bail;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_args()?;
    let mut registry = Registry::new();
    registry.object(Reminders)?;
    let engine = home.start(registry)?;

    let List { waiting, rang } = ask(&engine, &Ask::List).await?;
    println!("{} waiting from before", waiting.len());
    let mut ringing = engine.follow(ObjectKey::new(Reminders::KIND, "ada")?, rang);

    for (text, in_ms) in [("tea is ready", 200), ("eggs are done", 100), ("water the plants", 86_400_000)] {
        ask(&engine, &Ask::Remind { text: text.to_owned(), in_ms }).await?;
    }
    let mut left = 2;
    while left > 0 {
        for entry in ringing.next().await? {
            let Rang { text, .. } = entry.value.decode()?;
            println!("it rings: {text}");
            left -= 1;
        }
    }
    println!("{} waiting", ask(&engine, &Ask::List).await?.waiting.len());

    engine.stop().await;
    Ok(())
}

async fn ask(engine: &Engine, ask: &Ask) -> anyhow::Result<List> {
    match call::<Reminders>(engine, "ada", ask).await? {
        Answer::Now(list) => Ok(list),
        Answer::Later(_) => bail!("reminders answer at once"),
    }
}
