//! Tables for people.

/// No column is wider than this for all rows: a longer cell pushes what comes after it in its own row.
const WIDE: usize = 100;

/// Lines up `rows` under `header`, two spaces between columns.
pub(crate) fn columns<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let on_one_line = |cell: &String| cell.replace(['\n', '\t'], " ");
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(on_one_line)).collect();
    let header = header.map(str::to_owned);
    let width = |column: usize| {
        rows.iter().chain([&header]).map(|row| row[column].chars().count()).max().unwrap_or(0).min(WIDE)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in [&header].into_iter().chain(&rows) {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn one_long_cell_does_not_widen_the_other_rows() {
        let rows = ["a".to_owned(), "b".repeat(400)].map(|id| [id, "ready".to_owned()]);
        let widths: Vec<usize> =
            columns(["ID", "STATE"], &rows).lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [107, 107, 407]);
    }
}
