//! `abide object`: looking at objects.

use abide_core::json::Json;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::cli::ObjectCommand;
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, cell, instant};
use crate::reach::{self, Missing, Path};

#[derive(Deserialize)]
struct ObjectPage {
    objects: Vec<ObjectDocument>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct ObjectDocument {
    kind: String,
    name: String,
    version: i64,
    log_head: i64,
    created_at: Time,
    updated_at: Time,
    #[serde(default)]
    alarms: Vec<AlarmDocument>,
}

#[derive(Deserialize)]
struct AlarmDocument {
    alarm: String,
    at: Time,
}

#[derive(Deserialize)]
struct RowPage {
    rows: Vec<RowDocument>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct RowDocument {
    key: String,
    value: Json,
}

#[derive(Serialize)]
struct ShownDocument {
    object: Document,
    rows: Document,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &ObjectCommand, output: Output) -> Result<(), Failure> {
    match command {
        ObjectCommand::List { kind, page } => {
            let path = Path::v1(["objects"])
                .with("kind", kind.as_ref())
                .with("limit", Some(page.limit))
                .with("after", page.after.as_ref());
            list(config, &path, output)
        }
        ObjectCommand::Show { object, prefix, rows } => show(config, object, prefix, *rows, output),
    }
}

fn list(config: &Config, path: &Path, output: Output) -> Result<(), Failure> {
    let document: Document =
        reach::with(config, Missing::Refuse, async |client| Ok(client.get(path).await?))?;
    let page: ObjectPage = document.decode()?;
    let row = |object: &ObjectDocument| {
        let name = cell(&format!("{}/{}", object.kind, object.name), 80);
        [name, object.version.to_string(), object.log_head.to_string(), instant(object.updated_at)]
    };
    let rows: Vec<_> = page.objects.iter().map(row).collect();
    let text = columns(["OBJECT", "VERSION", "LOG", "UPDATED"], &rows);
    output.data(&text, &document)?;
    if let Some(next) = page.next {
        output.note(&format!("more: --after {next}"));
    }
    Ok(())
}

fn show(config: &Config, object: &str, prefix: &str, rows: u16, output: Output) -> Result<(), Failure> {
    if !object.contains('/') {
        let message =
            format!("{object:?} has no kind: name an object as kind/name, such as coordinator/main");
        return Err(Failure::Unusable(message));
    }
    let key: abide_core::object::ObjectKey = object.parse()?;
    let (kind, name) = (key.kind.as_str(), key.name.as_str());
    let document = reach::with(config, Missing::Refuse, async |client| {
        let object = client.get(&Path::v1(["objects", kind, name])).await?;
        let path =
            Path::v1(["objects", kind, name, "rows"]).with("prefix", Some(prefix)).with("limit", Some(rows));
        Ok(ShownDocument { object, rows: client.get(&path).await? })
    })?;
    let whole: ObjectDocument = document.object.decode()?;
    let page: RowPage = document.rows.decode()?;
    let mut text = format!(
        "object   {object}\nversion  {}\nlog      {}\ncreated  {}\nupdated  {}\n",
        whole.version,
        log(whole.log_head),
        instant(whole.created_at),
        instant(whole.updated_at)
    );
    for alarm in &whole.alarms {
        text.push_str(&format!("alarm    {} at {}\n", alarm.alarm, instant(alarm.at)));
    }
    let row = |row: &RowDocument| [cell(&row.key, 80), cell(row.value.as_str(), 100)];
    let shown: Vec<_> = page.rows.iter().map(row).collect();
    text.push('\n');
    text.push_str(&columns(["ROW", "VALUE"], &shown));
    if page.next.is_some() {
        text.push_str("there are more rows: --rows, --prefix\n");
    }
    output.data(&text, &document)
}

fn log(head: i64) -> String {
    match head {
        0 => "no entry".to_owned(),
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    }
}
