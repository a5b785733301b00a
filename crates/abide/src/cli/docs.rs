//! `docs/cli.md`, made from the commands.

use clap::{Command, CommandFactory};

use super::Cli;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
const HEAD: &str = "# Commands\n\nWhat each command's `--help` says. This page is made from the commands: \
                    `ABIDE_WRITE_DOCS=1 cargo test -p abide cli_page` writes it.\n";

fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = HEAD.to_owned();
    add(&mut text, &command, "abide");
    text
}

fn add(text: &mut String, command: &Command, name: &str) {
    let help = command.clone().bin_name(name).render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", help.trim_end()));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        add(text, inner, &format!("{name} {}", inner.get_name()));
    }
}

#[test]
fn cli_page_says_what_help_says() {
    if std::env::var_os("ABIDE_WRITE_DOCS").is_some() {
        std::fs::write(PAGE, page()).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap();
    assert!(written == page(), "docs/cli.md is not what the commands say: {HEAD}");
}
