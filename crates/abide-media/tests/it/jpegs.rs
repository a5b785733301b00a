//! The JPEGs that come out: as small as mozjpeg's, whole where bands meet, with what goes with the pixels.

use abide_media::{Bounds, JpegSettings, Preset, luma, psnr, tiff_to_jpeg};
use image::{ImageDecoder, ImageReader, RgbImage};
use mozjpeg::qtable::{AnnexK_Chroma, AnnexK_Luma};
use mozjpeg::{ColorSpace, Compress};

use crate::picture::target;
use crate::tiff_writer::{CLASSIC, Page, Value, write};

/// Paper with grain, letters and a soft picture: something to compress.
fn scan(width: u32, height: u32) -> RgbImage {
    let mut draws = 88_172_645_463_325_252_u64;
    RgbImage::from_fn(width, height, |x, y| {
        draws ^= draws << 13;
        draws ^= draws >> 7;
        draws ^= draws << 17;
        let grain = (draws % 9) as i32 - 4;
        let ink = if x / 3 % 7 == 0 && y / 5 % 4 < 2 && x < width / 2 { 150 } else { 0 };
        let wave = ((f64::from(x) / 40.0).sin() * (f64::from(y) / 31.0).cos() * 40.0) as i32;
        let value = |base: i32| (base + wave + grain - ink).clamp(0, 255) as u8;
        image::Rgb([value(200), value(190), value(160)])
    })
}

/// A TIFF of strips, converted.
fn convert(page: Page, preset: Preset) -> Vec<u8> {
    convert_with(page, JpegSettings { preset, ..JpegSettings::default() })
}

fn convert_with(page: Page, settings: JpegSettings) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.tif");
    std::fs::write(&input, write(CLASSIC, &[page])).unwrap();
    let pages = tiff_to_jpeg(&input, &target(dir.path()), settings, &Bounds::default()).unwrap();
    std::fs::read(&pages[0].path).unwrap()
}

fn page(width: u32, height: u32, photometric: u16, samples: &[u8]) -> Page {
    let channels = samples.len() / (width * height) as usize;
    let strips = samples.chunks(width as usize * channels * 100).map(<[u8]>::to_vec).collect();
    Page::new(width, height, 1, photometric, &vec![8; channels]).strips(100, strips)
}

/// What mozjpeg makes of it by itself, with all that it can do.
fn by_mozjpeg(space: ColorSpace, width: u32, height: u32, samples: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(space);
    compress.set_size(width as usize, height as usize);
    compress.set_quality(95.0);
    let mut started = compress.start_compress(Vec::new()).unwrap();
    started.write_scanlines(samples).unwrap();
    started.finish().unwrap()
}

/// What mozjpeg makes of it in a hurry, with the same tables and codes as the fast preset.
fn by_mozjpeg_in_a_hurry(space: ColorSpace, width: u32, height: u32, quality: u8, samples: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(space);
    compress.set_fastest_defaults();
    compress.set_size(width as usize, height as usize);
    let quality = f32::from(quality);
    compress.set_luma_qtable(&AnnexK_Luma.scaled(quality, quality));
    compress.set_chroma_qtable(&AnnexK_Chroma.scaled(quality, quality));
    if space == ColorSpace::JCS_RGB {
        compress.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    }
    let mut started = compress.start_compress(Vec::new()).unwrap();
    started.write_scanlines(samples).unwrap();
    started.finish().unwrap()
}

fn decoded(jpeg: &[u8]) -> image::DynamicImage {
    image::load_from_memory(jpeg).unwrap()
}

/// A fiftieth more at the most, and never less like. In how many bands it comes and whether its sides are whole blocks is nothing that can be seen.
#[test]
fn the_default_is_as_small_and_as_like_as_mozjpeg_s_own() {
    for (width, height) in [(1_601, 1_403), (2_000, 1_300), (37, 9), (8, 700), (1, 1)] {
        let picture = scan(width, height);
        let ours = convert(page(width, height, 2, picture.as_raw()), Preset::Default);
        let theirs = by_mozjpeg(ColorSpace::JCS_RGB, width, height, picture.as_raw());
        let like = |jpeg: &[u8]| psnr(decoded(jpeg).to_rgb8().as_raw(), picture.as_raw());
        println!(
            "{width}×{height}: {} of {}, {:.2} of {:.2} dB",
            ours.len(),
            theirs.len(),
            like(&ours),
            like(&theirs)
        );
        assert!(ours.len() <= theirs.len() + theirs.len() / 50 + 200, "{} of {}", ours.len(), theirs.len());
        assert!(like(&ours) >= like(&theirs) - 0.05, "{} of {}", like(&ours), like(&theirs));
        assert!(ours.windows(2).any(|two| two == [0xff, 0xc2]), "progressive");
        // Another decoder sees the same.
        let gray = decoded(&ours).to_luma8();
        assert!(psnr(&luma(&ours).unwrap().1, gray.as_raw()) > 40.0);

        let gray: Vec<u8> = picture.pixels().map(|pixel| pixel[0]).collect();
        let ours = convert(page(width, height, 1, &gray), Preset::Default);
        let theirs = by_mozjpeg(ColorSpace::JCS_GRAYSCALE, width, height, &gray);
        let like = |jpeg: &[u8]| psnr(decoded(jpeg).to_luma8().as_raw(), &gray);
        assert!(ours.len() <= theirs.len() + theirs.len() / 50 + 200, "{} of {}", ours.len(), theirs.len());
        assert!(like(&ours) >= like(&theirs) - 0.05, "{} of {}", like(&ours), like(&theirs));
    }
}

#[test]
fn the_fast_one_is_whole_where_its_bands_meet() {
    for (width, height) in [(701, 1_403), (64, 64), (64, 65), (17, 640), (1, 1)] {
        let picture = scan(width, height);
        let jpeg = convert(page(width, height, 2, picture.as_raw()), Preset::Fast);
        assert_eq!(luma(&jpeg).unwrap().0, width);
        let like = psnr(decoded(&jpeg).to_rgb8().as_raw(), picture.as_raw());
        let theirs = by_mozjpeg(ColorSpace::JCS_RGB, width, height, picture.as_raw());
        let at_least = psnr(decoded(&theirs).to_rgb8().as_raw(), picture.as_raw());
        assert!(like > at_least - 0.5, "{width}×{height}: {like:.1} dB of {at_least:.1}");
        let gray: Vec<u8> = picture.pixels().map(|pixel| pixel[0]).collect();
        let jpeg = convert(page(width, height, 1, &gray), Preset::Fast);
        assert!(psnr(decoded(&jpeg).to_luma8().as_raw(), &gray) > 36.0, "{width}×{height}");
    }
}

/// Noise has every coefficient there is, and bytes of ones in its scan.
#[test]
fn the_fast_one_is_as_like_as_mozjpeg_s_own_at_any_size_and_quality() {
    let mut draws = 0x2545_f491_4f6c_dd1d_u64;
    for (width, height) in [(1, 1), (7, 9), (8, 8), (16, 16), (17, 33), (130, 95), (65_500, 3), (3, 65_500)] {
        let noise = RgbImage::from_fn(width, height, |_, _| {
            draws ^= draws << 13;
            draws ^= draws >> 7;
            draws ^= draws << 17;
            image::Rgb([draws as u8, (draws >> 8) as u8, (draws >> 16) as u8])
        });
        let gray: Vec<u8> = noise.pixels().map(|pixel| pixel[0]).collect();
        for quality in [1, 50, 95, 100] {
            let settings = JpegSettings { quality, preset: Preset::Fast };
            for (space, photometric, samples) in
                [(ColorSpace::JCS_RGB, 2, noise.as_raw()), (ColorSpace::JCS_GRAYSCALE, 1, &gray)]
            {
                let ours = convert_with(page(width, height, photometric, samples), settings);
                let theirs = by_mozjpeg_in_a_hurry(space, width, height, quality, samples);
                let like = |jpeg: &[u8]| psnr(decoded(jpeg).as_bytes(), samples);
                let what = format!("{width}×{height} {space:?} at {quality}");
                let (like, at_least) = (like(&ours), like(&theirs).min(45.0) - 1.0);
                assert!(like > at_least, "{what}: {like:.1} dB of {at_least:.1}");
                assert!(ours.len() <= theirs.len() + theirs.len() / 50 + 200, "{what}: {} bytes", ours.len());
                assert_eq!(luma(&ours).unwrap().0, width, "{what}");
            }
        }
    }
}

/// Black and white as each coefficient wants it to be the furthest from zero, both ways, between black and white blocks.
#[test]
fn the_fast_one_holds_the_largest_coefficients() {
    let wave = |of: u32, at: u32| (f64::from((2 * at + 1) * of) * std::f64::consts::PI / 16.0).cos();
    let picture = image::GrayImage::from_fn(64 * 16, 16, |x, y| {
        let (across, down) = (x / 16 % 8, x / 128);
        let shown = match (x / 8 % 2, y / 8) {
            (0, half) => (wave(across, x % 8) * wave(down, y % 8) > 0.0) == (half == 0),
            (_, half) => half == 0,
        };
        image::Luma([if shown { 255 } else { 0 }])
    });
    let settings = JpegSettings { quality: 100, preset: Preset::Fast };
    let jpeg = convert_with(page(64 * 16, 16, 1, picture.as_raw()), settings);
    let like = psnr(decoded(&jpeg).as_bytes(), picture.as_raw());
    assert!(like > 55.0, "{like:.1} dB");
}

#[test]
fn readers_find_the_profile_and_the_resolution() {
    let picture = scan(40, 30);
    for bytes in [300, 150_000] {
        let mut profile: Vec<u8> = (0..bytes).map(|at: u32| (at % 251) as u8).collect();
        profile[16..20].copy_from_slice(b"RGB ");
        for preset in [Preset::Default, Preset::Fast] {
            let page = page(40, 30, 2, picture.as_raw())
                .with(34_675, Value::Bytes(profile.clone()))
                .with(282, Value::Rational(vec![(300, 1)]))
                .with(283, Value::Rational(vec![(400, 1)]));
            let jpeg = convert(page, preset);
            assert_eq!(jpeg[6..12], *b"JFIF\0\x01");
            assert_eq!(jpeg[13..18], [1, 1, 44, 1, 144], "300 by 400 dots per inch");
            let reader = ImageReader::new(std::io::Cursor::new(&jpeg)).with_guessed_format().unwrap();
            let found = reader.into_decoder().unwrap().icc_profile().unwrap();
            assert!(found == Some(profile.clone()), "{preset:?}: {:?} bytes", found.map(|found| found.len()));
            let pieces = jpeg.windows(12).filter(|twelve| twelve == b"ICC_PROFILE\0").count();
            let first = jpeg.windows(14).find(|piece| piece.starts_with(b"ICC_PROFILE\0")).unwrap();
            assert_eq!(first[12..], [1, pieces as u8], "numbered from 1, as readers want it");
        }
    }
}
