//! Certificates of this system: by them clients know whom https leads to. A machine may have none, and http needs none.

use reqwest::{Client, ClientBuilder};
use std::error::Error;

/// A client that knows the certificates of this system. Where there are none, https URLs fail, and nothing else does.
pub fn client(builder: impl Fn() -> ClientBuilder) -> Result<Client, reqwest::Error> {
    let error = match builder().build() {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    // Whatever else is wrong with it is so without certificates, too.
    let client = builder().tls_certs_only([]).build()?;
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    tracing::warn!(
        reason,
        "no certificates of this system: https URLs will fail until they are installed (ca-certificates)"
    );
    Ok(client)
}
