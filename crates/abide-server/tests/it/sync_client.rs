//! The published npm client `@livestore/sync-cf`, unmodified, against this server.

use crate::server::{Server, every_service, sync_service};
use crate::site::site;
use abide_engine::machine::MachineOptions;
use abide_links::auth::jwt::{Claims, sign_with_secret};
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_server::Services;
use abide_store::memory::MemoryStore;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// What the client says when a server has another log than the one it knows.
const OTHER_LOG: &str = "Sync backend identity changed";

/// Where the client is installed; none if that is not possible here, which is said.
fn installed() -> Option<&'static Path> {
    static DIR: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIR.get_or_init(|| {
        install().map_err(|why| eprintln!("skipped, the npm client cannot run here: {why}")).ok()
    })
    .as_deref()
}

fn install() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm-sync-client");
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let wanted = include_str!("../npm/package.json");
    std::fs::write(dir.join("client.mjs"), include_str!("../npm/client.mjs"))
        .map_err(|error| error.to_string())?;
    let mark = dir.join("installed.json");
    if std::fs::read_to_string(&mark).is_ok_and(|done| done == wanted) {
        return Ok(dir);
    }
    std::fs::write(dir.join("package.json"), wanted).map_err(|error| error.to_string())?;
    let arguments = ["install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Command::new("npm").args(arguments).current_dir(&dir).output();
    let npm = npm.map_err(|error| format!("npm: {error}"))?;
    if !npm.status.success() {
        return Err(format!("npm install: {}", String::from_utf8_lossy(&npm.stderr)));
    }
    std::fs::write(mark, wanted).map_err(|error| error.to_string())?;
    Ok(dir)
}

/// Clients in a process of their own, at a scenario of `npm/client.mjs`.
struct Clients {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Clients {
    /// On sockets; none if they cannot run here.
    fn start(scenario: &str, server: &Server, payload: Option<&Value>) -> Option<Clients> {
        Clients::over("ws", scenario, server, payload)
    }

    fn over(transport: &str, scenario: &str, server: &Server, payload: Option<&Value>) -> Option<Clients> {
        let mut node = Command::new("node");
        node.args(["--experimental-websocket", "client.mjs", transport, scenario]).current_dir(installed()?);
        node.arg(format!("http://{}/sync", server.address)).args(payload.map(Value::to_string));
        let pipes = node.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = pipes.spawn().expect("npm ran, so node does");
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Some(Clients { child, stdin, lines: BufReader::new(stdout).lines(), said: Vec::new() })
    }

    /// Waits until a line has this in it.
    fn until(&mut self, part: &str) {
        while !self.said.last().is_some_and(|line| line.contains(part)) {
            match self.lines.next() {
                Some(line) => self.said.push(line.expect("text")),
                None => panic!("never {part:?}: {}", self.said.join("\n")),
            }
        }
    }

    /// Lets them go on.
    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("they listen");
    }

    /// What the scenario came to.
    fn end(mut self) -> Value {
        self.until(r#"{"end":"#);
        assert!(self.child.wait().expect("it ran").success(), "{}", self.said.join("\n"));
        let last = self.said.last().expect("a line");
        serde_json::from_str::<Value>(last).expect("JSON")["end"].take()
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server whose store outlasts it.
fn server_on(store: &MemoryStore) -> Server {
    Server::on(store.clone(), MachineOptions::default())
}

/// How often the log has an event of this link.
fn created(server: &Server, id: &str) -> usize {
    let events = server.ask("GET /sync/acme/events", "").body;
    let id = format!("\"id\":\"{id}\"");
    events.lines().filter(|line| line.contains("v1.LinkCreated") && line.contains(&id)).count()
}

#[test]
fn clients_converge_over_sockets() {
    let server = Server::start();
    let Some(clients) = Clients::start("converge", &server, None) else { return };
    assert_eq!(clients.end().as_array().map(Vec::len), Some(21));
    let events = server.ask("GET /sync/acme/events", "").body;
    assert_eq!(events.lines().filter(|line| line.contains("v1.LinkCreated")).count(), 21, "{events}");
}

#[test]
fn clients_converge_over_http_also_with_one_on_a_socket() {
    let server = Server::start();
    let Some(clients) = Clients::over("http", "converge", &server, None) else { return };
    assert_eq!(clients.end().as_array().map(Vec::len), Some(21));
    let events = server.ask("GET /sync/acme/events", "").body;
    assert_eq!(events.lines().filter(|line| line.contains("v1.LinkCreated")).count(), 21, "{events}");
    let server = Server::start();
    let Some(clients) = Clients::over("http", "beside", &server, None) else { return };
    assert_eq!(clients.end(), json!(["by-http", "by-socket"]));
}

#[test]
fn clients_show_a_token_in_their_payload() {
    let verifier = Verifier::new(&JwtKeys::Secret(SECRET.to_owned()), None, None).unwrap();
    let authority = Authority::Checked { tokens: Some(Box::new(verifier)) };
    let services = Services { sync: Some(sync_service(authority)), ..every_service() };
    let server = Server::with(MemoryStore::new(), MachineOptions::default(), services);
    let claims = Claims {
        sub: "user".to_owned(),
        org_id: "acme".to_owned(),
        exp: 4_000_000_000,
        nbf: None,
        iat: None,
        iss: None,
        aud: None,
        email: None,
    };
    let token = sign_with_secret(&claims, SECRET).unwrap();
    let payload = json!({ "authToken": token });
    let Some(clients) = Clients::start("converge", &server, Some(&payload)) else { return };
    assert_eq!(clients.end().as_array().map(Vec::len), Some(21));
}

#[test]
fn a_client_takes_a_log_of_several_pages_and_pushes_after_it() {
    let server = Server::start();
    let link = |n: usize| {
        let args = json!({ "id": format!("l{n}"), "url": format!("http://localhost:1/{n}"), "domain": "localhost",
            "createdAt": "2026-01-01T00:00:00.000Z" });
        json!({ "name": "v1.LinkCreated", "args": args })
    };
    // Done already, so that nobody fetches them.
    let done = |n: usize| {
        let args = json!({ "linkId": format!("l{n}"), "updatedAt": "2026-01-01T00:00:00.000Z" });
        json!({ "name": "v1.LinkProcessingCompleted", "args": args })
    };
    let events: Vec<Value> = (0..250).map(link).chain((0..250).map(done)).collect();
    let append = json!({ "events": events, "clientId": "c", "sessionId": "s", "key": "k" });
    server.ok("POST /sync/acme/events", &append.to_string());
    let Some(clients) = Clients::start("paging", &server, None) else { return };
    assert_eq!(clients.end().as_array().map(Vec::len), Some(251));
    assert_eq!(created(&server, "own"), 1);
}

#[test]
fn a_client_that_has_more_than_fits_into_a_message_pushes_all_of_it() {
    let server = Server::start();
    let Some(clients) = Clients::start("bulk", &server, None) else { return };
    assert_eq!(clients.end().as_array().map(Vec::len), Some(142));
    let events = server.ask("GET /sync/acme/events", "").body;
    assert_eq!(events.lines().filter(|line| line.contains("v1.LinkCreated")).count(), 142);
}

#[test]
fn clients_come_back_after_a_restart_and_what_both_wrote_meanwhile_is_rebased() {
    let store = MemoryStore::new();
    let mut server = server_on(&store);
    let Some(mut clients) = Clients::start("reconnect", &server, None) else { return };
    clients.until("stop");
    server.tell_to_stop()();
    clients.tell("stopped");
    clients.until("start");
    let server = server.again(store);
    clients.tell("started");
    let links = clients.end();
    let expected = [
        "after",
        "before",
        "offline-a1",
        "offline-a2",
        "offline-a3",
        "offline-b1",
        "offline-b2",
        "offline-b3",
    ];
    assert_eq!(links, json!(expected));
    for id in expected {
        assert_eq!(created(&server, id), 1, "{id}");
    }
}

#[test]
fn a_client_hears_that_the_log_is_another_and_writes_nothing_to_it() {
    let mut server = Server::start();
    let Some(mut clients) = Clients::start("reset", &server, None) else { return };
    clients.until("wipe");
    server.tell_to_stop()();
    let server = server.again(MemoryStore::new());
    clients.tell("wiped");
    clients.until(OTHER_LOG);
    clients.tell("it said so");
    assert_eq!(clients.end(), json!(["new"]));
    let links = ["old", "too-late", "new"].map(|id| created(&server, id));
    assert_eq!(links, [0, 0, 1]);
}

#[test]
fn a_client_that_only_pushed_a_link_gets_its_title_and_summary() {
    let (server, site) = (Server::start(), site());
    let Some(mut clients) = Clients::start("processed", &server, None) else { return };
    clients.until("site");
    clients.tell(&site.url("/rust"));
    let found = clients.end();
    assert_eq!(found[0], json!("Page /rust"));
    assert!(found[1].as_str().is_some_and(|summary| summary.contains("memory safe")), "{found}");
}
