//! Files of the corpus, changed by a seeded draw.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Longer files only take longer.
const LONGEST: usize = 16 << 10;
/// Numbers at which sizes and signs turn over.
const EDGES: [u64; 12] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x1_0000_0000, u64::MAX];

/// The files to begin with, in the order of their names.
pub(crate) struct Corpus {
    files: Vec<Vec<u8>>,
    words: &'static [&'static str],
}

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn from<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

impl Corpus {
    pub(crate) fn read(dir: &Path, words: &'static [&'static str]) -> anyhow::Result<Corpus> {
        let entries = fs::read_dir(dir).with_context(|| format!("no corpus at {}", dir.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        paths.sort();
        let files = paths.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
        anyhow::ensure!(!files.is_empty(), "the corpus at {} is empty", dir.display());
        Ok(Corpus { files, words })
    }

    /// The input of a run: the same one whenever seed, run and corpus are the same.
    pub(crate) fn mutated(&self, seed: u64, run: u64) -> Vec<u8> {
        let mut draws = Draws(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ run.rotate_left(32));
        let mut file = draws.from(&self.files).clone();
        let changes = 1 << draws.below(5);
        for _ in 0..changes {
            self.change(&mut file, &mut draws);
            file.truncate(LONGEST);
            if file.is_empty() {
                break;
            }
        }
        file
    }

    fn change(&self, file: &mut Vec<u8>, draws: &mut Draws) {
        let at = draws.below(file.len());
        let to = (at + 1 + draws.below(64)).min(file.len());
        match draws.below(9) {
            0 => file[at] = draws.next() as u8,
            1 => file[at] ^= 1 << draws.below(8),
            2 => {
                let edge = draws.from(&EDGES).to_le_bytes();
                let width = *draws.from(&[1, 2, 4, 8]);
                let big = draws.below(2) == 0;
                for (byte, place) in file[at..].iter_mut().take(width).zip(0..) {
                    *byte = if big { edge[width - 1 - place] } else { edge[place] };
                }
            }
            3 => drop(file.drain(at..to)),
            4 => {
                let piece = file[at..to].to_vec();
                let times = 1 + draws.below(40);
                file.splice(at..at, piece.repeat(times));
            }
            5 => {
                let other = draws.from(&self.files);
                let from = draws.below(other.len());
                let piece = other[from..].iter().take(1 + draws.below(256)).copied();
                file.splice(at..to, piece.collect::<Vec<u8>>());
            }
            6 if draws.below(8) == 0 => file.truncate(at),
            7 if file[at..to].iter().any(u8::is_ascii_digit) => {
                let digits = file[at..to].iter_mut().filter(|byte| byte.is_ascii_digit());
                digits.for_each(|digit| *digit = b'0' + draws.below(10) as u8);
            }
            8 if !self.words.is_empty() => {
                let word = draws.from(self.words).bytes();
                file.splice(at..at, word.collect::<Vec<u8>>());
            }
            _ => file[at] = file[at].wrapping_add(*draws.from(&[1, 255, 16, 240])),
        }
    }
}
