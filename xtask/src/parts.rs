//! Programs of others that tests run against: the gate installs those that are missing, where it may.

use std::process::{Command, Stdio};

/// A program that some tests need, and are skipped without.
pub(crate) struct Part {
    /// What it is run by, the first that answers.
    names: &'static [&'static str],
    /// Debian's package of it.
    package: &'static str,
    /// What is not tested without it.
    untested: &'static str,
}

/// What tests of the page open it in.
pub(crate) const BROWSER: Part = Part {
    names: &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    package: "chromium",
    untested: "the page is not tested",
};

/// What reads scans.
pub(crate) const READER: Part = Part {
    names: &["tesseract"],
    package: "tesseract-ocr",
    untested: "reading of scans is tested with stand-ins only",
};

impl Part {
    /// Installs it if there is none and this may be done; says what came of it.
    pub(crate) fn provide(&self) -> String {
        let Part { names, package, untested } = self;
        if let Some(name) = names.iter().find(|name| runs(&[name, "--version"])) {
            return format!("{name} is there");
        }
        if !is_root() {
            return format!("no {package}: {untested}. As root: {}", self.install().join(" "));
        }
        // The list of packages may be old or missing; installing says whether it was enough.
        let listed = runs(&["apt-get", "update"]);
        match (runs(&self.install()), listed) {
            (true, _) => format!("{package} was installed"),
            (false, true) => format!("{package} could not be installed: {untested}"),
            (false, false) => format!("no {package}, and apt-get reaches no packages: {untested}"),
        }
    }

    /// How it is installed on Debian.
    pub(crate) fn install(&self) -> [&'static str; 5] {
        ["apt-get", "install", "-y", "--no-install-recommends", self.package]
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
