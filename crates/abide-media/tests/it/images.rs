//! Images to variants, and what is told apart instead.

use abide_media::{Bounds, Format, JpegSettings, MediaError, Treatment, Variants, probe, variants};
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageFormat};

use crate::picture::{picture, rgb, target};

pub(crate) fn make(file: &[u8]) -> (tempfile::TempDir, Result<Variants, MediaError>) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("misnamed.doc");
    std::fs::write(&input, file).unwrap();
    let made = variants(
        &input,
        &target(dir.path()),
        &[200, 1288, 2400],
        JpegSettings::default(),
        &Bounds::default(),
    );
    (dir, made)
}

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(picture(width, height)).write_to(&mut out, format).unwrap();
    out.into_inner()
}

#[test]
fn variants_fit_inside_and_are_never_enlarged() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif, ImageFormat::Bmp]
    {
        let (_dir, made) = make(&encoded(1400, 700, format));
        let made = made.unwrap();
        let sizes: Vec<_> = made.variants.iter().map(|it| (it.bound, it.width, it.height)).collect();
        assert_eq!(sizes, [(200, 200, 100), (1288, 1288, 644)], "{format:?}");
        let thumb = rgb(&made.variants[0].path);
        assert_eq!(thumb.dimensions(), (200, 100));
        assert!(thumb.get_pixel(10, 10)[0] > 190, "the red corner stays where it was in {format:?}");
    }
    let (_dir, made) = make(&encoded(120, 90, ImageFormat::Png));
    assert!(made.unwrap().variants.is_empty());
}

/// A PNG with a profile of so many bytes for its colours.
pub(crate) fn with_profile(width: u32, height: u32, bytes: usize) -> Vec<u8> {
    let mut profile = vec![0; bytes];
    profile[16..20].copy_from_slice(b"RGB ");
    let mut out = Vec::new();
    let mut encoder = PngEncoder::new(&mut out);
    encoder.set_icc_profile(profile).unwrap();
    encoder.write_image(&picture(width, height), width, height, ExtendedColorType::Rgb8).unwrap();
    out
}

/// One that describes pixels has a few thousand bytes; one that inflates to as many as it likes is left out.
#[test]
fn the_profile_of_a_png_is_kept_within_its_bound() {
    for (bytes, is_kept) in [(3_000, true), ((8 << 20) + 1, false)] {
        let (_dir, made) = make(&with_profile(300, 200, bytes));
        let jpeg = std::fs::read(&made.unwrap().variants[0].path).unwrap();
        let has_profile = jpeg.windows(12).any(|twelve| twelve == b"ICC_PROFILE\0");
        assert_eq!(has_profile, is_kept, "{bytes}");
    }
}

#[test]
fn exif_orientation_is_applied() {
    let plain = encoded(600, 300, ImageFormat::Jpeg);
    let exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut turned = plain[..2].to_vec();
    turned.extend([0xff, 0xe1, 0, exif.len() as u8 + 2]);
    turned.extend_from_slice(exif);
    turned.extend_from_slice(&plain[2..]);
    let (_dir, made) = make(&turned);
    let made = made.unwrap();
    assert_eq!((made.width, made.height), (300, 600));
    let thumb = rgb(&made.variants[0].path);
    assert_eq!(thumb.dimensions(), (100, 200));
    assert!(thumb.get_pixel(95, 5)[0] > 190, "the red corner is at the upper right");
}

#[test]
fn what_passes_through_is_told_apart() {
    let docx = [stored("[Content_Types].xml", "<x/>"), stored("word/document.xml", "<x/>")].concat();
    let odt = stored("mimetype", "application/vnd.oasis.opendocument.text");
    let cases: [(&[u8], Format, &str); 12] = [
        (b"\0\0\0\x0cjP  \r\n\x87\n\0\0", Format::Jpeg2000, "JPEG 2000 is not decoded"),
        (b"\xff\x4f\xff\x51\0\x2f", Format::Jpeg2000, "JPEG 2000 is not decoded"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Format::Heic, "HEIC is not decoded"),
        (b"\0\0\0\x18ftypavif\0\0\0\0mif1avif", Format::Avif, "AVIF is not decoded"),
        (&docx, Format::Document, "office documents are not converted"),
        (&odt, Format::Document, "office documents are not converted"),
        (&stored("a picture.jpg", "<x/>"), Format::Archive, "archives are not unpacked"),
        (b"ID3\x03\0\0\0\0\0\0 and more of it", Format::Audio, "audio is not converted"),
        (b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", Format::Audio, "audio is not converted"),
        (b"fLaC\0\0\0\x22", Format::Audio, "audio is not converted"),
        (b"Only words.\n", Format::Text, "text needs no conversion"),
        (b"\x01\x02\x03\x04", Format::Unknown, "its format is not known"),
    ];
    for (bytes, expected, reason) in cases {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("misnamed.jpg");
        std::fs::write(&input, bytes).unwrap();
        let probed = probe(&input, &Bounds::default()).unwrap();
        assert_eq!((probed.format, probed.pages), (expected, 0));
        assert_eq!(expected.treatment(), Treatment::PassThrough(reason));
        assert_eq!(make(bytes).1.unwrap_err().code(), "wrong_format");
    }
}

/// A file of a ZIP archive, stored as it is.
fn stored(name: &str, content: &str) -> Vec<u8> {
    let size = [content.len() as u8, 0, 0, 0];
    let mut entry = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    entry.extend([size, size, [name.len() as u8, 0, 0, 0]].concat());
    entry.extend([name, content].concat().bytes());
    entry
}
