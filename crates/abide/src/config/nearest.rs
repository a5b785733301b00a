//! Which known name an unknown one is nearest to.

/// The candidate of least cost; the first of equals.
pub(crate) fn nearest<T>(candidates: impl IntoIterator<Item = T>, cost: impl Fn(&T) -> usize) -> T {
    candidates.into_iter().min_by_key(cost).expect("the option table is never empty")
}

/// How many letters must be put in, taken out, replaced or swapped with their neighbour, ignoring case.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (left, right) = (letters(left), letters(right));
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let mut least = (last[j] + usize::from(l != r)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("listen", "listen", 0),
            ("LISTEN", "listen", 0),
            ("lisen", "listen", 1),
            ("listten", "listen", 1),
            ("lixten", "listen", 1),
            ("litsen", "listen", 1),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ];
        for (left, right, expected) in cases {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }
}
