//! Metrics as text that Prometheus reads.

use abide_engine::meter::Histogram;

/// Microseconds in a second.
const US: f64 = 1_000_000.0;

/// Samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// With its unit last; counters end in `_total`.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// What may happen to its values.
    pub sort: Sort,
    /// Its values.
    pub samples: Vec<Sample>,
}

/// What may happen to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It is a distribution of seconds.
    Times,
    /// It is a distribution of milliseconds.
    Millis,
    /// It is a distribution of sizes.
    Sizes,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values of its labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count.
    Whole(u64),
    /// A distribution.
    Histogram(Histogram),
}

impl Family {
    pub(crate) fn new(name: &'static str, sort: Sort, help: &'static str) -> Family {
        Family { name, help, sort, samples: Vec::new() }
    }

    /// A family of one value without labels.
    pub(crate) fn single(
        name: &'static str,
        sort: Sort,
        help: &'static str,
        value: impl Into<Value>,
    ) -> Family {
        let mut family = Family::new(name, sort, help);
        family.add(&[], value);
        family
    }

    pub(crate) fn add(&mut self, labels: &[(&'static str, &str)], value: impl Into<Value>) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.push(Sample { labels, value: value.into() });
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Whole(value)
    }
}

impl From<&Histogram> for Value {
    fn from(value: &Histogram) -> Value {
        Value::Histogram(value.clone())
    }
}

/// The text of families, in their order.
pub(crate) fn render(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let Family { name, help, sort, samples } = family;
        let word = match sort {
            Sort::Counter => "counter",
            Sort::Gauge => "gauge",
            Sort::Times | Sort::Millis | Sort::Sizes => "histogram",
        };
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {word}\n"));
        for sample in samples {
            render_sample(&mut text, name, *sort, sample);
        }
    }
    text
}

fn render_sample(text: &mut String, name: &str, sort: Sort, sample: &Sample) {
    let labels = |more: Option<(&str, &str)>| {
        let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<String> =
            own.chain(more).map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
    };
    match &sample.value {
        Value::Whole(value) => text.push_str(&format!("{name}{} {value}\n", labels(None))),
        Value::Histogram(histogram) => {
            let scaled = |value: u64| match sort {
                Sort::Times => format!("{}", value as f64 / US),
                Sort::Millis => format!("{}", value as f64 / 1_000.0),
                Sort::Sizes | Sort::Counter | Sort::Gauge => value.to_string(),
            };
            for (bound, count) in histogram.cumulative() {
                let labels = labels(Some(("le", &scaled(bound))));
                text.push_str(&format!("{name}_bucket{labels} {count}\n"));
            }
            let count = histogram.count();
            text.push_str(&format!("{name}_bucket{} {count}\n", labels(Some(("le", "+Inf")))));
            text.push_str(&format!("{name}_sum{} {}\n", labels(None), scaled(histogram.sum())));
            text.push_str(&format!("{name}_count{} {count}\n", labels(None)));
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{Family, Sort, render};
    use abide_engine::meter::Histogram;

    #[test]
    fn labels_are_escaped_and_empty_families_are_left_out() {
        let mut family = Family::new("abide_things_total", Sort::Counter, "Things.");
        family.add(&[("name", "a\\b\"c\nd")], 3);
        let empty = Family::new("abide_none", Sort::Gauge, "Nothing.");
        let text = render(&[family, empty]);
        let expected = "# HELP abide_things_total Things.\n# TYPE abide_things_total counter\n\
                        abide_things_total{name=\"a\\\\b\\\"c\\nd\"} 3\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn times_are_in_seconds() {
        let mut times = Histogram::of_times();
        times.note(1_500);
        let text = render(&[Family::single("abide_x_seconds", Sort::Times, "X.", &times)]);
        assert!(text.contains("abide_x_seconds_bucket{le=\"0.001\"} 0\n"), "{text}");
        assert!(text.contains("abide_x_seconds_bucket{le=\"0.0025\"} 1\n"), "{text}");
        assert!(text.contains("abide_x_seconds_bucket{le=\"+Inf\"} 1\n"), "{text}");
        assert!(text.ends_with("abide_x_seconds_sum 0.0015\nabide_x_seconds_count 1\n"), "{text}");
    }
}
