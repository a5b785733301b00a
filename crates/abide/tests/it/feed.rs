//! The live feed of a server, to wait on.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::served::Served;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What changes on a server from now on.
pub(crate) struct Feed(BufReader<TcpStream>);

impl Feed {
    /// Follows a server and waits until it tells.
    pub(crate) fn of(served: &Served) -> Feed {
        let mut stream = TcpStream::connect(served.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it listens");
        let mut feed = Feed(BufReader::new(stream));
        feed.until(|_| true);
        feed
    }

    /// Reads on until there is an event whose data is as it should be: at first that the feed begins.
    pub(crate) fn until(&mut self, is: impl Fn(&Value) -> bool) {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("text") > 0, "the server ended its feed");
            if let Some(data) = line.strip_prefix("data: ")
                && is(&serde_json::from_str(data).expect("JSON"))
            {
                return;
            }
        }
    }

    /// Reads on until the server ends the feed.
    pub(crate) fn until_end(mut self) {
        std::io::copy(&mut self.0, &mut std::io::sink()).expect("an end");
    }

    /// Waits until a job is in this state.
    pub(crate) fn until_job(&mut self, job: &Value, state: &str) {
        self.until(|data| data["job"] == *job && data["to"] == *state);
    }
}
