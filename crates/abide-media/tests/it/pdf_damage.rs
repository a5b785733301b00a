//! Damage inside of pages is reported, with the page; what is only odd is drawn.

use crate::pdf_scans::jpeg;
use crate::pdf_writer::{document, stream, write};
use crate::pdfs::{FAX, JBIG2, convert, fax, jbig2, scan};
use crate::picture::picture;
use crate::tiffs::deflate;

const RGB: &str = "/ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter";
const CONTENT: &[u8] = b"1 0 0 rg 0 0 50 50 re f 0 1 0 rg 20 20 30 40 re f 0 0 1 rg 9 9 8 8 re f";

/// What becomes of the file: how many pages, or why not.
fn outcome(file: &[u8]) -> Result<usize, String> {
    convert(file).1.map(|pages| pages.len()).map_err(|error| error.to_string())
}

/// A page with these entries, and the objects from `4 0` on.
fn page(entries: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!("<< /Type /Page /MediaBox [0 0 60 60] {entries} >>").into_bytes(),
    ];
    objects.extend_from_slice(more);
    write(&objects)
}

fn deflated(data: &[u8]) -> Vec<u8> {
    page("/Contents 4 0 R", &[stream("/Filter /FlateDecode", data)])
}

fn jpeg_scan(jpeg: Vec<u8>) -> Vec<u8> {
    scan(200, 150, &format!("{RGB} /DCTDecode"), &jpeg)
}

/// With eight bytes changed that many bytes behind the start of the stream that has this in its dictionary.
fn damaged(mut file: Vec<u8>, dict: &[u8], at: usize) -> Vec<u8> {
    let named = file.windows(dict.len()).position(|window| window == dict).unwrap();
    let start = file[named..].windows(7).position(|window| window == b"stream\n").unwrap() + named + 7;
    file[start + at..start + at + 8].iter_mut().for_each(|byte| *byte ^= 0xa5);
    file
}

#[test]
fn damage_is_reported_with_its_page() {
    let sound = deflate(CONTENT);
    let raw = picture(40, 30).into_raw();
    let pixels = scan(40, 30, &format!("{RGB} /FlateDecode"), &deflate(&raw));
    let short = scan(40, 30, &format!("{RGB} /FlateDecode"), &deflate(&raw[..40 * 3 * 20]));
    let form = document(
        60,
        60,
        "/XObject << /X 3 0 R >>",
        &["0 0 9 9 re f", "/X Do"],
        &[stream("/Subtype /Form /BBox [0 0 60 60] /Filter /FlateDecode", &sound[..sound.len() / 2])],
    );
    let cases = [
        (damaged(deflated(&sound), b"FlateDecode", 0), "page 1: the deflate data of its content is wrong"),
        (damaged(deflated(&sound), b"FlateDecode", 20), "page 1: the deflate data of its content is wrong"),
        (deflated(&sound[..30]), "page 1: its content ends too early"),
        (page("/Contents 4 0 R", &[b"<< /Not /AStream >>".to_vec()]), "page 1: its content is not there"),
        (page("/Contents [9 0 R]", &[]), "page 1: its content is not there"),
        (
            page("/Contents 4 0 R", &[stream("/Filter /FlareDecode", &sound)]),
            "page 1: its content is coded in a way that is not known",
        ),
        (
            page("/Contents 4 0 R", &[stream("", b"0 0 9 9 re f 1 (2) m 3 3 l S")]),
            "page 1: operator 3 of the 5 of its content cannot be read",
        ),
        (document(60, 60, "", &["/Gone Do"], &[]), "page 1: it draws Gone, which is not there"),
        (form, "page 2: a form ends too early"),
        (damaged(pixels.clone(), b"FlateDecode", 0), "page 1: the deflate data of an image is wrong"),
        (damaged(pixels, b"FlateDecode", 500), "page 1: the deflate data of an image is wrong"),
        (short, "page 1: the data of an image gives 2400 bytes of 3600"),
        (damaged(jpeg_scan(jpeg(200, 150)), b"DCTDecode", 0), "page 1: an image cannot be decoded"),
        (jpeg_scan(jpeg(200, 150)[..1500].to_vec()), "page 1: the JPEG data ends too early"),
        (
            scan(16, 12, FAX, &[&fax()[..3], &[0; 20]].concat()),
            "page 1: the fax data of an image gives 4 rows of 12 (InvalidCode)",
        ),
        (scan(16, 12, JBIG2, &jbig2()[8..]), "page 1: an image cannot be decoded"),
    ];
    for (file, expected) in cases {
        assert_eq!(outcome(&file), Err(format!("the file is damaged: {expected}")));
    }
}

#[test]
fn what_is_only_odd_is_drawn() {
    let sound = deflate(CONTENT);
    let raw = picture(40, 30).into_raw();
    let image = |dict: &str, data: &[u8]| scan(40, 30, &format!("{RGB} /FlateDecode {dict}"), data);
    let mut filtered = Vec::new();
    raw.chunks(120).for_each(|row| filtered.extend([&[0], row].concat()));
    let cases = [
        ("no content", page("", &[])),
        ("null for content", page("/Contents null", &[])),
        ("no parts", page("/Contents []", &[])),
        ("nothing in it", deflated(&[])),
        ("no check sum", deflated(&sound[..sound.len() - 4])),
        ("half of a check sum", deflated(&sound[..sound.len() - 2])),
        ("bytes behind the end", deflated(&[&sound[..], b"\r\n\0\0"].concat())),
        ("no header", deflated(&sound[2..])),
        ("flushed, not ended", deflated(&flushed(CONTENT))),
        ("an operator that is not known", document(60, 60, "", &["0 0 9 9 re f Qq 1 bogus"], &[])),
        ("a row too few", image("", &deflate(&raw[..120 * 29]))),
        ("predictors", image("/DecodeParms << /Predictor 15 /Colors 3 /Columns 40 >>", &deflate(&filtered))),
        ("a state that is not there", document(60, 60, "", &["/Gone gs 0 0 9 9 re f"], &[])),
        ("a font that is not there", document(60, 60, "", &["BT /Gone 9 Tf 9 9 Td (a) Tj ET"], &[])),
    ];
    for (what, file) in cases {
        assert_eq!(outcome(&file), Ok(1), "{what}");
    }
}

fn flushed(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.flush().unwrap();
    encoder.get_ref().clone()
}
