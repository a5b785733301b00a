//! The page at `/` as the server writes it. What its script does is tested in a browser.

use crate::dead::with_dead_letters;
use crate::server::{LOCAL_TOKEN, Server};
use abide_engine::machine::MachineOptions;

const JOB: &str = r#"{"queue":"mail","kind":"send","payload":"<b>hi</b>"}"#;

#[test]
fn what_is_so_now_stands_in_the_page() {
    let server = Server::on(with_dead_letters(1), MachineOptions::default());
    server.ok("POST /v1/queues/work-queue/pause", "");
    server.ok("POST /v1/jobs", JOB);
    let item = r#"{"message":"<img src=x onerror=alert(1)>","delay":0}"#;
    server.ok("POST /coordinator/main-coordinator/queue", item);
    let reply = server.ask("GET /", "");
    let page = &reply.body;
    for shown in [
        "<h3>mail</h3>",
        "<dt>ready</dt><dd>1</dd>",
        "&quot;&lt;b&gt;hi&lt;/b&gt;&quot;",
        "<li>No worker takes jobs of the kind send from the queue mail. Start one.</li>",
        "<h3>nobody/a · message</h3>",
        "nobody was there",
        "<h3>coordinator/main-coordinator</h3>",
        "&lt;img src=x onerror=alert(1)&gt;",
        "1-serverReceived <b>+0 ms</b>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("<b>hi") && !page.contains("<img"), "{page}");
}

#[test]
fn the_page_shows_nothing_to_who_may_not_read() {
    let server = Server::with_tokens();
    assert_eq!(server.ask_as(LOCAL_TOKEN, "POST /v1/jobs", JOB).status, 201);
    let (stranger, reader) = (server.ask("GET /", ""), server.ask_as(LOCAL_TOKEN, "GET /", ""));
    assert_eq!((stranger.status, reader.status), (200, 200));
    assert!(
        !stranger.body.contains("<h3>mail</h3>") && stranger.body.contains("id=\"queue-list\""),
        "{stranger}"
    );
    assert!(reader.body.contains("<h3>mail</h3>"), "{reader}");
}
