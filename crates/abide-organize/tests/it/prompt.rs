//! Prompts are within their budget, whatever there is to ask about.

use abide_organize::budget::tokens;
use abide_organize::prompt::{Question, organize, repair, strategize};
use abide_organize::{FileKind, InputFile};

fn files(count: usize, words: usize) -> Vec<InputFile> {
    let file = |n: usize| InputFile {
        kind: if n.is_multiple_of(3) { FileKind::Ref } else { FileKind::Text },
        original_filename: Some(format!("scan {n}.tif")),
        mime_type: Some("image/jpeg".to_owned()),
        size: Some(n as u64 * 70_000),
        ..InputFile::text(format!("letter-{n:04}.jpg.ref.json"), "Wörter 😀 und so ".repeat(n % 7 * words))
    };
    (0..count).map(file).collect()
}

fn question(files: &[InputFile], budget: usize) -> Question<'_> {
    Question { directory: "box 7", files, custom_prompt: Some("by correspondent"), budget }
}

#[test]
fn nothing_is_emitted_over_the_budget() {
    for (count, words) in [(0, 0), (1, 1), (3, 5_000), (60, 90), (400, 30), (5_000, 0)] {
        let files = files(count, words);
        for budget in [700, 1_000, 3_000, 20_000, 49_151] {
            let prompts = [
                organize(question(&files, budget), None),
                organize(question(&files, budget), Some("groups: Weber, Klein")),
                strategize(question(&files, budget), 1_234, 25),
                repair(question(&files, budget), &[("Weber", "letters to Weber")], &["x.txt".to_owned()]),
            ];
            for prompt in prompts {
                let prompt = prompt.unwrap();
                let emitted = tokens(&prompt.system) + tokens(&prompt.user);
                assert!(emitted <= budget, "{count} files of {words}: {emitted} of {budget}");
                let shown = prompt.user.matches("File: letter-").count();
                assert_eq!(
                    shown + prompt.left_out.len(),
                    count,
                    "every file is shown or said to be left out"
                );
            }
        }
    }
}

#[test]
fn what_is_short_enough_is_shown_whole_and_truncation_is_said() {
    let files = files(20, 10);
    let prompt = organize(question(&files, 49_151), None).unwrap();
    assert_eq!(prompt.truncation, None);
    assert!(files.iter().all(|file| prompt.user.contains(&file.content)));
    assert!(prompt.user.contains("Original: scan 3.tif\nType: image/jpeg\nSize: 205.1 KB\nContent:\n"));
    let prompt = organize(question(&files, 2_000), None).unwrap();
    let truncation = prompt.truncation.unwrap();
    assert!(truncation.deficit > 0 && truncation.truncated_files > 0);
}

#[test]
fn instructions_that_do_not_fit_are_refused() {
    let error = organize(question(&[], 20), None).unwrap_err();
    assert!(error.needed > 20 && error.to_string().contains("there is room for 20"), "{error}");
}
