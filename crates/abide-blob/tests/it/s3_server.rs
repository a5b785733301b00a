//! A real S3 server over HTTP, on a port of its own, with its files in a directory.

use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use std::net::SocketAddr;
use std::path::Path;

pub(crate) const ACCESS_KEY: &str = "abide-tests";
pub(crate) const SECRET_KEY: &str = "not a secret";

/// Serves the buckets that are directories of `root`, until the runtime ends.
pub(crate) async fn start(root: &Path) -> SocketAddr {
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root).unwrap());
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service.clone());
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    address
}
