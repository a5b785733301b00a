//! Buckets by their public door: the same table on a directory and on an S3 server over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod bucket;
mod s3_server;
mod signer;
