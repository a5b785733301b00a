//! The `abide` command: configuration, commands and wiring.
//!
//! What it is for: turning a command line, an environment and `abide.toml` into one typed configuration, and running
//! the command that was asked for with it.
//! What it knows: every option (`config/table`), every command, which implementation stands behind each contract.
//! What it does not know: how anything works. A decision that could be wrong about work belongs below.
//! Where to enter: [`main`] for the binary, `cli.rs` for the commands, `config/table` for the options.

mod bench;
mod cli;
mod columns;
mod commands;
mod config;
mod counter;
mod document;
mod export;
mod failure;
mod host;
mod logging;
mod open_files;
mod output;
mod reach;
mod services;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, ConfigCommand};
use crate::config::{Config, Inputs, OPTIONS, Surroundings, resolve, user_data_dir};
use crate::export::Export;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command line of this process and says how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => usage.exit(),
    };
    let output = Output::new(cli.json);
    match run(&cli, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What options get their values from.
fn inputs(cli: &Cli) -> Inputs {
    let (surroundings, mut flags) = (Surroundings::of_process(), cli.option_flags());
    // What keeps everything in the folder of its results asks nobody for a home.
    if matches!(cli.command, Command::Preprocess(_)) && user_data_dir(&surroundings).is_none() {
        flags.entry("--data-dir").or_insert_with(|| ".".to_owned());
    }
    Inputs { surroundings, config_file: cli.config.clone(), flags }
}

fn run(cli: &Cli, output: Output) -> Result<(), Failure> {
    // A worker's environment is its task, not a configuration.
    if let Command::Worker { task } = &cli.command {
        return commands::worker::run(*task);
    }
    let resolved = resolve(OPTIONS, &inputs(cli))?;
    match &cli.command {
        Command::Serve(_) => {
            let config = Config::from_resolved(&resolved);
            let export = Export::start(&config.telemetry)?;
            logging::start(&config.log, export.as_ref())?;
            let served = commands::serve::run(&config, export.clone(), output);
            if let Some(export) = export {
                export.end();
            }
            served
        }
        Command::Bench(flags) => {
            let mut config = Config::from_resolved(&resolved);
            if !cli.says_data_dir() {
                config.store.data_dir.push("bench");
            }
            logging::start(&config.log, None)?;
            commands::bench::run(config, flags, output)
        }
        Command::Queue { command } => {
            commands::queue::run(&Config::from_resolved(&resolved), command, output)
        }
        Command::Ingest(args) => commands::ingest::run(Config::from_resolved(&resolved), args, output),
        Command::Collection { command } => {
            commands::collection::run(&Config::from_resolved(&resolved), command, output)
        }
        Command::Preprocess(args) => {
            let config = Config::from_resolved(&resolved);
            commands::preprocess::run(config, args, output)
        }
        Command::Worker { task } => commands::worker::run(*task),
        Command::Job { command } => commands::job::run(&Config::from_resolved(&resolved), command, output),
        Command::Object { command } => {
            commands::object::run(&Config::from_resolved(&resolved), command, output)
        }
        Command::Dead { command } => commands::dead::run(&Config::from_resolved(&resolved), command, output),
        Command::Limit { command } => {
            commands::limit::run(&Config::from_resolved(&resolved), command, output)
        }
        Command::Token { command } => {
            commands::token::run(&Config::from_resolved(&resolved), command, output)
        }
        Command::Backup { file } => commands::backup::backup(&Config::from_resolved(&resolved), file, output),
        Command::Restore { file } => {
            commands::backup::restore(&Config::from_resolved(&resolved), file, output)
        }
        Command::Doctor(_) => commands::doctor::run(&Config::from_resolved(&resolved), output),
        Command::Completions { shell } => commands::completions::run(*shell),
        Command::Links { command } => {
            let config = Config::from_resolved(&resolved);
            logging::start(&config.log, None)?;
            commands::links::run(&config, command, output)
        }
        Command::Config { command: ConfigCommand::Show(_) } => commands::config_show::run(&resolved, output),
        Command::Config { command: ConfigCommand::Check(_) } => {
            commands::config_check::run(&resolved, output)
        }
    }
}
