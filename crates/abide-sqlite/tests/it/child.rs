//! This test program again, as another process: what must be killed, limited or locked out.

use crate::world::{put_one, version};
use abide_core::time::Time;
use abide_sqlite::{DataDir, SqliteStore};
use abide_store::{Store, StoreError};
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PART: &str = "ABIDE_SQLITE_TEST_PART";
const DIR: &str = "ABIDE_SQLITE_TEST_DIR";

/// What the other process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Owns the data directory until its standard input ends.
    Own,
    /// Opens the store and says how that went.
    Open,
    /// Writes turn after turn and tells after each which version is durable, until it is killed.
    Write,
    /// Writes a turn for each line it is given and tells how that went; `reopen` starts afresh.
    Obey,
}

impl Part {
    const ALL: [Part; 4] = [Part::Own, Part::Open, Part::Write, Part::Obey];

    fn word(self) -> &'static str {
        match self {
            Part::Own => "own",
            Part::Open => "open",
            Part::Write => "write",
            Part::Obey => "obey",
        }
    }
}

/// A process that plays a part.
pub(crate) struct Other {
    pub(crate) child: Child,
    says: BufReader<ChildStdout>,
    hears: Option<ChildStdin>,
}

impl Other {
    pub(crate) fn start(part: Part, dir: &Path) -> Other {
        Other::spawn(&mut command(part, dir)).unwrap()
    }

    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Other> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let says = BufReader::new(child.stdout.take().unwrap());
        let hears = child.stdin.take();
        Ok(Other { child, says, hears })
    }

    /// What it says next; none when it is gone.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if let Some((_, said)) = line.trim_end().split_once("says: ") {
                return Some(said.to_owned());
            }
            line.clear();
        }
        None
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.hears.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Kills it without warning and returns what it said until then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.hear()).collect()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.hears.take());
        // It ends by itself when it hears nothing more; one that was killed has ended.
        drop(self.child.wait());
    }
}

/// The command that plays a part.
pub(crate) fn command(part: Part, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child::play", "--nocapture"]).env(PART, part.word()).env(DIR, dir);
    command
}

/// Plays the part that the environment names; nothing in the process that runs the tests.
#[test]
fn play() {
    let (Ok(word), Some(dir)) = (std::env::var(PART), std::env::var_os(DIR)) else { return };
    let dir = PathBuf::from(dir);
    match Part::ALL.into_iter().find(|part| part.word() == word).unwrap() {
        Part::Own => own(&dir),
        Part::Open => say(&match SqliteStore::open(&dir) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string(),
        }),
        Part::Write => write(&dir),
        Part::Obey => obey(&dir),
    }
}

fn say(what: &str) {
    println!("says: {what}");
    std::io::stdout().flush().unwrap();
}

fn own(dir: &Path) {
    let mut owned = DataDir::open(dir).unwrap();
    owned.set_address("127.0.0.1:7070").unwrap();
    say(owned.token());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn write(dir: &Path) {
    let mut store = SqliteStore::open(dir).unwrap();
    for at in version(&store).. {
        let turn = put_one(at, &format!("row-{at:06}"), &at.to_string());
        store.write(Time(at), &[turn]).unwrap();
        say(&(at + 1).to_string());
    }
}

fn obey(dir: &Path) {
    let mut store = SqliteStore::open(dir).unwrap();
    say("ready");
    let mut at = version(&store);
    for line in std::io::stdin().lines() {
        let done: Result<i64, StoreError> = match line.unwrap().as_str() {
            "reopen" => store.reopen().map(|()| version(&store)),
            value => store.write(Time(1), &[put_one(at, "row", value)]).map(|_| at + 1),
        };
        say(&match done {
            Ok(version) => format!("version {version}"),
            Err(ref error) => format!("{error:?}"),
        });
        at = done.unwrap_or(at);
    }
}
