//! For tests of whoever fetches: a hand-written HTTP server on a loopback port. A script decides about every byte, and may
//! hold, cut or lie.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Path and query.
    pub path: String,
    /// The `Host` header.
    pub host: String,
    /// Every header.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// A header by its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Writes these bytes as they are and closes the connection.
    Raw(Vec<u8>),
    /// Writes these bytes and resets the connection.
    RawThenReset(Vec<u8>),
    /// Writes these bytes and holds the connection until the server is dropped.
    RawThenHold(Vec<u8>),
    /// Writes the first bytes, then the others over and over until nobody reads them.
    RawThenForever(Vec<u8>, Vec<u8>),
}

/// A reply with a length.
#[must_use]
pub fn reply(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Act {
    let length = body.len().to_string();
    let mut all = vec![("Content-Length", length.as_str())];
    all.extend_from_slice(headers);
    let mut bytes = head(status, &all);
    bytes.extend_from_slice(body);
    Act::Raw(bytes)
}

/// The first line and headers of a reply.
#[must_use]
pub fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} x\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// A redirect.
#[must_use]
pub fn redirect(to: &str) -> Act {
    reply(302, &[("Location", to)], b"")
}

/// A server. Its thread ends with the process, its held connections with the value.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    /// Dropped with the server: held connections end then.
    _held: Sender<()>,
}

impl Server {
    /// Serves by `script`, each connection in a thread of its own.
    ///
    /// # Panics
    /// If there is no port to listen on.
    #[must_use]
    pub fn start(script: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port of this machine");
        let address = listener.local_addr().expect("a listener has an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (held, holds) = channel::<()>();
        let holds = Arc::new(Mutex::new(holds));
        let (script, requests) = (Arc::new(script), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, requests, holds) = (script.clone(), requests.clone(), holds.clone());
                std::thread::spawn(move || serve(stream, &*script, &requests, &holds));
            }
        });
        Server { address, seen, _held: held }
    }

    /// A URL of it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The same place under another name.
    #[must_use]
    pub fn url_as(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Their paths, in order.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.path).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &(impl Fn(&Request) -> Act + Send + Sync),
    seen: &Mutex<Vec<Request>>,
    holds: &Mutex<Receiver<()>>,
) {
    let Some(request) = read_request(&stream) else { return };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    match script(&request) {
        Act::Raw(bytes) => {
            if stream.write_all(&bytes).is_ok() {
                close(stream);
            }
        }
        Act::RawThenReset(bytes) => {
            // Dropped after a shutdown of both ways: the client sees its body end early.
            drop(stream.write_all(&bytes));
            drop(stream.shutdown(Shutdown::Both));
        }
        Act::RawThenHold(bytes) => {
            drop(stream.write_all(&bytes));
            let holds = holds.lock().unwrap_or_else(PoisonError::into_inner);
            // Ends with the server.
            assert!(holds.recv().is_err());
        }
        Act::RawThenForever(first, again) => {
            let mut sent = stream.write_all(&first);
            while sent.is_ok() {
                sent = stream.write_all(&again);
            }
        }
    }
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let header = |line: String| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let headers: Vec<_> = lines.take_while(|line| !line.is_empty()).filter_map(header).collect();
    let request = Request { path, host: String::new(), headers };
    let host = request.header("host").unwrap_or_default().to_owned();
    Some(Request { host, ..request })
}

/// Lets the client read everything before the connection goes.
fn close(mut stream: TcpStream) {
    if stream.shutdown(Shutdown::Write).is_ok() {
        let mut rest = Vec::new();
        drop(stream.read_to_end(&mut rest));
    }
}
