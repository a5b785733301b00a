//! What `abide config show` prints, and which layer wins.

use crate::place::Place;

const FULL: &str = "\
[server]
listen = '127.0.0.1:1'
drain_ms = 1_000

[store]
data_dir = 'data'

[log]
level = 'warn'
";

fn busy_place() -> Place {
    Place::new()
        .file("work/abide.toml", FULL)
        .env("ABIDE_SERVER_DRAIN_MS", "2000")
        .env("ABIDE_JOBS_WORKERS", "4")
        .env("ABIDE_LAUNCHER_IN_FLIGHT", "2")
        .env("ABIDE_OCR_SLOTS", "2")
        .env("ABIDE_LOG", "debug")
}

#[test]
fn every_option_is_shown_with_its_value_and_source() {
    insta::assert_snapshot!(busy_place().run("config show --listen 127.0.0.1:3"), @"
    exit 0
    OPTION                                 VALUE         FROM
    server.listen                          127.0.0.1:3   flag --listen
    server.drain_ms                        2000          env ABIDE_SERVER_DRAIN_MS
    server.max_body_bytes                  4194304       default
    store.data_dir                         data          abide.toml:6
    engine.cache_mib                       64            default
    engine.readers                         2             default
    engine.inbox_calls                     1000          default
    jobs.workers                           4             env ABIDE_JOBS_WORKERS
    jobs.lease_ms                          5000          default
    coordinator.retain_finished_for_ms     3600000       default
    llm.base_url                                         default
    llm.api_key                            (not set)     default
    llm.model                                            default
    llm.timeout_ms                         30000         default
    llm.concurrency                        3             default
    llm.input_price_micros                 0             default
    llm.output_price_micros                0             default
    llm.budget_micros                      0             default
    ocr.kind                               auto          default
    ocr.tesseract                          tesseract     default
    ocr.languages                          eng           default
    ocr.model                                            default
    ocr.slots                              2             env ABIDE_OCR_SLOTS
    links.metadata_lane                    8             default
    links.ai_lane                          3             default
    sync.open                              true          default
    sync.max_sockets                       16384         default
    sync.recheck_ms                        30000         default
    sync.jwt_secret                        (not set)     default
    sync.jwt_public_key_file                             default
    sync.jwt_private_key_file                            default
    sync.jwt_issuer                                      default
    sync.jwt_audience                                    default
    fetch.allow_private                    false         default
    fetch.user_agent                                     default
    fetch.robots                           true          default
    downloads.out                                        default
    downloads.reserve_bytes                1073741824    default
    downloads.workers                      8             default
    downloads.max_per_host                 4             default
    downloads.max_attempts                 3             default
    downloads.retry_backoff_ms             60000         default
    downloads.retry_backoff_max_ms         600000        default
    downloads.server_away_ms               60000         default
    preprocess.orchestrator_url                          default
    preprocess.worker_url                                default
    preprocess.batch_size_tiff             1000          default
    preprocess.alarm_delay_tiff_ms         5000          default
    preprocess.task_timeout_tiff_ms        60000         default
    preprocess.memory_tiff_mb              1024          default
    preprocess.batch_size_pdf              1000          default
    preprocess.alarm_delay_pdf_ms          5000          default
    preprocess.task_timeout_pdf_ms         600000        default
    preprocess.memory_pdf_mb               2048          default
    preprocess.batch_size_image            1000          default
    preprocess.alarm_delay_image_ms        5000          default
    preprocess.task_timeout_image_ms       120000        default
    preprocess.memory_image_mb             2048          default
    preprocess.alarm_delay_error_retry_ms  30000         default
    preprocess.max_retry_attempts          5             default
    preprocess.task_attempts               3             default
    preprocess.staging_kept_ms             604800000     default
    preprocess.pdf_dpi                     300           default
    preprocess.cdn_api_url                               default
    preprocess.cdn_public_url                            default
    launcher.kind                          local         default
    launcher.in_flight                     2             env ABIDE_LAUNCHER_IN_FLIGHT
    launcher.credentials                   presigned     default
    launcher.preset                        default       default
    launcher.command                                     default
    launcher.fly_in_flight                 100           default
    launcher.spawn_rate                    100/10s       default
    launcher.poll_ms                       5000          default
    launcher.fly_api_url                                 default
    launcher.fly_api_token                 (not set)     default
    launcher.fly_region                    ord           default
    launcher.fly_tiff_app                                default
    launcher.fly_tiff_image                              default
    launcher.fly_pdf_app                                 default
    launcher.fly_pdf_image                               default
    launcher.fly_image_app                               default
    launcher.fly_image_image                             default
    buckets.kind                           local         default
    buckets.dir                                          default
    buckets.staging                        arke-staging  default
    buckets.archive                        arke-archive  default
    buckets.endpoint                                     default
    buckets.region                         auto          default
    buckets.path_style                     true          default
    buckets.account_id                                   default
    buckets.access_key_id                                default
    buckets.secret_access_key              (not set)     default
    entities.url                                         default
    entities.token                         (not set)     default
    entities.max_upload_bytes              104857600     default
    organizer.orchestrator_url                           default
    organizer.orchestrator_token           (not set)     default
    organizer.max_tokens                   163839        default
    organizer.token_budget_percentage      0.3           default
    organizer.timeout_ms                   180000        default
    organizer.max_retries_per_pi           3             default
    organizer.max_callback_retries         3             default
    organizer.alarm_interval_ms            100           default
    organizer.retain_for_ms                2592000000    default
    organizer.batch_budget_micros          0             default
    pipeline.batch_size_ocr                10            default
    pipeline.ocr_chunk_size                10            default
    pipeline.batch_size_reorganization     5             default
    pipeline.batch_size_metadata           5             default
    pipeline.batch_size_description        5             default
    pipeline.batch_size_cheimarros         3             default
    pipeline.alarm_delay_ocr_ms            3000          default
    pipeline.alarm_delay_reorganize_ms     3000          default
    pipeline.max_directory_retries         3             default
    pipeline.min_files                     3             default
    pipeline.max_files                     50            default
    pipeline.callback_timeout_ms           900000        default
    pipeline.organizer_url                               default
    pipeline.organizer_token               (not set)     default
    pipeline.ocr_url                                     default
    pipeline.pinax_url                                   default
    pipeline.description_url                             default
    pipeline.ocr_text_token_threshold      10000         default
    pipeline.presigned_url_expiry_s        3600          default
    pipeline.max_file_size                 5368709120    default
    pipeline.max_batch_size                107374182400  default
    telemetry.otlp_endpoint                              default
    telemetry.otlp_headers                 (not set)     default
    telemetry.service_name                 abide         default
    log.level                              debug         env ABIDE_LOG
    log.format                             auto          default
    ");
}

#[test]
fn json_says_the_same() {
    let mut run = busy_place().run("config show --json --listen 127.0.0.1:3");
    // The table above has every option; here some sections stand for all.
    let left_out = ["preprocess.", "launcher.", "buckets.", "organizer.", "pipeline.", "ocr."]
        .map(|section| format!("      \"option\": \"{section}"));
    let blocks = run.stdout.split("    {\n");
    let kept = blocks.filter(|block| !left_out.iter().any(|section| block.starts_with(section)));
    run.stdout = kept.collect::<Vec<_>>().join("    {\n");
    insta::assert_snapshot!(run, @r#"
    exit 0
    {
      "file": "abide.toml",
      "options": [
        {
          "option": "server.listen",
          "value": "127.0.0.1:3",
          "source": {
            "from": "flag",
            "name": "--listen"
          },
          "env": "ABIDE_SERVER_LISTEN",
          "secret": false,
          "doc": "Address and port to listen on; other than loopback only once there is a token."
        },
        {
          "option": "server.drain_ms",
          "value": 2000,
          "source": {
            "from": "env",
            "name": "ABIDE_SERVER_DRAIN_MS"
          },
          "env": "ABIDE_SERVER_DRAIN_MS",
          "secret": false,
          "doc": "How long running requests may go on after the server was told to stop."
        },
        {
          "option": "server.max_body_bytes",
          "value": 4194304,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SERVER_MAX_BODY_BYTES",
          "secret": false,
          "doc": "Largest request body that is accepted."
        },
        {
          "option": "store.data_dir",
          "value": "data",
          "source": {
            "from": "file",
            "path": "abide.toml",
            "line": 6
          },
          "env": "ABIDE_STORE_DATA_DIR",
          "secret": false,
          "doc": "Directory that holds the database and everything else; one process owns it at a time."
        },
        {
          "option": "engine.cache_mib",
          "value": 64,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENGINE_CACHE_MIB",
          "secret": false,
          "doc": "Memory for rows of objects that were used lately."
        },
        {
          "option": "engine.readers",
          "value": 2,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENGINE_READERS",
          "secret": false,
          "doc": "Threads that read the database beside its writer."
        },
        {
          "option": "engine.inbox_calls",
          "value": 1000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENGINE_INBOX_CALLS",
          "secret": false,
          "doc": "Calls that may wait for one object before the next is refused as overloaded."
        },
        {
          "option": "jobs.workers",
          "value": 4,
          "source": {
            "from": "env",
            "name": "ABIDE_JOBS_WORKERS"
          },
          "env": "ABIDE_JOBS_WORKERS",
          "secret": false,
          "doc": "Jobs that this process runs at the same time; as many as it has cores by default."
        },
        {
          "option": "jobs.lease_ms",
          "value": 5000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_JOBS_LEASE_MS",
          "secret": false,
          "doc": "How long a job stays with a worker that stopped its heartbeat."
        },
        {
          "option": "coordinator.retain_finished_for_ms",
          "value": 3600000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_COORDINATOR_RETAIN_FINISHED_FOR_MS",
          "secret": false,
          "doc": "How long a finished item is kept when it is not among the newest 50."
        },
        {
          "option": "llm.base_url",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_BASE_URL",
          "secret": false,
          "doc": "Where it is, up to and without /chat/completions; empty if there is none."
        },
        {
          "option": "llm.api_key",
          "value": "(not set)",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_API_KEY",
          "secret": true,
          "doc": "Key that it wants."
        },
        {
          "option": "llm.model",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_MODEL",
          "secret": false,
          "doc": "Which model of those that are there."
        },
        {
          "option": "llm.timeout_ms",
          "value": 30000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_TIMEOUT_MS",
          "secret": false,
          "doc": "How long one request may take."
        },
        {
          "option": "llm.concurrency",
          "value": 3,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_CONCURRENCY",
          "secret": false,
          "doc": "Questions at the same time."
        },
        {
          "option": "llm.input_price_micros",
          "value": 0,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_INPUT_PRICE_MICROS",
          "secret": false,
          "doc": "Price of a million tokens that it reads, in millionths of a currency."
        },
        {
          "option": "llm.output_price_micros",
          "value": 0,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_OUTPUT_PRICE_MICROS",
          "secret": false,
          "doc": "Price of a million tokens that it writes, in millionths of a currency."
        },
        {
          "option": "llm.budget_micros",
          "value": 0,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LLM_BUDGET_MICROS",
          "secret": false,
          "doc": "What may be spent in all, over every start, in millionths of a currency; 0 for no bound."
        },
        {
          "option": "links.metadata_lane",
          "value": 8,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LINKS_METADATA_LANE",
          "secret": false,
          "doc": "Pages fetched at the same time."
        },
        {
          "option": "links.ai_lane",
          "value": 3,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LINKS_AI_LANE",
          "secret": false,
          "doc": "Summaries made at the same time."
        },
        {
          "option": "sync.open",
          "value": true,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_OPEN",
          "secret": false,
          "doc": "Whether everybody who reaches the server may sync, while no key for tokens is set; on loopback only."
        },
        {
          "option": "sync.max_sockets",
          "value": 16384,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_MAX_SOCKETS",
          "secret": false,
          "doc": "Sockets and tails at the same time; fewer if the system does not allow as many open files."
        },
        {
          "option": "sync.recheck_ms",
          "value": 30000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_RECHECK_MS",
          "secret": false,
          "doc": "How often access of open sockets, tails and exports is asked for again, in milliseconds; at least every 30 s."
        },
        {
          "option": "sync.jwt_secret",
          "value": "(not set)",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_JWT_SECRET",
          "secret": true,
          "doc": "Shared secret of tokens that are signed with HS256, at least 32 bytes."
        },
        {
          "option": "sync.jwt_public_key_file",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_JWT_PUBLIC_KEY_FILE",
          "secret": false,
          "doc": "File with the public key, in PEM, of tokens that are signed with EdDSA."
        },
        {
          "option": "sync.jwt_private_key_file",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_JWT_PRIVATE_KEY_FILE",
          "secret": false,
          "doc": "File with the private key, in PEM, by which `abide links token` signs; the server does not read it."
        },
        {
          "option": "sync.jwt_issuer",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_JWT_ISSUER",
          "secret": false,
          "doc": "Issuer that tokens must name; any if empty."
        },
        {
          "option": "sync.jwt_audience",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_SYNC_JWT_AUDIENCE",
          "secret": false,
          "doc": "Audience that tokens must name; any if empty."
        },
        {
          "option": "fetch.allow_private",
          "value": false,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_FETCH_ALLOW_PRIVATE",
          "secret": false,
          "doc": "Whether URLs from data may reach this machine and private networks."
        },
        {
          "option": "fetch.user_agent",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_FETCH_USER_AGENT",
          "secret": false,
          "doc": "Who asks, as servers and robots files see it; empty for abide and its version."
        },
        {
          "option": "fetch.robots",
          "value": true,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_FETCH_ROBOTS",
          "secret": false,
          "doc": "Whether robots.txt is obeyed."
        },
        {
          "option": "downloads.out",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_OUT",
          "secret": false,
          "doc": "Directory that files go to; empty for downloads in the data directory."
        },
        {
          "option": "downloads.reserve_bytes",
          "value": 1073741824,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_RESERVE_BYTES",
          "secret": false,
          "doc": "Bytes that stay free on the disk of that directory; a download waits until there is room."
        },
        {
          "option": "downloads.workers",
          "value": 8,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_WORKERS",
          "secret": false,
          "doc": "Downloads at the same time; with 0 the server runs none and leaves them to queue run."
        },
        {
          "option": "downloads.max_per_host",
          "value": 4,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_MAX_PER_HOST",
          "secret": false,
          "doc": "Downloads at the same time from one host, until the limit host:* is set."
        },
        {
          "option": "downloads.max_attempts",
          "value": 3,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_MAX_ATTEMPTS",
          "secret": false,
          "doc": "Failures after which a download is a dead letter, until the queue's policy is set."
        },
        {
          "option": "downloads.retry_backoff_ms",
          "value": 60000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_RETRY_BACKOFF_MS",
          "secret": false,
          "doc": "Wait before the second attempt; it doubles with each failure, until the queue's policy is set."
        },
        {
          "option": "downloads.retry_backoff_max_ms",
          "value": 600000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_RETRY_BACKOFF_MAX_MS",
          "secret": false,
          "doc": "The longest wait between attempts, until the queue's policy is set."
        },
        {
          "option": "downloads.server_away_ms",
          "value": 60000,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_DOWNLOADS_SERVER_AWAY_MS",
          "secret": false,
          "doc": "How long queue run waits for its server to come back before it goes on without one."
        },
        {
          "option": "entities.url",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENTITIES_URL",
          "secret": false,
          "doc": "Another server with the same routes that keeps the entities; empty for this one."
        },
        {
          "option": "entities.token",
          "value": "(not set)",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENTITIES_TOKEN",
          "secret": true,
          "doc": "The token that the other server wants, if any."
        },
        {
          "option": "entities.max_upload_bytes",
          "value": 104857600,
          "source": {
            "from": "default"
          },
          "env": "ABIDE_ENTITIES_MAX_UPLOAD_BYTES",
          "secret": false,
          "doc": "Largest request to `/upload`, all its files together."
        },
        {
          "option": "telemetry.otlp_endpoint",
          "value": "",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_TELEMETRY_OTLP_ENDPOINT",
          "secret": false,
          "doc": "Base URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty for none."
        },
        {
          "option": "telemetry.otlp_headers",
          "value": "(not set)",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_TELEMETRY_OTLP_HEADERS",
          "secret": true,
          "doc": "Headers for the collector, such as api-key=abc,tenant=7."
        },
        {
          "option": "telemetry.service_name",
          "value": "abide",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_TELEMETRY_SERVICE_NAME",
          "secret": false,
          "doc": "What this process is called there."
        },
        {
          "option": "log.level",
          "value": "debug",
          "source": {
            "from": "env",
            "name": "ABIDE_LOG"
          },
          "env": "ABIDE_LOG_LEVEL",
          "secret": false,
          "doc": "Least severe level that is logged."
        },
        {
          "option": "log.format",
          "value": "auto",
          "source": {
            "from": "default"
          },
          "env": "ABIDE_LOG_FORMAT",
          "secret": false,
          "doc": "Lines for people (human), JSON, or human at a terminal and JSON otherwise (auto)."
        }
      ]
    }
    "#);
}

#[test]
fn a_later_layer_wins() {
    let place = Place::new();
    assert_eq!(place.show("server.listen", ""), "127.0.0.1:8787 default");
    let place = place.file("work/abide.toml", FULL);
    assert_eq!(place.show("server.listen", ""), "127.0.0.1:1 abide.toml:2");
    let place = place.env("ABIDE_SERVER_LISTEN", "127.0.0.1:2");
    assert_eq!(place.show("server.listen", ""), "127.0.0.1:2 env ABIDE_SERVER_LISTEN");
    assert_eq!(place.show("server.listen", "--listen 127.0.0.1:3"), "127.0.0.1:3 flag --listen");
}

#[test]
fn the_option_s_own_variable_wins_over_its_alias() {
    let place = Place::new().env("ABIDE_LOG", "debug");
    assert_eq!(place.show("log.level", ""), "debug env ABIDE_LOG");
    let place = place.env("ABIDE_LOG_LEVEL", "warn");
    assert_eq!(place.show("log.level", ""), "warn env ABIDE_LOG_LEVEL");
}

#[test]
fn options_of_downloads_answer_to_the_names_of_before() {
    for (variable, value, option) in [
        ("DTKG_ORCHESTRATOR__MAX_WORKERS", "3", "downloads.workers"),
        ("DTKG_ORCHESTRATOR__MAX_PER_HOST", "2", "downloads.max_per_host"),
        ("DTKG_ORCHESTRATOR__MAX_JOB_ATTEMPTS", "5", "downloads.max_attempts"),
        ("DTKG_HTTP__USER_AGENT", "me/1.0", "fetch.user_agent"),
        ("DTKG_ROBOTS__ENABLED", "false", "fetch.robots"),
    ] {
        let place = Place::new().env(variable, value);
        assert_eq!(place.show(option, ""), format!("{value} env {variable}"));
    }
}

#[test]
fn the_data_directory_is_the_user_s() {
    let shown = |place: Place| place.show("store.data_dir", "");
    assert_eq!(shown(Place::new()), "<root>/home/.local/share/abide default");
    assert_eq!(shown(Place::new().env("XDG_DATA_HOME", "<root>/xdg")), "<root>/xdg/abide default");
    assert_eq!(
        shown(Place::new().env("XDG_DATA_HOME", "relative")),
        "<root>/home/.local/share/abide default"
    );
    assert_eq!(shown(Place::new().env("ABIDE_STORE_DATA_DIR", "here")), "here env ABIDE_STORE_DATA_DIR");
}
