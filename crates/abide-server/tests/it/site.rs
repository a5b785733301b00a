//! A small web site of this machine.

use abide_fetch::testing::{Server, reply};

/// Serves a page for every path but those under `/gone`. It has no robots.txt.
pub(crate) fn site() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        path if path.starts_with("/gone") => reply(404, &[], b""),
        path => reply(200, &[("Content-Type", "text/html; charset=utf-8")], page(path).as_bytes()),
    })
}

fn page(path: &str) -> String {
    let sentence =
        "Rust keeps memory safe without a collector, and its compiler says why a program is wrong. ";
    format!(
        "<html lang=en><head><title>Page {path}</title><meta property=og:description content=\"About {path}\">\
         <meta property=og:image content=/cover.png></head><body><article><h1>Page {path}</h1><p>{}</p>\
         <p>{}</p></article></body></html>",
        sentence.repeat(4),
        sentence.repeat(5),
    )
}
