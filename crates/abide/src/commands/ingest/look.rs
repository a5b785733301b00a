//! What is remembered of a collection, and what is different in its folder now.

use std::collections::BTreeMap;

use abide_collections::{Collection, SourceFile, Stage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::mend::Lost;
use super::plan::{Known, Plan};
use super::{Going, Order, bring, say};
use crate::commands::preprocess::Left;
use crate::commands::preprocess::folder::Folder;
use crate::failure::Failure;
use crate::reach::{Client, Missing, Path, Reach};
use crate::services::Hosted;

/// Names that a dry run lists of each kind.
const LISTED: usize = 20;

/// A collection and its folder, as they are.
pub(super) struct Look {
    pub(super) collection: Option<Collection>,
    pub(super) known: Known,
    pub(super) plan: Plan,
    /// Parts that miss bytes, if that was looked for.
    pub(super) lost: Lost,
}

#[derive(Deserialize)]
struct RowPage {
    rows: Vec<Row>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Row {
    key: String,
    value: Value,
}

impl Look {
    /// Looks at what is remembered without having anything go on that was stopped: the data directory is opened, and nothing
    /// runs on it. Where there is none, nothing is remembered.
    pub(super) async fn from_outside(order: &Order<'_>) -> Result<Look, Failure> {
        let Order { config, name, folder, .. } = *order;
        if !abide_sqlite::has_data(&config.store.data_dir) {
            let (known, lost) = (Known::new(), Lost::new());
            return Ok(Look { collection: None, plan: Plan::of(folder, &known), known, lost });
        }
        let reach = Reach::open(config, Missing::Refuse, || Hosted::for_commands(config)).await?;
        let looking = async {
            let collection = rows::<Collection>(reach.client(), &format!("c/{name}")).await?.remove("");
            let known = rows::<SourceFile>(reach.client(), &format!("f/{name}/")).await?;
            Ok::<_, Failure>((collection, known))
        };
        let looked = looking.await;
        reach.close().await;
        let (collection, known) = looked?;
        Ok(Look { collection, plan: Plan::of(folder, &known), known, lost: Lost::new() })
    }

    /// Whether the folder is that of the collection. One is not taken for another because it is called the same: at another
    /// place it has every file of the collection as it was, or somebody says that it was moved.
    pub(super) fn is_its_folder(&self, order: &Order<'_>) -> Result<(), Failure> {
        let root = order.folder.root.display().to_string();
        let (gone, edited) = (self.plan.changes.gone.len(), self.plan.changes.edited.len());
        let made_of = self.collection.as_ref().map(|collection| &collection.folder);
        match made_of.filter(|made_of| **made_of != root && !order.args.moved) {
            Some(made_of) if gone + edited > 0 => Err(Failure::Unusable(format!(
                "the collection {:?} was made of {made_of}, and of its {} files {gone} are not in {root} and {edited} are \
                 different there: say another --name, or --moved if it is the same folder at another place",
                order.name,
                self.known.len(),
            ))),
            _ => Ok(()),
        }
    }

    /// Says what will be done and what it will take, and refuses what cannot be done.
    pub(super) async fn say(&self, order: &Order<'_>, staff: &say::Staff) -> Result<(), Failure> {
        self.is_its_folder(order)?;
        let part = bring::part(order.folder, &self.plan);
        let estimate = order.estimate(&part).await?;
        say::beforehand(order, &part, self, staff, &estimate);
        // What is only looked at, or goes on, needs no more than there is.
        let is_nothing = self.plan.changes.is_empty() || self.pending().is_some();
        if is_nothing { Ok(()) } else { estimate.check(&order.config.store.data_dir) }
    }

    /// What an earlier run has still to do, for people.
    pub(super) fn pending(&self) -> Option<&'static str> {
        match self.collection.as_ref()?.pending.as_ref()?.stage {
            Stage::Converting => None,
            Stage::Bringing | Stage::Recording => Some("bringing its files in"),
            Stage::Describing => Some("reading, grouping and describing"),
            Stage::Sweeping => Some("cleaning up"),
        }
    }

    /// Which files are new, edited and gone, and which cannot be used: the first of each.
    pub(super) fn list(&self, order: &Order<'_>) -> Result<(), Failure> {
        let changes = &self.plan.changes;
        for (what, paths) in [("new", &changes.new), ("edited", &changes.edited), ("removed", &changes.gone)]
        {
            if self.known.is_empty() {
                break;
            }
            let more = paths.len().saturating_sub(LISTED);
            let more = (more > 0).then(|| format!("{what}: and {more} more"));
            let lines = paths.iter().take(LISTED).map(|path| format!("{what}: {path}"));
            lines.chain(more).for_each(|line| order.output.note(&line));
        }
        let mut count = 0;
        for left in unusable(order.folder).chain(&self.plan.left) {
            count += 1;
            order.output.message(&format!("cannot be used: {}", line(left)), left);
        }
        match count {
            0 => Ok(()),
            count => {
                Err(Failure::Partly(format!("{count} files cannot be used, each with its reason above")))
            }
        }
    }
}

/// A file and its reason on one line, whatever its name is.
pub(super) fn line(Left { file, reason }: &Left) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    format!("{}: {reason}", file.chars().map(shown).collect::<String>())
}

/// What of a folder cannot be brought in.
pub(super) fn unusable(folder: &Folder) -> impl Iterator<Item = &Left> {
    folder.unusable.iter().chain(&folder.closed)
}

impl Going<'_> {
    /// Looks at what is remembered.
    pub(super) async fn look(&self) -> Result<Look, Failure> {
        let collection = self.find().await?;
        let known = if collection.is_some() { self.files().await? } else { Known::new() };
        let plan = Plan::of(self.order.folder, &known);
        let mut look = Look { collection, known, plan, lost: Lost::new() };
        if self.order.args.mend {
            self.mend(&mut look).await?;
        }
        Ok(look)
    }
}

/// Rows of the object that remembers collections, by what is past the prefix.
async fn rows<R: DeserializeOwned>(client: &Client, prefix: &str) -> Result<BTreeMap<String, R>, Failure> {
    let (mut all, mut after) = (BTreeMap::new(), None);
    loop {
        let path = Path::v1(["objects", "collections", "all", "rows"]).with("prefix", Some(prefix));
        let Some(page) = client.find::<RowPage>(&path.with("after", after)).await? else { return Ok(all) };
        for Row { key, value } in page.rows {
            let name = key.strip_prefix(prefix).unwrap_or(&key).to_owned();
            all.insert(name, serde_json::from_value(value).map_err(Failure::Answer)?);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}
