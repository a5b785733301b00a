//! Keys of bounded length for texts of any length.

use sha2::{Digest, Sha256};

/// The key of a text.
pub(crate) fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
