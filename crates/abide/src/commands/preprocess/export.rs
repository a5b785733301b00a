//! What a batch made, from buckets to the folder of results; and how each file of it ended, to where that is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_blob::{BlobError, Key};
use abide_engine::CallError;
use abide_preprocess::asset::Asset;
use abide_preprocess::calls::{
    Call, FilePage, InputsAnswer, OutputAnswer, TaskDocument, TaskPage, TasksAnswer,
};
use abide_preprocess::file::{InputEnd, Place};
use abide_preprocess::{Service, Site, TaskStatus, Which};
use tokio::time::Instant;

use super::folder::{File, Folder};
use super::ledger::{End, Entry, Ledger, Made, Seen};
use super::results::{Placed, Results, Unplaced, variant};
use crate::failure::Failure;

/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;
/// How long it waits at least before it looks again for what was made.
const PAUSE: Duration = Duration::from_secs(1);
/// Why a file goes through as it is.
const NOT_TAKEN: &str = "by its name it is no TIFF, PDF, JPEG, PNG or WebP";

/// What a batch is, and how it is worked on.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) batch: &'a str,
    /// Its files, in its order.
    pub(super) part: &'a Folder,
    /// Those of them that are still what they were: what comes of the others is not wanted.
    pub(super) wanted: &'a BTreeMap<String, Seen>,
    pub(super) results: &'a Results,
    /// Files that are not in the folder any more: what was made of them may be replaced.
    pub(super) gone: &'a BTreeSet<String>,
    /// Attempts of a task.
    pub(super) attempts: u32,
}

/// Brings what was made to its place, each file once.
pub(super) struct Exporter<'a> {
    service: &'a Service,
    site: Site,
    job: Job<'a>,
    /// By the place of a file in the batch: what came of it.
    found: BTreeMap<usize, Found>,
    /// Of which file each result is.
    placed: BTreeMap<String, usize>,
    /// Tasks whose images are in their places.
    brought: BTreeSet<String>,
    /// Assets that were made.
    assets: BTreeSet<String>,
    /// Files whose end is kept.
    kept: BTreeSet<usize>,
    written: Written,
}

/// What came of a file.
#[derive(Default)]
struct Found {
    made: Vec<Made>,
    trouble: Option<String>,
}

/// Results that were written, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Written {
    pub(super) fn add(&mut self, other: Written) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

impl<'a> Exporter<'a> {
    pub(super) async fn new(service: &'a Service, job: Job<'a>) -> Exporter<'a> {
        Exporter {
            service,
            site: service.site().await,
            job,
            found: BTreeMap::new(),
            placed: BTreeMap::new(),
            brought: BTreeSet::new(),
            assets: BTreeSet::new(),
            kept: BTreeSet::new(),
            written: Written::default(),
        }
    }

    /// Brings what is made as it is made, at most a tenth of the time, until there is no room for it.
    pub(super) async fn keep_up(&mut self, ledger: &mut Ledger) -> Failure {
        let mut pause = PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let began = Instant::now();
            match self.go_over(ledger).await {
                Err(failure) if failure.is_about_room() => return failure,
                // What cannot be brought now is brought in the end, or it is said then why not.
                Ok(()) | Err(_) => {}
            }
            pause = PAUSE.max(9 * began.elapsed());
        }
    }

    async fn go_over(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        let mut ended = self.ended().await?;
        self.export(ledger).await?;
        // What failed may still be tried again, and what is in the way go out of it.
        let troubled = |index: &usize| self.found.get(index).is_some_and(|found| found.trouble.is_some());
        ended.retain(|(index, end)| !matches!(end, InputEnd::Failed { .. }) && !troubled(index));
        self.keep(ended, &BTreeSet::new(), ledger)
    }

    /// Brings everything of a batch that is over, keeps how each file ended, and empties the buckets of it.
    pub(super) async fn finish(mut self, ledger: &mut Ledger) -> Result<Written, Failure> {
        let ended = self.ended().await?;
        self.export(ledger).await?;
        let mut again = BTreeSet::new();
        let failed = self.each_task(None, TaskStatus::Failed, |task| {
            // Those that failed for what their files are did not use up their attempts.
            again.extend(of_task(&task).filter(|_| task.retry_count + 1 >= self.job.attempts));
        });
        failed.await.map_err(asking)?;
        self.keep(ended, &again, ledger)?;
        for made in ledger.take_stale() {
            // What somebody changed is theirs now.
            self.job.results.remove(&made);
        }
        ledger.rewrite()?;
        self.empty().await?;
        ledger.end(self.job.batch)?;
        Ok(self.written)
    }

    /// Removes everything of a batch that came to nothing.
    pub(super) async fn abandon(mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        let mut assets = BTreeSet::new();
        let known = self.each_task(Some("IMAGE_PROCESSING"), TaskStatus::Completed, |task| {
            assets.extend(asset_of(&task).map(str::to_owned));
        });
        match known.await {
            Ok(()) => self.assets = assets,
            // It never began.
            Err(CallError::Refused(_)) => {}
            Err(error) => return Err(asking(error)),
        }
        self.empty().await?;
        ledger.end(self.job.batch)
    }

    async fn empty(&self) -> Result<(), BlobError> {
        let (batch, buckets) = (self.job.batch, self.service.buckets());
        buckets.staging.delete_all(&Key::new(&format!("staging/{batch}"))?).await?;
        buckets.archive.delete_all(&Key::new(&format!("archive/{batch}"))?).await?;
        for asset in &self.assets {
            buckets.archive.delete(&Key::new(&Asset::key(asset))?).await?;
        }
        buckets.staging.delete(&Key::new(&super::batch::manifest_key(batch))?).await
    }

    /// Files that are over and not kept, and how they ended.
    async fn ended(&self) -> Result<Vec<(usize, InputEnd)>, Failure> {
        let (mut ended, mut after) = (Vec::new(), None);
        loop {
            let call = Call::Inputs(FilePage { after, limit: None });
            let page: InputsAnswer = self.site.ask(self.job.batch, &call).await.map_err(asking)?;
            let over = page.inputs.into_iter().filter(|input| input.end != InputEnd::Open);
            let over = over.filter_map(|input| Some((index(&input.place)?, input.end)));
            ended.extend(over.filter(|(index, _)| !self.kept.contains(index)));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(ended),
            }
        }
    }

    /// Keeps how files ended, whose results are all in their places.
    fn keep(
        &mut self,
        ended: Vec<(usize, InputEnd)>,
        again: &BTreeSet<usize>,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        let mut entries = Vec::new();
        let mut found = std::mem::take(&mut self.found);
        for (index, end) in ended {
            let Some((file, seen)) = self.wanted(index) else { continue };
            let Found { made, trouble } = found.remove(&index).unwrap_or_default();
            let end = match (end, trouble) {
                (InputEnd::Open, _) => continue,
                (InputEnd::Failed { reason }, _) => End::Failed { reason, again: again.contains(&index) },
                (_, Some(reason)) => End::Failed { reason, again: true },
                (InputEnd::Converted, None) => End::Converted,
                (InputEnd::PassedThrough { reason }, None) => {
                    let reason = if file.is_convertible() { reason } else { NOT_TAKEN.to_owned() };
                    End::PassedThrough { reason }
                }
            };
            entries.push((file.path.clone(), Entry::new(seen.clone(), end, made)));
            self.kept.insert(index);
        }
        self.found = found;
        if entries.is_empty() { Ok(()) } else { ledger.record(entries) }
    }

    /// Brings everything that is made: images at their place, smaller copies below `variants`, texts beside their pages.
    async fn export(&mut self, ledger: &mut Ledger) -> Result<(), Failure> {
        self.found.values_mut().for_each(|found| found.trouble = None);
        let mut images = Vec::new();
        let made = self.each_task(Some("IMAGE_PROCESSING"), TaskStatus::Completed, |task| {
            images.extend((!self.brought.contains(&task.task_id)).then_some(task));
        });
        made.await.map_err(asking)?;
        for task in images {
            self.image(&task, ledger).await?;
        }
        let prefix = format!("staging/{}/", self.job.batch);
        let mut after = None;
        loop {
            let call = Call::Output(FilePage { after, limit: None });
            let page: OutputAnswer = self.site.ask(self.job.batch, &call).await.map_err(asking)?;
            for (file, place) in page.output.into_iter().zip(page.places) {
                let is_made = file.source_file.is_some() && !file.file_name.ends_with(".ref.json");
                let path = file.r2_key.strip_prefix(&prefix).filter(|_| is_made);
                if let (Some(path), Some(index)) = (path, index(&place)) {
                    self.bring(index, Which::Staging, &file.r2_key, path.to_owned(), ledger).await?;
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Tasks of a status, of one phase or of all.
    async fn each_task(
        &self,
        phase: Option<&str>,
        status: TaskStatus,
        mut with: impl FnMut(TaskDocument),
    ) -> Result<(), CallError> {
        let mut after = None;
        loop {
            let phase = phase.map(str::to_owned);
            let call = Call::Tasks(TaskPage { phase, status: Some(status), after, limit: None });
            let page: TasksAnswer = self.site.ask(self.job.batch, &call).await?;
            page.tasks.into_iter().for_each(&mut with);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// An image that became an asset: itself if it was made here, and its smaller copies.
    async fn image(&mut self, task: &TaskDocument, ledger: &mut Ledger) -> Result<(), Failure> {
        let prefix = format!("staging/{}/", self.job.batch);
        let (Some(path), Some(index), Some(asset_id)) =
            (task.input_r2_key.strip_prefix(&prefix), of_task(task), asset_of(task))
        else {
            return Ok(());
        };
        let is_path = |file: &File| file.path.as_str().cmp(path);
        let is_input = self.job.part.files.binary_search_by(is_path).is_ok();
        let key = Key::new(&Asset::key(asset_id)).map_err(BlobError::from)?;
        let described = self.service.buckets().archive.get_bytes(&key, ASSET_BYTES).await?;
        let asset: Asset = serde_json::from_slice(&described)
            .map_err(|error| Failure::Unusable(format!("asset {asset_id} cannot be read: {error}")))?;
        for (name, blob) in &asset.variants {
            let to = match name.as_str() {
                // What is in the source folder is not needed again.
                "original" if is_input => continue,
                "original" => path.to_owned(),
                name => variant(name, path),
            };
            self.bring(index, Which::Archive, &blob.r2_key, to, ledger).await?;
        }
        self.assets.insert(asset_id.to_owned());
        if self.found.get(&index).is_none_or(|found| found.trouble.is_none()) {
            self.brought.insert(task.task_id.clone());
        }
        Ok(())
    }

    /// Brings one result of the file at `index` to its place.
    async fn bring(
        &mut self,
        index: usize,
        bucket: Which,
        key: &str,
        to: String,
        ledger: &mut Ledger,
    ) -> Result<(), Failure> {
        let Some((file, seen)) = self.wanted(index) else { return Ok(()) };
        match self.placed.get(&to) {
            Some(other) if *other == index => return Ok(()),
            Some(other) => {
                let other = self.job.part.files.get(*other).map_or("another file", |file| file.path.as_str());
                let taken = format!("{to} among the results is of {other}: rename one of them");
                self.found.entry(index).or_default().trouble = Some(taken);
                return Ok(());
            }
            None => {}
        }
        let is_done = |entry: &Entry| entry.end == End::Converted && entry.seen == *seen;
        let replaced = match ledger.owner(&to) {
            // A run that was stopped brought it.
            Some((source, made))
                if source == file.path
                    && ledger.entries.get(source).is_some_and(is_done)
                    && self.job.results.is_ours(made) =>
            {
                self.put(index, Placed { made: made.clone(), is_written: false });
                return Ok(());
            }
            Some((source, made)) if self.is_replaced(source) => Some(made.clone()),
            Some((source, _)) => {
                let taken = format!("{to} among the results is of {source}: rename one of them");
                self.found.entry(index).or_default().trouble = Some(taken);
                return Ok(());
            }
            None => None,
        };
        let bucket = self.service.buckets().get(bucket);
        let bring = |made: &Made| ledger.bring(&file.path, made);
        match self.job.results.place(bucket, key, &to, replaced.as_ref(), bring).await {
            Ok(placed) => {
                self.put(index, placed);
                Ok(())
            }
            Err(Unplaced::InTheWay(reason)) => {
                self.found.entry(index).or_default().trouble = Some(reason);
                Ok(())
            }
            Err(Unplaced::Failed(failure)) => Err(failure),
        }
    }

    /// A result is in its place.
    fn put(&mut self, index: usize, Placed { made, is_written }: Placed) {
        if is_written {
            self.written.add(Written { files: 1, bytes: made.bytes });
        }
        self.placed.insert(made.path.clone(), index);
        self.found.entry(index).or_default().made.push(made);
    }

    /// A file of the batch and what it was, if what comes of it is wanted.
    fn wanted(&self, index: usize) -> Option<(&'a File, &'a Seen)> {
        let (part, wanted) = (self.job.part, self.job.wanted);
        let file = part.files.get(index)?;
        Some((file, wanted.get(&file.path)?))
    }

    /// Whether results of a file may be replaced: they are made anew in this batch, or the file is gone.
    fn is_replaced(&self, source: &str) -> bool {
        let is_source = |file: &File| file.path.as_str().cmp(source);
        self.job.part.files.binary_search_by(is_source).is_ok() || self.job.gone.contains(source)
    }
}

/// The place of a file in its batch, from 0.
fn index(place: &Place) -> Option<usize> {
    place.input().as_str().parse::<usize>().ok()?.checked_sub(1)
}

/// The place of the file that a task is about.
fn of_task(task: &TaskDocument) -> Option<usize> {
    index(&Place::parse(task.task_id.rsplit('_').next()?)?)
}

fn asset_of(task: &TaskDocument) -> Option<&str> {
    task.outputs.ref_data.as_ref()?.url.rsplit('/').next()
}

fn asking(error: CallError) -> Failure {
    Failure::BatchLost(error.to_string())
}
