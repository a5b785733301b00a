//! What links show, and outcomes of reading pages.

use crate::prose::paragraph;
use abide_fetch::FetchError;
use abide_fetch::error::Phase;
use abide_links::page::{self, Failure, Metadata, Outcome, Verdict};
use url::Url;

const HTML: Option<&str> = Some("text/html");

fn metadata(head: &str) -> Metadata {
    let html = format!("<html><head>{head}</head><body><p>{}</p></body></html>", paragraph(1, 1));
    match page::read(&Url::parse("https://www.example.com/dir/page?x=1").unwrap(), HTML, html.as_bytes()) {
        Outcome::Ok(page) => page.metadata,
        other => panic!("{other:?}"),
    }
}

/// Title, description, image, favicon.
fn check(head: &str, expected: [Option<&str>; 4]) {
    let Metadata { title, description, image, favicon } = metadata(head);
    let found = [title.as_deref(), description.as_deref(), image.as_deref(), favicon.as_deref()];
    assert_eq!(found, expected, "{head}");
}

const ICO: Option<&str> = Some("https://www.example.com/favicon.ico");

#[test]
fn metadata_is_taken_from_where_it_is_said_best() {
    check("<title> A\n  title </title>", [Some("A title"), None, None, ICO]);
    check(
        "<title>t</title><meta property=og:title content='OG'><meta name=twitter:title content='Tw'>",
        [Some("OG"), None, None, ICO],
    );
    check(
        "<meta name=twitter:title content='Tw'><meta name=description content='D'>",
        [Some("Tw"), Some("D"), None, ICO],
    );
    check("<meta property=og:title content=''><title>t</title>", [Some("t"), None, None, ICO]);
    check(
        "<meta property=og:image content='/i.png'>",
        [None, None, Some("https://www.example.com/i.png"), ICO],
    );
    check(
        "<base href='https://cdn.example.com/x/'><meta name=twitter:image content='i.png'>",
        [None, None, Some("https://cdn.example.com/x/i.png"), ICO],
    );
    check("<meta property=og:image content='javascript:alert(1)'>", [None, None, None, ICO]);
    check(
        "<link rel='apple-touch-icon' href='/a.png'><link rel='shortcut icon' href='f.png'>",
        [None, None, None, Some("https://www.example.com/dir/f.png")],
    );
    check(
        "<meta property=og:title content='Tom &amp;amp; Jerry &#39;24 &lt;3'>",
        [Some("Tom & Jerry '24 <3"), None, None, ICO],
    );
}

#[test]
fn json_ld_is_found_in_graphs_and_arrays() {
    check(
        r#"<meta property=og:title content='OG'><script type="application/ld+json">
        {"@context":"https://schema.org","@graph":[{"@type":"Organization","name":"Org"},
        {"@type":["NewsArticle"],"headline":"Q&amp;A","description":"Said.","image":[{"url":"/ld.jpg"}]}]}</script>"#,
        [Some("Q&A"), Some("Said."), Some("https://www.example.com/ld.jpg"), ICO],
    );
    check(
        r#"<script type="application/ld+json">[{"@type":"VideoObject","name":"V","thumbnailUrl":["https://i.example/t.jpg"]}]</script>"#,
        [Some("V"), None, Some("https://i.example/t.jpg"), ICO],
    );
    check(
        r#"<script type="application/ld+json">{broken</script><title>t</title>"#,
        [Some("t"), None, None, ICO],
    );
    check(
        r#"<script type="application/ld+json">{"@type":"Person","name":"P"}</script><title>t</title>"#,
        [Some("t"), None, None, ICO],
    );
}

#[test]
fn character_sets_are_told_declared_or_guessed() {
    let read = |content_type: &str, bytes: &[u8]| match page::read(
        &Url::parse("https://e.com/").unwrap(),
        Some(content_type),
        bytes,
    ) {
        Outcome::Ok(page) | Outcome::Empty(page) => page.metadata.title.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("text/html; charset=ISO-8859-1", b"<title>caf\xe9</title>"), "café");
    assert_eq!(read("text/html", b"<meta charset=windows-1252><title>\x80 5</title>"), "€ 5");
    assert_eq!(
        read(
            "text/html",
            b"<meta http-equiv=content-type content='text/html; charset=utf-8'><title>\xc3\xbc</title>"
        ),
        "ü"
    );
    let spoken_of = b"<!-- charset comes first --><script>var charset = find()</script><meta charset=koi8-r><title>\xc4\xc1</title>";
    assert_eq!(read("text/html", spoken_of), "да");
    let of_xml = b"<?xml version='1.0' encoding='koi8-r'?><title>\xc4\xc1 is a charset</title>";
    assert_eq!(read("application/xhtml+xml", of_xml), "да is a charset");
    assert_eq!(read("text/html; charset=latin1", b"\xef\xbb\xbf<title>\xc3\xbc</title>"), "ü");
    let (shift_jis, _, _) = encoding_rs::SHIFT_JIS.encode("<title>日本語のページです</title>");
    assert_eq!(read("text/html; charset=\"Shift_JIS\"", &shift_jis), "日本語のページです");
    let (russian, _, _) =
        encoding_rs::WINDOWS_1251.encode("<title>Это страница на русском языке без кодировки</title>");
    assert_eq!(read("text/html", &russian), "Это страница на русском языке без кодировки");
    assert_eq!(read("text/html", "<title>größer</title>".as_bytes()), "größer");
}

#[test]
fn outcomes_are_told_apart() {
    let url = Url::parse("https://example.com/a.txt").unwrap();
    let failed = |verdict, why: &str| Outcome::Failed(Failure::unreadable(verdict, why));
    let empty = page::read(&url, HTML, b"<title>t</title><body><p>Only this.</p>");
    assert!(
        matches!(&empty, Outcome::Empty(page) if page.metadata.title.as_deref() == Some("t") && page.text.is_empty())
    );
    assert!(matches!(page::read(&url, HTML, b""), Outcome::Empty(_)));
    let pdf = failed(Verdict::Permanent, "it is application/pdf, and not a page");
    assert_eq!(page::read(&url, Some("application/pdf"), b"%PDF"), pdf);
    let wall = b"<title>Just a moment...</title><p>Checking your browser before you go on to the page you wanted to see.</p>";
    let human = failed(Verdict::Blocked, "the host wants to see a human first");
    assert_eq!(page::read(&url, HTML, wall), human);
    let Outcome::Ok(plain) = page::read(&url, Some("text/plain"), paragraph(1, 1).as_bytes()) else {
        panic!()
    };
    assert_eq!((plain.metadata.title.as_deref(), plain.text), (Some("a.txt"), paragraph(1, 1)));
}

#[test]
fn failures_have_the_codes_of_the_log() {
    let host = || "example.com".to_owned();
    for (status, verdict) in [
        (403, Verdict::Blocked),
        (451, Verdict::Blocked),
        (404, Verdict::Gone),
        (410, Verdict::Gone),
        (429, Verdict::Transient),
        (503, Verdict::Transient),
        (418, Verdict::Permanent),
    ] {
        let error = FetchError::Status { host: host(), status, retry_after_ms: None };
        assert_eq!(told(&error), (verdict, format!("fetch:{status}")));
    }
    let timeout = FetchError::Timeout { host: host(), phase: Phase::Total };
    assert_eq!(told(&timeout), (Verdict::Transient, "fetch:timeout".to_owned()));
    let robots = FetchError::Robots { host: host(), path: "/".to_owned() };
    assert_eq!(told(&robots), (Verdict::Blocked, "fetch:unreadable".to_owned()));
    assert_eq!(Failure::from(&robots).why, "robots.txt of example.com does not allow /");
    let redirects = FetchError::Redirects { host: host() };
    assert_eq!(told(&redirects), (Verdict::Permanent, "fetch:unreadable".to_owned()));
}

fn told(error: &FetchError) -> (Verdict, String) {
    let Failure { verdict, code, .. } = Failure::from(error);
    (verdict, code)
}
