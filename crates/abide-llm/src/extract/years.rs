//! Years that texts name.

/// Years that papers may be from.
const POSSIBLE: std::ops::RangeInclusive<u32> = 1_400..=2_100;

/// Years in a text: four digits that stand alone.
pub fn in_text(text: &str) -> impl Iterator<Item = u32> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|word| word.parse().ok())
        .filter(|year| POSSIBLE.contains(year))
}
