//! Pages that ask for more work than they are worth: each is read up to there, and what stands before it is found.
//!
//! Without bounds each of these takes minutes.

use crate::prose::paragraph;
use abide_links::page::{self, Outcome};
use url::Url;

fn check(name: &str, hostile: &str) {
    let url = Url::parse("https://example.com/").unwrap();
    let text = paragraph(1, 6);
    let html = format!("<title>Before</title><body><article><p>{text}</p>{hostile}");
    let page = match page::read(&url, Some("text/html"), html.as_bytes()) {
        Outcome::Ok(page) | Outcome::Empty(page) => page,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(page.metadata.title.as_deref(), Some("Before"), "{name}");
    assert!(page.text.contains(&text[..40]), "{name}: {:?}", page.text.chars().take(200).collect::<String>());
}

/// `piece` with its number in place of `#`, so many times.
fn times(piece: &str, count: usize) -> String {
    (0..count).map(|n| piece.replace('#', &n.to_string())).collect()
}

#[test]
fn elements_in_elements() {
    check("divs", &"<div>".repeat(400_000));
    check("spans", &"<span>".repeat(400_000));
    check("lists", &"<ul><li>".repeat(200_000));
    check("tables", &"<table><tr><td>".repeat(100_000));
    check("elements before tables", &"<table><div></div><div>".repeat(100_000));
    check("templates", &"<template>".repeat(100_000));
    check("pictures", &"<svg><g>".repeat(200_000));
}

#[test]
fn many_deep_places() {
    let tower = format!("{}word{}", "<div>".repeat(250), "</div>".repeat(250));
    check("towers", &tower.repeat(400));
}

#[test]
fn attributes_in_one_tag() {
    check("attributes", &format!("<div {}>", times("a# ", 300_000)));
    check("attributes with values", &format!("<div {}>", times("a#=\"\"", 200_000)));
    check(
        "many tags with many",
        &times(&format!("<div {}></div>", times("a# ", 2_000).replace("a#", "a")), 300),
    );
}

#[test]
fn markup_that_is_opened_again_in_every_paragraph() {
    check("fonts", &format!("{}{}", times("<font size=#>", 20_000), "<p>x".repeat(40_000)));
    check("bold", &"<b><p></b>".repeat(50_000));
    check("links", &times("<a href=#><table><td>", 20_000));
}

#[test]
fn many_elements() {
    check("breaks", &"<br>".repeat(600_000));
    check("comments", &"<!---->".repeat(400_000));
    check("paragraphs", &"<p>Some words, and some more.</p>".repeat(45_000));
    check("lines", &"some words<br><br>".repeat(22_000));
    check("links", &times("<a href=/#>x</a> ", 45_000));
    check("headings", &"<h2>Words</h2>".repeat(45_000));
    check("names", &times("<div class=\"c# article\" id=i#>words</div>", 45_000));
}

#[test]
fn entities() {
    check("in text", &"&lt;".repeat(500_000));
    check(
        "in an attribute",
        &format!("<meta property=og:description content=\"{}\">", "&amp;lt;".repeat(250_000)),
    );
    check("in a title", &format!("<title>{}</title>", "&amp;lt;".repeat(250_000)));
}
