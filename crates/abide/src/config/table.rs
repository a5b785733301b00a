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

    /// The model that is asked, if one is.
    llm: Llm {
        /// Where it is, up to and without /chat/completions; empty if there is none.
        base_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Key that it wants.
        api_key: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// Which model of those that are there.
        model: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// How long one request may take.
        timeout_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 600_000 },
            default: DefaultValue::Integer(30_000),
        }
        /// Questions at the same time.
        concurrency: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(3),
        }
        /// Price of a million tokens that it reads, in millionths of a currency.
        input_price_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
        /// Price of a million tokens that it writes, in millionths of a currency.
        output_price_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
        /// What may be spent until the server ends, in millionths of a currency; 0 for no bound.
        budget_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
    }

    /// How links are processed.
    links: Links {
        /// Pages fetched at the same time.
        metadata_lane: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(8),
        }
        /// Summaries made at the same time.
        ai_lane: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(3),
        }
    }

    /// Who may sync a store's log.
    sync: Sync {
        /// Whether everybody who reaches the server may sync, while no key for tokens is set; on loopback only.
        open: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
        }
        /// Sockets at the same time; fewer if the system does not allow as many open files.
        max_sockets: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: DefaultValue::Integer(16_384),
        }
        /// How often access of an open socket is asked for again, in milliseconds; at least every 30 s.
        recheck_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 30_000 },
            default: DefaultValue::Integer(30_000),
        }
        /// Shared secret of tokens that are signed with HS256, at least 32 bytes.
        jwt_secret: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// File with the public key, in PEM, of tokens that are signed with EdDSA.
        jwt_public_key_file: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// File with the private key, in PEM, by which `abide links token` signs; the server does not read it.
        jwt_private_key_file: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Issuer that tokens must name; any if empty.
        jwt_issuer: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Audience that tokens must name; any if empty.
        jwt_audience: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
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

    /// How batches of scans are preprocessed.
    preprocess: Preprocess {
        /// URL under which workers reach the routes of preprocessing; empty for this server's own.
        orchestrator_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["ORCHESTRATOR_URL"],
        }
        /// URL that finished batches are delivered to; empty for nobody.
        worker_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["WORKER_URL"],
        }
        /// Tasks of a batch in TIFF_CONVERSION that are with the launcher at a time.
        batch_size_tiff: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_TIFF_CONVERSION"],
        }
        /// How often a batch in TIFF_CONVERSION is looked at, beside every callback.
        alarm_delay_tiff_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_TIFF_CONVERSION"],
        }
        /// How long one attempt of a task in TIFF_CONVERSION may take.
        task_timeout_tiff_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(60_000),
            aliases: &["TASK_TIMEOUT_TIFF_CONVERSION"],
        }
        /// Memory of a worker in TIFF_CONVERSION.
        memory_tiff_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(1_024),
        }
        /// Tasks of a batch in PDF_SPLITTING that are with the launcher at a time.
        batch_size_pdf: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_PDF_SPLITTING"],
        }
        /// How often a batch in PDF_SPLITTING is looked at, beside every callback.
        alarm_delay_pdf_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_PDF_SPLITTING"],
        }
        /// How long one attempt of a task in PDF_SPLITTING may take.
        task_timeout_pdf_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(600_000),
            aliases: &["TASK_TIMEOUT_PDF_SPLITTING"],
        }
        /// Memory of a worker in PDF_SPLITTING.
        memory_pdf_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(2_048),
        }
        /// Tasks of a batch in IMAGE_PROCESSING that are with the launcher at a time.
        batch_size_image: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_IMAGE_PROCESSING"],
        }
        /// How often a batch in IMAGE_PROCESSING is looked at, beside every callback.
        alarm_delay_image_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_IMAGE_PROCESSING"],
        }
        /// How long one attempt of a task in IMAGE_PROCESSING may take.
        task_timeout_image_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(120_000),
            aliases: &["TASK_TIMEOUT_IMAGE_PROCESSING"],
        }
        /// Memory of a worker in IMAGE_PROCESSING.
        memory_image_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(2_048),
        }
        /// The longest wait after a phase could start nothing.
        alarm_delay_error_retry_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(30_000),
            aliases: &["ALARM_DELAY_ERROR_RETRY"],
        }
        /// Failures of a phase itself, one after the other, that end a batch.
        max_retry_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(5),
            aliases: &["MAX_RETRY_ATTEMPTS"],
        }
        /// Attempts of one task.
        task_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 100 },
            default: DefaultValue::Integer(3),
        }
        /// How long staging is kept after a batch was delivered.
        staging_kept_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 31_536_000_000 },
            default: DefaultValue::Integer(604_800_000),
        }
        /// URL at which assets are registered; empty for nowhere.
        cdn_api_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["CDN_API_URL"],
        }
        /// URL under which a CDN serves assets; empty for this server.
        cdn_public_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["CDN_PUBLIC_URL"],
        }
    }

    /// What runs workers of preprocessing.
    launcher: Launcher {
        /// Processes of this machine (local) or machines of Fly (fly).
        kind: &'static str = {
            kind: Kind::Choice(&["local", "fly"]),
            default: DefaultValue::Text("local"),
        }
        /// Workers at the same time; as many as this machine has cores by default.
        in_flight: usize = {
            kind: Kind::Integer { min: 1, max: 10_000 },
            default: DefaultValue::Cores,
        }
        /// Whether workers get URLs for their blobs (presigned) or the credentials of the buckets (bucket).
        credentials: &'static str = {
            kind: Kind::Choice(&["presigned", "bucket"]),
            default: DefaultValue::Text("presigned"),
        }
        /// How JPEGs are made: as small as possible (default), or many times faster (fast).
        preset: &'static str = {
            kind: Kind::Choice(&["default", "fast"]),
            default: DefaultValue::Text("default"),
        }
        /// Program that is started as a worker, with tiff, pdf or image as its argument; empty for abide itself.
        command: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Machines of Fly that are started at most, until the limit launch:* is set.
        spawn_rate: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("100/10s"),
        }
        /// How often a machine of Fly is asked about.
        poll_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 600_000 },
            default: DefaultValue::Integer(5_000),
        }
        /// URL of Fly's API for machines.
        fly_api_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Token for it.
        fly_api_token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_API_TOKEN"],
            secret: true,
        }
        /// Region in which machines run.
        fly_region: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("ord"),
            aliases: &["FLY_REGION"],
        }
        /// App of Fly whose machines are tiff workers.
        fly_tiff_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_TIFF_APP_NAME", "FLY_APP_NAME"],
        }
        /// Container image of tiff workers.
        fly_tiff_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_TIFF_WORKER_IMAGE", "FLY_WORKER_IMAGE"],
        }
        /// App of Fly whose machines are pdf workers.
        fly_pdf_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_PDF_APP_NAME"],
        }
        /// Container image of pdf workers.
        fly_pdf_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_PDF_WORKER_IMAGE"],
        }
        /// App of Fly whose machines are image workers.
        fly_image_app: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_IMAGE_APP_NAME"],
        }
        /// Container image of image workers.
        fly_image_image: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["FLY_IMAGE_WORKER_IMAGE"],
        }
    }

    /// Where bytes of preprocessing live.
    buckets: Buckets {
        /// Directories of this machine (local) or buckets of an S3 service such as R2 (s3).
        kind: &'static str = {
            kind: Kind::Choice(&["local", "s3"]),
            default: DefaultValue::Text("local"),
        }
        /// Directory that holds local buckets; empty for buckets in the data directory.
        dir: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Bucket of inputs and of what is made of them.
        staging: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("arke-staging"),
            aliases: &["R2_BUCKET"],
        }
        /// Bucket of originals and variants, for good.
        archive: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("arke-archive"),
            aliases: &["ARCHIVE_BUCKET"],
        }
        /// URL of the S3 service; empty for R2 of the account.
        endpoint: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ENDPOINT"],
        }
        /// Region of the S3 service.
        region: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("auto"),
        }
        /// Whether the bucket is in the path of URLs rather than in the host name.
        path_style: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
        }
        /// Account at R2.
        account_id: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ACCOUNT_ID"],
        }
        /// Id of the key to the S3 service.
        access_key_id: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ACCESS_KEY_ID"],
        }
        /// The key itself.
        secret_access_key: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_SECRET_ACCESS_KEY"],
            secret: true,
        }
    }

    /// How entities and their files are kept.
    entities: Entities {
        /// Another server with the same routes that keeps the entities; empty for this one.
        url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["IPFS_WRAPPER"],
        }
        /// The token that the other server wants, if any.
        token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// Largest request to `/upload`, all its files together.
        max_upload_bytes: u64 = {
            kind: Kind::Integer { min: 1_024, max: 1 << 40 },
            default: DefaultValue::Integer(abide_entities::limits::UPLOAD_BYTES as i64),
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
