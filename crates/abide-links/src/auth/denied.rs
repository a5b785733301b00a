//! Why a client is not let in.

/// Why a client is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It showed nothing.
    #[error("Access denied: no token and no API key were given")]
    Missing,
    /// Tokens are not taken here.
    #[error(
        "Access denied: this server has no key to check tokens with (sync.jwt_secret or sync.jwt_public_key_file)"
    )]
    NoTokens,
    /// The token is not one of ours, or not any more.
    #[error("Access denied: {0}")]
    BadToken(String),
    /// The API key does not exist.
    #[error("Access denied: there is no such API key")]
    UnknownKey,
    /// It is of another organization.
    #[error("Access denied: not a member of this organization")]
    NotAMember,
    /// It could not be found out.
    #[error("whether access is allowed could not be found out: {0}")]
    Unavailable(String),
}
