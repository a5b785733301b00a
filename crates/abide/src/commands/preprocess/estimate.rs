//! What a folder will need: room on the disk, and time.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use abide_media::{Bounds, JpegSettings, Preset, Target};
use tokio::time::Instant;

use super::folder::Folder;
use crate::cli::PresetArg;
use crate::failure::Failure;

/// Files whose headers are looked at.
const LOOKED_AT: usize = 50;
/// Sides of the image that is converted to see how fast this machine is.
const SIDES: (u32, u32) = (640, 480);
/// What starting a worker and moving its bytes takes, beside pixels.
const PER_FILE: Duration = Duration::from_millis(60);
/// Room that is left to others.
const SPARE_BYTES: u64 = 64 << 20;

/// What a folder will need.
#[derive(Debug)]
pub(in crate::commands) struct Estimate {
    pub(in crate::commands) needed_bytes: u64,
    pub(in crate::commands) free_bytes: u64,
    default: Duration,
    fast: Duration,
}

impl Estimate {
    /// Computed from headers of the first files and the speed of this machine.
    pub(in crate::commands) fn of(
        folder: &Folder,
        out: &Path,
        in_flight: usize,
    ) -> Result<Estimate, Failure> {
        let place = out.ancestors().find(|place| place.exists()).unwrap_or(out);
        let unreadable = |error| Failure::Input { path: place.to_owned(), error };
        let same_device = fs::metadata(place).map_err(unreadable)?.dev() == folder.device;
        let disk = rustix::fs::statvfs(place).map_err(|error| unreadable(error.into()))?;
        let convertible: u64 = folder.convertible().map(|file| file.bytes).sum();
        // Results in staging, in the archive and in the folder are links of each other where they can be; variants come on top.
        let results = convertible + convertible / 2;
        let copies = if same_device { 0 } else { folder.bytes };
        let (default, fast) = times(folder, in_flight)?;
        Ok(Estimate {
            needed_bytes: results + copies,
            free_bytes: disk.f_bavail * disk.f_frsize,
            default,
            fast,
        })
    }

    pub(in crate::commands) fn time(&self, preset: PresetArg) -> Duration {
        match preset {
            PresetArg::Default => self.default,
            PresetArg::Fast => self.fast,
        }
    }

    /// Refuses what would fill the disk.
    pub(in crate::commands) fn check(&self, out: &Path) -> Result<(), Failure> {
        if self.needed_bytes + SPARE_BYTES <= self.free_bytes {
            return Ok(());
        }
        let (needed, free) = (self.needed_bytes + SPARE_BYTES, self.free_bytes);
        Err(Failure::NoRoom { path: out.to_owned(), needed, free })
    }
}

fn times(folder: &Folder, in_flight: usize) -> Result<(Duration, Duration), Failure> {
    let bounds = Bounds::default();
    let looked_at = folder.convertible().take(LOOKED_AT);
    let mut pixels = Vec::new();
    for file in looked_at {
        // A file that cannot be read takes no time; the batch will say why.
        let probe = abide_media::probe(&folder.root.join(&file.path), &bounds).ok();
        let of_pages =
            probe.map(|probe| u64::from(probe.width) * u64::from(probe.height) * u64::from(probe.pages));
        pixels.push(of_pages.unwrap_or(0));
    }
    let count = folder.convertible().count() as u32;
    if pixels.is_empty() {
        return Ok((Duration::ZERO, Duration::ZERO));
    }
    let per_file = pixels.iter().sum::<u64>() as f64 / pixels.len() as f64;
    let of = |per_pixel: f64| {
        let seconds =
            (per_file * per_pixel + PER_FILE.as_secs_f64()) * f64::from(count) / in_flight.max(1) as f64;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    };
    let dir = tempfile::tempdir().map_err(Failure::System)?;
    let source = dir.path().join("speed.tif");
    fs::write(&source, sample()).map_err(Failure::System)?;
    let per_pixel = |preset: Preset| {
        let target = Target { dir: dir.path().to_owned(), stem: "speed".to_owned() };
        let settings = JpegSettings { preset, ..JpegSettings::default() };
        let began = Instant::now();
        abide_media::tiff_to_jpeg(&source, &target, settings, &bounds).ok();
        began.elapsed().as_secs_f64() / f64::from(SIDES.0 * SIDES.1)
    };
    Ok((of(per_pixel(Preset::Default)), of(per_pixel(Preset::Fast))))
}

/// An uncompressed TIFF with something like the detail of a scan.
fn sample() -> Vec<u8> {
    let (width, height) = SIDES;
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    let bytes = width * height * 3;
    let data_at = 8 + 2 + 10 * 12 + 4 + 6;
    let bits_at = 8 + 2 + 10 * 12 + 4;
    let entries: [(u16, u16, u32, u32); 10] = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 3, bits_at),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, data_at),
        (277, 3, 1, 3),
        (278, 4, 1, height),
        (279, 4, 1, bytes),
        (284, 3, 1, 1),
    ];
    tiff.extend(10_u16.to_le_bytes());
    for (tag, kind, count, value) in entries {
        tiff.extend(tag.to_le_bytes());
        tiff.extend(kind.to_le_bytes());
        tiff.extend(count.to_le_bytes());
        tiff.extend(value.to_le_bytes());
    }
    tiff.extend(0_u32.to_le_bytes());
    tiff.extend([8_u16, 8, 8].iter().flat_map(|bits| bits.to_le_bytes()));
    let mut noise = 12_345_u32;
    for at in 0..width * height {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let paper = 200 + (at / width * 40 / height) + (noise >> 28);
        let ink = if at % 37 < 5 && (at / width) % 23 < 11 { 120 } else { 0 };
        let value = u8::try_from(paper.saturating_sub(ink).min(255)).unwrap_or(255);
        tiff.extend([value, value, value.saturating_sub(12)]);
    }
    tiff
}
