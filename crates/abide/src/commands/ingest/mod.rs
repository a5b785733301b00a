//! `abide ingest`: a folder of scans and texts to an organized collection, by the server that owns the data directory or, if
//! there is none, by this process.

mod batch;
mod bring;
mod cost;
mod deleted;
mod ground;
mod intent;
mod look;
mod mend;
mod plan;
mod progress;
mod remember;
mod say;
mod show;
mod trouble;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use abide_blob::Bucket;
use abide_collections::snapshot::{self, directory_id};
use abide_collections::{Collection, No, Pending, SourceFile, Stage, Tree, sweep};
use abide_entities::EntityStore;
use abide_llm::Limiters;
use abide_sqlite::DataDir;
use serde::Serialize;
use serde_json::Value;

use super::collection::export;
use super::preprocess::Left;
use super::preprocess::estimate::Estimate;
use super::preprocess::folder::Folder;
use crate::cli::IngestArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{runtime, told_to_stop};
use crate::output::Output;
use crate::reach::{Client, Missing, Path, Reach};
use crate::services::describing::Crew;
use crate::services::{Hosted, preprocess};
use ground::Alone;
use intent::Intent;
use look::Look;
use plan::Plan;
use remember::Again;
use say::Staff;

/// What came of it.
#[derive(Debug, Serialize)]
struct Summary {
    collection: String,
    root_pi: String,
    new: usize,
    edited: usize,
    removed: usize,
    unchanged: usize,
    failed: Vec<Left>,
    /// Folders and groups that something failed for.
    unfinished: usize,
    notes: Vec<String>,
    cost_usd: f64,
    tokens: u64,
    tree: abide_collections::TreeDocument,
}

/// Makes a collection of a folder, or brings it up to date.
pub(crate) fn run(mut config: Config, args: &IngestArgs, output: Output) -> Result<(), Failure> {
    let folder = ground::folder(&args.dir)?;
    let name = ground::name(args, &folder)?;
    config.store.data_dir = std::path::absolute(&config.store.data_dir).map_err(Failure::System)?;
    ground::apart(&folder, &config)?;
    if let Some(dir) = &args.export {
        export::check_target(dir, &folder.root, &name)?;
    }
    if let Some(languages) = &args.lang {
        config.ocr.languages.clone_from(languages);
    }
    let unused = ground::settle(&mut config);
    let order = Order { config: &config, args, name: &name, folder: &folder, output };
    let early = if args.dry_run { None } else { Alone::early(&config.store.data_dir)? };
    runtime()?.block_on(async {
        if DataDir::owner(&config.store.data_dir).is_some() {
            return beside_a_server(order).await;
        }
        if !unused.is_empty() {
            output.note(&format!(
                "{} not asked: this process reads, groups and describes itself, and only `abide serve` asks services of others",
                if unused.len() == 1 { format!("{} is", unused[0]) } else { format!("{} are", unused.join(", ")) }
            ));
        }
        let limiters = Limiters::default();
        let crew = Crew::gather(&config, &limiters).await?;
        let staff = Staff::of(&crew, &config.llm);
        if args.dry_run {
            let look = Look::from_outside(&order).await?;
            look.say(&order, &staff).await?;
            return look.list(&order);
        }
        let _late = if early.is_none() { Some(Alone::on(&config.store.data_dir)?) } else { None };
        let told = told_to_stop().map_err(Failure::System)?;
        let hosted = || Hosted::for_ingest(&config, &crew, &limiters);
        let reach = Reach::open(&config, Missing::Create, hosted).await?;
        let done = ingest(order, &reach, &staff, told).await;
        reach.close().await;
        done
    })
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Order<'a> {
    config: &'a Config,
    args: &'a IngestArgs,
    name: &'a str,
    folder: &'a Folder,
    output: Output,
}

impl Order<'_> {
    async fn estimate(&self, part: &Folder) -> Result<Estimate, Failure> {
        Estimate::of(self.config, part, &self.config.store.data_dir).await
    }
}

/// The server reads, groups and describes with what it is configured with.
async fn beside_a_server(order: Order<'_>) -> Result<(), Failure> {
    let config = order.config;
    if let Some(languages) = &order.args.lang {
        return Err(Failure::Unusable(format!(
            "a server runs on {} and reads images itself: give it ocr.languages = \"{languages}\" and start it again, or \
             stop it while you ingest",
            config.store.data_dir.display()
        )));
    }
    let told = told_to_stop().map_err(Failure::System)?;
    let nothing_hosted = || Hosted::for_collections(config);
    let reach = Reach::open(config, Missing::Create, nothing_hosted).await?;
    if matches!(reach, Reach::Own(..)) {
        reach.close().await;
        return Err(Failure::Unusable("the server just ended: run the same command again".to_owned()));
    }
    let done = async { ingest(order, &reach, &Staff::ask(reach.client()).await?, told).await };
    let done = done.await;
    reach.close().await;
    done
}

async fn ingest(
    order: Order<'_>,
    reach: &Reach,
    staff: &Staff,
    told: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let Order { config, args, name, output, .. } = order;
    let going = Going {
        order,
        client: reach.client(),
        entities: reach.entities()?,
        staging: preprocess::staging(config)?,
        reads_images: staff.reads_images(),
        life: OnceCell::new(),
        batch_id: RefCell::new(None),
    };
    let look = going.look().await?;
    look.say(&order, staff).await?;
    if args.dry_run {
        return look.list(&order);
    }
    let done = tokio::select! {
        done = going.work(look) => done,
        () = told => Err(Failure::Interrupted),
        () = going.deleted() => Err(Failure::Deleted(name.to_owned())),
    };
    let summary = match done {
        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
        Err(_) if going.is_deleted().await => {
            going.clear().await?;
            return Err(Failure::Deleted(name.to_owned()));
        }
        done => done?,
    };
    let exported = match &args.export {
        Some(dir) => Some(export::to_folder(going.client, going.entities.as_ref(), name, dir).await?),
        None => None,
    };
    show::finish(&summary, exported.as_ref(), output)
}

/// What a run did.
#[derive(Default)]
struct Ran {
    spent: batch::Spent,
    new: usize,
    edited: usize,
    removed: usize,
    /// New or edited, and not brought in.
    left: usize,
    failed: Vec<Left>,
}

impl Ran {
    /// That, too.
    fn add(&mut self, intent: Intent) {
        self.new += intent.new;
        self.edited += intent.edited;
        self.left += intent.left;
        self.removed += intent.gone.len();
        self.failed.extend(intent.failed);
    }
}

/// Everything that a run works with.
struct Going<'a> {
    order: Order<'a>,
    /// Whoever owns the data directory.
    client: &'a Client,
    entities: Arc<dyn EntityStore>,
    staging: Bucket,
    /// Whether somebody reads images.
    reads_images: bool,
    /// Which collection of its name it is, once that is known.
    life: OnceCell<u64>,
    /// What is under way, once it is.
    batch_id: RefCell<Option<String>>,
}

impl Going<'_> {
    /// Brings what is new, edited or gone to the tree, and has everything that changed read, grouped and described.
    async fn work(&self, mut look: Look) -> Result<Summary, Failure> {
        let (mut collection, mut ran) = (self.remembered().await?, Ran::default());
        // What an earlier run decided is done first, whatever the folder is now.
        if collection.pending.as_ref().is_some_and(|pending| pending.stage > Stage::Converting) {
            self.go_on(&mut collection, &mut ran).await?;
            look = self.look().await?;
            look.is_its_folder(&self.order)?;
        }
        let Look { known, plan, lost, .. } = look;
        // What is brought again is another batch than the one that brought it.
        collection.abandoned += u64::from(!lost.is_empty());
        let mut again = self.unfinished().await?;
        self.write_again(lost, &mut again).await?;
        let is_nothing = plan.changes.is_empty() && again.is_empty();
        let batch_id = self.batch(&mut collection, &plan, &known, is_nothing).await?;
        if !is_nothing {
            self.begin(&mut collection, &plan, again, batch_id).await?;
            self.go_on(&mut collection, &mut ran).await?;
        } else if !plan.changes.touched.is_empty() {
            // Their times are remembered, so that they are not read again each time.
            self.save_files(plan.touched(&self.files().await?), &BTreeSet::new()).await?;
        }
        let tree = Tree::read(self.entities.as_ref(), &collection.root_pi).await?;
        let unread: Vec<Left> = ran.spent.unread(&tree).collect();
        let mut failed: Vec<Left> = ran
            .failed
            .into_iter()
            .chain(look::unusable(self.order.folder).cloned())
            .chain(plan.left)
            .collect();
        // What is said of a file that could not be converted is enough.
        let named: BTreeSet<String> = failed.iter().map(|left| left.file.clone()).collect();
        failed.extend(unread.into_iter().filter(|left| !named.contains(&left.file)));
        Ok(Summary {
            collection: self.order.name.to_owned(),
            root_pi: collection.root_pi.to_string(),
            new: ran.new,
            edited: ran.edited,
            removed: ran.removed,
            unchanged: plan.found.len().saturating_sub(ran.new + ran.edited + ran.left),
            failed,
            unfinished: ran.spent.unfinished.len(),
            notes: ran.spent.notes.into_iter().chain(self.special()).collect(),
            cost_usd: ran.spent.cost_usd,
            tokens: ran.spent.tokens,
            tree: tree.document(self.entities.as_ref()).await?,
        })
    }

    /// What is not looked at.
    fn special(&self) -> Option<String> {
        match self.order.folder.skipped.len() {
            0 => None,
            1 => Some("1 link or special file of the folder is left out".to_owned()),
            special => Some(format!("{special} links and special files of the folder are left out")),
        }
    }

    /// The name of what is done about the changes. A run whose files were not all converted when the folder changed comes to
    /// nothing.
    async fn batch(
        &self,
        collection: &mut Collection,
        plan: &Plan,
        known: &plan::Known,
        is_nothing: bool,
    ) -> Result<String, Failure> {
        let batch_id = plan.batch_id(collection, known);
        let is_other = |pending: &mut Pending| is_nothing || pending.batch_id != batch_id;
        let Some(abandoned) = collection.pending.take_if(is_other) else { return Ok(batch_id) };
        // What converts for it would go on to fill staging.
        let reset = Path::of(["preprocess", "admin", "reset", &abandoned.batch_id]);
        self.client.act::<Value>(&reset).await?;
        sweep(&self.staging, &abandoned.batch_id).await?;
        collection.abandoned += 1;
        self.save(collection).await?;
        Ok(plan.batch_id(collection, known))
    }

    /// Converts files, and writes down what changes.
    async fn begin(
        &self,
        collection: &mut Collection,
        plan: &Plan,
        again: Again,
        batch_id: String,
    ) -> Result<(), Failure> {
        collection.files = plan.found.len() as u64;
        collection.bytes = plan.found.values().map(|found| found.bytes).sum();
        collection.folder = self.order.folder.root.display().to_string();
        collection.pending = Some(Pending { batch_id: batch_id.clone(), stage: Stage::Converting });
        self.batch_id.replace(Some(batch_id.clone()));
        self.save(collection).await?;
        loop {
            collection.by_hand = self.remembered().await?.by_hand;
            let mut intent = bring::decide(self, plan, &batch_id).await?;
            intent.again.clone_from(&again);
            intent.write(&self.staging, &batch_id).await?;
            match self.reach(collection, Stage::Bringing).await {
                // Somebody moved or renamed something meanwhile: it is decided anew.
                Err(_) if self.remembered().await?.by_hand != collection.by_hand => {}
                reached => return reached,
            }
        }
    }

    /// Goes on with what was begun, from the stage where it is, to the end.
    async fn go_on(&self, collection: &mut Collection, ran: &mut Ran) -> Result<(), Failure> {
        let Some(Pending { batch_id, mut stage }) = collection.pending.clone() else { return Ok(()) };
        self.batch_id.replace(Some(batch_id.clone()));
        let (entities, intent) = (self.entities.as_ref(), Intent::find(&self.staging, &batch_id).await?);
        if let Some(intent) = intent.as_ref().filter(|_| stage < Stage::Describing) {
            if stage < Stage::Recording {
                snapshot::apply(entities, self.order.name, &intent.tree).await?;
                batch::order(self, &batch_id, intent).await?;
                self.reach(collection, Stage::Recording).await?;
            }
            self.record(intent).await?;
            stage = Stage::Describing;
            if !batch::is_ordered(self, &batch_id).await? {
                // Nothing of it is in the tree any more.
                self.save_unfinished(&Again::new()).await?;
                stage = Stage::Sweeping;
            }
            self.reach(collection, stage).await?;
        }
        match stage {
            Stage::Sweeping => {}
            Stage::Describing => {
                let spent = batch::run(self, &batch_id).await?;
                self.save_unfinished(&spent.unfinished).await?;
                // What is done again is another batch.
                collection.abandoned += u64::from(!spent.unfinished.is_empty());
                ran.spent.add(spent);
                snapshot::gather(entities, self.order.name, &self.files().await?).await?;
                self.reach(collection, Stage::Sweeping).await?;
            }
            Stage::Converting | Stage::Bringing | Stage::Recording => {
                return Err(Failure::Unusable(format!(
                    "what a run that was stopped wrote down is not in staging any more: delete the collection {:?} and \
                     ingest the folder again",
                    self.order.name
                )));
            }
        }
        // Its files are new in the next run, too: that is another batch, since what this one made is swept.
        collection.abandoned += u64::from(intent.as_ref().is_some_and(|intent| intent.left > 0));
        intent.into_iter().for_each(|intent| ran.add(intent));
        sweep(&self.staging, &batch_id).await?;
        collection.pending = None;
        self.save(collection).await.map(drop)
    }

    /// What was begun is at this stage.
    async fn reach(&self, collection: &mut Collection, stage: Stage) -> Result<(), Failure> {
        if let Some(pending) = &mut collection.pending {
            pending.stage = stage;
        }
        self.save(collection).await.map(drop)
    }

    /// Remembers files as they are in the tree now, each where somebody moved it.
    async fn record(&self, intent: &Intent) -> Result<(), Failure> {
        let known = self.files().await?;
        let put = intent.put.iter().map(|(path, file)| {
            let by_hand = known.get(path).map(|known| (known.at.clone(), known.named.clone()));
            let (at, named) = by_hand.unwrap_or_default();
            (path.clone(), SourceFile { at, named, ..file.clone() })
        });
        self.save_files(put.collect(), &intent.gone).await
    }

    /// The collection as it is, or as it begins: once, since one that is gone after that was deleted by somebody.
    async fn remembered(&self) -> Result<Collection, Failure> {
        let gone = || Failure::Deleted(self.order.name.to_owned());
        let collection = match self.find().await? {
            None if self.life.get().is_some() => return Err(gone()),
            Some(collection) if self.life.get().is_some_and(|life| *life != collection.life) => {
                return Err(gone());
            }
            Some(collection) if collection.deleting => {
                return Err(Failure::Unusable(No::Deleting(collection.name).to_string()));
            }
            Some(collection) => collection,
            None => {
                let (name, folder) = (self.order.name, self.order.folder.root.display().to_string());
                self.save(&Collection::new(name, directory_id(name, ""), folder)).await?
            }
        };
        self.life.get_or_init(|| collection.life);
        Ok(collection)
    }

    async fn save(&self, collection: &Collection) -> Result<Collection, Failure> {
        Ok(self.client.put(&Path::of(["collections", self.order.name]), collection).await?)
    }
}
