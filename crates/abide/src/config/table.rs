//! Every option, declared once.
//!
//! Each declaration makes an entry of [`OPTIONS`] and a typed field of [`Config`]. An option that nothing reads is a
//! compiler warning: its field is dead code.

use std::net::SocketAddr;
use std::path::PathBuf;

use abide_core::limits;
use tracing_subscriber::filter::LevelFilter;

use super::kind::Kind;
use super::option::{DefaultValue, OptionSpec};
use super::resolve::Resolved;
use super::value::FromValue;
use crate::logging::LogFormat;

macro_rules! options {
    ($(
        $(#[doc = $section_doc:literal])+
        $section:ident: $Section:ident {$(
            $(#[doc = $doc:literal])+
            $key:ident: $type:ty = { $($field:ident: $value:expr),+ $(,)? }
        )+}
    )+) => {
        /// Every option, in the order in which people see them.
        pub(crate) const OPTIONS: &[OptionSpec] = &[$($(
            OptionSpec {
                section: stringify!($section),
                key: stringify!($key),
                doc: concat!($($doc),+).trim_ascii(),
                $($field: $value,)+
                ..OptionSpec::BASE
            },
        )+)+];

        /// The typed configuration.
        pub(crate) struct Config {$(
            $(#[doc = $section_doc])+
            pub(crate) $section: $Section,
        )+}

        $(
            $(#[doc = $section_doc])+
            pub(crate) struct $Section {$(
                $(#[doc = $doc])+
                pub(crate) $key: $type,
            )+}
        )+

        impl Config {
            /// The typed form of resolved options.
            pub(crate) fn from_resolved(resolved: &Resolved) -> Self {
                Self {$(
                    $section: $Section {$(
                        $key: <$type>::from_value(resolved.value(stringify!($section), stringify!($key)))
                            .expect("a test checks that every kind fits its type"),
                    )+},
                )+}
            }
        }
    };
}

options! {
    /// How the server is reached and how it stops.
    server: Server {
        /// Address and port to listen on; other than loopback only once there is a token.
        listen: SocketAddr = {
            kind: Kind::Address,
            default: DefaultValue::Text("127.0.0.1:8787"),
            flag: Some("--listen"),
        }
        /// How long running requests may go on after the server was told to stop.
        drain_ms: u64 = {
            kind: Kind::Integer { min: 0, max: 3_600_000 },
            default: DefaultValue::Integer(10_000),
        }
        /// Largest request body that is accepted.
        max_body_bytes: usize = {
            kind: Kind::Integer { min: 1_024, max: 1 << 30 },
            default: DefaultValue::Integer(4 << 20),
        }
    }

    /// Where everything is kept.
    store: Store {
        /// Directory that holds the database and everything else; one process owns it at a time.
        data_dir: PathBuf = {
            kind: Kind::Path,
            default: DefaultValue::UserDataDir,
            flag: Some("--data-dir"),
        }
    }

    /// How objects run.
    engine: Engine {
        /// Memory for rows of objects that were used lately.
        cache_mib: usize = {
            kind: Kind::Integer { min: 1, max: 1 << 20 },
            default: DefaultValue::Integer(64),
        }
        /// Threads that read the database beside its writer.
        readers: usize = {
            kind: Kind::Integer { min: 1, max: 64 },
            default: DefaultValue::Integer(2),
        }
        /// Calls that may wait for one object before the next is refused as overloaded.
        inbox_calls: usize = {
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: DefaultValue::Integer(limits::INBOX_CALLS as i64),
        }
    }

    /// How jobs run in this process.
    jobs: Jobs {
        /// Jobs that this process runs at the same time; as many as it has cores by default.
        workers: usize = {
            kind: Kind::Integer { min: 1, max: 1_024 },
            default: DefaultValue::Cores,
        }
        /// How long a job stays with a worker that stopped its heartbeat.
        lease_ms: i64 = {
            kind: Kind::Integer { min: 1_000, max: 600_000 },
            default: DefaultValue::Integer(limits::LEASE_MS),
        }
    }

    /// How work items of coordinators are kept.
    coordinator: Coordinator {
        /// How long a finished item is kept when it is not among the newest 50.
        retain_finished_for_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 31_536_000_000 },
            default: DefaultValue::Integer(3_600_000),
        }
    }

    /// How URLs that come from data are fetched.
    fetch: Fetch {
        /// Whether URLs from data may reach this machine and private networks.
        allow_private: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("false"),
        }
        /// Who asks, as servers and robots files see it; empty for abide and its version.
        user_agent: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Whether robots.txt is obeyed.
        robots: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
        }
    }

    /// How downloads run.
    downloads: Downloads {
        /// Directory that files go to; empty for downloads in the data directory.
        out: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Downloads at the same time; with 0 the server runs none and leaves them to queue run.
        workers: usize = {
            kind: Kind::Integer { min: 0, max: 256 },
            default: DefaultValue::Integer(abide_downloads::WORKERS as i64),
        }
        /// Downloads at the same time from one host, until the limit host:* is set.
        max_per_host: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(abide_downloads::PER_HOST as i64),
        }
        /// Failures after which a download is a dead letter, until the queue's policy is set.
        max_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(3),
        }
        /// Wait before the second attempt; it doubles with each failure, until the queue's policy is set.
        retry_backoff_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(60_000),
        }
        /// The longest wait between attempts, until the queue's policy is set.
        retry_backoff_max_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(600_000),
        }
    }

    /// Where traces and metrics go.
    telemetry: Telemetry {
        /// Base URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty for none.
        otlp_endpoint: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Headers for the collector, such as api-key=abc,tenant=7.
        otlp_headers: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// What this process is called there.
        service_name: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("abide"),
        }
    }

    /// What is logged and how.
    log: Log {
        /// Least severe level that is logged.
        level: LevelFilter = {
            kind: Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
            default: DefaultValue::Text("info"),
            aliases: &["ABIDE_LOG"],
        }
        /// Lines for people (human), JSON, or human at a terminal and JSON otherwise (auto).
        format: LogFormat = {
            kind: Kind::Choice(LogFormat::NAMES),
            default: DefaultValue::Text("auto"),
        }
    }
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

    use super::{Config, OPTIONS};
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
    fn every_option_says_what_it_is_for() {
        let unsaid: Vec<String> =
            OPTIONS.iter().filter(|spec| !spec.doc.ends_with('.')).map(OptionSpec::name).collect();
        assert!(unsaid.is_empty(), "no sentence: {unsaid:?}");
    }
}
