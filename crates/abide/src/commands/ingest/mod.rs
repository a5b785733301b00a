//! `abide ingest`: a folder of scans and texts to an organized collection, by the server that owns the data directory or, if
//! there is none, by this process.

mod batch;
mod bring;
mod plan;
mod progress;
mod say;
mod show;

use std::collections::BTreeSet;
use std::sync::Arc;

use abide_blob::Bucket;
use abide_collections::limits::ITEMS_PER_CALL;
use abide_collections::snapshot::directory_id;
use abide_collections::{Collection, No, Pending, SourceFile, Tree};
use abide_entities::EntityStore;
use abide_llm::Limiters;
use abide_sqlite::DataDir;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::collection::export;
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
use plan::Plan;
use say::Staff;

/// Bytes of files that one call remembers, about.
const CALL_BYTES: usize = 128 * 1024;
/// Bytes of a file that is remembered, beside names.
const FILE_BYTES: usize = 250;

/// What came of it.
#[derive(Debug, Serialize)]
struct Summary {
    collection: String,
    root_pi: String,
    new: usize,
    edited: usize,
    removed: usize,
    unchanged: usize,
    failed: Vec<super::preprocess::Left>,
    notes: Vec<String>,
    cost_usd: f64,
    tokens: u64,
    tree: abide_collections::TreeDocument,
}

/// Makes a collection of a folder, or brings it up to date.
pub(crate) fn run(mut config: Config, args: &IngestArgs, output: Output) -> Result<(), Failure> {
    let folder = Folder::read(&args.dir)?.all_usable()?;
    let name = name(args, &folder)?;
    if folder.files.is_empty() {
        return Err(Failure::Unusable(format!("{} has no files", folder.root.display())));
    }
    config.store.data_dir = std::path::absolute(&config.store.data_dir).map_err(Failure::System)?;
    apart(&folder, &config)?;
    if let Some(languages) = &args.lang {
        config.ocr.languages.clone_from(languages);
    }
    settle(&mut config);
    runtime()?.block_on(async {
        let estimate = Estimate::of(&folder, &config.store.data_dir, config.launcher.in_flight)?;
        if DataDir::owner(&config.store.data_dir).is_some() {
            return beside_a_server(&config, args, &name, &folder, &estimate, output).await;
        }
        let limiters = Limiters::default();
        let crew = Crew::gather(&config, &limiters).await?;
        say::beforehand(&name, &folder, &Staff::of(&crew), &estimate, &config, output);
        estimate.check(&config.store.data_dir)?;
        if args.dry_run {
            return Ok(());
        }
        let told = told_to_stop().map_err(Failure::System)?;
        let hosted = || Hosted::for_ingest(&config, &crew, &limiters);
        let reach = Reach::open(&config, Missing::Create, hosted).await?;
        let done = ingest(&config, &reach, args, &name, &folder, output, told).await;
        reach.close().await;
        done
    })
}

/// The server reads, groups and describes with what it is configured with.
async fn beside_a_server(
    config: &Config,
    args: &IngestArgs,
    name: &str,
    folder: &Folder,
    estimate: &Estimate,
    output: Output,
) -> Result<(), Failure> {
    if let Some(languages) = &args.lang {
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
    let done = async {
        let staff = Staff::ask(reach.client()).await?;
        say::beforehand(name, folder, &staff, estimate, config, output);
        estimate.check(&config.store.data_dir)?;
        if args.dry_run {
            return Ok(());
        }
        ingest(config, &reach, args, name, folder, output, told).await
    };
    let done = done.await;
    reach.close().await;
    done
}

async fn ingest(
    config: &Config,
    reach: &Reach,
    args: &IngestArgs,
    name: &str,
    folder: &Folder,
    output: Output,
    told: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let client = reach.client();
    let entities = reach.entities()?;
    let staging = preprocess::staging(config)?;
    let going = Going { name, folder, client, entities, staging, output };
    let done = tokio::select! {
        done = going.work() => done,
        () = told => Err(Failure::Interrupted),
    };
    let summary = done?;
    let exported = match &args.export {
        Some(dir) => Some(export::to_folder(client, going.entities.as_ref(), name, dir).await?),
        None => None,
    };
    show::finish(&summary, exported, output)
}

/// Everything that a run works with.
struct Going<'a> {
    name: &'a str,
    folder: &'a Folder,
    /// Whoever owns the data directory.
    client: &'a Client,
    entities: Arc<dyn EntityStore>,
    staging: Bucket,
    output: Output,
}

impl Going<'_> {
    /// Converts what is new or edited, brings it into the tree, and has everything that changed read, grouped and described.
    async fn work(&self) -> Result<Summary, Failure> {
        let mut collection = self.remembered().await?;
        let known = self.files().await?;
        let plan = Plan::of(&collection, self.folder, &known)?;
        let (mut failed, mut spent) = (Vec::new(), batch::Spent::default());
        let is_other = |pending: &Pending| plan.changes.is_empty() || pending.batch_id != plan.batch_id;
        if collection.pending.as_ref().is_some_and(is_other) {
            self.finish(&mut collection, &mut spent).await?;
        }
        if !plan.changes.is_empty() {
            let brought = bring::bring(self, &plan, &known).await?;
            failed = brought.failed;
            collection = Collection {
                files: self.folder.files.len() as u64,
                bytes: self.folder.bytes,
                folder: self.folder.root.display().to_string(),
                pending: Some(brought.pending),
                ..collection
            };
            self.save(&collection).await?;
            self.save_files(brought.put, plan.changes.gone.clone()).await?;
            self.finish(&mut collection, &mut spent).await?;
        }
        let tree = Tree::read(self.entities.as_ref(), &collection.root_pi).await?;
        Ok(Summary {
            collection: self.name.to_owned(),
            root_pi: collection.root_pi.to_string(),
            new: plan.changes.new.len(),
            edited: plan.changes.edited.len(),
            removed: plan.changes.gone.len(),
            unchanged: self.folder.files.len() - plan.changes.brought().count(),
            failed,
            notes: spent.notes,
            cost_usd: spent.cost_usd,
            tokens: spent.tokens,
            tree: tree.document(self.entities.as_ref()).await?,
        })
    }

    /// Has what was begun read, grouped and described.
    async fn finish(&self, collection: &mut Collection, spent: &mut batch::Spent) -> Result<(), Failure> {
        let Some(pending) = collection.pending.clone() else { return Ok(()) };
        spent.add(batch::run(self, &pending.batch_id).await?);
        let known = self.files().await?;
        abide_collections::snapshot::gather(self.entities.as_ref(), self.name, &known).await?;
        abide_collections::sweep(&self.staging, &pending.batch_id).await?;
        collection.pending = None;
        self.save(collection).await.map(drop)
    }

    /// The collection as it is, or as it begins.
    async fn remembered(&self) -> Result<Collection, Failure> {
        match self.client.find::<Collection>(&Path::of(["collections", self.name])).await? {
            Some(collection) if collection.deleting => {
                Err(Failure::Unusable(No::Deleting(collection.name).to_string()))
            }
            Some(collection) => Ok(collection),
            None => {
                let folder = self.folder.root.display().to_string();
                self.save(&Collection::new(self.name, directory_id(self.name, ""), folder)).await
            }
        }
    }

    async fn save(&self, collection: &Collection) -> Result<Collection, Failure> {
        Ok(self.client.put(&Path::of(["collections", self.name]), collection).await?)
    }

    /// Files that were brought in, by path.
    async fn files(&self) -> Result<plan::Known, Failure> {
        let (mut all, mut after) = (plan::Known::new(), None);
        loop {
            let path = Path::of(["collections", self.name, "files"]).with("after", after);
            let page: FilesPage = self.client.get(&path).await?;
            all.extend(page.files);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    async fn save_files(&self, put: plan::Known, gone: BTreeSet<String>) -> Result<(), Failure> {
        let path = Path::of(["collections", self.name, "files"]);
        let (mut part, mut bytes) = (plan::Known::new(), 0);
        for (name, file) in put {
            // A file with many pages became many components.
            let size = name.len() + file.made.iter().map(|made| made.len() + 4).sum::<usize>() + FILE_BYTES;
            if bytes + size > CALL_BYTES || part.len() == ITEMS_PER_CALL {
                self.client.post::<Value>(&path, &json!({ "put": std::mem::take(&mut part) })).await?;
                bytes = 0;
            }
            bytes += size;
            part.insert(name, file);
        }
        if !part.is_empty() {
            self.client.post::<Value>(&path, &json!({ "put": part })).await?;
        }
        let gone: Vec<String> = gone.into_iter().collect();
        for part in gone.chunks(ITEMS_PER_CALL) {
            self.client.post::<Value>(&path, &json!({ "gone": part })).await?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct FilesPage {
    files: Vec<(String, SourceFile)>,
    next: Option<String>,
}

fn name(args: &IngestArgs, folder: &Folder) -> Result<String, Failure> {
    let of_folder = || folder.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = args.name.clone().or_else(of_folder);
    let name =
        name.ok_or_else(|| Failure::Unusable(format!("{} has no name: say --name", folder.root.display())))?;
    match abide_collections::check_name(&name) {
        Ok(()) => Ok(name),
        Err(no) => Err(Failure::Unusable(format!("{no}: say another --name"))),
    }
}

/// Nothing is written to a source.
fn apart(folder: &Folder, config: &Config) -> Result<(), Failure> {
    let data_dir = &config.store.data_dir;
    let real = data_dir.canonicalize().unwrap_or_else(|_| data_dir.clone());
    if real.starts_with(&folder.root) {
        let message = format!(
            "the data directory {} is in {}, and nothing is written to a source: choose another --data-dir",
            real.display(),
            folder.root.display()
        );
        return Err(Failure::Unusable(message));
    }
    Ok(())
}

/// If this process owns the data directory, everything happens here: workers and routes of this process.
fn settle(config: &mut Config) {
    config.launcher.kind = "local";
    config.launcher.credentials = "presigned";
    config.preprocess.orchestrator_url = String::new();
    config.preprocess.worker_url = String::new();
    let pipeline = &mut config.pipeline;
    for url in [
        &mut pipeline.organizer_url,
        &mut pipeline.ocr_url,
        &mut pipeline.pinax_url,
        &mut pipeline.description_url,
    ] {
        url.clear();
    }
    if config.preprocess.cdn_public_url.is_empty() {
        // Where a server with this configuration serves them.
        config.preprocess.cdn_public_url = format!("http://{}/preprocess", config.server.listen);
    }
}
