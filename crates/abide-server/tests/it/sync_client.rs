//! The published npm client `@livestore/sync-cf`, unmodified, against this server.

use crate::server::{Server, every_service, sync_service};
use abide_engine::machine::MachineOptions;
use abide_links::auth::jwt::{Claims, sign_with_secret};
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_server::Services;
use abide_store::memory::MemoryStore;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

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

/// Runs three clients against a server: live pulls, rebases after `ServerAheadError`, a late joiner.
fn converge(server: &Server, transport: &str, payload: Option<&Value>) {
    let Some(dir) = installed() else { return };
    let mut node = Command::new("node");
    node.args(["--experimental-websocket", "client.mjs"]).current_dir(dir);
    node.args([format!("http://{}/sync", server.address), transport.to_owned()]);
    node.args(payload.map(Value::to_string));
    let ran = node.output().expect("npm ran, so node does");
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{errors}");
    let last = out.lines().last().unwrap_or("");
    let links = serde_json::from_str::<Value>(last).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert_eq!(links["links"].as_array().map(Vec::len), Some(21));
}

#[test]
fn clients_converge_over_sockets() {
    let server = Server::start();
    converge(&server, "ws", None);
    if installed().is_some() {
        let events = server.ask("GET /sync/acme/events", "").body;
        assert_eq!(events.lines().filter(|line| line.contains("v1.LinkCreated")).count(), 21, "{events}");
    }
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
    converge(&server, "ws", Some(&json!({"authToken": token})));
}
