//! Subjects: units whose words are alike.
//!
//! Words weigh the more the fewer units have them; units are joined from the most alike on, as long as they are alike
//! enough on average. How alike that is, is chosen so that the groups stand out most clearly.

use super::chance::is_chance;
use super::describe::titles;
use super::units::Unit;
use std::collections::BTreeMap;

/// From here on groups stand out by themselves.
pub(super) const CLEAR: f64 = 0.45;
/// From here on they are worth being groups when nothing else is.
const FAINT: f64 = 0.3;
/// Likenesses at which joining may stop.
const LEVELS: [f64; 9] = [0.5, 0.4, 0.3, 0.25, 0.2, 0.17, 0.14, 0.11, 0.09];
/// A word that more than this share of the units have says nothing here.
const COMMON: f64 = 0.6;
/// More units than this are not compared each with each.
const UNITS: usize = 1_500;

/// Groups that were found.
pub(super) struct Found {
    pub(super) groups: Vec<Vec<usize>>,
    /// How clearly they stand out, from 0 to 1.
    pub(super) clearness: f64,
}

/// The clearest groups of units, if any stand out.
pub(super) fn clusters(units: &[Unit<'_>]) -> Option<Found> {
    if units.len() < 4 || units.len() > UNITS {
        return None;
    }
    let alike = likeness(units);
    let mut joined = Joining::new(&alike);
    let mut best: Option<Found> = None;
    for level in LEVELS {
        joined.join_to(level);
        let groups = joined.groups();
        let clearness = clearness(&groups, &alike, units.len());
        if groups.len() >= 2 && best.as_ref().is_none_or(|best| clearness > best.clearness) {
            best = Some(Found { groups, clearness });
        }
    }
    let mut found = best.filter(|found| found.clearness >= FAINT)?;
    if is_chance(units, COMMON) {
        // Somebody who named files by what they are about did not do it by chance.
        found.groups.retain(|group| {
            let members: Vec<&Unit<'_>> = group.iter().map(|index| &units[*index]).collect();
            !titles(&members, units).is_empty()
        });
    }
    Some(found).filter(|found| found.groups.len() > 1)
}

/// How alike each two units are: the cosine of their weighted words.
fn likeness(units: &[Unit<'_>]) -> Vec<Vec<f64>> {
    let mut having: BTreeMap<&str, usize> = BTreeMap::new();
    for word in units.iter().flat_map(|unit| unit.words.keys()) {
        *having.entry(word).or_default() += 1;
    }
    let all = units.len() as f64;
    let weigh = |unit: &Unit<'_>| -> Vec<(String, f64)> {
        let words = unit.words.iter().filter_map(|(word, count)| {
            let having = having[word.as_str()] as f64;
            let says = having > 1.0 && having <= COMMON * all;
            says.then(|| (word.clone(), (1.0 + (*count as f64).ln()) * (all / having).ln()))
        });
        let words: Vec<(String, f64)> = words.collect();
        let length = words.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        words.into_iter().map(|(word, weight)| (word, weight / length)).collect()
    };
    let vectors: Vec<Vec<(String, f64)>> = units.iter().map(weigh).collect();
    let row = |one: &Vec<(String, f64)>| vectors.iter().map(|other| cosine(one, other)).collect();
    vectors.iter().map(row).collect()
}

/// Both in order of their words.
fn cosine(one: &[(String, f64)], other: &[(String, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some((left, a)), Some((right, b))) = (one.get(i), other.get(j)) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a * b;
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

/// Units joined so far, with how alike groups are on average.
struct Joining {
    members: Vec<Vec<usize>>,
    alike: Vec<Vec<f64>>,
}

impl Joining {
    fn new(alike: &[Vec<f64>]) -> Joining {
        Joining { members: (0..alike.len()).map(|unit| vec![unit]).collect(), alike: alike.to_vec() }
    }

    fn join_to(&mut self, level: f64) {
        while let Some((one, other)) = self.most_alike(level) {
            let (size, other_size) = (self.members[one].len() as f64, self.members[other].len() as f64);
            for index in 0..self.members.len() {
                let average = (self.alike[one][index] * size + self.alike[other][index] * other_size)
                    / (size + other_size);
                self.alike[one][index] = average;
                self.alike[index][one] = average;
            }
            let joined = std::mem::take(&mut self.members[other]);
            self.members[one].extend(joined);
        }
    }

    /// The first of the most alike pairs that are at least that alike.
    fn most_alike(&self, level: f64) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize, f64)> = None;
        for one in (0..self.members.len()).filter(|one| !self.members[*one].is_empty()) {
            for other in (one + 1..self.members.len()).filter(|other| !self.members[*other].is_empty()) {
                let alike = self.alike[one][other];
                if alike >= level && best.is_none_or(|(_, _, most)| alike > most) {
                    best = Some((one, other, alike));
                }
            }
        }
        best.map(|(one, other, _)| (one, other))
    }

    /// Groups of at least two units, by their first.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> =
            self.members.iter().filter(|members| members.len() > 1).cloned().collect();
        for group in &mut groups {
            group.sort_unstable();
        }
        groups.sort();
        groups
    }
}

/// How much more alike units are to their own group than to the nearest other, times the share of units that are grouped.
fn clearness(groups: &[Vec<usize>], alike: &[Vec<f64>], units: usize) -> f64 {
    let mean = |unit: usize, group: &[usize]| {
        let others: Vec<f64> =
            group.iter().filter(|other| **other != unit).map(|other| alike[unit][*other]).collect();
        others.iter().sum::<f64>() / others.len().max(1) as f64
    };
    let mut sum = 0.0;
    for (own, group) in groups.iter().enumerate() {
        for unit in group {
            let near = mean(*unit, group);
            let others = groups.iter().enumerate().filter(|(index, _)| *index != own);
            let far = others.map(|(_, group)| mean(*unit, group)).fold(0.0, f64::max);
            sum += if near > 0.0 { (near - far) / near.max(far) } else { 0.0 };
        }
    }
    let grouped: usize = groups.iter().map(Vec::len).sum();
    let largest = groups.iter().map(Vec::len).max().unwrap_or(0);
    if grouped == 0 || largest * 10 > units * 9 {
        return 0.0;
    }
    sum / grouped as f64 * (grouped as f64 / units as f64).sqrt()
}
