//! Whole numbers on the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The most that a type can hold.
pub(super) trait Most: Sized {
    const MOST: Self;
}

macro_rules! most {
    ($($number:ty)*) => { $(impl Most for $number { const MOST: $number = <$number>::MAX; })* };
}

most!(u16 u32 u64 i64);

/// Reads whole numbers in `range`.
pub(super) fn whole<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: Most + FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| match text.parse::<T>() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(_) | Err(_) if *range.end() == T::MOST => {
            Err(format!("give a whole number of at least {}", range.start()))
        }
        Ok(_) | Err(_) => Err(format!("give a whole number from {} to {}", range.start(), range.end())),
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn what_is_wrong_is_said_in_plain_words() {
        for (text, expected) in [
            ("1", Ok(1)),
            ("256", Ok(256)),
            ("257", Err("give a whole number from 1 to 256")),
            ("-1", Err("give a whole number from 1 to 256")),
            ("two", Err("give a whole number from 1 to 256")),
        ] {
            assert_eq!(whole(1_u16..=256)(text), expected.map_err(str::to_owned), "{text}");
        }
        assert_eq!(whole(1..=i64::MAX)("x"), Err("give a whole number of at least 1".to_owned()));
    }
}
