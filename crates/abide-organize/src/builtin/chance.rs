//! Whether units are more alike than chance makes them.
//!
//! Texts share words whatever they are about, and in a pile of them some pairs share several. So words are dealt out anew, again
//! and again, each to as many units as have it and to each unit as many as it has: units that are about something are more alike
//! than that.

use super::units::Unit;
use std::collections::BTreeMap;

/// How often words are dealt out.
const DEALS: usize = 24;
/// How often two units trade words for a deal, for each unit.
const TRADES: usize = 5;
/// More units than this are not looked at.
const UNITS: usize = 150;
/// Units are more alike than in deals by so many times what deals differ by,
const BEYOND: f64 = 4.0;
/// or so many times as alike: a few units come out as they are in some deal.
const TIMES: f64 = 1.4;

/// Whether units are no more alike than they would be by chance. Where every deal comes out the same, nothing can be said.
pub(super) fn is_chance(units: &[Unit<'_>], common: f64) -> bool {
    let mut dealt = Words::of(units, common);
    let found = dealt.alike();
    let mut dice = Dice(0);
    let deals: Vec<f64> = (0..DEALS)
        .map(|_| {
            dealt.deal(&mut dice);
            dealt.alike()
        })
        .collect();
    let mean = deals.iter().sum::<f64>() / DEALS as f64;
    let variance = deals.iter().map(|deal| (deal - mean).powi(2)).sum::<f64>() / (DEALS - 1) as f64;
    variance > f64::EPSILON && found < (mean + BEYOND * variance.sqrt()).min(mean * TIMES)
}

/// Words of units, by number.
struct Words {
    units: Vec<Vec<usize>>,
    weights: Vec<f64>,
}

impl Words {
    /// Words that say something here: at least two units have them, and not most.
    fn of(units: &[Unit<'_>], common: f64) -> Words {
        let some = units.iter().step_by(units.len().div_ceil(UNITS).max(1));
        let mut having: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut all = 0;
        for (at, unit) in some.enumerate() {
            all += 1;
            unit.words.keys().for_each(|word| having.entry(word).or_default().push(at));
        }
        let (mut units, mut weights) = (vec![Vec::new(); all], Vec::new());
        for having in having.into_values() {
            let share = having.len() as f64 / all as f64;
            if having.len() > 1 && share <= common {
                having.iter().for_each(|at| units[*at].push(weights.len()));
                weights.push((1.0 / share).ln());
            }
        }
        Words { units, weights }
    }

    /// How alike units are: the sum of the squares of how alike two of them are.
    fn alike(&self) -> f64 {
        let square = |word: &usize| self.weights[*word].powi(2);
        let lengths: Vec<f64> =
            self.units.iter().map(|words| words.iter().map(square).sum::<f64>().sqrt()).collect();
        let mut having: Vec<Vec<usize>> = vec![Vec::new(); self.weights.len()];
        for (at, words) in self.units.iter().enumerate() {
            words.iter().for_each(|word| having[*word].push(at));
        }
        let mut sum = 0.0;
        let mut shared = vec![0.0; self.units.len()];
        for (one, words) in self.units.iter().enumerate() {
            for word in words {
                having[*word]
                    .iter()
                    .filter(|other| **other > one)
                    .for_each(|other| shared[*other] += square(word));
            }
            for (other, shared) in shared.iter_mut().enumerate().filter(|(_, shared)| **shared > 0.0) {
                sum += (std::mem::take(shared) / (lengths[one] * lengths[other])).powi(2);
            }
        }
        sum
    }

    /// Deals words out anew: units trade those that only one of them has.
    fn deal(&mut self, dice: &mut Dice) {
        let mut is_mine = vec![false; self.weights.len()];
        for _ in 0..TRADES * self.units.len() {
            let (one, other) = (dice.below(self.units.len()), dice.below(self.units.len()));
            if one == other {
                continue;
            }
            let (mine, yours) =
                (std::mem::take(&mut self.units[one]), std::mem::take(&mut self.units[other]));
            mine.iter().for_each(|word| is_mine[*word] = true);
            let (both, theirs): (Vec<usize>, Vec<usize>) = yours.into_iter().partition(|word| is_mine[*word]);
            both.iter().for_each(|word| is_mine[*word] = false);
            let mut traded: Vec<usize> = mine.iter().copied().filter(|word| is_mine[*word]).collect();
            mine.iter().for_each(|word| is_mine[*word] = false);
            let count = traded.len();
            traded.extend(theirs);
            for at in (1..traded.len()).rev() {
                traded.swap(at, dice.below(at + 1));
            }
            let rest = traded.split_off(count);
            self.units[one] = both.iter().copied().chain(traded).collect();
            self.units[other] = both.into_iter().chain(rest).collect();
        }
    }
}

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}
