//! Tokens: how many a text takes, and who gives up how many when there are too many.
//!
//! One estimate is used for counting and for cutting, so what is emitted never exceeds what was allotted.

use serde::{Deserialize, Serialize};

/// UTF-16 code units per token, as models of this kind take them in the worst ordinary case.
const UNITS_PER_TOKEN: usize = 3;
/// What stands where a text was cut.
pub const CUT_MARK: &str = "\n... [truncated]";

/// How many tokens a text takes at most.
#[must_use]
pub fn tokens(text: &str) -> usize {
    units(text).div_ceil(UNITS_PER_TOKEN)
}

fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// What became of contents that were too long together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truncation {
    /// Whether anything had to go.
    pub applied: bool,
    /// Tokens of all contents before.
    pub total_original_tokens: usize,
    /// Tokens there was room for.
    pub target_tokens: usize,
    /// How many were too many.
    pub deficit: usize,
    /// Whether short contents were spared at the cost of long ones.
    pub protection_mode_used: bool,
    /// How many contents were spared.
    pub protected_files: usize,
    /// How many were cut.
    pub truncated_files: usize,
}

/// Who keeps how much: in the order given.
#[derive(Debug, Clone, PartialEq)]
pub struct Allotment {
    /// Tokens each may keep. Not rounded: their sum is the target.
    pub kept: Vec<f64>,
    /// What that came to.
    pub truncation: Truncation,
}

/// Shares a deficit among contents in proportion to their length, sparing those that are shorter than an equal share of the
/// deficit, unless those alone are over the target.
#[must_use]
pub fn allot(lengths: &[usize], target: usize) -> Allotment {
    let total: usize = lengths.iter().sum();
    let deficit = total.saturating_sub(target);
    let mut truncation = Truncation {
        applied: deficit > 0,
        total_original_tokens: total,
        target_tokens: target,
        deficit,
        protection_mode_used: false,
        protected_files: 0,
        truncated_files: 0,
    };
    if deficit == 0 {
        return Allotment { kept: lengths.iter().map(|length| *length as f64).collect(), truncation };
    }
    let share = deficit as f64 / lengths.len() as f64;
    let is_short = |length: usize| (length as f64) < share;
    let short: usize = lengths.iter().filter(|length| is_short(**length)).sum();
    let spares = short <= target;
    let taxed = if spares { total - short } else { total } as f64;
    let keeps = |length: usize| {
        if spares && is_short(length) {
            length as f64
        } else {
            (length as f64 - length as f64 / taxed * deficit as f64).max(0.0)
        }
    };
    let kept: Vec<f64> = lengths.iter().map(|length| keeps(*length)).collect();
    truncation.protection_mode_used = spares;
    truncation.protected_files =
        if spares { lengths.iter().filter(|length| is_short(**length)).count() } else { 0 };
    truncation.truncated_files = kept.iter().zip(lengths).filter(|(kept, was)| **kept < **was as f64).count();
    Allotment { kept, truncation }
}

/// A text within an allotment: whole, or its beginning and a mark, or nothing if not even the mark has room.
#[must_use]
pub fn cut(text: &str, kept: f64) -> String {
    let room = kept.max(0.0) as usize;
    if tokens(text) <= room {
        return text.to_owned();
    }
    let Some(units_left) = (room * UNITS_PER_TOKEN).checked_sub(units(CUT_MARK)) else {
        return String::new();
    };
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.len_utf16();
        taken > units_left
    });
    let beginning = end.map_or(text, |(at, _)| &text[..at]);
    format!("{beginning}{CUT_MARK}")
}
