//! `abide serve`: run the server until it is told to stop.

use abide_engine::Registry;

use crate::config::Config;
use crate::failure::Failure;
use crate::host;
use crate::output::Output;

/// Serves objects and jobs of other programs: this build has no service of its own.
pub(crate) fn run(config: &Config, output: Output) -> Result<(), Failure> {
    host::run(config, Registry::new(), "--listen", output)
}
