//! Reading images: by a real `tesseract` where there is one, and by a stand-in for a model.

use crate::stand_in::{StandIn, says};
use abide_describe::ocr::{Image, OcrError, Reader, Tesseract, Unusable, Vision};
use serde_json::{Value, json};
use std::path::Path;

/// A printed line, 600 by 80 pixels: `Weber to Klein, March 1887`.
const LINE: &[u8] = include_bytes!("line.png");

fn image(bytes: &[u8]) -> Image {
    Image { bytes: bytes.to_vec(), content_type: "image/png".to_owned(), public_url: None }
}

/// The real program, or none where it is not installed.
async fn tesseract() -> Option<Tesseract> {
    match Tesseract::find(Path::new("tesseract"), "eng".parse().unwrap()).await {
        Ok(tesseract) => Some(tesseract),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[tokio::test]
async fn tesseract_reads_a_printed_line() {
    let Some(tesseract) = tesseract().await else { return };
    let read = Reader::Tesseract(tesseract).read(&image(LINE)).await.unwrap();
    assert_eq!(read.text, "Weber to Klein, March 1887");
    assert!(read.by.starts_with("tesseract ") && read.by.ends_with("(eng)"), "{}", read.by);
}

#[tokio::test]
async fn what_is_no_image_is_never_read() {
    let Some(tesseract) = tesseract().await else { return };
    let error = Reader::Tesseract(tesseract).read(&image(b"no image")).await.unwrap_err().why;
    assert!(matches!(&error, OcrError::Permanent(why) if why.contains("exit code 1")), "{error}");
}

/// A program that ends otherwise may do better another time.
#[tokio::test]
async fn only_what_is_no_image_is_given_up_for_good() {
    // It does what is written on an image.
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tesseract.sh");
    let tesseract = Tesseract::find(&program, "eng".parse().unwrap()).await.unwrap();
    let reader = Reader::Tesseract(tesseract);
    assert_eq!(reader.read(&image(b"echo Dear Klein")).await.unwrap().text, "Dear Klein");
    for (does, is_for_good) in [
        ("echo 'Error during processing.' >&2; exit 1", true),
        ("echo 'Could not initialize tesseract.' >&2; exit 1", false),
        ("exit 3", false),
        ("kill -9 $$", false),
        ("kill -SEGV $$", true),
    ] {
        let error = reader.read(&image(does.as_bytes())).await.unwrap_err().why;
        assert_eq!(matches!(error, OcrError::Permanent(_)), is_for_good, "{does}: {error}");
        assert!(error.to_string().starts_with("tesseract could not read this image ("), "{does}: {error}");
    }
}

#[tokio::test]
async fn an_image_that_takes_too_long_is_given_up() {
    let Some(tesseract) = tesseract().await else { return };
    let reader = Reader::Tesseract(tesseract.within(std::time::Duration::from_millis(1)));
    let error = reader.read(&image(LINE)).await.unwrap_err().why;
    assert_eq!(error, OcrError::Permanent("tesseract took longer than 1 ms for this image".to_owned()));
}

#[tokio::test]
async fn what_is_missing_is_named_with_its_package() {
    let error =
        Tesseract::find(Path::new("tesseract-that-is-not-there"), "eng".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no tesseract-that-is-not-there: apt install tesseract-ocr");
    if tesseract().await.is_none() {
        return;
    }
    let error = Tesseract::find(Path::new("tesseract"), "eng+tlh_x".parse().unwrap()).await.unwrap_err();
    assert!(matches!(&error, Unusable::Languages { codes, .. } if codes == &["tlh_x"]), "{error}");
    let said = "tesseract has no language data for tlh_x: apt install tesseract-ocr-tlh-x";
    assert_eq!(error.to_string(), said);
}

fn url_of(body: &Value) -> &str {
    body.pointer("/messages/0/content/0/image_url/url").and_then(Value::as_str).unwrap()
}

#[tokio::test]
async fn a_model_is_sent_the_image() {
    let stand_in = StandIn::start([says(" Dear Klein, \n")]).await;
    let read = Reader::Vision(Vision::new(stand_in.client())).read(&image(b"\x01\x02")).await.unwrap();
    assert_eq!((read.text.as_str(), read.by.as_str(), read.cost_micros), ("Dear Klein,", "stand-in-1", 140));
    let bodies = stand_in.bodies();
    assert_eq!(url_of(&bodies[0]), "data:image/png;base64,AQI=");
    assert_eq!(bodies[0]["max_tokens"], 8_192);
}

#[tokio::test]
async fn a_public_image_is_named_in_its_medium_size_first() {
    let no = |code: &str| (400, json!({ "error": { "code": code, "message": "cannot be fetched" } }));
    let stand_in = StandIn::start([no("invalid_image_url"), no("invalid_image_url"), says("text")]).await;
    let public = Image { public_url: Some("https://cdn.example/asset/A1".to_owned()), ..image(b"\x01\x02") };
    let read = Reader::Vision(Vision::new(stand_in.client())).read(&public).await.unwrap();
    assert_eq!(read.text, "text");
    let urls: Vec<String> = stand_in.bodies().iter().map(|body| url_of(body).to_owned()).collect();
    let expected =
        ["https://cdn.example/asset/A1/medium", "https://cdn.example/asset/A1", "data:image/png;base64,AQI="];
    assert_eq!(urls, expected);
}

#[tokio::test]
async fn errors_are_told_apart_by_status_and_code() {
    let body = |code: &str| json!({ "error": { "code": code, "message": "rate limit? corrupted? 429?" } });
    for (status, code, expected) in [
        (429, "x", "limited"),
        (503, "x", "limited"),
        (400, "rate_limit_exceeded", "limited"),
        (400, "invalid_image", "permanent"),
        (413, "x", "permanent"),
        (401, "x", "transient"),
        (500, "x", "transient"),
    ] {
        let stand_in = StandIn::start([(status, body(code))]).await;
        let error =
            Reader::Vision(Vision::new(stand_in.client())).read(&image(b"\x01")).await.unwrap_err().why;
        let class = match error {
            OcrError::Permanent(_) => "permanent",
            OcrError::Limited { .. } => "limited",
            OcrError::Transient(_) => "transient",
        };
        assert_eq!(class, expected, "{status} {code}");
    }
}

#[tokio::test]
async fn a_kind_that_models_do_not_take_is_not_sent() {
    let stand_in = StandIn::start([]).await;
    let gif = Image { content_type: "image/gif".to_owned(), ..image(b"GIF89a") };
    let error = Reader::Vision(Vision::new(stand_in.client())).read(&gif).await.unwrap_err().why;
    let said = "the model reads image/jpeg, image/png, image/webp, and this is image/gif";
    assert_eq!(error, OcrError::Permanent(said.to_owned()));
    assert_eq!(stand_in.bodies().len(), 0);
}

/// That nothing is written on an image is an answer, and is paid for as every other.
#[tokio::test]
async fn an_image_with_nothing_on_it_is_read() {
    let stand_in = StandIn::start([says("  ")]).await;
    let read = Reader::Vision(Vision::new(stand_in.client())).read(&image(b"\x01")).await.unwrap();
    assert_eq!((read.text.as_str(), read.cost_micros, stand_in.bodies().len()), ("", 140, 1));
}

/// What an answer took that is of no use was paid for all the same.
#[tokio::test]
async fn what_gave_no_text_is_counted() {
    let mut cut = says("Dear");
    cut.1["choices"][0]["finish_reason"] = json!("length");
    let stand_in = StandIn::start([cut]).await;
    let unread = Reader::Vision(Vision::new(stand_in.client())).read(&image(b"\x01")).await.unwrap_err();
    assert_eq!((unread.spent.requests, unread.spent.cost_micros), (1, 140), "{unread}");
}
