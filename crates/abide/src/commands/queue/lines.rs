//! Lines of a list, one at a time, however long the list is.

use std::io::{self, BufRead, Read};

use abide_core::job::NewJob;
use abide_core::limits::VALUE_BYTES;
use abide_core::name::QueueName;
use abide_downloads::Artifact;

/// A line may hold a payload and what a person puts around it.
const LINE_BYTES: usize = VALUE_BYTES + 4 * 1024;
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// One line that says something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its number in the file, from 1.
    pub(super) number: u64,
    /// The job that it becomes, or why it becomes none.
    pub(super) job: Result<NewJob, String>,
}

/// Reads lines and makes jobs of them. Blank lines say nothing.
pub(super) struct Lines<R> {
    reader: R,
    queue: QueueName,
    read: u64,
    limit: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// At most `limit` lines of `reader`, blank ones counted, for `queue`.
    pub(super) fn new(reader: R, queue: QueueName, limit: Option<u64>) -> Lines<R> {
        Lines { reader, queue, read: 0, limit: limit.unwrap_or(u64::MAX), buffer: Vec::new() }
    }

    /// The next line that says something; none at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        while self.read < self.limit {
            self.buffer.clear();
            let bound = LINE_BYTES as u64 + 1;
            if self.reader.by_ref().take(bound).read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            self.read += 1;
            if self.buffer.len() > LINE_BYTES {
                self.reader.skip_until(b'\n')?;
                let job = Err(format!("the line is longer than {LINE_BYTES} bytes"));
                return Ok(Some(Line { number: self.read, job }));
            }
            if let Some(job) = self.job() {
                return Ok(Some(Line { number: self.read, job }));
            }
        }
        Ok(None)
    }

    fn job(&self) -> Option<Result<NewJob, String>> {
        let text = match std::str::from_utf8(&self.buffer) {
            Ok(text) => text,
            Err(error) => return Some(Err(format!("it is not UTF-8: {error}"))),
        };
        let text = if self.read == 1 { text.trim_start_matches(BYTE_ORDER_MARK) } else { text };
        let text = text.trim();
        (!text.is_empty()).then(|| job_of(text, &self.queue))
    }
}

/// The job of an artifact in `queue`.
pub(super) fn job_of(artifact: &str, queue: &QueueName) -> Result<NewJob, String> {
    if !artifact.starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    let mut job = Artifact::parse(artifact).map_err(|error| error.to_string())?;
    job.check().map_err(|error| error.to_string())?;
    job.queue = queue.clone();
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, Lines};
    use abide_core::name::QueueName;

    fn read(text: &[u8], limit: Option<u64>) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new(text, QueueName::new("other").unwrap(), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let key = line.job.map(|job| {
                assert_eq!(job.queue.as_str(), "other");
                job.unique_key.unwrap().as_str().to_owned()
            });
            found.push((line.number, key));
        }
        found
    }

    #[test]
    fn good_lines_become_jobs_and_bad_ones_say_why() {
        let text = "\u{feff}{\"id\": \"a\", \"url\": \"http://e.example/\"}\r\n\n  \n[1]\n{\"url\": 1}\n{\"id\":\"b\"}";
        let found = read(text.as_bytes(), None);
        assert_eq!(
            found,
            [
                (1, Ok("a".to_owned())),
                (4, Err("it is not a JSON object".to_owned())),
                (5, Err("url: invalid type: integer `1`, expected a string at column 9".to_owned())),
                (6, Ok("b".to_owned())),
            ]
        );
        assert_eq!(read(text.as_bytes(), Some(3)), [(1, Ok("a".to_owned()))]);
        assert_eq!(read(text.as_bytes(), Some(0)), []);
    }

    #[test]
    fn a_line_without_end_and_bytes_that_are_no_text_do_no_harm() {
        let mut text = vec![b'x'; 3 * LINE_BYTES];
        text.extend_from_slice(b"\n\xff\n{\"id\": \"a\"}\n");
        let found = read(&text, None);
        assert!(
            matches!(&found[0], (1, Err(why)) if why.starts_with("the line is longer than")),
            "{found:?}"
        );
        assert!(matches!(&found[1], (2, Err(why)) if why.starts_with("it is not UTF-8")), "{found:?}");
        assert_eq!(found[2], (3, Ok("a".to_owned())));
    }
}
