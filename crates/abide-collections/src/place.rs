//! New files and groups that are there: who belongs where.

use abide_organize::{InputFile, builtin};
use std::collections::BTreeMap;

/// The group of each new file that clearly belongs to one, by its name; the others are left where they are. A group is a key
/// and its files.
#[must_use]
pub fn place<K: Ord + Clone>(groups: &BTreeMap<K, Vec<InputFile>>, new: &[InputFile]) -> BTreeMap<String, K> {
    let of: BTreeMap<&str, &K> = groups
        .iter()
        .flat_map(|(key, files)| files.iter().map(move |file| (file.name.as_str(), key)))
        .collect();
    let mut all: Vec<InputFile> = groups.values().flatten().cloned().collect();
    all.extend(new.iter().filter(|file| !of.contains_key(file.name.as_str())).cloned());
    let plan = builtin::organize(&all);
    let mut placed = BTreeMap::new();
    for file in new.iter().filter(|file| !of.contains_key(file.name.as_str())) {
        let together = plan.groups.iter().find(|group| group.files.contains(&file.name));
        let key = together
            .and_then(|group| majority(group.files.iter().filter_map(|name| of.get(name.as_str()).copied())))
            .or_else(|| by_name(groups, &file.name));
        if let Some(key) = key {
            placed.insert(file.name.clone(), key.clone());
        }
    }
    placed
}

/// The key that more than half are.
fn majority<'a, K: Ord>(keys: impl Iterator<Item = &'a K>) -> Option<&'a K> {
    let mut counts: BTreeMap<&K, usize> = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    let total: usize = counts.values().sum();
    counts.into_iter().find(|(_, count)| count * 2 > total).map(|(key, _)| key)
}

/// The one group most of whose files have names that begin as this one does, up to the first digit.
fn by_name<'a, K: Ord>(groups: &'a BTreeMap<K, Vec<InputFile>>, name: &str) -> Option<&'a K> {
    let start = beginning(name)?;
    let mut fitting = groups.iter().filter(|(_, files)| {
        let same = files.iter().filter(|file| beginning(&file.name) == Some(start)).count();
        same * 2 > files.len()
    });
    match (fitting.next(), fitting.next()) {
        (Some((key, _)), None) => Some(key),
        _ => None,
    }
}

/// A name up to its first digit, if it has one and three letters before it.
fn beginning(name: &str) -> Option<&str> {
    let start = &name[..name.find(|c: char| c.is_ascii_digit())?];
    (start.chars().filter(|c| c.is_alphabetic()).count() >= 3).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(who: &str, years: &[u32], about: &str) -> Vec<InputFile> {
        let text = |year: &u32| format!("{year}. {about}. {about}.");
        years.iter().map(|year| InputFile::text(format!("{who}_{year}.txt"), text(year))).collect()
    }

    #[test]
    fn a_new_file_joins_the_group_that_it_is_like() {
        let (seeds, ships) =
            ("The lupins and orchids of the nursery flower", "The steamer lies in dock with her cargo");
        let groups = BTreeMap::from([
            ("Gardens", letters("hartmann", &[1885, 1886, 1887], seeds)),
            ("Ships", letters("okafor", &[1885, 1886, 1887], ships)),
        ]);
        let mut new = letters("hartmann", &[1890], seeds);
        new.extend(letters("okafor", &[1891], "Nothing of note"));
        new.push(InputFile::text("menu.txt", "Soup, fish, pudding."));
        let placed = place(&groups, &new);
        let expected = BTreeMap::from([
            ("hartmann_1890.txt".to_owned(), "Gardens"),
            ("okafor_1891.txt".to_owned(), "Ships"),
        ]);
        assert_eq!(placed, expected);
    }
}
