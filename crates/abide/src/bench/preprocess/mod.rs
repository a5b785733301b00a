//! `abide bench preprocess`: scans to JPEG by either preset, with `sharp` beside them on the same files in the same run; and
//! a batch of tasks that do nothing.

mod contender;
mod scans;
pub(crate) mod tasks;

use std::path::{Path, PathBuf};

use abide_media::{Bounds, JpegSettings, Preset, Target, luma, ssim, tiff_to_jpeg};
use serde::Serialize;

use super::BenchError;
use crate::columns::columns;
use contender::{Contender, Usage};
use scans::{KINDS, Scan};
use tasks::TaskRow;

pub(crate) use contender::ChildPreset;

const MIB: f64 = (1 << 20) as f64;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Images of each kind.
    pub(crate) images: u32,
    /// Percent of the sides of the images, for a quick look.
    pub(crate) percent: u32,
    /// Whether `sharp` is measured too.
    pub(crate) sharp: Rival,
}

/// Whether `sharp` is measured too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rival {
    /// If npm is there and gives it.
    IfThere,
    /// No.
    Left,
}

/// What one contender made of the images of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    scans: &'static str,
    contender: &'static str,
    images: u32,
    megapixels: f64,
    /// Seconds of processor per image, over all its threads.
    cpu_s: f64,
    wall_s: f64,
    images_per_cpu_s: f64,
    mib_per_image: f64,
    ssim: f64,
    peak_mib: f64,
}

/// Every row.
#[derive(Debug, Serialize)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// What a batch costs beside the work.
    pub(crate) tasks: TaskRow,
}

impl Rows {
    /// The rows for a person.
    pub(crate) fn table(&self) -> String {
        let rows: Vec<[String; 9]> = self
            .rows
            .iter()
            .map(|row| {
                [
                    row.scans.to_owned(),
                    row.contender.to_owned(),
                    format!("{:.1}", row.megapixels),
                    format!("{:.3}", row.cpu_s),
                    format!("{:.3}", row.wall_s),
                    format!("{:.2}", row.images_per_cpu_s),
                    format!("{:.3}", row.mib_per_image),
                    format!("{:.5}", row.ssim),
                    format!("{:.0}", row.peak_mib),
                ]
            })
            .collect();
        let TaskRow { tasks, wall_s, tasks_per_s, cpu_ms_per_task, cpu_ms_per_task_of_few } = &self.tasks;
        let tasks = format!(
            "{tasks} tasks that do nothing: {wall_s:.2} s, {tasks_per_s:.0} a second; {cpu_ms_per_task:.3} processor ms \
             a task, {cpu_ms_per_task_of_few:.3} in batches of a hundred\n"
        );
        let columns = columns(
            ["scans", "by", "MP", "cpu s", "wall s", "images/cpu s", "MiB", "SSIM", "peak MiB"],
            &rows,
        );
        format!("{columns}\n{tasks}")
    }
}

/// Makes the scans below `dir` and lets each contender convert them; `tell` hears what is under way.
pub(crate) fn run(dir: &Path, extent: Extent, tell: impl Fn(&str)) -> Result<Vec<Row>, BenchError> {
    let mut contenders = vec![Contender::Default, Contender::Fast];
    if extent.sharp == Rival::IfThere {
        tell("npm: installing sharp beside the scans");
        match contender::install_sharp(&dir.join("sharp"))? {
            Ok(()) => contenders.push(Contender::Sharp(dir.join("sharp"))),
            Err(why) => tell(&format!("sharp is not measured: {why}")),
        }
    }
    let mut rows = Vec::new();
    for kind in KINDS {
        tell(&format!("making scans: {}", kind.name));
        let made = (0..extent.images).map(|seed| scans::make(dir, kind, seed, extent.percent));
        let made = made.collect::<Result<Vec<Scan>, BenchError>>()?;
        for contender in &contenders {
            tell(&format!("converting by {}", contender.name()));
            let pairs: Vec<(PathBuf, PathBuf)> =
                made.iter().map(|scan| (scan.path.clone(), scan.path.with_extension("jpg"))).collect();
            let usage = contender.convert(&pairs)?;
            rows.push(row(kind.name, contender.name(), &made, &usage)?);
        }
        for scan in &made {
            std::fs::remove_file(&scan.path)?;
        }
    }
    Ok(rows)
}

fn row(
    scans: &'static str,
    contender: &'static str,
    made: &[Scan],
    usage: &Usage,
) -> Result<Row, BenchError> {
    let (mut bytes, mut likeness, mut pixels) = (0, 0.0, 0);
    for scan in made {
        let jpeg = std::fs::read(scan.path.with_extension("jpg"))?;
        let (width, samples) = luma(&jpeg).map_err(|error| BenchError::Wrong(error.to_string()))?;
        let original = scan.luma()?;
        if samples.len() != original.len() {
            return Err(BenchError::Wrong(format!(
                "{contender} changed the size of {}",
                scan.path.display()
            )));
        }
        bytes += jpeg.len();
        likeness += ssim(&samples, &original, width as usize);
        pixels += original.len();
    }
    let images = f64::from(made.len() as u32);
    Ok(Row {
        scans,
        contender,
        images: made.len() as u32,
        megapixels: pixels as f64 / images / 1e6,
        cpu_s: usage.cpu_s / images,
        wall_s: usage.wall_s / images,
        images_per_cpu_s: images / usage.cpu_s,
        mib_per_image: bytes as f64 / images / MIB,
        ssim: likeness / images,
        peak_mib: usage.peak_mib,
    })
}

/// What a child of ours does when it is told to.
pub(crate) fn run_child(preset: ChildPreset, pairs: &[PathBuf]) -> Result<(), BenchError> {
    let preset = match preset {
        ChildPreset::Default => Preset::Default,
        ChildPreset::Fast => Preset::Fast,
    };
    let settings = JpegSettings { quality: 95, preset };
    contender::when_told(|| {
        for pair in pairs.chunks_exact(2) {
            let dir = pair[1].parent().map(Path::to_owned).unwrap_or_default();
            let stem = pair[1].file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let target = Target { dir, stem: stem.unwrap_or_default() };
            tiff_to_jpeg(&pair[0], &target, settings, &Bounds::default())
                .map_err(|error| BenchError::Wrong(error.to_string()))?;
        }
        Ok(())
    })
}
