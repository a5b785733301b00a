//! Milliseconds as JSON gives them.

use abide_core::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// A number of milliseconds, whole or not, that is written as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(Number);

impl Millis {
    /// To the nearest whole one.
    #[must_use]
    pub fn whole(&self) -> i64 {
        self.0.as_i64().or_else(|| self.0.as_f64().map(|ms| ms.round() as i64)).unwrap_or(i64::MAX)
    }

    /// From `earlier` to this. None if the numbers are too large for an answer.
    #[must_use]
    pub fn since(&self, earlier: &Millis) -> Option<Millis> {
        match (self.0.as_i64(), earlier.0.as_i64()) {
            (Some(later), Some(earlier)) => later.checked_sub(earlier).map(Number::from),
            _ => Number::from_f64(self.as_f64() - earlier.as_f64()),
        }
        .map(Millis)
    }

    /// As a number to compare with.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.as_f64().unwrap_or(f64::INFINITY)
    }
}

impl From<Time> for Millis {
    fn from(time: Time) -> Millis {
        Millis(time.0.into())
    }
}

impl From<Number> for Millis {
    fn from(number: Number) -> Millis {
        Millis(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_fractional_numbers_are_kept_and_compared() {
        let millis = |text: &str| serde_json::from_str::<Millis>(text).unwrap();
        let cases = [
            ("1000", 1000, Some("990")),
            ("10.5", 11, Some("0.5")),
            ("-3", -3, Some("-13")),
            ("18446744073709551615", i64::MAX, Some("1.8446744073709552e+19")),
            ("1.7e308", i64::MAX, Some("1.7e+308")),
        ];
        for (text, whole, since) in cases {
            let ms = millis(text);
            assert_eq!(ms.whole(), whole, "{text}");
            let since_ten = ms.since(&millis("10")).map(|ms| serde_json::to_string(&ms).unwrap());
            assert_eq!(since_ten.as_deref(), since, "{text}");
        }
        assert_eq!(serde_json::to_string(&millis("1000")).unwrap(), "1000");
        assert_eq!(millis("1.7e308").since(&millis("-1.7e308")), None);
        assert_eq!(millis("9223372036854775807").since(&millis("-1")), None);
    }
}
