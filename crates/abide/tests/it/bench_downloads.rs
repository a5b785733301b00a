//! `abide bench downloads`: a small run of the real thing.

use serde_json::Value;

use crate::place::Place;

#[test]
fn every_figure_of_downloads_is_measured() {
    let place = Place::new();
    let run = place.run("bench downloads --json --lines 500 --files 2 --data-dir data");
    assert_eq!(run.code, Some(0), "{run}");
    let figures: Value = serde_json::from_str(&run.stdout).expect("one document");
    let number = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("no {name}: {run}"));
    for name in ["enqueue_lines_per_s", "enqueue_floor_per_s", "enqueue_of_floor"] {
        assert!(number(name) > 0.0, "{name}: {run}");
    }
    assert_eq!((number("lines"), number("hosts"), number("files_per_host")), (500.0, 8.0, 2.0));
    assert_eq!(number("downloads_ideal_s"), 0.05);
    assert!(number("downloads_s") >= 0.05 && number("downloads_of_ideal") >= 1.0, "{run}");
    assert!(!place.path("work/data").read_dir().is_ok_and(|mut left| left.next().is_some()), "nothing stays");
}
