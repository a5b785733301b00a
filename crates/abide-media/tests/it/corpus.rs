//! The files that the fuzzer begins with: small, sound, and made by the writers here.

use std::path::{Path, PathBuf};

use abide_media::{
    Bounds, Format, JpegSettings, PdfSettings, Preset, Treatment, pdf_to_pages, probe, tiff_to_jpeg, variants,
};
use image::{DynamicImage, ImageFormat};

use crate::images::with_profile;
use crate::pdf_writer::{document, stream};
use crate::picture::{bits, gray, picture, target};
use crate::tiff_writer::{CLASSIC, Flavour, Page, Value, u16_bytes, u32_bytes, write};
use crate::{pdfs, tiffs};

const W: u32 = 24;
const H: u32 = 18;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus")
}

#[test]
fn every_file_of_the_corpus_is_small_and_converts() {
    let jpeg = JpegSettings { preset: Preset::Fast, ..JpegSettings::default() };
    let bounds = Bounds::default();
    let mut files = 0;
    for kind in ["tiff", "pdf", "image"] {
        for entry in std::fs::read_dir(corpus().join(kind)).unwrap() {
            let path = entry.unwrap().path();
            assert!(path.metadata().unwrap().len() < 4096, "{}", path.display());
            let dir = tempfile::tempdir().unwrap();
            let target = target(dir.path());
            let treatment = probe(&path, &bounds).unwrap_or_else(|error| panic!("{path:?}: {error}")).format;
            let converted = match treatment.treatment() {
                Treatment::Tiff => tiff_to_jpeg(&path, &target, jpeg, &bounds).map(drop),
                Treatment::Pdf => {
                    pdf_to_pages(&path, &target, PdfSettings { dpi: 72, jpeg }, &bounds).map(drop)
                }
                Treatment::Image => variants(&path, &target, &[16], jpeg, &bounds).map(drop),
                Treatment::PassThrough(reason) => panic!("{}: {reason}", path.display()),
            };
            converted.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            files += 1;
        }
    }
    assert!((20..40).contains(&files), "{files}");
}

/// What the fuzzer found once stays found.
#[test]
fn what_was_found_returns() {
    let Ok(found) = std::fs::read_dir(corpus().join("found")) else { return };
    let jpeg = JpegSettings { preset: Preset::Fast, ..JpegSettings::default() };
    let bounds = Bounds { pixels: 1 << 20, memory_bytes: 64 << 20, pages: 8, ..Bounds::default() };
    for entry in found {
        let path = entry.unwrap().path();
        let dir = tempfile::tempdir().unwrap();
        let target = target(dir.path());
        let format = Format::of(&std::fs::read(&path).unwrap());
        let outcome = match format.treatment() {
            Treatment::Tiff => tiff_to_jpeg(&path, &target, jpeg, &bounds).map(drop),
            Treatment::Pdf => pdf_to_pages(&path, &target, PdfSettings { dpi: 36, jpeg }, &bounds).map(drop),
            Treatment::Image => variants(&path, &target, &[16], jpeg, &bounds).map(drop),
            Treatment::PassThrough(_) => probe(&path, &bounds).map(drop),
        };
        println!("{}: {outcome:?}", path.display());
    }
}

#[test]
#[ignore = "writes the corpus anew: run it after a writer has changed"]
fn write_the_corpus() {
    for (kind, files) in [("tiff", tiff_files()), ("pdf", pdf_files()), ("image", image_files())] {
        let dir = corpus().join(kind);
        std::fs::create_dir_all(&dir).unwrap();
        for (name, file) in files {
            std::fs::write(dir.join(name), file).unwrap();
        }
    }
}

type Files = Vec<(&'static str, Vec<u8>)>;

fn tiff_files() -> Files {
    let picture = picture(W, H);
    let raw = picture.as_raw().clone();
    let rgb = |compression| Page::new(W, H, compression, 2, &[8; 3]);
    let one = |page: Page| write(CLASSIC, &[page]);
    let strips = |code: fn(&[u8]) -> Vec<u8>| raw.chunks(W as usize * 3 * 7).map(code).collect::<Vec<_>>();
    let sixteen = raw.iter().flat_map(|value| u16_bytes(CLASSIC, u16::from(*value) * 257)).collect();
    let values = gray(&picture);
    let float = values.as_raw().iter().flat_map(|v| u32_bytes(CLASSIC, (f32::from(*v) / 255.0).to_bits()));
    let inks = picture.pixels().flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], 0]).collect();
    let map = (0..48).map(|index| index * 1365).collect();
    let planes = (0..3).map(|plane| picture.pixels().map(|pixel| pixel[plane]).collect()).collect();
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 80).encode_image(&picture).unwrap();
    let (tables, rest) = tiffs::without_tables(&jpeg);
    let mut profile = vec![0; 40];
    profile[16..20].copy_from_slice(b"RGB ");
    let turned = rgb(5).with(274, Value::Short(vec![6])).with(34_675, Value::Bytes(profile));
    let fax = |compression, options, data| {
        let page = Page::new(16, 12, compression, 0, &[1]).with(292, Value::Long(vec![options]));
        one(page.strips(12, vec![data]))
    };
    let row = "1011 000101 1011";
    let (line, alike) = ("000000000001", "111");
    vec![
        ("raw", one(rgb(1).strips(7, strips(<[u8]>::to_vec)))),
        ("lzw", one(rgb(5).with(317, Value::Short(vec![2])).strips(7, strips(tiffs::lzw)))),
        ("deflate", one(rgb(8).strips(7, strips(tiffs::deflate)))),
        ("pack-bits", one(rgb(32_773).strips(7, strips(tiffs::pack_bits)))),
        ("zstd", one(rgb(50_000).strips(7, strips(tiffs::zstd)))),
        ("tiles", one(rgb(1).tiles(16, 16, vec![vec![90; 16 * 16 * 3]; 4]))),
        ("planes", one(rgb(1).with(284, Value::Short(vec![2])).strips(H, planes))),
        ("sixteen", one(Page::new(W, H, 1, 2, &[16; 3]).strips(H, vec![sixteen]))),
        (
            "float",
            one(Page::new(W, H, 1, 1, &[32])
                .with(339, Value::Short(vec![3]))
                .strips(H, vec![float.collect()])),
        ),
        ("cmyk", one(Page::new(W, H, 1, 5, &[8; 4]).strips(H, vec![inks]))),
        (
            "palette",
            one(Page::new(W, H, 1, 3, &[4])
                .with(320, Value::Short(map))
                .strips(H, vec![vec![0x5a; 12 * 18]])),
        ),
        (
            "ycbcr",
            one(Page::new(W, H, 1, 6, &[8; 3])
                .with(530, Value::Short(vec![2, 2]))
                .strips(H, vec![vec![99; 12 * 9 * 6]])),
        ),
        ("jpeg", one(Page::new(W, H, 7, 6, &[8; 3]).with(347, Value::Bytes(tables)).strips(H, vec![rest]))),
        ("old-jpeg", tiffs::placed(Page::new(W, H, 6, 6, &[8; 3]).strips(H, vec![jpeg]), None)),
        ("huffman", fax(2, 0, (0..12).flat_map(|_| bits(row)).collect())),
        ("group-3", fax(3, 0, bits(&format!("{line} {row}").repeat(12)))),
        ("group-3-2d", fax(3, 1, bits(&format!("{line} 1 {row}{}", format!("{line} 0 {alike}").repeat(11))))),
        ("group-4", fax(4, 0, pdfs::fax())),
        ("big", write(Flavour { little: false, big_tiff: true }, &[rgb(5).strips(7, strips(tiffs::lzw))])),
        (
            "pages",
            write(
                CLASSIC,
                &[turned.clone().strips(7, strips(tiffs::lzw)), turned.strips(7, strips(tiffs::lzw))],
            ),
        ),
    ]
}

fn pdf_files() -> Files {
    let text = ["BT /F 12 Tf 5 30 Td (ABA) Tj 0 -14 Td [(A) -200 (B)] TJ ET", "0 0 m 10 10 20 0 30 30 c S"];
    let drawn =
        ["q 1 0 0 rg 5 5 30 30 re f Q q 0.5 0 0 0.5 9 9 cm /X Do Q /S sh /P cs 2 w 1 0 0 RG 1 1 m 50 40 l S"];
    let form = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 40 40] /Group << /S /Transparency >>",
        b"0 0 1 rg 0 0 20 20 re f",
    );
    let shading = b"<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 60 60] /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 0] /C1 [0 0 1] /N 1 >> >>".to_vec();
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 80).encode_image(&picture(W, H)).unwrap();
    let rgb = "/ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter";
    let deflated = tiffs::deflate(picture(W, H).as_raw());
    let script = tiffs::deflate(b"0 1 0 rg 3 3 20 20 re f");
    let packed = document(
        60,
        60,
        "/XObject << /X 3 0 R >>",
        &["/X Do"],
        &[stream("/Subtype /Form /BBox [0 0 60 60] /Filter /FlateDecode", &script)],
    );
    vec![
        ("text", document(60, 60, "/Font << /F 3 0 R >>", &text, &pdfs::renamed_letters())),
        (
            "drawn",
            document(60, 60, "/XObject << /X 3 0 R >> /Shading << /S 4 0 R >>", &drawn, &[form, shading]),
        ),
        ("packed", packed),
        ("jpeg", pdfs::scan(W, H, &format!("{rgb} /DCTDecode"), &jpeg)),
        ("deflate", pdfs::scan(W, H, &format!("{rgb} /FlateDecode"), &deflated)),
        ("fax", pdfs::scan(16, 12, pdfs::FAX, &pdfs::fax())),
        ("jbig2", pdfs::scan(16, 12, pdfs::JBIG2, &pdfs::jbig2())),
    ]
}

fn image_files() -> Files {
    let picture = DynamicImage::ImageRgb8(picture(W, H));
    let encoded = |picture: &DynamicImage, format| {
        let mut out = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        out.into_inner()
    };
    let jpeg = encoded(&picture, ImageFormat::Jpeg);
    let mut turned = jpeg[..2].to_vec();
    turned
        .extend(b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0");
    turned.extend_from_slice(&jpeg[2..]);
    vec![
        ("jpeg", jpeg),
        ("jpeg-turned", turned),
        ("jpeg-gray", encoded(&DynamicImage::ImageLuma8(picture.to_luma8()), ImageFormat::Jpeg)),
        ("jpeg-progressive", progressive()),
        ("png", encoded(&picture, ImageFormat::Png)),
        ("png-sixteen", encoded(&DynamicImage::ImageRgba16(picture.to_rgba16()), ImageFormat::Png)),
        ("png-gray", encoded(&DynamicImage::ImageLuma8(picture.to_luma8()), ImageFormat::Png)),
        ("png-profile", with_profile(W, H, 200)),
        ("webp", encoded(&picture, ImageFormat::WebP)),
        ("gif", encoded(&picture, ImageFormat::Gif)),
        ("bmp", encoded(&picture, ImageFormat::Bmp)),
    ]
}

/// What the default preset makes of a TIFF.
fn progressive() -> Vec<u8> {
    let page = Page::new(W, H, 1, 2, &[8; 3]).strips(H, vec![picture(W, H).into_raw()]);
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in");
    std::fs::write(&input, write(CLASSIC, &[page])).unwrap();
    let made = tiff_to_jpeg(&input, &target(dir.path()), JpegSettings::default(), &Bounds::default());
    std::fs::read(&made.unwrap()[0].path).unwrap()
}
