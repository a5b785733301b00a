//! Codes for symbols, the shortest that JPEG allows among them.

/// The longest code.
const LONGEST: usize = 16;

/// A code for each symbol that may occur.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    /// How many codes have each length, from 1.
    pub(super) of_length: [u8; LONGEST],
    /// Symbols by the length of their code.
    pub(super) symbols: Vec<u8>,
    code: Box<[(u16, u8); 256]>,
}

impl Codes {
    /// The best codes for symbols that occur so often.
    pub(super) fn of(counts: &[u32; 256]) -> Codes {
        let mut present: Vec<(u8, u32)> =
            (0..=255_u8).zip(counts).filter(|(_, count)| **count > 0).map(|(s, count)| (s, *count)).collect();
        // The most frequent first, and among equals the smallest.
        present.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let of_length = lengths(&present);
        Codes::new(of_length, present.iter().map(|(symbol, _)| *symbol).collect())
    }

    /// The codes of such lengths, as a file names them.
    pub(super) fn new(of_length: [u8; LONGEST], symbols: Vec<u8>) -> Codes {
        let mut code = Box::new([(0, 0); 256]);
        let (mut next, mut rest) = (0_u32, symbols.iter());
        for (length, count) in (1_u8..).zip(of_length) {
            for symbol in rest.by_ref().take(usize::from(count)) {
                code[usize::from(*symbol)] = (next as u16, length);
                next += 1;
            }
            next <<= 1;
        }
        Codes { of_length, symbols, code }
    }

    /// The code of a symbol and its length.
    pub(super) fn get(&self, symbol: u8) -> (u16, u8) {
        self.code[usize::from(symbol)]
    }

    /// The bits that symbols take that occur so often.
    pub(super) fn bits(&self, counts: &[u32; 256]) -> u64 {
        counts.iter().zip(self.code.iter()).map(|(count, code)| u64::from(*count) * u64::from(code.1)).sum()
    }
}

/// How many codes have each length, for symbols from the most to the least frequent. The code of ones alone stays free.
fn lengths(present: &[(u8, u32)]) -> [u8; LONGEST] {
    // One more, rarer than all, takes the code of ones.
    let mut weights: Vec<u64> = present.iter().map(|(_, count)| u64::from(*count)).collect();
    weights.push(0);
    let depths = depths(&weights);
    let mut count = [0_u32; 64];
    for depth in depths {
        count[depth.clamp(1, 63)] += 1;
    }
    // Two of the longest become one of the length before, and a shorter one makes room for the other.
    for length in (LONGEST + 1..64).rev() {
        while count[length] > 0 {
            let shorter = (1..length - 1).rev().find(|shorter| count[*shorter] > 0).unwrap_or(1);
            count[length] -= 2;
            count[length - 1] += 1;
            count[shorter] -= 1;
            count[shorter + 1] += 2;
        }
    }
    // The longest of all is the one that was added.
    if let Some(longest) = count.iter_mut().rev().find(|count| **count > 0) {
        *longest -= 1;
    }
    std::array::from_fn(|at| count[at + 1] as u8)
}

/// How deep each leaf is in the tree of least cost. Weights fall.
fn depths(weights: &[u64]) -> Vec<usize> {
    let leaves = weights.len();
    if leaves == 1 {
        return vec![1];
    }
    // Leaves and joints both come in rising order, so the two lightest are always at the front of one of them.
    let mut parent = vec![0; 2 * leaves - 1];
    let mut joints: Vec<u64> = Vec::with_capacity(leaves - 1);
    let (mut leaf, mut joint) = (leaves, 0);
    for next in leaves..2 * leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            let take_leaf = leaf > 0 && (joint == joints.len() || weights[leaf - 1] <= joints[joint]);
            if take_leaf {
                leaf -= 1;
                weight += weights[leaf];
                parent[leaf] = next;
            } else {
                weight += joints[joint];
                parent[leaves + joint] = next;
                joint += 1;
            }
        }
        joints.push(weight);
    }
    let mut depth = vec![0; 2 * leaves - 1];
    for node in (0..2 * leaves - 2).rev() {
        depth[node] = depth[parent[node]] + 1;
    }
    depth.truncate(leaves);
    depth
}
