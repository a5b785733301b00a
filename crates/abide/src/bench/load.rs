//! Load over HTTP: so many connections, each with one request under way.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Before latencies and requests are counted.
const WARM: Duration = Duration::from_millis(500);

/// Writes the `n`-th request of a connection into the buffer.
pub(super) type Requests = Arc<dyn Fn(usize, u64, &mut Vec<u8>) + Send + Sync>;

/// What a load came to.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    /// Answers a second, once warm.
    pub(super) rps: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Good answers, from the first on.
    pub(super) acknowledged: u64,
}

/// Drives `connections` against `address` for `measured` once warm, from a thread of its own: clients are not part of
/// the program that they load, and do not take turns with its tasks.
pub(super) async fn drive(
    address: SocketAddr,
    connections: usize,
    measured: Duration,
    requests: Requests,
) -> io::Result<Loaded> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let load = move || runtime.block_on(drive_here(address, connections, measured, requests));
    tokio::task::spawn_blocking(load).await.map_err(io::Error::other)?
}

async fn drive_here(
    address: SocketAddr,
    connections: usize,
    measured: Duration,
    requests: Requests,
) -> io::Result<Loaded> {
    let warm_until = Instant::now() + WARM;
    let until = warm_until + measured;
    let mut tasks = JoinSet::new();
    for connection in 0..connections {
        tasks.spawn(one_connection(address, connection, warm_until, until, Arc::clone(&requests)));
    }
    let mut latencies = Vec::new();
    let mut acknowledged = 0;
    while let Some(done) = tasks.join_next().await {
        let (good, mut timed) = done.map_err(io::Error::other)??;
        acknowledged += good;
        latencies.append(&mut timed);
    }
    let rps = latencies.len() as f64 / measured.as_secs_f64();
    let [p50_ms, p99_ms] = percentiles(latencies, [0.50, 0.99]);
    Ok(Loaded { rps, p50_ms, p99_ms, acknowledged })
}

/// Percentiles of durations in microseconds, as milliseconds.
pub(super) fn percentiles<const N: usize>(mut micros: Vec<u32>, wanted: [f64; N]) -> [f64; N] {
    micros.sort_unstable();
    wanted.map(|share| {
        let at = ((micros.len() as f64 * share) as usize).min(micros.len().saturating_sub(1));
        micros.get(at).map_or(f64::NAN, |micros| f64::from(*micros) / 1_000.0)
    })
}

async fn one_connection(
    address: SocketAddr,
    connection: usize,
    warm_until: Instant,
    until: Instant,
    requests: Requests,
) -> io::Result<(u64, Vec<u32>)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut request, mut response) = (Vec::new(), Vec::new());
    let mut timed = Vec::new();
    let mut good = 0;
    for n in 0.. {
        let began = Instant::now();
        if began >= until {
            break;
        }
        request.clear();
        requests(connection, n, &mut request);
        stream.write_all(&request).await?;
        read_response(&mut stream, &mut response).await?;
        let ended = Instant::now();
        good += 1;
        if began >= warm_until && ended < until {
            timed.push(u32::try_from((ended - began).as_micros()).unwrap_or(u32::MAX));
        }
    }
    Ok((good, timed))
}

/// Reads one response; an error if it is not a success.
async fn read_response(stream: &mut TcpStream, response: &mut Vec<u8>) -> io::Result<()> {
    response.clear();
    loop {
        if stream.read_buf(response).await? == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        let Some(head) = response.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&response[..head]).to_ascii_lowercase();
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|length| length.trim().parse().ok())
            .ok_or_else(|| io::Error::other("a response without a length"))?;
        while response.len() < head + 4 + length {
            if stream.read_buf(response).await? == 0 {
                return Err(io::Error::other("the server cut off a response"));
            }
        }
        if !text.starts_with("http/1.1 2") {
            return Err(io::Error::other(String::from_utf8_lossy(response).into_owned()));
        }
        return Ok(());
    }
}

/// Writes a POST with a JSON body.
pub(super) fn post(buffer: &mut Vec<u8>, path: &str, body: &str) {
    let length = body.len();
    buffer.extend_from_slice(b"POST ");
    buffer.extend_from_slice(path.as_bytes());
    buffer.extend_from_slice(
        b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ",
    );
    buffer.extend_from_slice(length.to_string().as_bytes());
    buffer.extend_from_slice(b"\r\n\r\n");
    buffer.extend_from_slice(body.as_bytes());
}
