//! Reports of many pages.

use crate::world::{B, callback, file, options, orders, output, signer, start, status, tasks, world};
use abide_core::limits::VALUE_BYTES;
use abide_core::row::RowWrite;
use abide_engine::testing::{World, minute};
use abide_preprocess::calls::{HaveAnswer, OkAnswer};
use abide_preprocess::jobs::{Order, sign};
use abide_preprocess::limits::PAGES_PER_PART;
use abide_preprocess::report::PageOutput;
use abide_preprocess::{Call, Report};
use serde_json::json;
use std::collections::BTreeSet;

/// A name as long as names get.
fn stem() -> String {
    "book ".repeat(40)
}

/// A page with a text.
fn page(number: u32) -> PageOutput {
    let name = format!("{}-p{number:05}", stem());
    let page = json!({ "page": number, "r2_key": format!("staging/b1/{name}.jpg"), "file_name": format!("{name}.jpg"),
        "file_size": 9, "text_r2_key": format!("staging/b1/{name}.txt"), "text_file_size": 3 });
    serde_json::from_value(page).unwrap()
}

fn book() -> (World, Order) {
    let mut world = world(options());
    start(&mut world, vec![file(&format!("{}.pdf", stem()), "application/pdf")]);
    let order = orders(&mut world, "pdf").remove(0);
    (world, order)
}

/// Brings pages behind the first `from`; how many there are then.
fn bring(world: &mut World, order: &Order, from: u32, pages: Vec<PageOutput>) -> Option<u64> {
    let (attempt, signature) = (order.attempt.clone(), sign(&signer(), "b1", &order.attempt));
    let have: HaveAnswer = world.call(B, &Call::Pages { attempt, signature, from, pages }).unwrap();
    have.have
}

fn end(world: &mut World, order: &Order, found: u32, in_parts: u32) {
    let (attempt, signature) = (order.attempt.clone(), sign(&signer(), "b1", &order.attempt));
    let report = Box::new(Report { page_count: Some(found), ..Report::success() });
    let ok: OkAnswer = world.call(B, &Call::Callback { attempt, signature, report, in_parts }).unwrap();
    assert!(ok.ok);
}

fn bring_all(world: &mut World, order: &Order, pages: &[PageOutput]) {
    for (nth, part) in pages.chunks(PAGES_PER_PART).enumerate() {
        let from = u32::try_from(nth * PAGES_PER_PART).unwrap();
        assert_eq!(bring(world, order, from, part.to_vec()), Some(u64::from(from) + part.len() as u64));
    }
}

/// The attempt that follows a failed one.
fn again(world: &mut World, attempt: u32) -> Order {
    world.pass(minute(1));
    orders(world, "pdf").into_iter().find(|order| order.attempt.attempt == attempt).unwrap()
}

#[test]
fn a_book_of_thousands_of_pages_is_kept_in_rows_of_bounded_size() {
    let (mut world, order) = book();
    let pages: Vec<PageOutput> = (1..=3_000).map(page).collect();
    bring_all(&mut world, &order, &pages);
    end(&mut world, &order, 3_000, 3_000);
    let status = status(&mut world);
    assert_eq!((status.status.as_str(), status.progress.tasks_total), ("IMAGE_PROCESSING", 3_000));
    assert_eq!(status.inputs.open, 1);
    let task = tasks(&mut world).tasks.remove(0);
    assert_eq!((task.pages, task.error), (Some(3_000), None));
    let rows = world.commits().iter().flat_map(|commit| &commit.rows);
    let bytes = rows.map(|row| match row {
        RowWrite::Put { row, .. } => row.value.len(),
        RowWrite::Delete { .. } => 0,
    });
    let longest = bytes.max().unwrap();
    assert!(longest < VALUE_BYTES / 2, "a row of {longest} bytes");
    assert!(world.commits().iter().all(|commit| commit.check().is_ok()));
    let mut keys = BTreeSet::new();
    let mut after = None;
    loop {
        let page = abide_preprocess::calls::FilePage { after, limit: Some(500) };
        let page: abide_preprocess::calls::OutputAnswer = world.call(B, &Call::Output(page)).unwrap();
        keys.extend(page.output.into_iter().map(|file| file.r2_key));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(keys.len(), 6_001, "the book, and an image and a text of each page");
}

#[test]
fn pages_that_come_again_or_late_change_nothing() {
    let (mut world, order) = book();
    let pages: Vec<PageOutput> = (1..=250).map(page).collect();
    assert_eq!(bring(&mut world, &order, 0, pages[..100].to_vec()), Some(100));
    let before = world.commits().len();
    assert_eq!(bring(&mut world, &order, 0, pages[..100].to_vec()), Some(100), "it is told where to go on");
    assert_eq!(world.commits().len(), before);
    bring(&mut world, &order, 100, pages[100..200].to_vec());
    bring(&mut world, &order, 200, pages[200..].to_vec());
    end(&mut world, &order, 250, 250);
    assert_eq!(status(&mut world).progress.tasks_total, 250);
    let before = world.commits().len();
    assert_eq!(bring(&mut world, &order, 0, pages[..100].to_vec()), None);
    end(&mut world, &order, 250, 250);
    assert_eq!(world.commits().len(), before);
}

#[test]
fn what_is_wrong_with_pages_is_the_reason_of_the_failure() {
    let (mut world, first) = book();
    let pages: Vec<PageOutput> = (1..=150).map(page).collect();
    bring_all(&mut world, &first, &pages);
    end(&mut world, &first, 151, 150);
    let reason = |world: &mut World| tasks(world).tasks.remove(0).error.unwrap();
    assert_eq!(reason(&mut world), "the file has 151 pages, and the worker reported 150");

    let second = again(&mut world, 2);
    let mut outside = pages.clone();
    outside[120].r2_key = "staging/b2/stolen.jpg".to_owned();
    bring_all(&mut world, &second, &outside);
    end(&mut world, &second, 150, 150);
    assert_eq!(reason(&mut world), "the worker wrote staging/b2/stolen.jpg, outside of staging/b1/");

    let third = again(&mut world, 3);
    bring_all(&mut world, &third, &pages[..100]);
    end(&mut world, &third, 150, 150);
    assert_eq!(reason(&mut world), "the pages of the report did not all come");
    assert_eq!(status(&mut world).inputs.failed, 1);
}

/// Another file has them, or gets them.
#[test]
fn pages_that_are_named_after_another_file_are_not_taken() {
    let (mut world, order) = book();
    let mut pages: Vec<PageOutput> = (1..=150).map(page).collect();
    pages[120].text_r2_key = Some("staging/b1/other-p00121.txt".to_owned());
    bring_all(&mut world, &order, &pages);
    end(&mut world, &order, 150, 150);
    let reason = "the worker reported staging/b1/other-p00121.txt, which is not for its task to write";
    assert_eq!(tasks(&mut world).tasks.remove(0).error.as_deref(), Some(reason));
}

#[test]
fn a_report_of_few_pages_is_whole_and_a_mismatch_fails_with_that_reason() {
    let (mut world, order) = book();
    let report = |pages: Vec<PageOutput>, page_count: u32| Report {
        page_count: Some(page_count),
        outputs: Some(pages),
        ..Report::success()
    };
    let long = callback(&mut world, &order.attempt, report((1..=101).map(page).collect(), 101));
    assert!(long.unwrap_err().to_string().contains("in parts"));
    callback(&mut world, &order.attempt, report(vec![page(1), page(2)], 3)).unwrap();
    let error = tasks(&mut world).tasks.remove(0).error;
    assert_eq!(error.as_deref(), Some("the file has 3 pages, and the worker reported 2"));
    let second = again(&mut world, 2);
    callback(&mut world, &second.attempt, report(vec![page(3), page(1)], 2)).unwrap();
    let error = tasks(&mut world).tasks.remove(0).error;
    assert_eq!(error.as_deref(), Some("the pages of the report are not 1, 2, 3 … each once"));
    let third = again(&mut world, 3);
    callback(&mut world, &third.attempt, report(vec![page(2), page(1)], 2)).unwrap();
    let names: Vec<_> = output(&mut world).into_iter().map(|file| file.file_name).collect();
    let text = |page: PageOutput| page.text_r2_key.unwrap().rsplit('/').next().unwrap().to_owned();
    let pages = [page(1), page(2)].map(|page| [page.file_name.clone(), text(page)]);
    assert_eq!(names[0], format!("{}.pdf", stem()));
    assert_eq!(names[1..], pages.concat());
}

/// What makes a page wrong.
type Change = fn(&mut PageOutput);

/// Each output has a key and a name of its own.
#[test]
fn pages_that_take_each_others_place_are_a_failure_with_that_reason() {
    let changes: [(Change, &str); 5] = [
        (|second| second.r2_key = page(1).r2_key, "-p00001.jpg twice"),
        (|second| second.text_r2_key = Some(second.r2_key.clone()), "-p00002.jpg twice"),
        (|second| second.r2_key = "staging/b1/other-p0007.jpg".to_owned(), "other-p0007.jpg as page 2"),
        (
            |second| second.r2_key = "staging/b1/other-p00002.jpg".to_owned(),
            "which is not for its task to write",
        ),
        (
            |second| second.file_name = "../../a.jpg".to_owned(),
            "\"../../a.jpg\", which is not the name of a file",
        ),
    ];
    for (change, reason) in changes {
        let (mut world, order) = book();
        let mut pages: Vec<PageOutput> = (1..=3).map(page).collect();
        change(&mut pages[1]);
        let report = Report { outputs: Some(pages), ..Report::success() };
        callback(&mut world, &order.attempt, report).unwrap();
        let task = tasks(&mut world).tasks.remove(0);
        assert!(task.error.as_deref().is_some_and(|error| error.contains(reason)), "{reason}: {task:?}");
    }
}
