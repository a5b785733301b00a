//! The id of a group's entity: the same for the same batch, directory and name, so that it is created once.

use abide_entities::EntityId;
use sha2::{Digest, Sha256};

/// The id of the group `name` of the directory `parent` in a batch. Names that differ in case alone are one group.
#[must_use]
pub fn group_id(batch_id: &str, parent: &EntityId, name: &str) -> EntityId {
    let mut hash = Sha256::new();
    for part in ["abide group", batch_id, parent.as_str(), &name.to_lowercase()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let (time, random) = (number(&digest[..6]), number(&digest[6..16]));
    EntityId::made(u64::try_from(time).unwrap_or_default(), random)
}

#[cfg(test)]
mod tests {
    use super::group_id;
    use abide_entities::EntityId;

    #[test]
    fn ids_are_valid_and_follow_from_batch_directory_and_name() {
        let parent = EntityId::parse("01J8ME3H6FZ3KQ5W1P2XY8K7E5").expect("an id");
        let other = EntityId::parse("01J8ME3H6FZ3KQ5W1P2XY8K7E6").expect("an id");
        let id = group_id("b", &parent, "Letters");
        assert_eq!(EntityId::parse(id.as_str()).as_ref(), Ok(&id));
        assert_eq!(group_id("b", &parent, "LETTERS"), id);
        assert_eq!(id.as_str(), "70VBKYPD49ZX84XADJCPEEFYF8");
        for different in [
            group_id("c", &parent, "Letters"),
            group_id("b", &other, "Letters"),
            group_id("b", &parent, "Letter"),
        ] {
            assert_ne!(different, id);
        }
    }
}
