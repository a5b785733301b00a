//! A Cargo.toml, read line by line: the crate's name and which of our crates it depends on.

/// What the layer rule needs of a Cargo.toml.
pub(super) struct Manifest<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) dependencies: Vec<Dependency<'a>>,
}

/// A line that names one of our crates.
pub(super) struct Dependency<'a> {
    pub(super) krate: &'a str,
    pub(super) line: usize,
    pub(super) table: Table,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Package,
    /// Normal and build dependencies alike.
    Use,
    Dev,
    Other,
}

impl<'a> Manifest<'a> {
    pub(super) fn parse(text: &'a str) -> Manifest<'a> {
        let mut manifest = Manifest { name: None, dependencies: Vec::new() };
        let mut table = Table::Other;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or(text).trim();
            let krate = match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(header) => {
                    let krate;
                    (table, krate) = parse_header(header);
                    krate
                }
                None if table == Table::Package => {
                    manifest.name = manifest.name.or_else(|| string_value(text, "name"));
                    None
                }
                None => string_value(text, "package").or_else(|| key(text)),
            };
            let Some(krate) = krate.filter(|krate| is_ours(krate)) else { continue };
            match table {
                Table::Use | Table::Dev => manifest.dependencies.push(Dependency { krate, line, table }),
                Table::Package | Table::Other => {}
            }
        }
        manifest
    }
}

fn is_ours(krate: &str) -> bool {
    krate == "abide" || krate.starts_with("abide-")
}

/// `[dependencies]`, `[target.'cfg(unix)'.dependencies]`, and `[dependencies.abide-core]`, which names its crate itself.
fn parse_header(header: &str) -> (Table, Option<&str>) {
    let last_segment = |path| str::rsplit_once(path, '.').map_or(("", path), |(rest, last)| (rest, last));
    let (rest, last) = last_segment(header);
    match (table_named(last), table_named(last_segment(rest).1)) {
        (Table::Other, Table::Package | Table::Other) => (Table::Other, None),
        (Table::Other, table) => (table, Some(last.trim_matches(['"', '\'']))),
        (table, _) => (table, None),
    }
}

fn table_named(segment: &str) -> Table {
    match segment {
        "package" => Table::Package,
        "dependencies" | "build-dependencies" => Table::Use,
        "dev-dependencies" => Table::Dev,
        _ => Table::Other,
    }
}

/// The key of `abide-core = …` or `abide-core.workspace = true`.
fn key(line: &str) -> Option<&str> {
    let end = line.find(['=', '.'])?;
    Some(line[..end].trim().trim_matches(['"', '\'']))
}

/// The string in `key = "value"`, also inside an inline table.
fn string_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let is_word_start = |before: &str| before.is_empty() || before.ends_with([' ', '{', ',']);
    line.match_indices(key).filter(|(at, _)| is_word_start(&line[..*at])).find_map(|(at, _)| {
        let value = line[at + key.len()..].trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        value[1..].split(quote).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, usize, Table)]) {
        let manifest = Manifest::parse(text);
        let found: Vec<_> =
            manifest.dependencies.iter().map(|found| (found.krate, found.line, found.table)).collect();
        assert_eq!(found, expected, "in {text:?}");
    }

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        check("[dependencies]\nabide = \"1\"\n", &[("abide", 2, Table::Use)]);
        check("[dependencies]\n\"abide\" = \"1\"\n", &[("abide", 2, Table::Use)]);
        check(
            "[dependencies]\nx = { package = \"abide\", path = \"../abide\" }\n",
            &[("abide", 2, Table::Use)],
        );
        check("[dependencies]\nmy-package = {package=\"abide\"}\n", &[("abide", 2, Table::Use)]);
        check("[dependencies.abide]\npath = \"../abide\"\n", &[("abide", 1, Table::Use)]);
        check("[dependencies.x]\npath = \"../abide\"\npackage = 'abide'\n", &[("abide", 3, Table::Use)]);
        check("[build-dependencies]\nabide-core.workspace = true # why\n", &[("abide-core", 2, Table::Use)]);
        check("[target.'cfg(unix)'.dependencies]\nabide = {}\n", &[("abide", 2, Table::Use)]);
        check("[target.'cfg(unix)'.dev-dependencies.abide]\nworkspace = true\n", &[("abide", 1, Table::Dev)]);
    }

    #[test]
    fn other_names_are_no_dependencies() {
        check("[features]\nabide-store = []\n", &[]);
        check("[dependencies]\n# abide-store = {}\nserde = {}\nabider = {}\n", &[]);
        check("[package]\nname = \"abide-core\"\n[package.metadata]\nabide = 1\n", &[]);
    }

    #[test]
    fn the_name_is_the_packages_own() {
        let text = "[package]\nname = \"abide\"\n[[bin]]\nname = \"other\"\n";
        assert_eq!(Manifest::parse(text).name, Some("abide"));
        assert_eq!(Manifest::parse("[[bin]]\nname = \"other\"\n").name, None);
    }
}
