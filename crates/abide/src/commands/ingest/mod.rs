//! `abide ingest`: a folder of scans and texts to an organized collection, in this process.

mod batch;
mod bring;
mod plan;
mod progress;
mod say;
mod show;

use std::net::{Ipv4Addr, SocketAddr};

use abide_collections::Collection;
use abide_collections::snapshot::directory_id;
use abide_engine::Registry;
use serde::Serialize;

use super::collection::{Shelf, export};
use super::preprocess::estimate::Estimate;
use super::preprocess::folder::Folder;
use crate::cli::IngestArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, runtime, told_to_stop};
use crate::output::Output;
use crate::services::describing::{Crew, InArchive};
use crate::services::{Hosted, collections, embedding, entities, organizer, preprocess};
use plan::Plan;

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
    let folder = Folder::read(&args.dir)?;
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
        let mut hosted = Hosted::only(Registry::new());
        let crew = Crew::gather(&config, &hosted.limiters).await?;
        let estimate = Estimate::of(&folder, &config.store.data_dir, config.launcher.in_flight)?;
        say::beforehand(&name, &folder, &crew, &estimate, &config, output);
        estimate.check(&config.store.data_dir)?;
        if args.dry_run {
            return Ok(());
        }
        let told = told_to_stop().map_err(Failure::System)?;
        let converting = preprocess::begin(&mut hosted, preprocess::setup(&config)?, String::new())?;
        entities::add(&mut hosted)?;
        collections::add(&mut hosted)?;
        organizer::add(&config, &mut hosted)?;
        let images = InArchive::new(converting.buckets().archive.clone(), &config.fetch)?;
        let batches =
            embedding::pipeline(&config, &mut hosted, &crew, images, converting.buckets().staging.clone())?;
        let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--data-dir" };
        let host = Host::start(&config, hosted, listen).await?;
        let site = batches.site().await;
        let shelf = Shelf::new(site.engine.clone(), site.entities.clone());
        let going = Going { name: &name, folder: &folder, converting, batches, shelf, output };
        let done = tokio::select! {
            done = going.work() => done.map(Some),
            () = told => Ok(None),
        };
        let exported = match (&done, &args.export) {
            (Ok(Some(_)), Some(dir)) => {
                export::to_folder(&going.shelf, &going.converting, &name, dir).await.map(Some)
            }
            _ => Ok(None),
        };
        host.stop().await;
        match done? {
            Some(summary) => show::finish(&summary, exported?, output),
            None => Err(Failure::Interrupted),
        }
    })
}

/// Everything that a run works with.
struct Going<'a> {
    name: &'a str,
    folder: &'a Folder,
    converting: abide_preprocess::Service,
    batches: abide_pipeline::Service,
    shelf: Shelf,
    output: Output,
}

impl Going<'_> {
    /// Converts what is new or edited, brings it into the tree, and has everything that changed read, grouped and described.
    async fn work(&self) -> Result<Summary, Failure> {
        let (mut collection, known) = self.remembered().await?;
        let plan = Plan::of(self.name, self.folder, &known)?;
        let mut failed = Vec::new();
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
            self.shelf.save(&collection).await?;
            self.shelf.save_files(self.name, brought.put, plan.changes.gone.clone()).await?;
        }
        let mut spent = batch::Spent::default();
        if let Some(pending) = &collection.pending {
            spent = batch::run(self, &pending.batch_id).await?;
            let known = self.shelf.files(self.name).await?;
            abide_collections::snapshot::gather(self.shelf.entities(), self.name, &known).await?;
            collection.pending = None;
            self.shelf.save(&collection).await?;
        }
        let tree = self.shelf.tree(&collection.root_pi).await?;
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
            tree: tree.document(self.shelf.entities()).await?,
        })
    }

    async fn remembered(&self) -> Result<(Collection, plan::Known), Failure> {
        match self.shelf.get(self.name).await? {
            Some(collection) => {
                let known = self.shelf.files(self.name).await?;
                Ok((collection, known))
            }
            None => {
                let collection = Collection {
                    name: self.name.to_owned(),
                    root_pi: directory_id(self.name, ""),
                    folder: self.folder.root.display().to_string(),
                    files: 0,
                    bytes: 0,
                    pending: None,
                    created_at: Default::default(),
                    updated_at: Default::default(),
                };
                Ok((collection, plan::Known::new()))
            }
        }
    }
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

/// Everything happens here: buckets, workers and routes of this process.
fn settle(config: &mut Config) {
    config.buckets.kind = "local";
    config.launcher.kind = "local";
    config.launcher.credentials = "presigned";
    config.preprocess.orchestrator_url = String::new();
    config.preprocess.worker_url = String::new();
    if config.preprocess.cdn_public_url.is_empty() {
        // Where a server with this configuration serves them.
        config.preprocess.cdn_public_url = format!("http://{}/preprocess", config.server.listen);
    }
}
