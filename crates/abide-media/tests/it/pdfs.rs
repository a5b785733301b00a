//! PDF to pages: drawn, copied, and their text.

use abide_media::{Bounds, MediaError, PageFile, PageKind, PdfSettings, first_pages, pdf_to_pages};

use crate::pdf_scans::jpeg;
use crate::pdf_writer::{document, stream, write};
use crate::picture::{bits, picture, rgb, target};

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
fn the_first_pages_are_as_many_as_are_wanted() {
    let pages = ["0 0 1 rg 0 0 9 9 re f", "1 0 0 rg 0 0 9 9 re f", "0 1 0 rg 0 0 9 9 re f"];
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.pdf");
    std::fs::write(&input, document(200, 200, FONT, &pages, &[helvetica()])).unwrap();
    let settings = PdfSettings { dpi: 72, ..PdfSettings::default() };
    let first = |most: u32| {
        let mut told = Vec::new();
        let made = first_pages(&input, &target(dir.path()), settings, &Bounds::default(), |page, of| {
            told.push((page.map_or(0, |page| page.page), of));
            page.is_none_or(|page| page.page < most)
        });
        (made.unwrap(), told)
    };
    let all = pdf_to_pages(&input, &target(dir.path()), settings, &Bounds::default()).unwrap();
    for most in 1..=3 {
        let (made, told) = first(most);
        assert_eq!(made, all[..most as usize]);
        assert_eq!(told, (0..=most).map(|page| (page, 3)).collect::<Vec<_>>());
        assert!(made.iter().all(|page| page.path.exists()));
    }
    let (made, _) = first(9);
    assert_eq!(made, all);
    let none = first_pages(&input, &target(dir.path()), settings, &Bounds::default(), |_, _| false);
    assert_eq!(none.unwrap(), [], "nothing is made that nobody wants");
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
    assert_eq!((pages[1].width, pages[1].height), (400, 300), "and nothing of the scan is");
    assert_eq!(pages[2].kind, PageKind::Converted, "a turned scan is drawn at its own resolution");
    assert_eq!((pages[2].width, pages[2].height), (533, 400), "and has the shape of its page");
}

/// What a page hides of its scan stays hidden, and what it does to it is done.
#[test]
fn a_scan_that_is_not_shown_as_it_is_is_not_copied() {
    let mut jpeg = Vec::new();
    let black = image::RgbImage::from_pixel(400, 300, image::Rgb([10, 10, 10]));
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 90).encode_image(&black).unwrap();
    let dict = "/Type /XObject /Subtype /Image /Width 400 /Height 300 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode";
    let resources = "/XObject << /I 3 0 R >> /ExtGState << /Faded << /ca 0.2 >> /Mixed << /BM /Screen >> >>";
    let shown = "200 0 0 150 0 0 cm /I Do Q";
    let pages = [
        format!("q 0 0 200 150 re W n {shown}"),
        format!("q 0 0 100 75 re W n {shown}"),
        format!("q 100 0 m 200 75 l 100 150 l 0 75 l W n {shown}"),
        format!("q /Faded gs {shown}"),
        format!("1 1 1 rg 0 0 200 150 re f q /Mixed gs {shown}"),
    ];
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let (_dir, pages) = convert(&document(200, 150, resources, &pages, &[stream(dict, &jpeg)]));
    let pages = pages.unwrap();
    assert_eq!(pages[0].kind, PageKind::Copied, "all of it is shown");
    let corner = |page: &PageFile| rgb(&page.path).get_pixel(390, 10)[0];
    for (page, least) in pages[1..].iter().zip([250, 250, 190, 250]) {
        assert_eq!((page.kind, page.width, page.height), (PageKind::Converted, 400, 300), "{}", page.page);
        assert!(corner(page) >= least, "page {}: {}", page.page, corner(page));
    }
}

/// As many scanners write them: strips, or one image and a number that is printed over it.
#[test]
fn a_page_that_scans_cover_keeps_their_resolution() {
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 90)
        .encode_image(&picture(400, 150))
        .unwrap();
    let dict = "/Type /XObject /Subtype /Image /Width 400 /Height 150 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode";
    let strips = "q 200 0 0 75 0 0 cm /I Do Q q 200 0 0 75 0 75 cm /I Do Q";
    let stamped = format!("{strips} BT /F 10 Tf 10 100 Td (7) Tj ET");
    let photo = "q 100 0 0 37 0 0 cm /I Do Q";
    let resources = "/Font << /F 3 0 R >> /XObject << /I 4 0 R >>";
    let file = document(200, 150, resources, &[strips, &stamped, photo], &[helvetica(), stream(dict, &jpeg)]);
    let (_dir, pages) = convert(&file);
    let sides: Vec<_> = pages.unwrap().iter().map(|page| (page.width, page.height)).collect();
    assert_eq!(sides, [(400, 300), (400, 300), (200, 150)], "a photo on a page is not a scan of it");
}

#[test]
fn documents_that_cannot_be_read_say_why() {
    let none = write(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec(),
    ]);
    assert_eq!(convert(&none).1.unwrap_err().code(), "no_pages");
    assert_eq!(convert(b"%PDF-1.7\nnothing of a document follows").1.unwrap_err().code(), "damaged");
    // Pages behind one that is lost would be taken for those before them.
    let page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 90 90] >>".to_vec();
    let lost = write(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R 9 0 R 4 0 R] /Count 3 >>".to_vec(),
        page.clone(),
        page,
    ]);
    assert_eq!(
        convert(&lost).1.unwrap_err().to_string(),
        "the file is damaged: it says that it has 3 pages, and 2 can be found"
    );
    let book = document(90, 90, "", &["0 0 9 9 re f"; 4], &[]);
    let cut = book.windows(6).rposition(|six| six == b"endobj").unwrap() - 200;
    assert_eq!(convert(&book[..cut]).1.unwrap_err().code(), "damaged");
}

/// A page that consists of one image, with the stream of that image.
pub(crate) fn scan(width: u32, height: u32, dict: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("/Type /XObject /Subtype /Image /Width {width} /Height {height} {dict}");
    let content = format!("q {} 0 0 {} 0 0 cm /I Do Q", width / 2, height / 2);
    document(width / 2, height / 2, "/XObject << /I 3 0 R >>", &[&content], &[stream(&dict, data)])
}

/// Twelve rows of four white, eight black and four white pixels, in Group 4.
pub(crate) fn fax() -> Vec<u8> {
    let end = "000000000001".repeat(2);
    bits(&format!("001 1011 000101 1 {} {end}", "111".repeat(11)))
}

/// The same rows as JBIG2: what says how large the page is, then a region that is coded as a fax.
pub(crate) fn jbig2() -> Vec<u8> {
    let mut file = vec![0, 0, 0, 0, 48, 0, 1, 0, 0, 0, 19];
    let sides = [0, 0, 0, 16, 0, 0, 0, 12];
    file.extend(sides);
    file.extend([0; 11]);
    let fax = fax();
    file.extend([0, 0, 0, 1, 38, 0, 1, 0, 0, 0, 18 + fax.len() as u8]);
    file.extend(sides);
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    file.extend(fax);
    file
}

pub(crate) const FAX: &str = "/ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 16 /Rows 12 >>";
pub(crate) const JBIG2: &str = "/ColorSpace /DeviceGray /BitsPerComponent 1 /Filter /JBIG2Decode";

#[test]
fn scans_of_black_and_white_keep_their_resolution() {
    for (what, dict, data) in [("CCITT", FAX, fax()), ("JBIG2", JBIG2, jbig2())] {
        let (_dir, pages) = convert(&scan(16, 12, dict, &data));
        let pages = pages.unwrap();
        assert_eq!((pages.len(), pages[0].kind), (1, PageKind::Converted), "{what}");
        assert_eq!((pages[0].width, pages[0].height), (16, 12), "{what}");
        let image = rgb(&pages[0].path);
        for (x, y, pixel) in image.enumerate_pixels() {
            let black = (4..12).contains(&x);
            assert_eq!(pixel[0] < 90, black, "{what}: {x}, {y} is {}", pixel[0]);
        }
    }
}

/// Pixels of a fax are no squares. Nobody who shows an image knows, so that those of its page are.
#[test]
fn pages_of_scans_that_are_finer_one_way_keep_their_shape() {
    let shown = "q 200 0 0 150 0 0 cm /I Do Q";
    let stamped = format!("{shown} 0 0 9 9 re f");
    let pages_of = |height: u32| {
        let dict = format!(
            "/Subtype /Image /Width 400 /Height {height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode"
        );
        let scan = stream(&dict, &jpeg(400, height));
        let (_dir, pages) =
            convert(&document(200, 150, "/XObject << /I 3 0 R >>", &[shown, &stamped], &[scan]));
        let pages = pages.unwrap();
        pages.iter().map(|page| (page.kind, page.width, page.height)).collect::<Vec<_>>()
    };
    assert_eq!(pages_of(150), [(PageKind::Converted, 400, 300), (PageKind::Rendered, 400, 300)]);
    assert_eq!(pages_of(290)[0], (PageKind::Copied, 400, 290), "what nobody sees is left as it is");
}

/// A font whose letter A is said to mean Ж, and B two letters.
pub(crate) fn renamed_letters() -> [Vec<u8>; 2] {
    let map = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def \
               1 begincodespacerange <00> <ff> endcodespacerange \
               2 beginbfchar <41> <0416> <42> <00660069> endbfchar endcmap end end";
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 4 0 R >>";
    [font.to_vec(), stream("", map.as_bytes())]
}

#[test]
fn letters_mean_what_their_font_says() {
    let page = "BT /F 12 Tf 20 50 Td (ABA) Tj ET";
    let (_dir, pages) = convert(&document(100, 100, FONT, &[page], &renamed_letters()));
    assert_eq!(text_of(&pages.unwrap()[0]), "ЖfiЖ\n");
}

/// Says that it is encrypted, with check values that no empty password gives.
pub(crate) fn locked() -> Vec<u8> {
    let plain = document(60, 60, "", &["0 0 30 30 re f"], &[]);
    let word = "00112233445566778899aabbccddeeff".repeat(2);
    let lock = format!(
        "/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{word}> /U <{word}> >> /Root"
    );
    let text = String::from_utf8(plain).unwrap();
    text.replace("/Root", &lock).into_bytes()
}

#[test]
fn a_document_with_a_password_says_so() {
    let error = convert(&locked()).1.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("encrypted", "the file is encrypted: it needs a password")
    );
}
