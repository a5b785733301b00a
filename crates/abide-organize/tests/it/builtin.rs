//! The organizer without a model, held against what a person would say.

use crate::collections::{Labelled, all};
use abide_organize::builtin::{Known, SAYS, organize, organize_beside, organize_part, strategize};
use abide_organize::contract::ExistingGroup;
use abide_organize::{InputFile, Plan};
use std::collections::{BTreeMap, BTreeSet};

fn plan(collection: &Labelled) -> Plan {
    let files: Vec<InputFile> = collection.files.iter().map(|(file, _)| file.clone()).collect();
    organize(&files)
}

/// The adjusted Rand index of two ways to part the same things.
fn adjusted_rand(one: &[String], other: &[String]) -> f64 {
    let pairs = |count: usize| (count * count.saturating_sub(1)) as f64 / 2.0;
    let mut both: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut ones, mut others): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    for (a, b) in one.iter().zip(other) {
        *both.entry((a, b)).or_default() += 1;
        *ones.entry(a).or_default() += 1;
        *others.entry(b).or_default() += 1;
    }
    let sum = |counts: Vec<usize>| counts.into_iter().map(pairs).sum::<f64>();
    let together = sum(both.into_values().collect());
    let (a, b) = (sum(ones.into_values().collect()), sum(others.into_values().collect()));
    let expected = a * b / pairs(one.len());
    let most = (a + b) / 2.0;
    if (most - expected).abs() < 1e-12 { 1.0 } else { (together - expected) / (most - expected) }
}

fn index(collection: &Labelled, plan: &Plan) -> f64 {
    let alone = |name: &str| format!("alone: {name}");
    let wanted: Vec<String> = collection
        .files
        .iter()
        .map(|(file, label)| label.map_or_else(|| alone(&file.name), str::to_owned))
        .collect();
    let got: Vec<String> = collection
        .files
        .iter()
        .map(|(file, _)| {
            let group = plan.groups.iter().find(|group| group.files.contains(&file.name));
            group.map_or_else(|| alone(&file.name), |group| group.group_name.clone())
        })
        .collect();
    adjusted_rand(&wanted, &got)
}

#[test]
fn the_index_tells_good_from_bad() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    assert!((adjusted_rand(&words("a a b b"), &words("x x y y")) - 1.0).abs() < 1e-9);
    assert!(adjusted_rand(&words("a a b b"), &words("x y x y")) < 0.0);
    assert!(adjusted_rand(&words("a a b b"), &words("x x x x")).abs() < 1e-9);
}

#[test]
fn collections_are_sorted_about_as_a_person_would() {
    let indexes: Vec<(&str, f64)> = all().iter().map(|one| (one.name, index(one, &plan(one)))).collect();
    assert!(indexes.iter().all(|(_, index)| *index >= 0.5), "{indexes:?}");
    assert!(indexes.iter().filter(|(_, index)| *index >= 0.8).count() >= 5, "{indexes:?}");
}

#[test]
fn plans_hold_whatever_there_is() {
    for collection in all() {
        let plan = plan(&collection);
        let names: BTreeSet<&str> = collection.files.iter().map(|(file, _)| file.name.as_str()).collect();
        let grouped: Vec<&str> =
            plan.groups.iter().flat_map(|group| group.files.iter().map(String::as_str)).collect();
        let placed: BTreeSet<&str> =
            grouped.iter().copied().chain(plan.ungrouped_files.iter().map(String::as_str)).collect();
        assert_eq!(placed, names, "{}", collection.name);
        assert_eq!(grouped.len() + plan.ungrouped_files.len(), names.len(), "{}: each once", collection.name);
        assert!(plan.groups.len() != 1, "{}: one group is no order", collection.name);
        assert!(plan.reorganization_description.starts_with(SAYS));
    }
}

#[test]
fn nothing_is_grouped_in_the_noise() {
    let noise = all().pop().unwrap();
    assert_eq!((noise.name, plan(&noise).groups), ("noise", Vec::new()));
}

/// Texts of words that are drawn from one vocabulary: some pairs share several, and mean nothing by it.
#[test]
fn nothing_is_grouped_that_chance_made_alike() {
    let mut drawn = 7_u64;
    let mut below = |bound: u64| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % bound
    };
    for (files, words, vocabulary) in
        [(25, 30, 900), (25, 15, 900), (12, 40, 500), (40, 60, 3_000), (25, 30, 200)]
    {
        for round in 0..4 {
            let mut letters = |length: u64| -> String {
                (0..length).map(|_| char::from(b'a' + u8::try_from(below(26)).unwrap())).collect()
            };
            let all: Vec<String> = (0..vocabulary).map(|_| letters(7)).collect();
            let noise: Vec<InputFile> = (0..files)
                .map(|file| {
                    let text: Vec<&str> =
                        (0..words).map(|_| all[below(vocabulary) as usize].as_str()).collect();
                    InputFile::text(format!("{}.txt", all[file]), text.join(" "))
                })
                .collect();
            assert_eq!(organize(&noise).groups, [], "{files} of {words} of {vocabulary}, {round}");
        }
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    for collection in all() {
        let mut files: Vec<InputFile> = collection.files.iter().map(|(file, _)| file.clone()).collect();
        let sets = |plan: Plan| -> BTreeMap<String, BTreeSet<String>> {
            let groups = plan.groups.into_iter();
            groups.map(|group| (group.group_name, group.files.into_iter().collect())).collect()
        };
        let first = sets(organize(&files));
        files.reverse();
        assert_eq!(sets(organize(&files)), first, "{}", collection.name);
    }
}

#[test]
fn every_stated_fact_occurs_in_the_files() {
    for collection in all() {
        for group in plan(&collection).groups {
            let texts: Vec<String> = collection
                .files
                .iter()
                .filter(|(file, _)| group.files.contains(&file.name))
                .map(|(file, _)| format!("{} {}", file.name, file.content))
                .collect();
            let text = texts.join("\n");
            let (count, facts) = group.description.split_once(" files").unwrap();
            assert_eq!(count.parse::<usize>().unwrap(), group.files.len(), "{}", group.description);
            for fact in facts
                .replace("Names:", "")
                .replace("Words:", "")
                .split([',', '.', ' '])
                .filter(|fact| !fact.is_empty() && *fact != "to")
            {
                assert!(text.contains(fact), "{}: {fact:?} of {:?}", collection.name, group.description);
            }
        }
    }
}

#[test]
fn few_files_and_odd_ones_are_left_alone() {
    let none = organize(&[]);
    assert_eq!(none.groups, []);
    assert!(none.reorganization_description.ends_with("fewer than 3 files are left as they are."));
    let odd =
        [InputFile::text("", ""), InputFile::text(".jpg", "\0"), InputFile::text("ß", "ß".repeat(50_000))];
    let plan = organize(&odd);
    assert_eq!((plan.groups.len(), plan.ungrouped_files.len()), (0, 3));
}

#[test]
fn parts_of_a_directory_go_by_the_principle_of_the_whole() {
    let pages: Vec<InputFile> = (1..=8)
        .flat_map(|n| ["Ledger", "Diary"].map(|book| InputFile::text(format!("{book} p{n:02}.txt"), "")))
        .collect();
    let strategy = strategize(&pages);
    assert!(strategy.should_coordinate, "{strategy:?}");
    assert!(strategy.reasoning.starts_with(SAYS));
    // By itself a part with one series is one group of nearly everything, which is never made.
    let part: Vec<InputFile> = pages.iter().filter(|file| file.name.starts_with("Diary")).cloned().collect();
    assert_eq!(organize(&part).groups.len(), 0);
    let sorted = organize_part(&part, &strategy.guidance);
    assert_eq!(sorted.groups.iter().map(|group| group.group_name.as_str()).collect::<Vec<_>>(), ["Diary"]);
    assert_eq!(organize_part(&part, "as somebody else would").groups.len(), 0);
    let noise: Vec<InputFile> = ["apple", "quartz", "seven"]
        .iter()
        .map(|word| InputFile::text(format!("{word}.txt"), *word))
        .collect();
    assert!(!strategize(&noise).should_coordinate);
}

/// Subjects that show in the names of files are the same in every part, also in one that has but one of them.
#[test]
fn parts_of_a_directory_go_by_names_where_subjects_show_in_them() {
    let kinds = [
        ("minutes", "The committee met, heard the treasurer and resolved to mend the roof."),
        ("sermon", "Brethren, the harvest of mercy and the vineyard of grace await the faithful."),
        ("recipe", "Take flour, butter and eggs, stir in sugar, and bake in a slow oven."),
    ];
    let papers: Vec<InputFile> = kinds
        .iter()
        .flat_map(|(kind, text)| {
            (1901..=1920).map(move |year| InputFile::text(format!("{kind}-{year}.txt"), *text))
        })
        .collect();
    let sample: Vec<InputFile> = papers.iter().step_by(2).cloned().collect();
    let strategy = strategize(&sample);
    assert!(strategy.should_coordinate, "{strategy:?}");
    let mut found = Vec::new();
    for part in papers.chunks(25) {
        let sorted = organize_part(part, &strategy.guidance);
        assert_eq!(sorted.ungrouped_files, [""; 0], "{sorted:?}");
        found.extend(sorted.groups.into_iter().map(|group| (group.group_name, group.files.len())));
    }
    let found: Vec<(&str, usize)> = found.iter().map(|(name, files)| (name.as_str(), *files)).collect();
    assert_eq!(found, [("Minutes", 20), ("Sermon", 5), ("Recipe", 10), ("Sermon", 15), ("Recipe", 10)]);
}

#[test]
fn pages_of_one_book_stay_together() {
    let about = |n: usize| {
        if n.is_multiple_of(2) { "bees and clover in April" } else { "frost, forty degrees, April" }
    };
    let diary: Vec<InputFile> =
        (1..=8).map(|n| InputFile::text(format!("diary_page_{n:02}.txt"), about(n))).collect();
    assert_eq!(organize(&diary).groups, []);
    // Letters that are merely counted are told apart.
    let letters: Vec<InputFile> =
        (1..=8).map(|n| InputFile::text(format!("letter_{n:02}.txt"), about(n))).collect();
    assert_eq!(organize(&letters).groups.len(), 2);
}

#[test]
fn groups_are_called_what_their_files_are_called() {
    let writers = [("hartmann", "the mill and the turbine"), ("okafor", "the harbour and the palm oil")];
    let letters: Vec<InputFile> = writers
        .iter()
        .flat_map(|(who, about)| {
            (1..=4).map(move |n| {
                InputFile::text(format!("{who}_188{n}-0{n}-12.txt"), format!("Dear Ada, {about}."))
            })
        })
        .collect();
    let names: Vec<String> = organize(&letters).groups.into_iter().map(|group| group.group_name).collect();
    assert_eq!(names, ["Hartmann", "Okafor"]);
}

#[test]
fn new_files_join_the_groups_that_are_there() {
    let page = |book: &str, n: u32| InputFile::text(format!("{book} p{n:02}.txt"), "");
    let known = |book: &str| Known {
        group: ExistingGroup {
            group_name: format!("My {book}"),
            pi: "01J8ME3H6FZ3KQ5W1P2XY8K7E5".to_owned().try_into().unwrap(),
            description: format!("pages of the {book}"),
        },
        files: (1..=5).map(|n| page(book, n)).collect(),
    };
    let new = [page("Ledger", 6), page("Diary", 6), page("Diary", 7), InputFile::text("cat.txt", "a cat")];
    let plan = organize_beside(&new, &[known("Ledger"), known("Diary")]);
    let groups: Vec<(&str, usize)> =
        plan.groups.iter().map(|group| (group.group_name.as_str(), group.files.len())).collect();
    assert_eq!(groups, [("My Diary", 2), ("My Ledger", 1)]);
    assert_eq!(plan.ungrouped_files, ["cat.txt"]);
    assert_eq!(plan.groups[0].description, "pages of the Diary");
}
