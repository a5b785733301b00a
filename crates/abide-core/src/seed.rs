//! Seeded pseudo-randomness: the same seed gives the same numbers, everywhere.

use siphasher::sip::SipHasher24;
use std::hash::Hasher as _;

/// A small generator (SplitMix64). Whoever sees its numbers can tell the next ones: what must not be guessed comes from a
/// [`Secret`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// A generator that starts at `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Seed {
        Seed(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64 }
    }

    /// 128 bits as 32 hexadecimal digits.
    pub fn hex128(&mut self) -> String {
        format!("{:016x}{:016x}", self.next_u64(), self.next_u64())
    }

    /// A random UUID (version 4) in its usual form.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.next_u64(), self.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// A generator for one part of the work, independent of the others.
    #[must_use]
    pub fn fork(&mut self) -> Seed {
        Seed(self.next_u64())
    }
}

/// Mixes two numbers into one: a token for a job out of a claim's seed, say.
#[must_use]
pub fn mix(a: u64, b: u64) -> u64 {
    Seed::new(a ^ b.rotate_left(32)).next_u64()
}

/// A key from which numbers are drawn that tell nothing about each other or the key.
#[derive(Clone)]
pub struct Secret {
    key: [u8; 16],
    drawn: u64,
}

impl Secret {
    /// A secret with this key.
    #[must_use]
    pub const fn new(key: [u8; 16]) -> Secret {
        Secret { key, drawn: 0 }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.drawn += 1;
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write_u64(self.drawn);
        hasher.finish()
    }
}

impl From<u64> for Secret {
    /// A secret for tests and simulations, the same for the same seed.
    fn from(seed: u64) -> Secret {
        let mut seed = Seed::new(seed);
        let mut key = [0; 16];
        key[..8].copy_from_slice(&seed.next_u64().to_le_bytes());
        key[8..].copy_from_slice(&seed.next_u64().to_le_bytes());
        Secret::new(key)
    }
}

/// A number for one `purpose` out of `seed` that tells nothing about the seed or about other purposes.
#[must_use]
pub fn one_way(seed: u64, purpose: u64) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(seed, !seed);
    hasher.write_u64(purpose);
    hasher.finish()
}
