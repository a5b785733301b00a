//! Every option, declared once: a file for each section of `abide.toml`.
//!
//! Each declaration makes an entry of [`OPTIONS`] and a typed field of its section. An option that nothing reads is a
//! compiler warning: its field is dead code.

use super::option::{DefaultValue, OptionSpec};
use super::resolve::Resolved;

/// Declares a section: its type, its options, and how it is read.
macro_rules! section {
    (
        $(#[doc = $section_doc:literal])+
        $section:ident: $Section:ident {$(
            $(#[doc = $doc:literal])+
            $key:ident: $type:ty = { $($field:ident: $value:expr),+ $(,)? }
        )+}
    ) => {
        use $crate::config::kind::Kind;
        use $crate::config::option::{DefaultValue, OptionSpec};

        $(#[doc = $section_doc])+
        pub(crate) struct $Section {$(
            $(#[doc = $doc])+
            pub(crate) $key: $type,
        )+}

        pub(super) const OPTIONS: &[OptionSpec] = &[$(
            OptionSpec {
                section: stringify!($section),
                key: stringify!($key),
                doc: concat!($($doc),+).trim_ascii(),
                $($field: $value,)+
                ..OptionSpec::BASE
            },
        )+];

        impl $Section {
            pub(super) fn from_resolved(resolved: &$crate::config::resolve::Resolved) -> Self {
                Self {$(
                    $key: <$type as $crate::config::value::FromValue>::from_value(
                        resolved.value(stringify!($section), stringify!($key)),
                    )
                    .expect("a test checks that every kind fits its type"),
                )+}
            }
        }
    };
}

/// Puts the sections together, in the order in which people see them.
macro_rules! sections {
    ($($(#[doc = $doc:literal])+ $section:ident: $Section:ident,)+) => {
        $(
            mod $section;
            pub(crate) use $section::$Section;
        )+

        /// The typed configuration.
        pub(crate) struct Config {$(
            $(#[doc = $doc])+
            pub(crate) $section: $Section,
        )+}

        impl Config {
            /// The typed form of resolved options.
            pub(crate) fn from_resolved(resolved: &Resolved) -> Self {
                Self { $($section: $Section::from_resolved(resolved),)+ }
            }
        }

        const COUNT: usize = 0 $(+ $section::OPTIONS.len())+;

        const ALL: [OptionSpec; COUNT] = {
            let mut all = [OptionSpec::BASE; COUNT];
            let mut next = 0;
            $(
                let mut at = 0;
                while at < $section::OPTIONS.len() {
                    all[next] = $section::OPTIONS[at];
                    next += 1;
                    at += 1;
                }
            )+
            assert!(next == COUNT, "every option has its place");
            all
        };

        /// Every option, in the order in which people see them.
        pub(crate) const OPTIONS: &[OptionSpec] = &ALL;
    };
}

sections! {
    /// How the server is reached and how it stops.
    server: Server,
    /// Where everything is kept.
    store: Store,
    /// How objects run.
    engine: Engine,
    /// How jobs run in this process.
    jobs: Jobs,
    /// How work items of coordinators are kept.
    coordinator: Coordinator,
    /// The model that is asked, if one is.
    llm: Llm,
    /// What reads images.
    ocr: Ocr,
    /// How links are processed.
    links: Links,
    /// Who may sync a store's log.
    sync: Sync,
    /// How URLs that come from data are fetched.
    fetch: Fetch,
    /// How downloads run.
    downloads: Downloads,
    /// How batches of scans are preprocessed.
    preprocess: Preprocess,
    /// What runs workers of preprocessing.
    launcher: Launcher,
    /// Where bytes of preprocessing live.
    buckets: Buckets,
    /// How entities and their files are kept.
    entities: Entities,
    /// How directories are grouped.
    organizer: Organizer,
    /// How batches go through the pipeline.
    pipeline: Pipeline,
    /// Where traces and metrics go.
    telemetry: Telemetry,
    /// What is logged and how.
    log: Log,
}

/// What the option that `flag` sets is for and what it is if nobody sets it, as help has it.
pub(crate) fn doc_of_flag(flag: &str) -> String {
    let spec = OPTIONS.iter().find(|spec| spec.flag == Some(flag));
    let spec = spec.expect("the help asks only for flags of the table");
    let default = match spec.default {
        DefaultValue::Integer(number) => number.to_string(),
        DefaultValue::Text(text) => text.to_owned(),
        DefaultValue::Cores => "the number of cores".to_owned(),
        DefaultValue::UserDataDir => "$XDG_DATA_HOME/abide or ~/.local/share/abide".to_owned(),
    };
    format!("{} [default: {default}]", spec.doc.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{Config, DefaultValue, OPTIONS};
    use crate::config::kind::Kind;
    use crate::config::option::OptionSpec;
    use crate::config::{Inputs, Surroundings, Value, resolve};

    fn inputs(cores: i64, variables: BTreeMap<String, std::ffi::OsString>) -> Inputs {
        Inputs { surroundings: Surroundings { variables, cores }, config_file: None, flags: BTreeMap::new() }
    }

    #[test]
    fn every_default_is_a_value_of_its_kind_and_of_its_type() {
        for cores in [1, 8, i64::MAX] {
            let home = BTreeMap::from([("HOME".to_owned(), "/nonexistent".into())]);
            let resolved = resolve(OPTIONS, &inputs(cores, home)).unwrap();
            for entry in &resolved.entries {
                assert_eq!(entry.spec.kind.parse(&entry.value.to_string()).as_ref(), Some(&entry.value));
            }
            Config::from_resolved(&resolved);
        }
    }

    #[test]
    fn every_value_within_bounds_and_every_word_fits_its_type() {
        let home = BTreeMap::from([("HOME".to_owned(), "/nonexistent".into())]);
        let mut resolved = resolve(OPTIONS, &inputs(1, home)).unwrap();
        for (index, spec) in OPTIONS.iter().enumerate() {
            let values: Vec<Value> = match spec.kind {
                Kind::Integer { min, max } => vec![Value::Integer(min), Value::Integer(max)],
                Kind::Choice(words) => words.iter().map(|word| Value::Choice(word)).collect(),
                Kind::Switch => vec![Value::Switch(true), Value::Switch(false)],
                Kind::Text => vec![Value::Text("some".to_owned())],
                Kind::Address | Kind::Path => Vec::new(),
            };
            for value in values {
                resolved.entries[index].value = value;
                Config::from_resolved(&resolved);
            }
        }
    }

    #[test]
    fn names_are_unambiguous() {
        assert!(OPTIONS.iter().all(|spec| !spec.section.contains('_')), "a section with an underscore");
        // Kubernetes owns ABIDE_SERVICE_* and ABIDE_PORT*: such variables are passed over.
        assert!(OPTIONS.iter().all(|spec| !["service", "port"].contains(&spec.section)));
        let names: Vec<String> = OPTIONS
            .iter()
            .flat_map(|spec| {
                [spec.env_name()].into_iter().chain(spec.aliases.iter().map(ToString::to_string))
            })
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "two options share a variable");
        let flags: Vec<&str> = OPTIONS.iter().filter_map(|spec| spec.flag).collect();
        assert_eq!(flags.iter().collect::<BTreeSet<_>>().len(), flags.len(), "two options share a flag");
    }

    #[test]
    fn the_options_of_the_queue_are_documented_as_they_are() {
        let page = include_str!("../../../../../docs/queue.md");
        for spec in OPTIONS.iter().filter(|spec| ["fetch", "downloads"].contains(&spec.section)) {
            let begins = format!("| `{}` | ", spec.name());
            let row = page.lines().find_map(|line| line.strip_prefix(&begins));
            let row = row.unwrap_or_else(|| panic!("docs/queue.md lacks a row {begins}"));
            let default = match spec.default {
                DefaultValue::Integer(number) => number.to_string(),
                DefaultValue::Text("") => "empty".to_owned(),
                DefaultValue::Text(text) => format!("`{text}`"),
                DefaultValue::Cores | DefaultValue::UserDataDir => panic!("{begins}"),
            };
            let values = match spec.kind {
                Kind::Integer { min, max } => format!(" | {min} to {max} | "),
                Kind::Switch => " | `true`, `false` | ".to_owned(),
                Kind::Text | Kind::Path | Kind::Address | Kind::Choice(_) => String::new(),
            };
            assert!(row.starts_with(&default) && row.contains(&values), "{begins}{row}");
        }
    }

    #[test]
    fn every_option_says_what_it_is_for() {
        let unsaid: Vec<String> =
            OPTIONS.iter().filter(|spec| !spec.doc.ends_with('.')).map(OptionSpec::name).collect();
        assert!(unsaid.is_empty(), "no sentence: {unsaid:?}");
    }
}
