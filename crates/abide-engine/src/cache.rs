//! What is in memory of one object: rows, and which stretches of keys are known completely.

use abide_core::name::AlarmName;
use abide_core::row::{Row, RowWrite, prefix_end, successor};
use abide_core::time::Time;
use abide_store::read::{Got, Want, first_key};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Rows of one object as its next turn sees them: what was loaded, overlaid by what its turns wrote since.
#[derive(Debug, Default)]
pub struct RowCache {
    /// Known rows.
    rows: BTreeMap<String, Row>,
    /// Keys that are known not to exist. Within the stretches that is known of every key that has no row.
    gone: BTreeSet<String>,
    /// Stretches of keys that are known completely: first key, and the first key past the stretch (none: no end).
    /// They never touch or overlap.
    covered: BTreeMap<String, Option<String>>,
    alarms: BTreeMap<AlarmName, Option<Time>>,
    alarms_known: bool,
    bytes: usize,
}

/// Whether a part is in memory.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// It is, and this is it.
    Known(T),
    /// It is not.
    Unknown,
}

impl RowCache {
    /// The cache of an object that does not exist: everything is known to be empty.
    #[must_use]
    pub fn of_nothing() -> RowCache {
        let mut cache = RowCache { alarms_known: true, ..RowCache::default() };
        cache.cover(String::new(), None);
        cache
    }

    /// Bytes held, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A row.
    #[must_use]
    pub fn row(&self, key: &str) -> Lookup<Option<&Row>> {
        match self.rows.get(key) {
            Some(row) => Lookup::Known(Some(row)),
            None if self.gone.contains(key) || self.stretch_with(key).is_some() => Lookup::Known(None),
            None => Lookup::Unknown,
        }
    }

    /// When an alarm is set for.
    #[must_use]
    pub fn alarm(&self, name: &AlarmName) -> Lookup<Option<Time>> {
        match self.alarms.get(name) {
            Some(at) => Lookup::Known(*at),
            None if self.alarms_known => Lookup::Known(None),
            None => Lookup::Unknown,
        }
    }

    /// Rows from `start` on and before `end`, as far as they are known, and how far that is.
    pub fn known_rows<'a>(
        &'a self,
        start: &str,
        end: Option<&str>,
    ) -> (impl Iterator<Item = (&'a String, &'a Row)> + use<'a>, Known) {
        let known = match self.stretch_with(start) {
            _ if end.is_some_and(|end| end <= start) => Known::Whole,
            None => Known::UpTo(start.to_owned()),
            Some(None) => Known::Whole,
            Some(Some(past)) if end.is_some_and(|end| end <= past.as_str()) => Known::Whole,
            Some(Some(past)) => Known::UpTo(past.clone()),
        };
        let stop = match &known {
            Known::UpTo(past) => Some(past.as_str()),
            Known::Whole => end,
        };
        let rows = match stop {
            Some(stop) if stop <= start => None,
            Some(stop) => Some((Bound::Included(start), Bound::Excluded(stop))),
            None => Some((Bound::Included(start), Bound::Unbounded)),
        }
        .map(|range| self.rows.range::<str, _>(range));
        (rows.into_iter().flatten(), known)
    }

    /// Keys of a stretch that are known not to exist, where not all keys are known: a load must bring so many more to be sure
    /// of enough.
    #[must_use]
    pub fn gone_within(&self, stretch: (Bound<&str>, Bound<&str>)) -> usize {
        self.gone.range::<str, _>(stretch).count()
    }

    /// Overlays a turn's own writes.
    pub fn write(&mut self, writes: &[RowWrite]) {
        for write in writes {
            match write {
                RowWrite::Put { key, row } => self.put(key.clone(), row.clone()),
                RowWrite::Delete { key } => self.delete(key),
            }
        }
    }

    /// Overlays a turn's own alarm.
    pub fn write_alarm(&mut self, name: &AlarmName, at: Option<Time>) {
        if self.alarms.insert(name.clone(), at).is_none() {
            self.bytes += name.as_str().len() + ROW_COST;
        }
    }

    /// Takes in what was loaded. What the cache knows already is newer and stays.
    pub fn merge(&mut self, want: &Want, got: Got) {
        match (want, got) {
            (Want::Row(key), Got::Row(row)) => {
                if matches!(self.row(key), Lookup::Unknown) {
                    match row {
                        Some(row) => self.put(key.clone(), row),
                        None => self.delete(key),
                    }
                }
            }
            (Want::Scan { prefix, from, .. }, Got::Scan { rows, end }) => {
                let start = first_key(prefix, from.as_deref()).to_owned();
                let stop = match rows.last() {
                    _ if end => prefix_end(prefix),
                    Some((last, _)) => Some(successor(last)),
                    None => Some(start.clone()),
                };
                for (key, row) in rows {
                    if matches!(self.row(&key), Lookup::Unknown) {
                        self.put(key, row);
                    }
                }
                self.forget_gone(&start, stop.as_deref());
                self.cover(start, stop);
            }
            (Want::Alarm(name), Got::Alarm(at)) => {
                if !self.alarms.contains_key(name) {
                    self.write_alarm(name, at);
                }
            }
            (Want::Row(_) | Want::Scan { .. } | Want::Alarm(_), _) => {
                unreachable!("a store answers each want in kind")
            }
        }
    }

    fn put(&mut self, key: String, row: Row) {
        if self.gone.remove(&key) {
            self.bytes -= key.len() + ROW_COST;
        }
        let key_len = key.len();
        self.bytes += key_len + row.value.len() + ROW_COST;
        if let Some(former) = self.rows.insert(key, row) {
            self.bytes -= key_len + former.value.len() + ROW_COST;
        }
    }

    fn delete(&mut self, key: &str) {
        if let Some(former) = self.rows.remove(key) {
            self.bytes -= key.len() + former.value.len() + ROW_COST;
        }
        if self.stretch_with(key).is_none() && self.gone.insert(key.to_owned()) {
            self.bytes += key.len() + ROW_COST;
        }
    }

    /// Keys from `start` on and before `stop` need not be noted any more.
    fn forget_gone(&mut self, start: &str, stop: Option<&str>) {
        if stop.is_some_and(|stop| stop <= start) {
            return;
        }
        let stretch = (Bound::Included(start), stop.map_or(Bound::Unbounded, Bound::Excluded));
        let noted: Vec<String> = self.gone.range::<str, _>(stretch).cloned().collect();
        for key in noted {
            self.gone.remove(&key);
            self.bytes -= key.len() + ROW_COST;
        }
    }

    fn stretch_with(&self, key: &str) -> Option<&Option<String>> {
        let (_, end) = self.covered.range::<str, _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        match end {
            Some(end) if end.as_str() <= key => None,
            Some(_) | None => Some(end),
        }
    }

    fn cover(&mut self, mut start: String, mut end: Option<String>) {
        if end.as_deref().is_some_and(|end| end <= start.as_str()) {
            return;
        }
        let before =
            self.covered.range::<str, _>((Bound::Unbounded, Bound::Included(start.as_str()))).next_back();
        if let Some((first, past)) = before
            && past.as_deref().is_none_or(|past| past >= start.as_str())
        {
            start = first.clone();
        }
        let reached = |past: &Option<String>, first: &str| past.as_deref().is_none_or(|past| first <= past);
        let swallowed: Vec<String> = self
            .covered
            .range::<str, _>((Bound::Included(start.as_str()), Bound::Unbounded))
            .take_while(|(first, _)| reached(&end, first))
            .map(|(first, _)| first.clone())
            .collect();
        for first in swallowed {
            let past = self.covered.remove(&first).flatten();
            self.bytes -= stretch_bytes(&first, past.as_deref());
            end = match (end, past) {
                (Some(end), Some(past)) => Some(end.max(past)),
                (_, None) | (None, _) => None,
            };
        }
        self.bytes += stretch_bytes(&start, end.as_deref());
        self.covered.insert(start, end);
    }
}

/// Memory of a stretch that is known.
fn stretch_bytes(start: &str, end: Option<&str>) -> usize {
    start.len() + end.map_or(0, str::len) + ROW_COST
}

/// How far a stretch of rows is known.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// All of what was asked.
    Whole,
    /// Only keys before this one.
    UpTo(String),
}

/// Memory beside the bytes of a row, a stretch or an alarm: nodes, pointers, counts.
const ROW_COST: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;
    use abide_core::json::Json;
    use abide_core::seed::Seed;

    fn row(n: u64) -> Row {
        Row { schema: 1, value: Json::encode(&n).unwrap() }
    }

    fn key(seed: &mut Seed) -> String {
        let alphabet = ["", "a", "a/", "a/b", "a/b/c", "b", "b/", "b0", "c", "\u{D7FF}x", "é"];
        format!("{}{}", alphabet[seed.below(11) as usize], seed.below(4))
    }

    fn load(store: &BTreeMap<String, Row>, want: &Want) -> Got {
        match want {
            Want::Row(key) => Got::Row(store.get(key).cloned()),
            Want::Scan { prefix, from, limit } => {
                let start = first_key(prefix, from.as_deref()).to_owned();
                let mut found = store.range(start..).filter(|(key, _)| key.starts_with(prefix));
                let rows: Vec<_> = found.by_ref().take(*limit).map(|(k, r)| (k.clone(), r.clone())).collect();
                Got::Scan { rows, end: found.next().is_none() }
            }
            Want::Alarm(_) => unreachable!(),
        }
    }

    /// Whatever is loaded and written in whatever order, what the cache says it knows is what is there, and its bytes are those of what
    /// it holds.
    #[test]
    fn what_is_known_is_true() {
        for seed in 0..500 {
            let mut seed = Seed::new(seed);
            let mut stored: BTreeMap<String, Row> = (0..12).map(|n| (key(&mut seed), row(n))).collect();
            let mut truth = stored.clone();
            let mut cache = RowCache::default();
            for n in 0..60 {
                match seed.below(5) {
                    0 => {
                        let (key, row) = (key(&mut seed), row(100 + n));
                        truth.insert(key.clone(), row.clone());
                        cache.write(&[RowWrite::Put { key, row }]);
                    }
                    1 => {
                        let key = key(&mut seed);
                        truth.remove(&key);
                        cache.write(&[RowWrite::Delete { key }]);
                    }
                    2 => {
                        let want = Want::Row(key(&mut seed));
                        cache.merge(&want, load(&stored, &want));
                    }
                    3 => {
                        let prefix = ["", "a", "a/", "b", "\u{D7FF}"][seed.below(5) as usize].to_owned();
                        let from = (seed.below(2) == 0).then(|| key(&mut seed));
                        let want = Want::Scan { prefix, from, limit: 1 + seed.below(4) as usize };
                        cache.merge(&want, load(&stored, &want));
                    }
                    _ => stored = truth.clone(),
                }
                check(&cache, &truth, &mut seed);
            }
        }
    }

    /// What is written, loaded and known not to be there is counted, and not counted any more when it is replaced.
    #[test]
    fn bytes_are_counted() {
        let mut cache = RowCache::default();
        let empty = |prefix: String| {
            (Want::Scan { prefix, from: None, limit: 1 }, Got::Scan { rows: Vec::new(), end: true })
        };
        for n in 0..1_000 {
            let (want, got) = empty(format!("kids/{n:06}/"));
            cache.merge(&want, got);
            cache.write_alarm(&AlarmName::new(format!("alarm-{n}")).unwrap(), None);
        }
        assert!(cache.bytes() > 2_000 * ROW_COST, "{}", cache.bytes());
        let (want, got) = empty("kids/".to_owned());
        let alarms = cache.bytes() - 1_000 * stretch_bytes("kids/000000/", Some("kids/0000000"));
        cache.merge(&want, got);
        assert_eq!(cache.bytes(), alarms + stretch_bytes("kids/", Some("kids0")));
    }

    fn check(cache: &RowCache, truth: &BTreeMap<String, Row>, seed: &mut Seed) {
        let rows = cache.rows.iter().map(|(key, row)| key.len() + row.value.len() + ROW_COST);
        let gone = cache.gone.iter().map(|key| key.len() + ROW_COST);
        let covered = cache.covered.iter().map(|(start, end)| stretch_bytes(start, end.as_deref()));
        assert_eq!(cache.bytes(), rows.chain(gone).chain(covered).sum::<usize>());
        assert!(cache.gone.iter().all(|key| cache.stretch_with(key).is_none()), "{cache:?}");
        for _ in 0..4 {
            let key = key(seed);
            if let Lookup::Known(row) = cache.row(&key) {
                assert_eq!(row, truth.get(&key), "{key:?}");
            }
        }
        let (start, end) = (key(seed), key(seed));
        let (rows, known) = cache.known_rows(&start, Some(&end));
        let rows: Vec<_> = rows.map(|(key, row)| (key.clone(), row.clone())).collect();
        let stop = match &known {
            Known::Whole => &end,
            Known::UpTo(key) => key.min(&end),
        };
        if start < *stop {
            let expected: Vec<_> =
                truth.range(start..stop.clone()).map(|(key, row)| (key.clone(), row.clone())).collect();
            assert_eq!(rows, expected, "up to {stop:?}");
        } else {
            assert_eq!(rows, []);
        }
    }
}
