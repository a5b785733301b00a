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
        .env("ABIDE_LOG", "debug")
}

#[test]
fn every_option_is_shown_with_its_value_and_source() {
    insta::assert_snapshot!(busy_place().run("config show --listen 127.0.0.1:3"), @"
    exit 0
    OPTION                              VALUE        FROM
    server.listen                       127.0.0.1:3  flag --listen
    server.drain_ms                     2000         env ABIDE_SERVER_DRAIN_MS
    server.max_body_bytes               4194304      default
    store.data_dir                      data         abide.toml:6
    engine.cache_mib                    64           default
    engine.readers                      2            default
    engine.inbox_calls                  1000         default
    jobs.workers                        4            env ABIDE_JOBS_WORKERS
    jobs.lease_ms                       5000         default
    coordinator.retain_finished_for_ms  3600000      default
    fetch.allow_private                 false        default
    fetch.user_agent                                 default
    fetch.robots                        true         default
    downloads.out                                    default
    downloads.workers                   8            default
    downloads.max_per_host              4            default
    downloads.max_attempts              3            default
    downloads.retry_backoff_ms          60000        default
    downloads.retry_backoff_max_ms      600000       default
    telemetry.otlp_endpoint                          default
    telemetry.otlp_headers              (not set)    default
    telemetry.service_name              abide        default
    log.level                           debug        env ABIDE_LOG
    log.format                          auto         default
    ");
}

#[test]
fn json_says_the_same() {
    insta::assert_snapshot!(busy_place().run("config show --json --listen 127.0.0.1:3"), @r#"
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
