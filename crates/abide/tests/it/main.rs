//! The `abide` command as people run it: the real binary, a folder of its own, nothing else from this machine.

mod batch_cost;
mod batches;
mod bench_downloads;
mod bench_preprocess;
mod bench_sync;
mod browser;
mod browser_batches;
mod browser_collections;
mod browser_links;
mod chromium;
#[path = "../../../abide-server/tests/it/client.rs"]
mod client;
mod collection;
mod config_file;
mod config_show;
mod downloads;
mod entities_elsewhere;
mod environment;
mod exit_code;
mod feed;
mod full_disk;
mod ingest;
mod ingest_alone;
mod ingest_model;
mod ingest_stages;
mod ingest_texts;
mod kill;
mod kill_work;
mod links;
mod model;
mod outside;
#[path = "../../../abide-media/tests/it/pdf_writer.rs"]
mod pdf_writer;
mod place;
mod preprocess;
mod preprocess_again;
mod preprocess_estimate;
mod preprocess_folder;
mod preprocess_hostile;
mod preprocess_http;
mod preprocess_kill;
mod preprocess_retry;
mod preprocess_room;
mod preprocess_s3;
mod preprocess_worker;
mod python;
mod queue;
#[path = "../../../abide-blob/tests/it/s3_server.rs"]
#[expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]
mod s3_server;
mod scans;
mod serve;
mod served;
mod shown;
mod steer;
mod sync_kill;
mod telemetry;
#[path = "../../../abide-media/tests/it/tiff_writer.rs"]
#[expect(dead_code, reason = "scans of these tests are simpler than the format")]
mod tiff_writer;
