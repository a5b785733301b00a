//! `abide completions`: what shells need to complete commands.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::write_out;

/// Prints the script for `shell`.
pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "abide", &mut script);
    write_out(&script)
}
