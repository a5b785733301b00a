//! A folder in which the binary runs with an environment of its own.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// An empty working directory with an empty home beside it.
pub(crate) struct Place {
    root: TempDir,
    variables: Vec<(String, OsString)>,
}

/// How a run ended and what it printed, with the folder's path replaced by `<root>`.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().expect("a temporary folder");
        for folder in ["home", "work"] {
            fs::create_dir(root.path().join(folder)).expect("a new folder");
        }
        let home = root.path().join("home").into_os_string();
        Self { root, variables: vec![("HOME".to_owned(), home)] }
    }

    /// Sets a variable; `<root>` in its value is this folder.
    pub(crate) fn env(self, name: &str, value: &str) -> Self {
        let value = value.replace("<root>", &self.root.path().display().to_string());
        self.env_os(name, OsStr::new(&value))
    }

    /// Sets a variable to anything.
    pub(crate) fn env_os(mut self, name: &str, value: &OsStr) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes every variable.
    pub(crate) fn without_env(mut self) -> Self {
        self.variables.clear();
        self
    }

    /// Writes a file; the working directory is `work`.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// `abide` with these arguments, separated by spaces.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_abide"));
        command
            .args(arguments.split_whitespace())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("work"));
        command
    }

    /// Runs `abide` with these arguments to its end.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        let output = self.command(arguments).output().expect("the binary starts");
        let root = self.root.path().display().to_string();
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8 output").replace(&root, "<root>");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// What `abide config show` says of one option: its value and where it came from.
    pub(crate) fn show(&self, option: &str, flags: &str) -> String {
        let run = self.run(&format!("config show {flags}"));
        assert_eq!(run.code, Some(0), "{run}");
        let line = run.stdout.lines().find(|line| line.split_whitespace().next() == Some(option));
        line.expect("the option is shown").split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        write!(f, "exit {code}\n{}{}", self.stdout, self.stderr)
    }
}
