//! The binary while it serves.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::client::{Client, Reply};
use crate::place::Place;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs. Killed when dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    child: Child,
    first_line: String,
    rest: Option<JoinHandle<String>>,
}

impl Served {
    /// Starts `abide` with these arguments and waits until it listens.
    pub(crate) fn start(place: &Place, arguments: &str) -> Served {
        Served::of(place.command(arguments))
    }

    /// Starts a command that becomes a server, and waits until it listens.
    pub(crate) fn of(mut command: Command) -> Served {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = stderr.lines().map_while(Result::ok);
        // What it warns about comes before.
        let mut said = Vec::new();
        let listening = lines.by_ref().find_map(|line| {
            let address = line.split("http://").nth(1).and_then(|rest| rest.split([',', '"']).next());
            let address = address.and_then(|address| address.parse().ok());
            match address {
                Some(address) => Some((address, line)),
                None => {
                    said.push(line);
                    None
                }
            }
        });
        let (address, first_line) = listening.unwrap_or_else(|| panic!("no address in {said:?}"));
        let rest = std::thread::spawn(move || {
            said.extend(lines);
            said.join("\n")
        });
        Served { address, child, first_line, rest: Some(rest) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The line that says where it listens.
    pub(crate) fn first_line(&self) -> &str {
        self.first_line.trim_end()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("it listens")
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, line: &str, body: &str) -> Reply {
        self.client().request(line, &[], body).expect("an answer")
    }

    /// One request that must succeed.
    pub(crate) fn ok(&self, line: &str, body: &str) -> Value {
        let reply = self.ask(line, body);
        assert!((200..300).contains(&reply.status), "{line} {body}: {reply}");
        reply.json()
    }

    /// Sends SIGTERM and waits for the end: the exit code, and what was on standard error after the first line.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        self.signal();
        self.end()
    }

    /// Sends SIGTERM.
    pub(crate) fn signal(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.end();
    }

    fn end(&mut self) -> (Option<i32>, String) {
        // Standard error is closed when the process ends.
        let rest = self.rest.take().expect("ended once");
        let (sender, ended): (_, Receiver<String>) = channel();
        std::thread::spawn(move || drop(sender.send(rest.join().expect("lines"))));
        let stderr = ended.recv_timeout(PATIENCE).expect("it ends in time");
        (self.child.wait().expect("a child").code(), stderr)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
