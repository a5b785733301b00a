//! What to ask the server for, and what its reply means: pure.

use super::part::Part;
use super::record::Record;
use crate::content_range::ContentRange;
use crate::limits::VALIDATOR_BYTES;
use reqwest::header::{
    ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED,
    RANGE,
};
use serde::{Deserialize, Serialize};

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// All of it.
    Fresh,
    /// All of it, if it is not what is on disk.
    Revalidate(Validators),
    /// What is missing, if the rest has not changed.
    Resume {
        /// Bytes that are there.
        offset: u64,
        /// Bytes in all, if the server said.
        total: Option<u64>,
        /// The version they are of.
        validators: Validators,
    },
}

/// How a server tells one version from another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

/// What a reply means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its body is what is missing.
    Append {
        /// Bytes in all.
        total: u64,
    },
    /// Its body is the whole file.
    Restart,
    /// The file on disk is the one.
    NotModified,
    /// It does not fit what was asked for: forget what is there and ask for all of it.
    Discard,
    /// Its status says that there is no file.
    Fail,
}

impl Plan {
    /// What to ask for when `part` is there, and `record` is of an intact file.
    pub(super) fn of(part: &Part, record: Option<&Record>) -> Plan {
        match record {
            _ if part.len() > 0 && part.notes().validators.for_resuming().is_some() => {
                let (total, validators) = (part.notes().total, part.notes().validators.clone());
                Plan::Resume { offset: part.len(), total, validators }
            }
            Some(record) if record.validators != Validators::default() => {
                Plan::Revalidate(record.validators.clone())
            }
            Some(_) | None => Plan::Fresh,
        }
    }

    /// From which byte on.
    pub(super) const fn offset(&self) -> u64 {
        match self {
            Plan::Fresh | Plan::Revalidate(_) => 0,
            Plan::Resume { offset, .. } => *offset,
        }
    }

    /// The headers that ask for it.
    pub(super) fn headers(&self) -> HeaderMap {
        let wanted = match self {
            Plan::Fresh => vec![],
            Plan::Revalidate(known) => {
                vec![(IF_NONE_MATCH, known.etag.clone()), (IF_MODIFIED_SINCE, known.last_modified.clone())]
            }
            Plan::Resume { offset, validators, .. } => vec![
                (RANGE, Some(format!("bytes={offset}-"))),
                (IF_RANGE, validators.for_resuming().map(str::to_owned)),
            ],
        };
        let header =
            |(name, value): (HeaderName, Option<String>)| Some((name, HeaderValue::from_str(&value?).ok()?));
        wanted.into_iter().filter_map(header).collect()
    }
}

impl Validators {
    /// Those of a reply. A value too long to be kept is as good as none.
    pub(super) fn of(headers: &HeaderMap) -> Validators {
        let text = |name| {
            let value = headers.get(name)?.to_str().ok()?.trim();
            (!value.is_empty() && value.len() <= VALIDATOR_BYTES).then(|| value.to_owned())
        };
        Validators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
    }

    /// The one by which a server can tell that a part is of the same bytes: a strong tag, or the date.
    pub(super) fn for_resuming(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| etag.starts_with('"'));
        strong.or(self.last_modified.as_deref().filter(|_| self.etag.is_none()))
    }
}

/// What a reply means for what was asked.
pub(super) fn judge(plan: &Plan, status: u16, headers: &HeaderMap) -> Verdict {
    match (plan, status) {
        (_, 200 | 203) => Verdict::Restart,
        (Plan::Resume { offset, total, validators }, 206) => {
            let is_same = match (Validators::of(headers).etag, &validators.etag) {
                (Some(now), Some(then)) => now == *then,
                (Some(_) | None, Some(_) | None) => true,
            };
            let whole = ContentRange::of(headers).and_then(|range| range.total_if_rest(*offset, *total));
            match whole {
                Some(total) if is_same => Verdict::Append { total },
                Some(_) | None => Verdict::Discard,
            }
        }
        (Plan::Resume { .. }, 412 | 416) | (Plan::Revalidate(_), 206 | 412) => Verdict::Discard,
        (Plan::Revalidate(_), 304) => Verdict::NotModified,
        (Plan::Fresh | Plan::Revalidate(_) | Plan::Resume { .. }, _) => Verdict::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::CONTENT_RANGE;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    fn validators(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
        Validators { etag: etag.map(str::to_owned), last_modified: last_modified.map(str::to_owned) }
    }

    #[test]
    fn every_plan_meets_every_reply() {
        use Verdict::{Discard, Fail, NotModified, Restart};
        let known = validators(Some("\"a\""), None);
        let plans = [
            Plan::Fresh,
            Plan::Revalidate(known.clone()),
            Plan::Resume { offset: 10, total: None, validators: known },
        ];
        let range = headers(&[(CONTENT_RANGE, "bytes 10-19/20")]);
        for (status, expected) in [
            (200, [Restart, Restart, Restart]),
            (203, [Restart, Restart, Restart]),
            (204, [Fail, Fail, Fail]),
            (206, [Fail, Discard, Verdict::Append { total: 20 }]),
            (304, [Fail, NotModified, Fail]),
            (404, [Fail, Fail, Fail]),
            (412, [Fail, Discard, Discard]),
            (416, [Fail, Fail, Discard]),
            (429, [Fail, Fail, Fail]),
            (503, [Fail, Fail, Fail]),
        ] {
            let found = plans.each_ref().map(|plan| judge(plan, status, &range));
            assert_eq!(found, expected, "{status}");
        }
    }

    #[test]
    fn only_the_missing_bytes_of_the_same_version_are_appended() {
        let resume = |total| Plan::Resume { offset: 10, total, validators: validators(Some("\"a\""), None) };
        let plan = resume(Some(20));
        for (range, etag, expected) in [
            ("bytes 10-19/20", "\"a\"", Verdict::Append { total: 20 }),
            ("bytes 10-19/*", "\"a\"", Verdict::Append { total: 20 }),
            ("bytes 10-29/30", "\"a\"", Verdict::Discard),
            ("bytes 10-14/*", "\"a\"", Verdict::Discard),
            ("bytes 10-19/20", "\"b\"", Verdict::Discard),
            ("bytes 0-19/20", "\"a\"", Verdict::Discard),
            ("bytes 9-19/20", "\"a\"", Verdict::Discard),
            ("bytes 10-14/20", "\"a\"", Verdict::Discard),
            ("bytes 19-10/20", "\"a\"", Verdict::Discard),
            ("bytes */20", "\"a\"", Verdict::Discard),
            ("bytes 10-18446744073709551615/20", "\"a\"", Verdict::Discard),
            ("lines 10-19/20", "\"a\"", Verdict::Discard),
            ("", "\"a\"", Verdict::Discard),
        ] {
            let found = judge(&plan, 206, &headers(&[(CONTENT_RANGE, range), (ETAG, etag)]));
            assert_eq!(found, expected, "{range} {etag}");
        }
        assert_eq!(judge(&plan, 206, &HeaderMap::new()), Verdict::Discard);
        for (range, expected) in [
            ("bytes 10-29/30", Verdict::Append { total: 30 }),
            ("bytes 10-28/30", Verdict::Discard),
            ("bytes 10-29/*", Verdict::Discard),
        ] {
            let found = judge(&resume(None), 206, &headers(&[(CONTENT_RANGE, range), (ETAG, "\"a\"")]));
            assert_eq!(found, expected, "{range} of a file of unknown length");
        }
    }

    #[test]
    fn a_part_is_resumed_only_by_what_names_its_bytes() {
        for (etag, last_modified, expected) in [
            (Some("\"a\""), Some("date"), Some("\"a\"")),
            (Some("\"a\""), None, Some("\"a\"")),
            (None, Some("date"), Some("date")),
            (Some("W/\"a\""), Some("date"), None),
            (Some("W/\"a\""), None, None),
            (None, None, None),
        ] {
            assert_eq!(
                validators(etag, last_modified).for_resuming(),
                expected,
                "{etag:?} {last_modified:?}"
            );
        }
    }
}
