//! Files that mean harm, all in one batch: each fails with its reason, the batch goes on, nothing else is touched.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::io::Read;

use serde_json::{Value, json};

use crate::pdf_writer::{document, stream, write as write_pdf};
use crate::scans::{
    JPEG, SERVE, all, files, place_of_a_server, send, stage_files, staging, tiff, wait, write,
};
use crate::served::Served;
use crate::tiff_writer::{CLASSIC, Flavour, Page, write as write_tiff};

/// A TIFF that claims 136,902,082,592 bytes for one strip.
fn claims_much() -> Vec<u8> {
    let page = Page::new(8, 8, 1, 1, &[8]).strips(8, vec![vec![0; 64]]);
    let mut file = write_tiff(Flavour { little: true, big_tiff: true }, &[page]);
    let entry = file.windows(4).position(|four| four == [0x17, 0x01, 4, 0]).unwrap();
    file[entry + 4..entry + 12].copy_from_slice(&136_902_082_592_u64.to_le_bytes());
    file
}

/// A TIFF whose only directory follows itself.
fn cyclic() -> Vec<u8> {
    let page = Page::new(8, 8, 1, 1, &[8]).strips(8, vec![vec![0; 64]]);
    let mut file = write_tiff(CLASSIC, &[page]);
    let first: [u8; 4] = file[4..8].try_into().unwrap();
    let end = file.len();
    file[end - 4..].copy_from_slice(&first);
    file
}

/// A PDF of 137 bytes whose pages are their own parents and whose table is before itself.
fn looping() -> Vec<u8> {
    let file = b"%PDF-1.1\n1 0 obj<</Pages 1 0 R/Kids[1 0 R]/Type/Pages>>endobj\nxref\n0 0\ntrailer<</Root 1 0 R/Prev 62>>\nstartxref\n62\n%%EOF";
    let mut file = file.to_vec();
    file.resize(137, b' ');
    file
}

/// A PDF with arrays in arrays, 10,000 deep.
fn nested() -> Vec<u8> {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    write_pdf(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids {deep} /Count 1 >>").into_bytes(),
    ])
}

/// A PNG that claims 60,000 by 60,000 pixels in a few bytes.
fn claims_pixels() -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend(60_000_u32.to_be_bytes());
    file.extend(60_000_u32.to_be_bytes());
    file.extend([8, 2, 0, 0, 0]);
    // The checksum of the header above.
    file.extend(crc(&file[12..29]).to_be_bytes());
    file.extend(b"\0\0\0\x0aIDATx\x9cc\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82");
    file
}

/// The checksum of a PNG's chunk.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

/// So many bytes of white, deflated.
fn deflated(bytes: u64) -> Vec<u8> {
    deflated_of(b' ', bytes)
}

/// So many times the same byte, deflated.
fn deflated_of(byte: u8, bytes: u64) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::io::repeat(byte).take(bytes), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// Each with how its reason begins, and a part of it.
fn hostile() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let bomb = Page::new(60_000, 60_000, 8, 2, &[8; 3]).strips(60_000, vec![vec![0; 10]]);
    // Within the bound of pixels, and more than a worker may hold.
    let large = Page::new(20_000, 20_000, 8, 1, &[8]).strips(20_000, vec![vec![0; 30]]);
    let short = Page::new(40, 30, 8, 1, &[8]).strips(30, vec![deflated(1_199)]);
    let whole = tiff(40, 30, 1);
    let giant = document(14_400_000, 14_400_000, "", &["0 0 1 1 re f"], &[]);
    let (of_tiff, of_pdf, of_image) = ("TIFF_CONVERSION: ", "PDF_SPLITTING: ", "IMAGE_PROCESSING: ");
    vec![
        ("bomb.tif", write_tiff(CLASSIC, &[bomb]), of_tiff, "the page in pixels is 3600000000, more than"),
        ("large.tif", write_tiff(CLASSIC, &[large]), of_tiff, "the memory to convert a page in bytes is 2"),
        ("short.tif", write_tiff(CLASSIC, &[short]), of_tiff, "its deflate data gives 1199 bytes of 1200"),
        ("claim.tif", claims_much(), of_tiff, "the file is damaged"),
        ("cut.tif", whole[..whole.len() / 2].to_vec(), of_tiff, "the file is damaged"),
        ("cut-directory.tif", whole[..60].to_vec(), of_tiff, "the file is damaged"),
        ("cycle.tif", cyclic(), of_tiff, "form a cycle"),
        ("empty.tif", Vec::new(), of_tiff, "the file is empty"),
        ("document.tif", b"%PDF-1.4 in a .tif".to_vec(), of_tiff, "the file is not TIFF but PDF"),
        ("nested.pdf", nested(), of_pdf, "it has no readable page tree"),
        ("loop.pdf", looping(), of_pdf, "it has no readable page tree"),
        ("giant.pdf", giant, of_pdf, "more than"),
        ("empty.pdf", Vec::new(), of_pdf, "the file is empty"),
        ("picture.pdf", JPEG.to_vec(), of_pdf, "the file is not PDF but JPEG"),
        ("claim.png", claims_pixels(), of_image, "more than"),
        ("empty.jpg", Vec::new(), of_image, "the file is empty"),
        ("words.jpg", b"only words".to_vec(), of_image, "the file is not an image that is decoded but text"),
        ("cut.jpg", JPEG[..JPEG.len() / 2].to_vec(), of_image, "the file is damaged"),
    ]
}

#[test]
fn each_hostile_file_fails_with_its_reason_and_the_batch_goes_on() {
    let place = place_of_a_server();
    let beside = staging(&place).join("staging/other/kept.tif");
    write(&beside, b"of another batch");
    let hostile = hostile();
    let mut scans = vec![("first.tif".to_owned(), tiff(40, 30, 1))];
    scans.extend(hostile.iter().map(|(name, bytes, ..)| ((*name).to_owned(), bytes.clone())));
    scans.push(("last.tif".to_owned(), tiff(40, 30, 2)));
    scans.push(("misnamed.png".to_owned(), JPEG.to_vec()));
    // What is inflated beyond its page is not even looked at.
    let endless = Page::new(40, 30, 8, 1, &[8]).strips(30, vec![deflated(20_000_000)]);
    scans.push(("endless.tif".to_owned(), write_tiff(CLASSIC, &[endless])));
    let message = stage_files(&staging(&place), "hostile", &scans);
    let served = Served::start(&place, SERVE);
    send(&served, &message);
    let status = wait(&served, "hostile");
    let counts = json!({ "total": hostile.len() + 4, "open": 0, "converted": 4, "passed_through": 0, "failed": hostile.len() });
    assert_eq!((&status["status"], &status["inputs"]), (&json!("DONE"), &counts), "{status}");
    let inputs = all(&served, "/preprocess/batches/hostile/inputs", "inputs");
    for (name, _, phase, part) in &hostile {
        let input = inputs.iter().find(|input| input["file_name"] == json!(name)).unwrap();
        let reason = input["reason"].as_str().unwrap_or_default();
        println!("{name}: {reason}");
        assert_eq!(input["end"], json!("failed"), "{input}");
        assert!(reason.starts_with(phase) && reason.len() > phase.len() && reason.contains(part), "{input}");
    }
    let tasks = all(&served, "/preprocess/batches/hostile/tasks", "tasks");
    let tried_again: Vec<&Value> = tasks
        .iter()
        .filter(|task| task["retry_count"] != json!(0))
        .map(|task| &task["input_file_name"])
        .collect();
    assert_eq!(tried_again, Vec::<&Value>::new(), "what cannot be read is not tried again");
    assert_eq!(std::fs::read(&beside).unwrap(), b"of another batch");
    let left = files(&place.path("work/data/work"));
    assert_eq!(left, Vec::<std::path::PathBuf>::new(), "workers leave nothing behind");
}

/// A PNG whose colour profile is this, deflated.
fn with_profile(profile: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let body = [kind, data].concat();
        [&(data.len() as u32).to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
    };
    let header = [&300_u32.to_be_bytes()[..], &300_u32.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    let pixels = deflated_of(0, 300 * 301);
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"iCCP", &[b"profile\0\0", profile].concat()),
        chunk(b"IDAT", &pixels),
        chunk(b"IEND", b""),
    ]
    .concat()
}

/// A few bytes of a document that become more than its worker may hold. Those of an image that are not pixels do not even
/// become so many.
#[test]
fn a_bomb_in_a_document_is_stopped_by_the_bound_of_its_worker() {
    let place = place_of_a_server()
        .env("ABIDE_PREPROCESS_MEMORY_PDF_MB", "192")
        .env("ABIDE_PREPROCESS_MEMORY_IMAGE_MB", "192")
        .env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    let deflated = deflated(250_000_000);
    let bomb = write_pdf(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 90 90] /Resources << >> /Contents 4 0 R >>".to_vec(),
        stream("/Filter /FlateDecode", &deflated),
    ]);
    assert!(bomb.len() < 4_000_000);
    let book = document(60, 40, "", &["0 0 m 9 9 l S"], &[]);
    let photo = with_profile(&deflated);
    let scans = [("bomb.pdf", bomb), ("book.pdf", book), ("photo.png", photo)]
        .map(|(name, bytes)| (name.to_owned(), bytes));
    let message = stage_files(&staging(&place), "bombs", &scans);
    let served = Served::start(&place, SERVE);
    send(&served, &message);
    let status = wait(&served, "bombs");
    assert_eq!((&status["status"], &status["inputs"]["converted"]), (&json!("DONE"), &json!(2)), "{status}");
    let inputs = all(&served, "/preprocess/batches/bombs/inputs", "inputs");
    let reason = inputs[0]["reason"].as_str().unwrap();
    assert!(reason.contains("memory"), "{reason}");
}
