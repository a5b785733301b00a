//! Answers of models, from good to wrong: nothing is lost, nothing foreign gets in, nothing is guessed.

use abide_organize::check::{Answer, AnswerGroup, Checked, Fault, check};
use abide_organize::names::{Matcher, safe};
use std::collections::BTreeSet;

fn originals() -> Vec<String> {
    (2001..2006).map(|n| format!("1895_1-14-Jan {n}-Martin copy.jpg.ref.json")).collect()
}

fn meant(originals: &[String], written: &str) -> Option<String> {
    let names = originals.iter().map(String::as_str);
    Matcher::new(names, [written]).meant(written).map(str::to_owned)
}

#[test]
fn names_that_are_nearly_right_are_matched() {
    let originals = originals();
    let cases = [
        "1895_1-14-Jan 2001-Martin copy.jpg.ref.json",
        "1895_1-14-Jan 2001-Martin copy.jpg",
        "1895_1-14-Jan 2001-Martin copy",
        "1895_1-14-JAN 2001-MARTIN COPY.JPG.REF.JSON",
        "1895_1-14-Jan  2001-Martin  copy.jpg",
        "  1895_1-14-Jan 2001-Martin copy.jpg ",
        "1895_1-14-Jan 2001-Martin",
        "martin jan 2001 1895 copy 1-14",
    ];
    for written in cases {
        assert_eq!(meant(&originals, written).as_ref(), Some(&originals[0]), "{written}");
    }
}

#[test]
fn what_could_be_another_file_is_not_guessed() {
    let originals = originals();
    for written in
        ["1895", "completely_different_file.txt", "1895_1-14-Jan 2099-Martin copy.jpg.ref.json", ""]
    {
        assert_eq!(meant(&originals, written), None, "{written}");
    }
    let pages = ["page-010.jpg".to_owned()];
    assert_eq!(meant(&pages, "page-01"), None);
    assert_eq!(meant(&pages, "page-10"), None, "another form of the number, but not by any rule");
    let both = ["photo.tiff".to_owned(), "photo.jpg.ref.json".to_owned()];
    assert_eq!(meant(&both, "photo"), None);
    assert_eq!(meant(&both, "photo.tiff").as_ref(), Some(&both[0]));
}

#[test]
fn a_file_is_meant_by_one_name() {
    let files = ["letter one.txt", "letter two.txt"];
    let written = ["letter one.txt", "letter One.txt", "Letter two.txt", "letter Two.txt"];
    let matcher = Matcher::new(files, written);
    assert_eq!(matcher.meant("letter one.txt"), Some("letter one.txt"));
    assert_eq!(matcher.meant("letter One.txt"), None, "its file was named exactly");
    assert_eq!(matcher.meant("Letter two.txt"), None, "two names for one file");
}

#[test]
fn names_are_made_safe() {
    let cases = [
        ("Letters 1895", Some("Letters 1895")),
        ("a/b\\c:d*e?f\"g<h>i|j", Some("a-b-c-d-e-f-g-h-i-j")),
        ("  two  spaces ", Some("two spaces")),
        ("../..", None),
        ("...", None),
        ("///", None),
        ("", None),
        ("line\nbreak", Some("linebreak")),
        (".hidden", Some("hidden")),
    ];
    for (name, expected) in cases {
        assert_eq!(safe(name).as_deref(), expected, "{name:?}");
    }
    assert!(safe(&"ü".repeat(500)).unwrap().len() <= 120);
}

fn group(name: &str, files: &[&str]) -> AnswerGroup {
    AnswerGroup {
        group_name: name.to_owned(),
        description: format!("about {name}"),
        files: files.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn answer(groups: Vec<AnswerGroup>, ungrouped: &[&str]) -> Answer {
    Answer {
        groups,
        ungrouped_files: ungrouped.iter().map(|name| (*name).to_owned()).collect(),
        reorganization_description: "by topic".to_owned(),
    }
}

/// What must hold whatever was answered.
fn holds(files: &[&str], checked: &Checked) {
    let grouped: BTreeSet<&str> =
        checked.plan.groups.iter().flat_map(|group| group.files.iter().map(String::as_str)).collect();
    let ungrouped: BTreeSet<&str> = checked.plan.ungrouped_files.iter().map(String::as_str).collect();
    assert!(grouped.is_disjoint(&ungrouped));
    let all: BTreeSet<&str> = grouped.union(&ungrouped).copied().collect();
    assert_eq!(all, files.iter().copied().collect());
    let names: BTreeSet<String> =
        checked.plan.groups.iter().map(|group| group.group_name.to_lowercase()).collect();
    assert_eq!(names.len(), checked.plan.groups.len());
    for group in &checked.plan.groups {
        assert!(!group.files.is_empty() && !group.description.is_empty());
        assert_eq!(safe(&group.group_name).as_ref(), Some(&group.group_name));
        assert_eq!(group.files.iter().collect::<BTreeSet<_>>().len(), group.files.len());
    }
}

#[test]
fn every_repair_is_made_and_said() {
    let files = ["a1.txt", "a2.txt", "b1.txt", "b2.txt", "c.txt"];
    let given = answer(
        vec![
            group("A/s", &["a1.txt", "a1.txt", "A2.txt", "folder/"]),
            group("a-S", &["b1.txt"]),
            group("Invented", &["nothing like it.txt"]),
            group("Empty", &[]),
            group("...", &["b2.txt"]),
        ],
        &["a1.txt", "zzz.pdf"],
    );
    let checked = check(&files, &given);
    holds(&files, &checked);
    let names: Vec<&str> = checked.plan.groups.iter().map(|group| group.group_name.as_str()).collect();
    assert_eq!(names, ["A-s", "Group 5"]);
    assert_eq!(checked.plan.groups[0].files, ["a1.txt", "a2.txt", "b1.txt"]);
    assert_eq!(checked.plan.ungrouped_files, ["c.txt"]);
    assert_eq!(checked.missing, ["c.txt"]);
    assert_eq!(checked.foreign, ["nothing like it.txt", "zzz.pdf"]);
    assert_eq!(checked.faults, []);
    assert_eq!(checked.warnings.len(), 10, "{:#?}", checked.warnings);
}

#[test]
fn a_file_may_be_in_two_groups() {
    let files = ["a.txt", "b.txt", "c.txt"];
    let checked =
        check(&files, &answer(vec![group("X", &["a.txt", "b.txt"]), group("Y", &["b.txt", "c.txt"])], &[]));
    holds(&files, &checked);
    assert_eq!(checked.warnings, [""; 0]);
    assert_eq!(checked.plan.groups[1].files, ["b.txt", "c.txt"]);
}

#[test]
fn an_answer_that_is_no_good_says_so_and_groups_nothing() {
    let files = ["a.txt", "b.txt"];
    let checked = check(&files, &Answer::default());
    holds(&files, &checked);
    assert_eq!(checked.faults, [Fault::NoDescription]);
    let checked = check(&files, &answer(vec![group("X", &["q", "r"])], &["s"]));
    holds(&files, &checked);
    assert_eq!(checked.faults, [Fault::NothingKnown]);
}

#[test]
fn whatever_is_answered_the_plan_holds() {
    let files = ["page-001.txt", "page-002.txt", "page-010.txt", "Letter.txt", "letter.txt", "photo.tiff"];
    let words = [
        "page-001.txt",
        "page-1",
        "PAGE-002",
        "page-010",
        "letter",
        "Letter.txt",
        "photo",
        "x/",
        "",
        "..",
        "A",
        "a ",
    ];
    let mut state = 11_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..3_000 {
        let mut some = || (0..next(6)).map(|_| words[next(words.len())].to_owned()).collect::<Vec<String>>();
        let groups = [some(), some(), some()];
        let ungrouped_files = some();
        let name = |n: usize| words[n % words.len()].to_owned();
        let groups = groups
            .into_iter()
            .enumerate()
            .map(|(n, files)| AnswerGroup {
                group_name: name(n * 7 + files.len()),
                description: name(files.len()),
                files,
            })
            .collect();
        let given = Answer { groups, ungrouped_files, reorganization_description: "x".to_owned() };
        holds(&files, &check(&files, &given));
    }
}
