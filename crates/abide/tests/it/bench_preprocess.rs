//! `abide bench preprocess`: a small run of the real thing.

use serde_json::Value;

use crate::place::Place;

#[test]
fn each_preset_converts_each_kind_of_scan() {
    let place = Place::new();
    let run =
        place.run("bench preprocess --json --images 1 --scale 8 --no-sharp --tasks 300 --data-dir data");
    assert_eq!(run.code, Some(0), "{run}");
    let document: Value = serde_json::from_str(&run.stdout).expect("one document");
    let rows = document["rows"].as_array().expect("rows");
    let who: Vec<_> = rows.iter().map(|row| (row["scans"].as_str(), row["contender"].as_str())).collect();
    let expected = ["colour page", "gray page", "photograph"]
        .map(|scans| [(Some(scans), Some("default")), (Some(scans), Some("fast"))])
        .concat();
    assert_eq!(who, expected);
    for pair in rows.chunks_exact(2) {
        let number = |row: usize, name: &str| pair[row][name].as_f64().expect("a number");
        assert!(number(0, "mib_per_image") < number(1, "mib_per_image"), "the default is smaller: {run}");
        assert!(number(0, "ssim") > 0.8 && number(1, "ssim") > 0.8, "{run}");
        assert!(number(0, "peak_mib") > 1.0, "{run}");
    }
    assert_eq!(document["tasks"]["tasks"], 300, "{run}");
    for figure in ["tasks_per_s", "cpu_ms_per_task", "cpu_ms_per_task_of_few"] {
        assert!(document["tasks"][figure].as_f64().expect("a number") > 0.0, "{figure}: {run}");
    }
    assert!(!place.path("work/data").read_dir().is_ok_and(|mut left| left.next().is_some()), "nothing stays");
}
