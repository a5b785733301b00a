//! What a model is shown of a directory: every name, and as much of every text as there is room for.

use abide_llm::budget::{allot, cut, tokens};
use abide_llm::fence::fence;

/// Tokens of what stands around a text, and of the line that counts what is not shown. A fence lengthens nothing within it.
const AROUND: usize = 14;

/// Named texts within what `budget` tokens leave beside `system`. Parts for which there is no room at all are counted, not shown.
pub(crate) fn shown(system: &str, directory: &str, parts: Vec<(String, String)>, budget: usize) -> String {
    let title = fence("directory", directory);
    let mut room = budget.saturating_sub(tokens(system) + tokens(&title) + AROUND);
    let mut taken = Vec::new();
    let mut left_out = 0_usize;
    for (name, text) in parts {
        let needed = tokens(&fence("name", &name)) + AROUND;
        match room.checked_sub(needed) {
            Some(rest) => {
                room = rest;
                taken.push((name, text));
            }
            None => left_out += 1,
        }
    }
    let lengths: Vec<usize> = taken.iter().map(|(_, text)| tokens(text)).collect();
    let allotted = allot(&lengths, room);
    let mut user = title;
    for ((name, text), kept) in taken.iter().zip(allotted.kept) {
        user.push('\n');
        user.push_str(&fence("name", name));
        user.push('\n');
        user.push_str(&fence("content", &cut(text, kept)));
    }
    if left_out > 0 {
        user.push_str(&format!("\n({left_out} more are not shown)"));
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown_over_the_budget() {
        let parts = |count: usize, chars: usize| -> Vec<(String, String)> {
            (0..count).map(|n| (format!("letter {n}.txt"), "ä<b ".repeat(chars / 4))).collect()
        };
        for budget in [60, 100, 500, 5_000] {
            for (count, chars) in [(0, 0), (1, 100_000), (300, 40), (20, 3_000)] {
                let user = shown("short", "box", parts(count, chars), budget);
                assert!(
                    tokens("short") + tokens(&user) <= budget,
                    "{budget} {count} {chars}: {}",
                    tokens(&user)
                );
            }
        }
        let user = shown("s", "box", parts(3, 30), 5_000);
        assert!(user.contains("letter 2.txt") && user.ends_with("</content>"), "{user}");
    }
}
