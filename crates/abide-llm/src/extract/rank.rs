//! Ranking: a sentence matters if it shares words with sentences that matter.

use super::sentences::Sentence;
use std::collections::BTreeSet;

const DAMPING: f64 = 0.85;
const ROUNDS: usize = 30;

/// The places of `sentences`, the best first.
pub(super) fn order(sentences: &[Sentence], title: &BTreeSet<String>) -> Vec<usize> {
    let scores = scores(sentences);
    let weighed = |at: usize| {
        let first = if at == 0 { 1.3 } else { 1.0 / (1.0 + at as f64 / 60.0) };
        let shared = sentences[at].stems.intersection(title).count() as f64;
        let about = if title.is_empty() { 0.0 } else { shared / title.len() as f64 };
        scores[at] * first * (1.0 + about)
    };
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    order.sort_by(|a, b| weighed(*b).total_cmp(&weighed(*a)).then(a.cmp(b)));
    order
}

/// How much of the smaller set is in the other.
pub(super) fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { a.intersection(b).count() as f64 / smaller as f64 }
}

/// The stationary weights of a walk from sentence to sentence along shared words.
fn scores(sentences: &[Sentence]) -> Vec<f64> {
    let count = sentences.len();
    let mut weights = vec![vec![0.0; count]; count];
    for a in 0..count {
        for b in a + 1..count {
            let shared = sentences[a].stems.intersection(&sentences[b].stems).count() as f64;
            let size = (sentences[a].stems.len() as f64).ln() + (sentences[b].stems.len() as f64).ln();
            let weight = if size > 0.0 { shared / size } else { 0.0 };
            weights[a][b] = weight;
            weights[b][a] = weight;
        }
    }
    let sums: Vec<f64> = weights.iter().map(|row| row.iter().sum()).collect();
    let mut scores = vec![1.0; count];
    for _ in 0..ROUNDS {
        scores = (0..count)
            .map(|at| {
                let into: f64 = (0..count)
                    .filter(|from| sums[*from] > 0.0)
                    .map(|from| weights[from][at] / sums[from] * scores[from])
                    .sum();
                1.0 - DAMPING + DAMPING * into
            })
            .collect();
    }
    scores
}
