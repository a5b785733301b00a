//! PDF to pages: drawn, copied, and their text.

use abide_media::{Bounds, MediaError, PageFile, PageKind, PdfSettings, pdf_to_pages};

use crate::pdf_writer::{document, stream, write};
use crate::picture::{picture, rgb, target};

const FONT: &str = "/Font << /F 3 0 R >>";

pub(crate) fn convert(file: &[u8]) -> (tempfile::TempDir, Result<Vec<PageFile>, MediaError>) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.pdf");
    std::fs::write(&input, file).unwrap();
    let settings = PdfSettings { dpi: 72, ..PdfSettings::default() };
    let pages = pdf_to_pages(&input, &target(dir.path()), settings, &Bounds::default());
    (dir, pages)
}

fn helvetica() -> Vec<u8> {
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec()
}

fn text_of(page: &PageFile) -> String {
    std::fs::read_to_string(&page.text.as_ref().unwrap().path).unwrap()
}

#[test]
fn pages_are_drawn_in_order_with_their_text() {
    let pages = [
        "BT /F 12 Tf 20 150 Td (Hello world) Tj 0 -20 Td (second line) Tj ET 1 0 0 rg 0 0 50 50 re f",
        "BT /F 12 Tf 20 150 Td (page two) Tj ET",
        "0 0 1 rg 100 0 100 200 re f",
    ];
    let (_dir, pages) = convert(&document(200, 200, FONT, &pages, &[helvetica()]));
    let pages = pages.unwrap();
    assert_eq!(pages.iter().map(|page| page.page).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(
        pages.iter().all(|page| page.kind == PageKind::Rendered && (page.width, page.height) == (200, 200))
    );
    assert_eq!(text_of(&pages[0]), "Hello world\nsecond line\n");
    assert_eq!(text_of(&pages[1]), "page two\n");
    assert_eq!(pages[2].text, None);
    let first = rgb(&pages[0].path);
    assert!(first.get_pixel(20, 180)[0] > 200 && first.get_pixel(20, 180)[1] < 60, "red at the lower left");
    assert!(first.get_pixel(150, 180)[1] > 240, "white elsewhere");
    assert!(rgb(&pages[2].path).get_pixel(150, 100)[0] < 60);
}

#[test]
fn a_scan_is_copied_with_the_text_over_it() {
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 90)
        .encode_image(&picture(400, 300))
        .unwrap();
    let dict = "/Type /XObject /Subtype /Image /Width 400 /Height 300 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode";
    let scan = stream(dict, &jpeg);
    let pages = [
        "q 200 0 0 150 0 0 cm /I Do Q BT /F 10 Tf 3 Tr 10 100 Td (under the scan) Tj ET",
        "q 200 0 0 150 0 0 cm /I Do Q BT /F 10 Tf 10 100 Td (stamped) Tj ET",
        "q 0 150 -200 0 200 0 cm /I Do Q",
    ];
    let resources = "/Font << /F 3 0 R >> /XObject << /I 4 0 R >>";
    let (_dir, pages) = convert(&document(200, 150, resources, &pages, &[helvetica(), scan]));
    let pages = pages.unwrap();
    assert_eq!(pages[0].kind, PageKind::Copied);
    assert_eq!(std::fs::read(&pages[0].path).unwrap(), jpeg);
    assert_eq!((pages[0].width, pages[0].height), (400, 300));
    assert_eq!(text_of(&pages[0]), "under the scan\n");
    assert_eq!(pages[1].kind, PageKind::Rendered, "what is stamped on it would be lost in a copy");
    assert_eq!(pages[2].kind, PageKind::Converted, "a turned scan is drawn at its own resolution");
    assert_eq!((pages[2].width, pages[2].height), (300, 400));
}

#[test]
fn documents_that_cannot_be_read_say_why() {
    let none = write(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec(),
    ]);
    assert_eq!(convert(&none).1.unwrap_err().code(), "no_pages");
    assert_eq!(convert(b"%PDF-1.7\nnothing of a document follows").1.unwrap_err().code(), "damaged");
}
