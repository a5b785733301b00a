//! TIFF to JPEG: every coding and every meaning that is read.

use std::io::Write;

use abide_media::{
    Bounds, JpegSettings, MediaError, PageFile, PdfSettings, Preset, first_pages, probe, tiff_to_jpeg,
};
use image::{GrayImage, RgbImage};

use crate::picture::{bars, bits, gray, likeness, picture, rgb, target};
use crate::tiff_writer::{CLASSIC, Flavour, Page, Value, u16_bytes, u32_bytes, write};

const W: u32 = 150;
const H: u32 = 110;

fn convert(file: &[u8]) -> (tempfile::TempDir, Result<Vec<PageFile>, MediaError>) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.tif");
    std::fs::write(&input, file).unwrap();
    let pages = tiff_to_jpeg(&input, &target(dir.path()), JpegSettings::default(), &Bounds::default());
    (dir, pages)
}

/// Converts a single page and compares it.
#[track_caller]
fn check(what: &str, file: &[u8], expected: &RgbImage) {
    let (_dir, pages) = convert(file);
    let pages = pages.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(pages.len(), 1, "{what}");
    let likeness = likeness(&pages[0].path, expected);
    assert!(likeness > 34.0, "{what}: {likeness:.1} dB");
}

fn as_rgb(gray: &GrayImage) -> RgbImage {
    RgbImage::from_fn(gray.width(), gray.height(), |x, y| image::Rgb([gray.get_pixel(x, y)[0]; 3]))
}

fn rgb_page(compression: u16) -> Page {
    Page::new(W, H, compression, 2, &[8, 8, 8])
}

fn strips_of(samples: &[u8], row: usize, rows: usize, code: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    samples.chunks(row * rows).map(code).collect()
}

pub(crate) fn lzw(raw: &[u8]) -> Vec<u8> {
    weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(raw).unwrap()
}

pub(crate) fn deflate(raw: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn pack_bits(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in raw.chunk_by(|a, b| a == b) {
        for run in piece.chunks(128) {
            match run.len() {
                1 => out.extend([0, run[0]]),
                length => out.extend([(1 - length as i16) as i8 as u8, run[0]]),
            }
        }
    }
    out
}

pub(crate) fn zstd(raw: &[u8]) -> Vec<u8> {
    zstd::encode_all(raw, 1).unwrap()
}

type Coding = (u16, fn(&[u8]) -> Vec<u8>);
const CODINGS: [Coding; 6] =
    [(1, <[u8]>::to_vec), (5, lzw), (8, deflate), (32_946, deflate), (32_773, pack_bits), (50_000, zstd)];

#[test]
fn strips_in_every_coding_order_and_size() {
    let picture = picture(W, H);
    for (compression, code) in CODINGS {
        for (little, big_tiff) in [(true, false), (false, false), (true, true), (false, true)] {
            for rows in [1, 7, 64, H] {
                let strips = strips_of(picture.as_raw(), W as usize * 3, rows as usize, code);
                let file = write(Flavour { little, big_tiff }, &[rgb_page(compression).strips(rows, strips)]);
                check(
                    &format!("coding {compression}, little {little}, big {big_tiff}, {rows} rows"),
                    &file,
                    &picture,
                );
            }
        }
    }
}

#[test]
fn tiles_reach_past_the_page() {
    let picture = picture(W, H);
    for (compression, code) in CODINGS {
        let mut tiles = Vec::new();
        for top in (0..H).step_by(48) {
            for left in (0..W).step_by(64) {
                let pixel = |x: u32, y: u32| picture.get_pixel((left + x).min(W - 1), (top + y).min(H - 1)).0;
                let tile: Vec<u8> = (0..48).flat_map(|y| (0..64).flat_map(move |x| pixel(x, y))).collect();
                tiles.push(code(&tile));
            }
        }
        check(
            &format!("coding {compression}"),
            &write(CLASSIC, &[rgb_page(compression).tiles(64, 48, tiles)]),
            &picture,
        );
    }
}

#[test]
fn planes_and_predictors() {
    let picture = picture(W, H);
    let mut planes = Vec::new();
    for plane in 0..3 {
        let samples: Vec<u8> = picture.pixels().map(|pixel| pixel[plane]).collect();
        planes.extend(strips_of(&samples, W as usize, 40, lzw));
    }
    let page = rgb_page(5).with(284, Value::Short(vec![2])).strips(40, planes);
    check("planes", &write(CLASSIC, &[page]), &picture);

    let mut differences = picture.as_raw().clone();
    for row in differences.chunks_exact_mut(W as usize * 3) {
        for at in (3..row.len()).rev() {
            row[at] = row[at].wrapping_sub(row[at - 3]);
        }
    }
    let page = rgb_page(8).with(317, Value::Short(vec![2])).strips(H, vec![deflate(&differences)]);
    check("differences", &write(CLASSIC, &[page]), &picture);
}

#[test]
fn depths_of_gray() {
    let gray = gray(&picture(W, H));
    for flavour in [CLASSIC, Flavour { little: false, big_tiff: false }] {
        let sixteen: Vec<u8> =
            gray.as_raw().iter().flat_map(|v| u16_bytes(flavour, u16::from(*v) * 257)).collect();
        let page = Page::new(W, H, 1, 1, &[16]).strips(H, vec![sixteen.clone()]);
        check("16 bits", &write(flavour, &[page]), &as_rgb(&gray));

        let mut differences: Vec<u16> = gray.as_raw().iter().map(|v| u16::from(*v) * 257).collect();
        for row in differences.chunks_exact_mut(W as usize) {
            for at in (1..row.len()).rev() {
                row[at] = row[at].wrapping_sub(row[at - 1]);
            }
        }
        let bytes: Vec<u8> = differences.iter().flat_map(|v| u16_bytes(flavour, *v)).collect();
        let page = Page::new(W, H, 5, 1, &[16]).with(317, Value::Short(vec![2])).strips(H, vec![lzw(&bytes)]);
        check("16 bits, differences", &write(flavour, &[page]), &as_rgb(&gray));

        let values: Vec<f32> = gray.as_raw().iter().map(|v| f32::from(*v) / 255.0).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| u32_bytes(flavour, v.to_bits())).collect();
        let float = Page::new(W, H, 1, 1, &[32]).with(339, Value::Short(vec![3]));
        check("float", &write(flavour, &[float.clone().strips(H, vec![bytes])]), &as_rgb(&gray));

        // What is white is seen by what there is, if it is not said.
        for (what, scale, brightest) in [
            ("float to 255", 255.0, 255.0),
            ("float to 65535", 65_535.0, 65_535.0),
            ("float with highlights", 1.0, 40.0),
        ] {
            let scaled = values.iter().map(|v| if *v > 0.999 { brightest } else { *v * scale });
            let bytes = scaled.flat_map(|v: f32| u32_bytes(flavour, v.to_bits())).collect();
            check(what, &write(flavour, &[float.clone().strips(H, vec![bytes])]), &as_rgb(&gray));
        }

        let apart: Vec<u8> = values.chunks_exact(W as usize).flat_map(float_differences).collect();
        let page = float
            .with(259, Value::Short(vec![8]))
            .with(317, Value::Short(vec![3]))
            .strips(H, vec![deflate(&apart)]);
        check("float, differences", &write(flavour, &[page]), &as_rgb(&gray));

        let ranged: Vec<u8> =
            values.iter().flat_map(|v| u32_bytes(flavour, (v * 40.0 - 20.0).to_bits())).collect();
        let page = Page::new(W, H, 1, 1, &[32])
            .with(339, Value::Short(vec![3]))
            .with(340, Value::Float(vec![-20.0]))
            .with(341, Value::Float(vec![20.0]));
        check("float with a range", &write(flavour, &[page.strips(H, vec![ranged])]), &as_rgb(&gray));
    }
}

/// Bytes by their weight, then differences.
fn float_differences(row: &[f32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..4)
        .flat_map(|weight| row.iter().map(move |value| value.to_bits().to_be_bytes()[weight]))
        .collect();
    for at in (1..bytes.len()).rev() {
        bytes[at] = bytes[at].wrapping_sub(bytes[at - 1]);
    }
    bytes
}

#[test]
fn four_bits_and_palettes() {
    let gray = gray(&picture(W, H));
    let nibbles: Vec<u8> = gray
        .as_raw()
        .chunks_exact(W as usize)
        .flat_map(|row| row.chunks(2).map(|two| two[0] & 0xf0 | two[1] >> 4).collect::<Vec<u8>>())
        .collect();
    let coarse = GrayImage::from_fn(W, H, |x, y| image::Luma([(gray.get_pixel(x, y)[0] >> 4) * 17]));
    let page = Page::new(W, H, 1, 1, &[4]).strips(H, vec![nibbles.clone()]);
    check("4 bits", &write(CLASSIC, &[page]), &as_rgb(&coarse));

    let ramp: Vec<u16> = (0..16).map(|index| index * 4369).collect();
    let backwards: Vec<u16> = ramp.iter().rev().copied().collect();
    let map = [ramp.clone(), backwards, ramp].concat();
    let coloured = RgbImage::from_fn(W, H, |x, y| {
        let value = coarse.get_pixel(x, y)[0];
        image::Rgb([value, 255 - value, value])
    });
    let page = Page::new(W, H, 1, 3, &[4]).with(320, Value::Short(map)).strips(H, vec![nibbles]);
    let (_dir, pages) = convert(&write(CLASSIC, &[page]));
    // Sharp colour edges suffer from shared chroma, so this asks for less.
    let likeness = likeness(&pages.unwrap()[0].path, &coloured);
    assert!(likeness > 24.0, "{likeness}");
}

#[test]
fn colours_of_every_kind() {
    let picture = picture(W, H);
    let strips = |samples: Vec<u8>| vec![samples];
    let inks = picture.pixels().flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], 0]).collect();
    check("CMYK", &write(CLASSIC, &[Page::new(W, H, 1, 5, &[8; 4]).strips(H, strips(inks))]), &picture);

    let clear = picture.pixels().flat_map(|p| [p[0], p[1], p[2], 0]).collect();
    let white = RgbImage::from_pixel(W, H, image::Rgb([255; 3]));
    let page = Page::new(W, H, 1, 2, &[8; 4]).with(338, Value::Short(vec![2])).strips(H, strips(clear));
    check("transparent", &write(CLASSIC, &[page]), &white);

    let extra = picture.pixels().flat_map(|p| [p[0], p[1], p[2], 77]).collect();
    let page = Page::new(W, H, 1, 2, &[8; 4]).with(338, Value::Short(vec![0])).strips(H, strips(extra));
    check("extra sample", &write(CLASSIC, &[page]), &picture);

    for (across, down) in [(1, 1), (2, 1), (2, 2), (4, 2)] {
        let page = Page::new(W, H, 1, 6, &[8; 3]).with(530, Value::Short(vec![across, down]));
        let file = write(CLASSIC, &[page.strips(H, strips(ycbcr(&picture, across.into(), down.into())))]);
        let (_dir, pages) = convert(&file);
        let likeness = likeness(&pages.unwrap()[0].path, &picture);
        assert!(likeness > 27.0, "YCbCr {across} by {down}: {likeness}");
    }
}

/// Units of luma with the chroma of their first pixel.
fn ycbcr(picture: &RgbImage, across: u32, down: u32) -> Vec<u8> {
    let convert = |x: u32, y: u32| {
        let p = picture.get_pixel(x.min(W - 1), y.min(H - 1)).0.map(f32::from);
        let luma = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
        [luma, (p[2] - luma) * 0.564 + 128.0, (p[0] - luma) * 0.713 + 128.0].map(|value| value.round() as u8)
    };
    let mut out = Vec::new();
    for top in (0..H).step_by(down as usize) {
        for left in (0..W).step_by(across as usize) {
            for y in 0..down {
                out.extend((0..across).map(|x| convert(left + x, top + y)[0]));
            }
            out.extend_from_slice(&convert(left, top)[1..]);
        }
    }
    out
}

#[test]
fn sixteen_bits_of_colour() {
    let picture = picture(W, H);
    for flavour in [CLASSIC, Flavour { little: false, big_tiff: true }] {
        // The low byte is noise: taking it for the high one would show.
        let wide =
            |value: &u8| u16_bytes(flavour, u16::from(*value) << 8 | u16::from(value.wrapping_mul(37)));
        let samples: Vec<u8> = picture.as_raw().iter().flat_map(wide).collect();
        let page = Page::new(W, H, 5, 2, &[16; 3]).strips(H, vec![lzw(&samples)]);
        check("16 bits of RGB", &write(flavour, &[page]), &picture);
        let planes = (0..3).map(|plane| picture.pixels().flat_map(|pixel| wide(&pixel[plane])).collect());
        let page = Page::new(W, H, 1, 2, &[16; 3]).with(284, Value::Short(vec![2]));
        check("16 bits of RGB in planes", &write(flavour, &[page.strips(H, planes.collect())]), &picture);
    }
}

#[test]
fn black_and_white_both_ways() {
    let bars = bars(W, H);
    let packed = |white: u8| -> Vec<u8> {
        let bit = |value: &u8| u8::from((*value == 255) == (white == 1));
        bars.as_raw()
            .chunks_exact(W as usize)
            .flat_map(|row| {
                row.chunks(8)
                    .map(|eight| eight.iter().enumerate().map(|(at, v)| bit(v) << (7 - at)).sum())
                    .collect::<Vec<u8>>()
            })
            .collect()
    };
    for (photometric, white) in [(0, 0), (1, 1)] {
        let page = Page::new(W, H, 1, photometric, &[1]).strips(H, vec![packed(white)]);
        check(&format!("photometric {photometric}"), &write(CLASSIC, &[page]), &as_rgb(&bars));
        let reversed = packed(white).iter().map(|byte| byte.reverse_bits()).collect();
        let page =
            Page::new(W, H, 1, photometric, &[1]).with(266, Value::Short(vec![2])).strips(H, vec![reversed]);
        check(&format!("photometric {photometric}, bits reversed"), &write(CLASSIC, &[page]), &as_rgb(&bars));
    }
}

#[test]
fn jpeg_inside() {
    let picture = picture(W, H);
    let jpeg = |rows: std::ops::Range<u32>| {
        let part = image::imageops::crop_imm(&picture, 0, rows.start, W, rows.end - rows.start).to_image();
        let mut out = Vec::new();
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut out, 95).encode_image(&part).unwrap();
        out
    };
    let page = Page::new(W, H, 7, 6, &[8; 3]).strips(64, vec![jpeg(0..64), jpeg(64..H)]);
    check("JPEG", &write(CLASSIC, &[page]), &picture);

    let (tables, first) = without_tables(&jpeg(0..64));
    let (same_tables, second) = without_tables(&jpeg(64..H));
    assert_eq!(tables, same_tables);
    let page = Page::new(W, H, 7, 6, &[8; 3]).strips(64, vec![first, second]);
    let (_dir, pages) = convert(&write(CLASSIC, std::slice::from_ref(&page)));
    assert_eq!(pages.unwrap_err().code(), "damaged", "without its tables it cannot be read");
    check("JPEG, shared tables", &write(CLASSIC, &[page.with(347, Value::Bytes(tables))]), &picture);
}

/// A page whose first strip with a JPEG in it is what tag 513 names.
pub(crate) fn placed(page: Page, length: Option<usize>) -> Vec<u8> {
    let page = page.with(513, Value::Long(vec![0x0bad_f00d]));
    let page = match length {
        Some(bytes) => page.with(514, Value::Long(vec![bytes as u32])),
        None => page,
    };
    let mut file = write(CLASSIC, &[page]);
    let at = file.windows(3).position(|three| three == [0xff, 0xd8, 0xff]).unwrap() as u32;
    let said = file.windows(4).position(|four| four == 0x0bad_f00d_u32.to_le_bytes()).unwrap();
    file[said..said + 4].copy_from_slice(&at.to_le_bytes());
    file
}

/// As the filters of scanners wrote it: where the JPEG begins is said, and little else.
#[test]
fn jpeg_of_the_old_style() {
    let picture = picture(W, H);
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 95).encode_image(&picture).unwrap();
    let head = jpeg.windows(2).position(|two| two == [0xff, 0xda]).unwrap();
    let page = Page::new(W, H, 6, 6, &[8; 3]);
    let mut unsaid = page.clone();
    unsaid.entries.retain(|(tag, _)| *tag != 277);
    let padded = [jpeg.clone(), vec![0; 90]].concat();
    for (what, page, chunks, length) in [
        ("whole", page.clone(), vec![padded.clone()], None),
        ("whole, without its samples", unsaid, vec![padded], None),
        ("whole, with its length", page.clone(), vec![jpeg.clone()], Some(jpeg.len())),
        ("a head and a strip", page.clone(), vec![jpeg[..head].to_vec(), jpeg[head..].to_vec()], Some(head)),
    ] {
        check(what, &placed(page.strips(H, chunks), length), &picture);
    }
    let cut = placed(page.clone().strips(H, vec![jpeg[..head].to_vec()]), None);
    assert_eq!(convert(&cut).1.unwrap_err().code(), "damaged");
    let other = Page::new(W, H + 1, 6, 6, &[8; 3]).strips(H + 1, vec![jpeg]);
    assert_eq!(convert(&placed(other, None)).1.unwrap_err().code(), "damaged", "it is not that of its page");
    let apart = page.strips(H, vec![vec![0; 90]]).with(513, Value::Long(vec![8]));
    assert_eq!(convert(&write(CLASSIC, &[apart])).1.unwrap_err().code(), "unsupported");
}

/// The tables of a JPEG as a stream of their own, and what remains of it.
pub(crate) fn without_tables(jpeg: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut tables, mut rest) = (vec![0xff, 0xd8], vec![0xff, 0xd8]);
    let mut at = 2;
    loop {
        let (marker, length) = (jpeg[at + 1], usize::from(jpeg[at + 2]) << 8 | usize::from(jpeg[at + 3]));
        let segment = &jpeg[at..at + 2 + length];
        match marker {
            0xdb | 0xc4 => tables.extend_from_slice(segment),
            0xda => break rest.extend_from_slice(&jpeg[at..]),
            _ => rest.extend_from_slice(segment),
        }
        at += 2 + length;
    }
    tables.extend([0xff, 0xd9]);
    (tables, rest)
}

#[test]
fn pages_orientation_profile_and_resolution() {
    let picture = picture(W, H);
    let mut profile = vec![0; 200];
    profile[16..20].copy_from_slice(b"RGB ");
    let page = rgb_page(1)
        .with(274, Value::Short(vec![6]))
        .with(34_675, Value::Bytes(profile.clone()))
        .with(282, Value::Rational(vec![(600, 2)]))
        .with(283, Value::Rational(vec![(400, 1)]))
        .strips(H, vec![picture.as_raw().clone()]);
    let thumbnail = page.clone().with(254, Value::Long(vec![1]));
    let alone = convert(&write(CLASSIC, std::slice::from_ref(&thumbnail))).1.unwrap();
    assert_eq!((alone.len(), alone[0].width), (1, H), "the copy of a page that is not there is one");
    let mask = page.clone().with(254, Value::Long(vec![4]));
    assert_eq!(convert(&write(CLASSIC, &[mask])).1.unwrap_err().code(), "no_pages");
    let (_dir, pages) = convert(&write(CLASSIC, &[page.clone(), thumbnail, page]));
    let pages = pages.unwrap();
    let names: Vec<_> = pages.iter().map(|page| page.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["out-p0001.jpg", "out-p0002.jpg"]);
    assert_eq!((pages[1].page, pages[1].width, pages[1].height), (2, H, W));
    assert!(likeness(&pages[1].path, &image::imageops::rotate90(&picture)) > 34.0);
    let bytes = std::fs::read(&pages[0].path).unwrap();
    assert_eq!(bytes[6..18], *b"JFIF\0\x01\x01\x01\x01\x90\x01\x2c", "turned, 400 by 300 dots per inch");
    assert!(bytes.windows(profile.len()).any(|window| window == profile));
}

#[test]
fn the_first_page_alone_is_named_as_it_is_among_all() {
    let page = rgb_page(1).strips(H, vec![picture(W, H).as_raw().clone()]);
    let cut = rgb_page(1).strips(H, vec![vec![0; 9]]);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.tif");
    std::fs::write(&input, write(CLASSIC, &[page.clone(), cut, page])).unwrap();
    let first = |most: u32| {
        let target = target(dir.path());
        first_pages(&input, &target, PdfSettings::default(), &Bounds::default(), |page, of| {
            assert_eq!(of, 3);
            page.is_none_or(|page| page.page < most)
        })
    };
    let made = first(1).unwrap();
    assert_eq!(made.len(), 1);
    assert!(made[0].path.ends_with("out-p0001.jpg") && made[0].path.exists());
    assert!(first(2).is_err(), "the second page lacks most of its pixels");
    assert!(!dir.path().join("out-p0001.jpg").exists(), "what fails leaves nothing");
    let text = dir.path().join("in.txt");
    std::fs::write(&text, "no pages").unwrap();
    let refused =
        first_pages(&text, &target(dir.path()), PdfSettings::default(), &Bounds::default(), |_, _| true);
    assert!(refused.unwrap_err().to_string().contains("TIFF or PDF"));
}

#[test]
fn every_orientation_is_undone() {
    use image::imageops::{flip_horizontal as mirror, rotate90, rotate180, rotate270};
    let picture = picture(W, H);
    let expected = [
        picture.clone(),
        mirror(&picture),
        rotate180(&picture),
        mirror(&rotate180(&picture)),
        mirror(&rotate90(&picture)),
        rotate90(&picture),
        mirror(&rotate270(&picture)),
        rotate270(&picture),
    ];
    for (orientation, expected) in (1..).zip(expected) {
        let page = rgb_page(1)
            .with(274, Value::Short(vec![orientation]))
            .with(282, Value::Rational(vec![(200, 1)]))
            .with(283, Value::Rational(vec![(100, 1)]))
            .strips(H, vec![picture.as_raw().clone()]);
        let file = write(CLASSIC, &[page]);
        check(&format!("orientation {orientation}"), &file, &expected);
        let (_dir, pages) = convert(&file);
        let jpeg = std::fs::read(&pages.unwrap()[0].path).unwrap();
        let dots = if orientation < 5 { [0, 200, 0, 100] } else { [0, 100, 0, 200] };
        assert_eq!(jpeg[14..18], dots, "dots per inch across and down, orientation {orientation}");
    }
}

#[test]
fn what_is_not_read_says_so() {
    let page = |compression, photometric| {
        Page::new(W, H, compression, photometric, &[8; 3]).strips(H, vec![vec![0; 64]])
    };
    let cases = [
        (page(1, 8), "CIELab inside TIFF is not supported"),
        (page(34_712, 2), "JPEG 2000 inside TIFF is not supported"),
        (page(33_003, 6), "JPEG 2000 inside TIFF is not supported"),
        (page(34_887, 2), "LERC inside TIFF is not supported"),
        (page(6, 6), "JPEG of the old style (compression 6) inside TIFF is not supported"),
    ];
    for (page, expected) in cases {
        let (_dir, pages) = convert(&write(CLASSIC, &[page]));
        let error = pages.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (expected, "unsupported"));
    }
}

#[test]
fn fast_is_baseline_and_as_like() {
    let picture = picture(W, H);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.tif");
    std::fs::write(&input, write(CLASSIC, &[rgb_page(1).strips(H, vec![picture.as_raw().clone()])])).unwrap();
    let settings = JpegSettings { preset: Preset::Fast, ..JpegSettings::default() };
    let pages = tiff_to_jpeg(&input, &target(dir.path()), settings, &Bounds::default()).unwrap();
    assert!(likeness(&pages[0].path, &picture) > 34.0);
    assert_eq!(rgb(&pages[0].path).dimensions(), (W, H));
    let probed = probe(&input, &Bounds::default()).unwrap();
    assert_eq!((probed.pages, probed.width, probed.height), (1, W, H));
}

#[test]
fn faxes_of_every_group() {
    // Four white, eight black, four white; twelve rows alike.
    let expected =
        GrayImage::from_fn(16, 12, |x, _| image::Luma([if (4..12).contains(&x) { 0 } else { 255 }]));
    let row = "1011 000101 1011";
    let end_of_line = "000000000001";
    let alike = "1 1 1";
    let huffman: Vec<u8> = (0..12).flat_map(|_| bits(row)).collect();
    let group_3 = bits(&format!("{end_of_line} {row}").repeat(12));
    let first = format!("{end_of_line} 1 {row}");
    let group_3_2d = bits(&format!("{first}{}", format!("{end_of_line} 0 {alike}").repeat(11)));
    let group_4 = bits(&format!("001 1011 000101 1 {} {end_of_line}{end_of_line}", alike.repeat(11)));
    for (what, compression, options, data) in [
        ("Huffman", 2, 0, huffman),
        ("Group 3", 3, 0, group_3),
        ("Group 3 2D", 3, 1, group_3_2d),
        ("Group 4", 4, 0, group_4),
    ] {
        let page = |data| {
            let page = Page::new(16, 12, compression, 0, &[1]).with(292, Value::Long(vec![options]));
            page.strips(12, vec![data])
        };
        check(what, &write(CLASSIC, &[page(data.clone())]), &as_rgb(&expected));
        let reversed = data.iter().map(|byte| byte.reverse_bits()).collect();
        let page = page(reversed).with(266, Value::Short(vec![2]));
        check(&format!("{what}, bits reversed"), &write(CLASSIC, &[page]), &as_rgb(&expected));
    }
}
