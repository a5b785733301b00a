//! Ids of entities that follow from what they are for: whoever makes one twice makes one.

use abide_entities::EntityId;
use sha2::{Digest, Sha256};

/// The id that stands for no parent.
pub const ORIGIN: &str = "00000000000000000000000000";

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The id of the entity of a directory.
#[must_use]
pub fn of_directory(id_space: &str, path: &str) -> EntityId {
    derived(&["directory", id_space, path])
}

/// 26 characters of a hash of the parts, which are kept apart by their lengths.
fn derived(parts: &[&str]) -> EntityId {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let character = |nth: usize| {
        let (byte, bit) = (nth * 5 / 8, nth * 5 % 8);
        let two = u16::from_be_bytes([digest[byte], digest[byte + 1]]);
        CROCKFORD[usize::from(two >> (11 - bit) & 31)] as char
    };
    let text: String = (0..26).map(character).collect();
    EntityId::parse(&text).expect("26 characters of that alphabet are an id")
}
