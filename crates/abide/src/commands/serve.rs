//! `abide serve`: run the server until it is told to stop.

use crate::config::Config;
use crate::export::Export;
use crate::failure::Failure;
use crate::host;
use crate::output::Output;
use crate::services::Hosted;

/// Serves every service, and the objects and jobs of other programs.
pub(crate) fn run(config: &Config, export: Option<Export>, output: Output) -> Result<(), Failure> {
    let hosted = Hosted { export, ..Hosted::every_service(config)? };
    host::run(config, hosted, "--listen", output)
}
