//! Counts the words of three texts in three jobs and waits for the sum. Run it again on the same directory, and the
//! report is there at once.

use abide_core::ticket::Resolution;
use abide_engine::{Answer, Registry};
use abide_examples::fan_out::{Batch, COUNT_WORDS, QUEUE, Report, Texts, work};
use abide_examples::{Home, call};
use abide_store::view::TicketView;
use anyhow::bail;
use std::time::Duration;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_args()?;
    let mut registry = Registry::new();
    registry.object(Batch)?;
    registry.worker(QUEUE, COUNT_WORDS, 2, work)?;
    let engine = home.start(registry)?;

    let texts = ["one two three", "four five", " "].map(str::to_owned);
    let report: Report = match call::<Batch>(&engine, "demo", &Texts(texts.into())).await? {
        Answer::Now(report) => {
            println!("batch/demo was finished before");
            report
        }
        Answer::Later(ticket) => {
            println!("batch/demo answers later");
            match engine.ticket(&ticket, Duration::from_secs(30)).await? {
                Some(TicketView::Resolved(Resolution::Reply(report))) => report.decode()?,
                other => bail!("the batch did not answer: {other:?}"),
            }
        }
    };
    println!("{} words; {} text could not be counted", report.words, report.failed);

    engine.stop().await;
    Ok(())
}
