//! Files with a few bytes changed by a seeded draw: each ends as a result or as an error, never as a panic.

use abide_media::{Bounds, JpegSettings, PdfSettings, Preset, pdf_to_pages, probe, tiff_to_jpeg, variants};

use crate::pdf_writer::document;
use crate::picture::{picture, target};
use crate::tiff_writer::{CLASSIC, Page, write};

const ROUNDS: u64 = 150;
const FAST: JpegSettings = JpegSettings { quality: 80, preset: Preset::Fast };

fn small() -> Bounds {
    Bounds { pixels: 1 << 20, memory_bytes: 64 << 20, pages: 10, ..Bounds::default() }
}

/// SplitMix64.
fn draw(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 16) as usize
}

fn mutated(original: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut file = original.to_vec();
    for _ in 0..1 + draw(&mut state) % 6 {
        let at = draw(&mut state) % file.len();
        match draw(&mut state) % 4 {
            0 => file[at] = draw(&mut state) as u8,
            1 => file[at] ^= 1 << (draw(&mut state) % 8),
            2 => file[at] = [0, 1, 0x7f, 0x80, 0xff][draw(&mut state) % 5],
            _ => file.truncate(at.max(16)),
        }
    }
    file
}

fn each(original: &[u8], convert: impl Fn(&std::path::Path, &abide_media::Target)) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in");
    for seed in 0..ROUNDS {
        std::fs::write(&input, mutated(original, seed)).unwrap();
        // Whether it succeeds is the file's affair; that it returns is ours.
        probe(&input, &small()).ok();
        convert(&input, &target(dir.path()));
    }
}

#[test]
fn tiffs() {
    let page = |compression, data: Vec<u8>| Page::new(40, 30, compression, 2, &[8; 3]).strips(30, vec![data]);
    let raw = picture(40, 30).into_raw();
    let lzw = weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(&raw).unwrap();
    for file in [write(CLASSIC, &[page(1, raw)]), write(CLASSIC, &[page(5, lzw)])] {
        each(&file, |input, target| drop(tiff_to_jpeg(input, target, FAST, &small())));
    }
}

#[test]
fn pdfs() {
    let file = document(60, 60, "", &["1 0 0 rg 0 0 50 50 re f", "0 0 m 10 10 l S"], &[]);
    let settings = PdfSettings { dpi: 36, jpeg: FAST };
    each(&file, |input, target| drop(pdf_to_pages(input, target, settings, &small())));
}

#[test]
fn images() {
    for format in [image::ImageFormat::Jpeg, image::ImageFormat::Png, image::ImageFormat::WebP] {
        let mut file = std::io::Cursor::new(Vec::new());
        image::DynamicImage::ImageRgb8(picture(40, 30)).write_to(&mut file, format).unwrap();
        each(file.get_ref(), |input, target| drop(variants(input, target, &[16], FAST, &small())));
    }
}
