//! `kill -9` while it writes: what was acknowledged is there.

use crate::child::{Other, Part};
use crate::world::{open, row, version};
use tempfile::TempDir;

#[test]
fn nothing_acknowledged_is_lost() {
    let dir = TempDir::new().unwrap();
    for round in 1..=5 {
        let mut other = Other::start(Part::Write, dir.path());
        let heard: Vec<String> = (0..20 * round).map(|_| other.hear().unwrap()).collect();
        let last = other.kill().pop().or(heard.last().cloned());
        let acknowledged: i64 = last.unwrap().parse().unwrap();
        assert!(acknowledged >= 20 * round);
        let store = open(dir.path());
        let found = version(&store);
        // One more may be durable whose acknowledgement was not heard, and none may be there by half.
        assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} after {acknowledged}");
        for at in 0..found {
            assert_eq!(row(&store, &format!("row-{at:06}")), Some(at.to_string()));
        }
        assert_eq!(row(&store, &format!("row-{found:06}")), None);
    }
}
