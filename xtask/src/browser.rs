//! The browser that tests of the page open it in.

use std::process::{Command, Stdio};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// How it is installed on Debian.
pub(crate) const INSTALL: [&str; 5] = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"];

/// Installs Chromium if there is none and this may be done; says what came of it.
pub(crate) fn provide() -> String {
    if let Some(name) = NAMES.iter().find(|name| runs(&[name, "--version"])) {
        return format!("{name} is there");
    }
    if !is_root() {
        return format!("no chromium: the page is not tested. As root: {}", INSTALL.join(" "));
    }
    // The list of packages may be old or missing; installing says whether it was enough.
    let listed = runs(&["apt-get", "update"]);
    match (runs(&INSTALL), listed) {
        (true, _) => "chromium was installed".to_owned(),
        (false, true) => "chromium could not be installed: the page is not tested".to_owned(),
        (false, false) => "no chromium, and apt-get reaches no packages: the page is not tested".to_owned(),
    }
}

fn runs(command: &[&str]) -> bool {
    let [program, args @ ..] = command else { return false };
    let mut command = Command::new(program);
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output();
    user.is_ok_and(|user| user.stdout.trim_ascii() == b"0")
}
