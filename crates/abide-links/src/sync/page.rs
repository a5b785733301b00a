//! Pages of a pull: what clients call a `PullResponse`, written from the entries of a log without reading them.

use super::limits::{EVENTS_PER_MESSAGE, PAGE_BYTES};
use abide_core::log::LogEntry;
use jiff::Timestamp;
use std::fmt::Write as _;
use std::sync::Arc;

/// One event as a page has it, with when it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub seq_num: i64,
    /// Its JSON.
    pub text: Arc<str>,
}

impl Item {
    /// An entry of a store's log as clients get it.
    #[must_use]
    pub fn new(entry: &LogEntry) -> Item {
        let mut text = String::with_capacity(entry.value.len() + 160);
        text.push_str(r#"{"eventEncoded":"#);
        text.push_str(entry.value.as_str());
        match Timestamp::from_millisecond(entry.at.0) {
            Ok(at) => write!(
                text,
                r#","metadata":{{"_tag":"Some","value":{{"_tag":"SyncMessage.SyncMetadata","createdAt":"{at:.3}"}}}}}}"#
            )
            .expect("writing to a string does not fail"),
            Err(_) => text.push_str(r#","metadata":{"_tag":"None"}}"#),
        }
        Item { seq_num: entry.seq.0, text: text.into() }
    }
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its JSON.
    pub text: Arc<str>,
    /// The number of its last event; the cursor itself if it has none.
    pub last: i64,
    /// Events that the log has after it.
    pub remaining: i64,
}

impl Page {
    /// The next page of a pull that has everything up to `after`, of a log that ends at `head`.
    pub fn fill<'a>(
        backend_id: &str,
        after: i64,
        head: i64,
        items: impl IntoIterator<Item = &'a Item>,
    ) -> Page {
        let mut text = String::from(r#"{"batch":["#);
        let mut last = after;
        for item in items.into_iter().take(EVENTS_PER_MESSAGE) {
            debug_assert_eq!(item.seq_num, last + 1, "a page never skips");
            let is_first = last == after;
            if !is_first && text.len() + item.text.len() > PAGE_BYTES {
                break;
            }
            if !is_first {
                text.push(',');
            }
            text.push_str(&item.text);
            last = item.seq_num;
        }
        let remaining = (head - last).max(0);
        text.push_str(r#"],"pageInfo":"#);
        match remaining {
            0 => text.push_str(r#"{"_tag":"NoMore"}"#),
            more => write!(text, r#"{{"_tag":"MoreKnown","remaining":{more}}}"#)
                .expect("writing to a string does not fail"),
        }
        text.push_str(r#","backendId":"#);
        text.push_str(&serde_json::Value::from(backend_id).to_string());
        text.push('}');
        Page { text: text.into(), last, remaining }
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, Page};
    use abide_core::json::Json;
    use abide_core::log::{LogEntry, Seq};
    use abide_core::time::Time;

    fn item(seq: i64, value: &str) -> Item {
        Item::new(&LogEntry { seq: Seq(seq), at: Time(1_700_000_000_000), value: Json::trusted(value) })
    }

    #[test]
    fn an_event_is_written_to_the_letter_with_when_it_came() {
        assert_eq!(
            &*item(1, r#"{"args":{"n":1.0, "b":0}}"#).text,
            r#"{"eventEncoded":{"args":{"n":1.0, "b":0}},"metadata":{"_tag":"Some","value":{"_tag":"SyncMessage.SyncMetadata","createdAt":"2023-11-14T22:13:20.000Z"}}}"#
        );
    }

    #[test]
    fn an_empty_page_still_says_that_there_is_no_more() {
        let page = Page::fill("b", 5, 5, []);
        assert_eq!(&*page.text, r#"{"batch":[],"pageInfo":{"_tag":"NoMore"},"backendId":"b"}"#);
        assert_eq!((page.last, page.remaining), (5, 0));
    }

    #[test]
    fn a_page_ends_at_a_hundred_events_or_its_bytes_and_says_how_many_follow() {
        let small: Vec<Item> = (1..=250).map(|n| item(n, "1")).collect();
        let page = Page::fill("b", 0, 250, &small);
        assert_eq!((page.last, page.remaining), (100, 150));
        assert!(page.text.contains(r#""pageInfo":{"_tag":"MoreKnown","remaining":150}"#));
        let large: Vec<Item> = (1..=3).map(|n| item(n, &format!("\"{}\"", "x".repeat(500_000)))).collect();
        assert_eq!(Page::fill("b", 0, 3, &large).last, 1);
        let huge = [item(1, &format!("\"{}\"", "x".repeat(1_000_000)))];
        assert_eq!(Page::fill("b", 0, 1, &huge).last, 1);
    }
}
