//! A reader of TIFF directories that trusts what it reads, in one of three ways: each a bug that the fuzzer has to find.

/// What is wrong with the reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A place outside of the file is looked at.
    Panic,
    /// As much is allocated as the file says.
    Memory,
    /// A type of no size is stepped over, again and again.
    Loop,
}

/// Reads the first directory of a file and says what came of it. Only what is little-endian and not BigTIFF is read, and
/// those of the corpus are read without harm.
pub(crate) fn read(file: &[u8], bug: Bug) -> &'static str {
    if !file.starts_with(b"II*\0") {
        return "other";
    }
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let bytes = file.get(at..at.checked_add(bytes)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let Some(directory) = number(4, 4) else { return "no directory" };
    let count = if bug == Bug::Panic { Some(usize::from(file[directory])) } else { number(directory, 2) };
    let Some(count) = count else { return "outside" };
    for entry in 0..count.min(64) {
        let at = directory + 2 + 12 * entry;
        let (Some(kind), Some(values)) = (number(at + 2, 2), number(at + 4, 4)) else { return "cut" };
        if bug == Bug::Memory {
            std::hint::black_box(vec![0_u8; values]);
        }
        let (mut read, step) = (0, size(kind));
        while bug == Bug::Loop && read < values.min(1_000) * step.max(1) {
            read = std::hint::black_box(read + step);
        }
    }
    "read"
}

/// Bytes of a value of a type.
fn size(kind: usize) -> usize {
    match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 => 4,
        5 | 10 | 12 => 8,
        _ => 0,
    }
}
