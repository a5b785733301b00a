//! `abide config check`: say that the configuration is valid.

use serde::Serialize;

use crate::config::Resolved;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct CheckDocument<'a> {
    ok: bool,
    file: Option<&'a str>,
}

/// Says so; what is wrong was already refused when the configuration was resolved.
pub(crate) fn run(resolved: &Resolved, output: Output) -> Result<(), Failure> {
    let text = match &resolved.file {
        Some(file) => format!("ok: {file} and the environment are valid\n"),
        None => "ok: no abide.toml was found, and the environment is valid\n".to_owned(),
    };
    output.data(&text, &CheckDocument { ok: true, file: resolved.file.as_deref() })
}
