//! How fast this machine is with an image that is made up, before any file is tried.

use std::fs;

use abide_media::{Bounds, JpegSettings, Preset, Target};
use tokio::time::Instant;

/// Sides of that image.
const SIDES: (u32, u32) = (640, 480);
/// Seconds that a pixel takes of the pages in `docs/formats.md`.
const USUAL: Each<f64> = Each { default: 8e-8, fast: 8e-9 };

/// Something for each preset.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Each<T> {
    pub(super) default: T,
    pub(super) fast: T,
}

impl<T: Copy> Each<T> {
    pub(super) fn map<U>(self, of: impl Fn(T) -> U) -> Each<U> {
        Each { default: of(self.default), fast: of(self.fast) }
    }
}

/// Seconds that a pixel takes; where there is no room to try it, those of a usual machine: that no time can be told exactly keeps
/// nobody from converting.
pub(super) fn per_pixel() -> Each<f64> {
    measured().unwrap_or(USUAL)
}

fn measured() -> Option<Each<f64>> {
    let dir = tempfile::tempdir().ok()?;
    let source = dir.path().join("speed.tif");
    fs::write(&source, sample()).ok()?;
    let of = |preset: Preset| {
        let target = Target { dir: dir.path().to_owned(), stem: "speed".to_owned() };
        let settings = JpegSettings { preset, ..JpegSettings::default() };
        let began = Instant::now();
        abide_media::tiff_to_jpeg(&source, &target, settings, &Bounds::default()).ok()?;
        Some(began.elapsed().as_secs_f64() / f64::from(SIDES.0 * SIDES.1))
    };
    Some(Each { default: of(Preset::Default)?, fast: of(Preset::Fast)? })
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
