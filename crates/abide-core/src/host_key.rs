//! The limit key of a URL's host.

use url::Url;

/// A text without a host that could be limited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} has no host: give an http or https URL, or a host name")]
pub struct NoHost {
    /// What was given, shortened.
    pub given: String,
}

/// The host of `url` as a key: lower case, IDNA to ASCII, without a trailing dot, with `:port` only if the port is
/// given and not one of the web's own (80, 443). A bare host name, with or without a port, is accepted too.
pub fn host_key(url: &str) -> Result<String, NoHost> {
    let no_host = || NoHost { given: url.chars().take(200).collect() };
    let text = url.trim();
    let is_url = text.contains("://");
    let parsed = if is_url { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    let parsed = parsed.map_err(|_| no_host())?;
    let is_host = is_url || !text.contains('@') && !text.starts_with('/');
    if !is_host || !matches!(parsed.scheme(), "http" | "https") {
        return Err(no_host());
    }
    let host = parsed.host_str().ok_or_else(no_host)?.trim_end_matches('.');
    if host.is_empty() {
        return Err(no_host());
    }
    Ok(match parsed.port().filter(|port| !matches!(port, 80 | 443)) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
