//! The floors: what bare HTTP and the bare disk do on this machine, now.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::load;

/// Requests a second of a bare listener: no middleware, 128 connections, one request under way on each.
pub(super) async fn http_rps(measured: Duration) -> io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/", post(|body: String| async move { body }));
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let requests = Arc::new(|_, _, buffer: &mut Vec<u8>| load::post(buffer, "/", r#"{"add":1}"#));
    let loaded = load::drive(address, 128, measured, requests).await?;
    server.abort();
    Ok(loaded.rps)
}

/// Writes of 4 KiB a second, each synced before the next.
pub(super) fn fsyncs_per_s(dir: &Path, measured: Duration) -> io::Result<f64> {
    let mut file = File::create(dir.join("fsync"))?;
    let page = [7_u8; 4096];
    file.write_all(&vec![0; 4096 * 16_384])?;
    file.sync_all()?;
    let began = Instant::now();
    let mut syncs = 0_u32;
    while began.elapsed() < measured {
        std::os::unix::fs::FileExt::write_all_at(&file, &page, u64::from(syncs % 16_384) * 4096)?;
        file.sync_data()?;
        syncs += 1;
    }
    Ok(f64::from(syncs) / began.elapsed().as_secs_f64())
}
