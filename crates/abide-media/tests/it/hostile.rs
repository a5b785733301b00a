//! Files that mean harm: each is refused with its reason.

use abide_media::{Bounds, JpegSettings, MediaError, probe, tiff_to_jpeg};

use crate::images::make;
use crate::pdf_writer::{document, stream, write as write_pdf};
use crate::pdfs::convert as convert_pdf;
use crate::picture::{picture, target};
use crate::tiff_writer::{CLASSIC, Flavour, Page, Value, write};

/// What probing and converting say; both refuse alike.
#[track_caller]
fn refused(file: &[u8]) -> MediaError {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.tif");
    std::fs::write(&input, file).unwrap();
    let error =
        tiff_to_jpeg(&input, &target(dir.path()), JpegSettings::default(), &Bounds::default()).unwrap_err();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
    error
}

#[test]
fn sizes_are_refused_before_they_are_allocated() {
    let bomb = Page::new(60_000, 60_000, 8, 2, &[8; 3]).strips(60_000, vec![vec![0; 10]]);
    assert_eq!(
        refused(&write(CLASSIC, &[bomb])).to_string(),
        "the page in pixels is 3600000000, more than the 600000000 that are allowed"
    );
    let claim = 136_902_082_592u64;
    let mut file = write(
        Flavour { little: true, big_tiff: true },
        &[Page::new(8, 8, 1, 1, &[8]).strips(8, vec![vec![0; 64]])],
    );
    let entry = file.windows(4).position(|four| four == [0x17, 0x01, 4, 0]).unwrap();
    file[entry + 4..entry + 12].copy_from_slice(&claim.to_le_bytes());
    assert_eq!(refused(&file).code(), "damaged");
    let wide = Page::new(4_000_000_000, 1, 1, 1, &[8]).strips(1, vec![vec![0; 64]]);
    assert_eq!(refused(&write(CLASSIC, &[wide])).code(), "too_large");
}

#[test]
fn a_strip_that_grows_without_end_stops_at_its_size() {
    let page = Page::new(100, 100, 8, 1, &[8]);
    let short = page.strips(100, vec![vec![0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]]);
    assert_eq!(
        refused(&write(CLASSIC, &[short])).to_string(),
        "the file is damaged: its deflate data gives 0 bytes of 10000"
    );
}

#[test]
fn every_cut_of_a_tiff_is_refused() {
    let page = Page::new(40, 30, 1, 2, &[8; 3]).strips(30, vec![picture(40, 30).into_raw()]);
    let file = write(CLASSIC, &[page]);
    for length in (1..file.len()).step_by(41) {
        assert!(matches!(refused(&file[..length]).code(), "damaged" | "wrong_format"), "{length}");
    }
    assert_eq!(refused(&[]).code(), "empty");
    assert_eq!(refused(b"%PDF-1.4 in a .tif").to_string(), "the file is not TIFF but PDF");
}

#[test]
fn directories_that_form_a_cycle() {
    let page = Page::new(8, 8, 1, 1, &[8]).with(254, Value::Long(vec![0])).strips(8, vec![vec![0; 64]]);
    let mut file = write(CLASSIC, &[page]);
    let first: [u8; 4] = file[4..8].try_into().unwrap();
    let end = file.len();
    file[end - 4..].copy_from_slice(&first);
    assert!(refused(&file).to_string().contains("form a cycle"));
}

#[test]
fn documents_that_nest_and_loop() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = write_pdf(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids {deep} /Count 1 >>").into_bytes(),
    ]);
    assert!(matches!(convert_pdf(&nested).1.unwrap_err().code(), "damaged" | "no_pages"));
    let own_parent =
        write_pdf(&[b"<< /Pages 2 0 R >>".to_vec(), b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>".to_vec()]);
    assert!(matches!(convert_pdf(&own_parent).1.unwrap_err().code(), "damaged" | "no_pages"));
    let small = b"%PDF-1.1\n1 0 obj<</Pages 1 0 R/Kids[1 0 R]/Type/Pages>>endobj\nxref\n0 0\ntrailer<</Root 1 0 R/Prev 60>>\nstartxref\n60\n%%EOF";
    assert!(convert_pdf(small).1.is_err());
    let giant = document(14_400_000, 14_400_000, "", &["0 0 1 1 re f"], &[]);
    assert_eq!(convert_pdf(&giant).1.unwrap_err().code(), "too_large");
}

#[test]
fn images_that_claim_or_lack_too_much() {
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::ImageRgb8(picture(300, 300)).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let png = png.into_inner();
    let said = |file: &[u8]| make(file).1.unwrap_err().to_string();
    let cut = "the file is damaged: its PNG data is wrong or ends too early";
    assert_eq!(said(&png[..png.len() / 2]), cut);
    let mut giant = png.clone();
    giant[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let claimed = 0x7fff_ffff_u64 * 0x7fff_ffff;
    assert_eq!(
        said(&giant),
        format!("the image in pixels is {claimed}, more than the 600000000 that are allowed")
    );
    let mut jpeg = Vec::new();
    image::codecs::jpeg::JpegEncoder::new(&mut jpeg).encode_image(&picture(300, 300)).unwrap();
    assert_eq!(
        make(&jpeg[..jpeg.len() / 2]).1.unwrap_err().to_string(),
        "the file is damaged: the JPEG data ends too early"
    );
    let frame = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xdc, 0xff, 0xdc]);
    assert_eq!(make(&jpeg).1.unwrap_err().code(), "too_large");
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(probe(&dir.path().join("absent"), &Bounds::default()).unwrap_err().code(), "io");
}

/// A form with this content, that names these objects.
fn form(content: &str, names: &str) -> Vec<u8> {
    let names = match names {
        "" => String::new(),
        names => format!("/Resources << /XObject << {names} >> >>"),
    };
    stream(&format!("/Subtype /Form /BBox [0 0 60 60] {names}"), content.as_bytes())
}

#[test]
fn forms_that_draw_forms() {
    let named = |number: usize| format!("/X {number} 0 R");
    let chain = |levels: usize, times: usize| -> Vec<Vec<u8>> {
        let drawing = (1..levels).map(|level| form(&"/X Do ".repeat(times), &named(3 + level)));
        drawing.chain([form("0 0 9 9 re f", "")]).collect()
    };
    let page =
        |content: &str, forms: &[Vec<u8>]| document(60, 60, "/XObject << /X 3 0 R >>", &[content], forms);
    // Drawn first by one with names that lead nowhere, then by one with names that lead to many.
    let nameless = "/X Do ".repeat(100);
    let by_names = [
        form("/A Do /B Do", "/A 4 0 R /B 5 0 R"),
        form("/N Do", "/N 6 0 R /X 9 0 R"),
        form("/N Do", "/N 6 0 R /X 7 0 R"),
        form(&nameless, ""),
        form(&nameless, "/X 8 0 R"),
        form(&nameless, "/X 9 0 R"),
        form("0 0 9 9 re f", ""),
    ];
    let cases = [
        ("each the next ten times", page("/X Do", &chain(30, 10)), false),
        ("itself twice", page("/X Do", &[form("/X Do /X Do", "")]), false),
        ("many times the same", page(&"/X Do ".repeat(1_000), &chain(3, 15)), false),
        ("by the names of what draws it", page("/X Do", &by_names), false),
        ("itself once", page("/X Do", &[form("0 0 9 9 re f /X Do", "")]), true),
        ("each the next once", page("/X Do", &chain(60, 1)), true),
        ("a few times the same", page(&"/X Do ".repeat(100), &chain(2, 4)), true),
    ];
    for (draws, file, is_drawn) in cases {
        let converted = convert_pdf(&file).1.map(|pages| pages.len()).map_err(|error| error.to_string());
        match converted {
            Ok(pages) => assert!(is_drawn && pages == 1, "{draws}"),
            Err(reason) => {
                let begins = "the page in operators to draw, with those of its forms each time, is ";
                let ends = ", more than the 20000000 that are allowed";
                assert!(
                    !is_drawn && reason.starts_with(begins) && reason.ends_with(ends),
                    "{draws}: {reason}"
                );
            }
        }
    }
}
