//! Ada pays Bob and waits until the money has arrived. Run it again on the same directory, and there is less to pay with.

use abide_core::object::ObjectKey;
use abide_engine::{Answer, Engine, Object, Registry};
use abide_examples::transfer::{Account, Ask, Balance};
use abide_examples::{Home, call};
use anyhow::bail;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_args()?;
    let mut registry = Registry::new();
    registry.object(Account)?;
    let engine = home.start(registry)?;

    if ask(&engine, "ada", &Ask::Balance).await?.cents == 0 {
        ask(&engine, "ada", &Ask::Deposit(1_000)).await?;
    }
    let before = ask(&engine, "bob", &Ask::Balance).await?.payments;
    let mut statement = engine.follow(ObjectKey::new(Account::KIND, "bob")?, before);
    ask(&engine, "ada", &Ask::Transfer { to: "bob".to_owned(), cents: 300 }).await?;
    for entry in statement.next().await? {
        println!("bob got {} cents", entry.value);
    }
    for name in ["ada", "bob"] {
        println!("{name} has {} cents", ask(&engine, name, &Ask::Balance).await?.cents);
    }

    engine.stop().await;
    Ok(())
}

async fn ask(engine: &Engine, name: &str, ask: &Ask) -> anyhow::Result<Balance> {
    match call::<Account>(engine, name, ask).await? {
        Answer::Now(balance) => Ok(balance),
        Answer::Later(_) => bail!("accounts answer at once"),
    }
}
