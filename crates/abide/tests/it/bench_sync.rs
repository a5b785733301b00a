//! `abide bench sync`: a small run of the real thing.

use serde_json::Value;

use crate::place::Place;

#[test]
fn every_figure_of_sync_is_measured() {
    let place = Place::new();
    let run = place.run("bench sync --json --clients 20 --pushes 3 --events 1234 --idle 50 --data-dir data");
    assert_eq!(run.code, Some(0), "{run}");
    let figures: Value = serde_json::from_str(&run.stdout).expect("one document");
    let number = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("no {name}: {run}"));
    for name in ["push_reaches_p50_ms", "append_events_per_s", "catch_up_events_per_s"] {
        assert!(number(name) > 0.0, "{name}: {run}");
    }
    assert!(number("push_reaches_p50_ms") <= number("push_reaches_p99_ms"), "{run}");
    assert!(number("rss_idle_sockets_mib") > 1.0, "{run}");
    assert!(number("rss_idle_sockets_of_stores_mib") > 1.0 && number("idle_stores") == 50.0, "{run}");
    assert_eq!((number("live_clients"), number("log_events"), number("idle_sockets")), (20.0, 1234.0, 50.0));
    assert!(!place.path("work/data").read_dir().is_ok_and(|mut left| left.next().is_some()), "nothing stays");
}
