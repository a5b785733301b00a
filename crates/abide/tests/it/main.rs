//! The `abide` command as people run it: the real binary, a folder of its own, nothing else from this machine.

mod bench_preprocess;
#[path = "../../../abide-server/tests/it/client.rs"]
mod client;
mod config_file;
mod config_show;
mod environment;
mod exit_code;
mod kill;
mod place;
mod python;
mod queue;
mod serve;
mod served;
