//! The `abide` command as people run it: the real binary, a folder of its own, nothing else from this machine.

mod batches;
mod bench_preprocess;
mod bench_sync;
mod browser;
mod browser_collections;
mod browser_links;
mod chromium;
#[path = "../../../abide-server/tests/it/client.rs"]
mod client;
mod collection;
mod config_file;
mod config_show;
mod downloads;
mod environment;
mod exit_code;
mod feed;
mod full_disk;
mod ingest;
mod ingest_model;
mod kill;
mod kill_work;
mod links;
mod model;
mod place;
mod preprocess;
mod python;
mod queue;
mod serve;
mod served;
mod steer;
mod sync_kill;
mod telemetry;
