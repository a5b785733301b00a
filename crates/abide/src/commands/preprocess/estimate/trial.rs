//! Files that are tried: a few pages of some are made, each file in a process with the bounds of a worker, and what that took stands
//! for the rest. What is wrong with a file makes no difference here; who converts it says so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use abide_preprocess::launch::{Local, Rooms};
use abide_preprocess::worker::{Trial, Tried, Work};
use tokio::time::Instant;

use super::PER_WORKER;
use super::headers::{Cost, LookedAt, Sample};
use super::speed::Each;
use crate::commands::preprocess::folder::Folder;
use crate::commands::worker::TRIAL;
use crate::config::Config;
use crate::failure::Failure;

/// Files that are tried, at most, and one of so many.
const MOST_FILES: usize = 8;
const ONE_OF: usize = 4;
/// How long that may take: a part of everything that is to be done, but so long at least and at most.
const PART: f64 = 1.0 / 20.0;
const LEAST: f64 = 0.3;
const MOST: f64 = 4.0;
/// What one file may take of the time that is left, unless there are fewer to come: it may be one that never ends.
const SHARES: usize = 3;
/// Seconds that count as found where they were thought, so that small files say little of large ones.
const UNSAID: f64 = 0.02;
/// In less than this nothing is made.
const TOO_SHORT: Duration = Duration::from_millis(50);

/// By how much files differ from what their headers let one think, for each kind of them.
#[derive(Debug, Default)]
pub(super) struct Found {
    kinds: BTreeMap<Work, Kind>,
    /// How many files were tried and told something.
    pub(super) tried: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    pages: Ratio,
    converting: Each<Ratio>,
    scaling: Each<Ratio>,
}

/// What was found, over what was thought.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Ratio {
    found: f64,
    thought: f64,
}

impl Ratio {
    fn add(&mut self, found: f64, thought: f64) {
        self.found += found;
        self.thought += thought;
    }

    fn add_seconds(&mut self, found: f64, thought: f64) {
        self.add(found + UNSAID, thought + UNSAID);
    }

    fn of(self, thought: f64) -> f64 {
        if self.thought > 0.0 { thought * self.found / self.thought } else { thought }
    }
}

impl Found {
    /// Tries some files of each kind, as long as that is little of all.
    pub(super) async fn by_trial(
        config: &Config,
        folder: &Folder,
        looked_at: &LookedAt<'_>,
        per_pixel: Each<f64>,
        at_once: f64,
    ) -> Result<Found, Failure> {
        let mut found = Found::default();
        let all = found.seconds(looked_at, per_pixel, at_once).default;
        let most = Duration::from_secs_f64((all * PART).clamp(LEAST, MOST));
        let Ok(dir) = tempfile::tempdir() else { return Ok(found) };
        let local = Local {
            program: std::env::current_exe().map_err(Failure::System)?,
            arguments: vec!["worker".into()],
            work_dir: dir.path().to_owned(),
        };
        let began = Instant::now();
        let mut samples = in_turn(looked_at);
        samples.truncate(MOST_FILES.min(looked_at.count.div_ceil(ONE_OF)));
        for (at, sample) in samples.iter().enumerate() {
            let shares = SHARES.min(samples.len() - at);
            let wall = most.saturating_sub(began.elapsed()) / u32::try_from(shares).unwrap_or(1);
            if wall < TOO_SHORT {
                break;
            }
            let input = folder.root.join(&sample.file.path);
            let tried = tried(config, &local, input, sample.work, wall).await;
            found.add(sample, sample.cost(per_pixel), &tried);
        }
        Ok(found)
    }

    /// Adds what one file told: the last of each preset.
    fn add(&mut self, sample: &Sample<'_>, thought: Each<Cost>, tried: &[Tried]) {
        let last = |is_fast: bool| tried.iter().rfind(|tried| tried.is_fast == is_fast);
        let Some(fast) = last(true) else { return };
        let kind = self.kinds.entry(sample.work).or_default();
        self.tried += 1;
        kind.pages.add(fast.of as f64, sample.pages as f64);
        let of_fast = whole(fast);
        // Where only the fast one was done in time, the other takes as much longer as it seemed to.
        let longer = |of: fn(Cost) -> f64| {
            let pages = fast.of as f64 / sample.pages.max(1) as f64;
            (of(thought.default) - of(thought.fast)).max(0.0) * pages
        };
        let of_default = last(false).map_or_else(
            || Cost {
                converting: of_fast.converting + longer(|cost| cost.converting),
                scaling: of_fast.scaling + longer(|cost| cost.scaling),
            },
            whole,
        );
        kind.converting.fast.add_seconds(of_fast.converting, thought.fast.converting);
        kind.converting.default.add_seconds(of_default.converting, thought.default.converting);
        if fast.images > 0 {
            kind.scaling.fast.add_seconds(of_fast.scaling, thought.fast.scaling);
            kind.scaling.default.add_seconds(of_default.scaling, thought.default.scaling);
        }
    }

    /// How long everything takes, with so many workers at once. No file is converted by two.
    pub(super) fn seconds(&self, looked_at: &LookedAt<'_>, per_pixel: Each<f64>, at_once: f64) -> Each<f64> {
        let of = |preset: fn(Each<Ratio>) -> Ratio, cost: fn(Each<Cost>) -> Cost| {
            let (mut sum, mut longest) = (0.0, 0.0_f64);
            for sample in &looked_at.some {
                let kind = self.kinds.get(&sample.work).copied().unwrap_or_default();
                let cost = cost(sample.cost(per_pixel));
                let starting = PER_WORKER.as_secs_f64();
                let converting = if sample.is_to_be_made() { starting } else { 0.0 }
                    + preset(kind.converting).of(cost.converting);
                let images = kind.pages.of(sample.pages as f64);
                sum += converting + preset(kind.scaling).of(cost.scaling) + images * starting;
                longest = longest.max(converting);
            }
            (sum * looked_at.times() / at_once).max(longest)
        };
        let default = of(|it| it.default, |it| it.default);
        Each { default, fast: of(|it| it.fast, |it| it.fast).min(default) }
    }
}

/// What a worker tells of a file within `wall`.
async fn tried(config: &Config, local: &Local, input: PathBuf, work: Work, wall: Duration) -> Vec<Tried> {
    let (pdf_dpi, tasks) = (config.preprocess.pdf_dpi, &config.preprocess);
    let memory_mb = match work {
        Work::Tiff => tasks.memory_tiff_mb,
        Work::Pdf => tasks.memory_pdf_mb,
        Work::Image => tasks.memory_image_mb,
    };
    // A page that is begun by then has as much time again.
    let trial = Trial { input, dir: local.work_dir.clone(), work, pdf_dpi, memory_mb, most: wall / 2 };
    // A name that is not UTF-8 cannot be told to it.
    let Ok(text) = serde_json::to_string(&trial) else { return Vec::new() };
    let rooms = Rooms { memory_mb, cpu_seconds: wall.as_secs() + 1, wall };
    let said = local.heard("trial", BTreeMap::from([(TRIAL, text)]), rooms).await;
    said.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What all of a file takes, by what was made of it.
fn whole(tried: &Tried) -> Cost {
    let of = tried.of as f64;
    let each = |took: Duration, made: u64| if made > 0 { took.as_secs_f64() / made as f64 } else { 0.0 };
    let converting = tried.opening.as_secs_f64() + of * each(tried.converting, tried.pages);
    Cost { converting, scaling: of * each(tried.scaling, tried.images) }
}

/// Files of each kind in turn; of one kind, the first, one from the middle, then those between.
fn in_turn<'a>(looked_at: &'a LookedAt<'a>) -> Vec<&'a Sample<'a>> {
    let mut kinds: BTreeMap<Work, Vec<&Sample<'_>>> = BTreeMap::new();
    for sample in &looked_at.some {
        // Of one that is made there is nothing to try: its images are elsewhere.
        if !sample.is_made || sample.work == Work::Image {
            kinds.entry(sample.work).or_default().push(sample);
        }
    }
    let mut kinds: Vec<_> =
        kinds.values().map(|samples| (samples, spread(samples.len()).into_iter())).collect();
    let mut turns = Vec::new();
    loop {
        let before = turns.len();
        turns.extend(kinds.iter_mut().filter_map(|(samples, places)| Some(samples[places.next()?])));
        if turns.len() == before {
            return turns;
        }
    }
}

/// The numbers below `count`, each as far as may be from those before it.
fn spread(count: usize) -> Vec<usize> {
    let bits = count.next_power_of_two().trailing_zeros();
    let reversed = |at: usize| (0..bits).fold(0, |all, bit| all << 1 | (at >> bit & 1));
    (0..1 << bits).map(reversed).filter(|place| *place < count).collect()
}
