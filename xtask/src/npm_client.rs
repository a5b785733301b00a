//! The published sync client that tests of the server run, from npm.

use std::path::Path;
use std::process::{Command, Stdio};

/// What it needs to be there.
pub(crate) const NEEDS: &str = "npm install of the sync client, if node and npm are there";
/// Where the test has it from, below the folder of the server's tests.
const WANTED: &str = "crates/abide-server/tests/npm/package.json";

/// Installs the client where its test looks for it; says what came of it.
pub(crate) fn provide(root: &Path) -> String {
    let Some(node) = version("node") else {
        return "no node: the published sync client is not tested. On Debian and Ubuntu: apt-get install nodejs npm"
            .to_owned();
    };
    match install(root) {
        Ok(()) => format!("node {node} and the published sync client are there: it is tested"),
        Err(why) => format!("the published sync client is not tested: {why}"),
    }
}

/// As the test does it: what it finds with the same mark it does not install again.
fn install(root: &Path) -> Result<(), String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let dir = target.join("tmp/npm-sync-client");
    let wanted = std::fs::read_to_string(root.join(WANTED)).map_err(|error| format!("{WANTED}: {error}"))?;
    let mark = dir.join("installed.json");
    if std::fs::read_to_string(&mark).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    let write =
        |path: &Path| std::fs::write(path, &wanted).map_err(|error| format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    write(&dir.join("package.json"))?;
    let arguments = ["install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Command::new("npm").args(arguments).current_dir(&dir).stdin(Stdio::null()).output();
    let npm = npm.map_err(|error| format!("npm: {error}"))?;
    if !npm.status.success() {
        let said = String::from_utf8_lossy(&npm.stderr);
        return Err(format!("npm install failed: {}", said.lines().next().unwrap_or_default()));
    }
    write(&mark)
}

fn version(program: &str) -> Option<String> {
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    said.status.success().then(|| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
