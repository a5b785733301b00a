//! `abide limit`: looking at limits and setting them.

use abide_core::limit::{LimitPolicy, Rate};
use abide_core::name::LimitKey;
use abide_core::time::Time;
use serde::Deserialize;

use crate::cli::{LimitCommand, LimitSetArgs};
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, cell, instant};
use crate::reach::{self, Missing, Path};

#[derive(Deserialize)]
struct LimitPage {
    limits: Vec<Limit>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Limit {
    key: String,
    policy: Option<LimitPolicy>,
    in_use: u32,
    waiting: u64,
    until: Option<Time>,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &LimitCommand, output: Output) -> Result<(), Failure> {
    match command {
        LimitCommand::List(page) => {
            let path =
                Path::v1(["limits"]).with("limit", Some(page.limit)).with("after", page.after.as_ref());
            list(config, &path, output)
        }
        LimitCommand::Set(args) => set(config, args, output),
    }
}

fn list(config: &Config, path: &Path, output: Output) -> Result<(), Failure> {
    let document: Document =
        reach::with(config, Missing::Refuse, async |client| Ok(client.get(path).await?))?;
    let page: LimitPage = document.decode()?;
    let row = |limit: &Limit| {
        let policy = limit.policy.clone().unwrap_or_default();
        [
            cell(&limit.key, 80),
            policy.concurrency.map_or_else(|| "-".to_owned(), |most| most.to_string()),
            rates(&policy.rates),
            if policy.burst > 0 { policy.burst.to_string() } else { "-".to_owned() },
            limit.in_use.to_string(),
            limit.waiting.to_string(),
            limit.until.map_or_else(String::new, instant),
        ]
    };
    let rows: Vec<_> = page.limits.iter().map(row).collect();
    let text = columns(["KEY", "CONCURRENCY", "RATES", "BURST", "IN USE", "WAITING", "OPENS"], &rows);
    output.data(&text, &document)?;
    if let Some(next) = page.next {
        output.note(&format!("more: --after {next}"));
    }
    Ok(())
}

fn rates(rates: &[Rate]) -> String {
    match rates {
        [] => "-".to_owned(),
        rates => rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn set(config: &Config, args: &LimitSetArgs, output: Output) -> Result<(), Failure> {
    let key = LimitKey::new(&args.key)?;
    let path = Path::v1(["limits", key.as_str()]);
    let LimitSetArgs { concurrency, rates, burst, remove, .. } = args;
    let policy = LimitPolicy { concurrency: *concurrency, rates: rates.clone(), burst: *burst };
    let document: Document = reach::with(config, Missing::Create, async |client| {
        Ok(if *remove { client.delete(&path).await? } else { client.put(&path, &policy).await? })
    })?;
    let did = if *remove { "removed" } else { "set" };
    output.data(&format!("\u{2713} Limit {key} is {did}\n"), &document)
}
