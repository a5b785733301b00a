//! A small HTTP/1.1 client: one connection, one request at a time.

use serde_json::Value;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any wait of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a request and reads its answer.
    pub(crate) fn request(&mut self, line: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Reply> {
        let mut text = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.send(text.as_bytes())?;
        self.read()
    }

    /// Reads one answer.
    pub(crate) fn read(&mut self) -> io::Result<Reply> {
        let head = self.line()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not a status line: {head:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let mut reply = Reply { status, headers, body: String::new() };
        let has_end = reply.header("content-type") != Some("text/event-stream");
        if has_end && reply.header("transfer-encoding") == Some("chunked") {
            reply.body = self.chunks()?;
            return Ok(reply);
        }
        let length = reply.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        reply.body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(reply)
    }

    fn chunks(&mut self) -> io::Result<String> {
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16).map_err(io::Error::other)?;
            let begin = body.len();
            body.resize(begin + size, 0);
            self.stream.read_exact(&mut body[begin..])?;
            self.line()?;
            if size == 0 {
                return String::from_utf8(body).map_err(io::Error::other);
            }
        }
    }

    /// The next line, of whatever it is.
    pub(crate) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for name in ["location", "retry-after", "allow"] {
            if let Some(value) = self.header(name) {
                write!(f, "\n{name}: {value}")?;
            }
        }
        write!(f, "\n{}", self.body)
    }
}
