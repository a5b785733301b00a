//! When a page is the JPEG that it shows, and at which resolution it is drawn when it is not.

use abide_media::{Bounds, PageFile, PageKind, PdfSettings, pdf_to_pages};

use crate::pdf_writer::{document, stream, write};
use crate::pdfs::convert;
use crate::picture::{picture, rgb, target};
use crate::tiffs::deflate;

const RGB: &str = "/ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter";

pub(crate) fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut file, 90)
        .encode_image(&picture(width, height))
        .unwrap();
    file
}

fn image(width: u32, height: u32) -> Vec<u8> {
    let dict = format!("/Type /XObject /Subtype /Image /Width {width} /Height {height} {RGB} /DCTDecode");
    stream(&dict, &jpeg(width, height))
}

const RESOURCES: &str = "/XObject << /I 3 0 R /Whole 4 0 R /Part 5 0 R >> /ExtGState << \
    /As << /ca 1 /CA 1 /BM /Normal /SMask /None /TR2 /Default >> /Faded << /ca 0.2 >> /Mixed << /BM /Multiply >> \
    /Inverted << /TR << /FunctionType 2 /Domain [0 1] /C0 [1] /C1 [0] /N 1 >> >> \
    /Masked << /SMask << /S /Luminosity /G 6 0 R >> >> >>";

/// Pages of 200 × 150 points on which a JPEG of 400 × 300 pixels is drawn in some way.
fn shown(pages: &[&str]) -> (tempfile::TempDir, Vec<PageFile>) {
    let form = |rect: &str| {
        let dict = format!("/Subtype /Form /BBox [{rect}] /Resources << /XObject << /I 3 0 R >> >>");
        stream(&dict, b"200 0 0 150 0 0 cm /I Do")
    };
    let mask = stream(
        "/Subtype /Form /BBox [0 0 200 150] /Group << /S /Transparency /CS /DeviceGray >>",
        b"1 g 0 0 100 150 re f",
    );
    let more = [image(400, 300), form("0 0 200 150"), form("0 0 100 75"), mask];
    let (dir, pages) = convert(&document(200, 150, RESOURCES, pages, &more));
    (dir, pages.unwrap())
}

#[test]
fn a_page_is_its_jpeg_only_if_it_shows_it_as_it_is() {
    let full = "200 0 0 150 0 0 cm /I Do";
    let copied = [
        full.to_owned(),
        format!("q 0 0 200 150 re W n {full} Q"),
        format!("/As gs {full}"),
        "/Whole Do".to_owned(),
        format!("1 g 0 0 200 150 re f {full}"),
        format!("0 g 0 0 200 150 re f {full}"),
    ];
    let (_dir, pages) = shown(&copied.each_ref().map(String::as_str));
    for (page, content) in pages.iter().zip(&copied) {
        assert_eq!(page.kind, PageKind::Copied, "{content}");
    }
    // What the page shows at its upper right, where the picture is (187, 30, 174).
    let drawn = [
        (format!("q 0 0 100 75 re W n {full} Q"), [255, 255, 255]),
        (format!("q 0 0 m 200 0 l 0 150 l W n {full} Q"), [255, 255, 255]),
        (format!("/Faded gs {full}"), [241, 210, 239]),
        (format!("0 g 0 0 200 150 re f /Mixed gs {full}"), [0, 0, 0]),
        (format!("/Inverted gs {full}"), [68, 225, 81]),
        (format!("/Masked gs {full}"), [255, 255, 255]),
        ("/Part Do".to_owned(), [255, 255, 255]),
        ("0 g 0 0 200 150 re f q 200 0 0 145 0 0 cm /I Do Q".to_owned(), [187, 22, 174]),
        ("q 210 0 0 150 -5 0 cm /I Do Q".to_owned(), [181, 30, 173]),
    ];
    let (_dir, pages) = shown(&drawn.each_ref().map(|(content, _)| content.as_str()));
    for (page, (content, expected)) in pages.iter().zip(&drawn) {
        assert_ne!(page.kind, PageKind::Copied, "{content}");
        let shown = rgb(&page.path);
        let pixel = shown.get_pixel(shown.width() * 147 / 200, shown.height() * 18 / 150);
        let near = pixel.0.iter().zip(expected).all(|(found, expected)| found.abs_diff(*expected) < 12);
        assert!(near, "{content}: {:?}", pixel.0);
    }
}

#[test]
fn a_page_takes_the_resolution_of_the_images_that_cover_it() {
    let strips = "q 200 0 0 75 0 75 cm /I Do Q q 200 0 0 75 0 0 cm /I Do Q";
    let fine = "q 50 0 0 20 10 10 cm /I Do Q 0 0 9 9 re f";
    let thin = "q 0.00000001 0 200 150 0 0 cm /I Do Q 0 0 9 9 re f";
    let file = document(200, 150, "/XObject << /I 3 0 R >>", &[strips, fine, thin], &[image(400, 150)]);
    let (_dir, pages) = convert(&file);
    let pages = pages.unwrap();
    let sizes: Vec<_> = pages.iter().map(|page| (page.width, page.height)).collect();
    assert_eq!(sizes, [(400, 300), (200, 150), (200, 150)]);
    assert_eq!(pages[0].kind, PageKind::Rendered);

    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.pdf");
    std::fs::write(&input, &file).unwrap();
    let settings = PdfSettings { dpi: 72, ..PdfSettings::default() };
    let bounds = Bounds { pixels: 70_000, ..Bounds::default() };
    let bounded = pdf_to_pages(&input, &target(dir.path()), settings, &bounds).unwrap();
    let pixels = bounded[0].width * bounded[0].height;
    assert!((50_000..=70_000).contains(&pixels), "as fine as the bound lets it: {pixels}");
}

#[test]
fn a_scan_keeps_its_last_row() {
    let sides: Vec<u32> = (20..60).step_by(3).collect();
    for side in sides {
        let points = f64::from(side) * 0.48;
        let dict = format!("/Subtype /Image /Width {side} /Height {side} {RGB} /FlateDecode");
        let file = write(&[
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            format!("<< /Type /Page /MediaBox [0 0 {points:.2} {points:.2}] /Resources << /XObject << /I 4 0 R >> >> /Contents 5 0 R >>").into_bytes(),
            stream(&dict, &deflate(picture(side, side).as_raw())),
            stream("", format!("{points:.2} 0 0 {points:.2} 0 0 cm /I Do").as_bytes()),
        ]);
        let (_dir, pages) = convert(&file);
        let pages = pages.unwrap();
        assert_eq!((pages[0].width, pages[0].height), (side, side));
        assert_eq!(pages[0].kind, PageKind::Converted);
    }
}
