//! Blocks of 8 × 8, and the order in which a scan goes through them.

use crate::pixels::Colour;

/// Pixels of the smallest part of a picture that has whole blocks of all components.
pub(super) fn unit(colour: Colour) -> usize {
    match colour {
        Colour::Gray => 8,
        Colour::Rgb => 16,
    }
}

/// Eight numbers that are computed with at once.
pub(super) type Lanes = [f32; 8];

/// The rows of a block as its columns.
#[inline]
pub(super) fn transposed(x: &[Lanes; 8]) -> [Lanes; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| x[column][row]))
}

/// Where the coefficients of a scan are in a block whose columns are together.
pub(super) const ORDER: [u8; 64] = order();

const fn order() -> [u8; 64] {
    let mut order = [0; 64];
    let (mut at, mut diagonal) = (0, 0);
    while diagonal < 15 {
        let mut step = 0;
        while step <= diagonal {
            // Diagonals are gone through up and down by turns.
            let down = if diagonal % 2 == 0 { diagonal - step } else { step };
            let across = diagonal - down;
            if down < 8 && across < 8 {
                order[at] = (across * 8 + down) as u8;
                at += 1;
            }
            step += 1;
        }
        diagonal += 1;
    }
    order
}
