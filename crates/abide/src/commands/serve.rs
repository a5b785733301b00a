//! `abide serve`: run the server until it is told to stop.

use crate::config::Config;
use crate::failure::Failure;
use crate::host;
use crate::output::Output;
use crate::services::Hosted;

/// Serves every service, and the objects and jobs of other programs.
pub(crate) fn run(config: &Config, output: Output) -> Result<(), Failure> {
    host::run(config, Hosted::every_service(config)?, "--listen", output)
}
