//! Laying defaults, file, environment and flags over each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::environment::{self, CONFIG_FILE_VARIABLE, Surroundings};
use super::file::ConfigFile;
use super::layer::{Layer, Setting};
use super::option::OptionSpec;
use super::problem::{Problem, Problems};
use super::source::Source;
use super::value::Value;

/// Everything that a configuration is made from, besides files.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The process's environment and machine.
    pub(crate) surroundings: Surroundings,
    /// The file that `--config` names.
    pub(crate) config_file: Option<PathBuf>,
    /// The flags that override an option, by name.
    pub(crate) flags: BTreeMap<&'static str, String>,
}

/// Every option with its value, in the order of the table.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The config file that was read, as it is displayed.
    pub(crate) file: Option<String>,
    /// One entry per option.
    pub(crate) entries: Vec<Entry>,
}

/// One option with its value.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The option.
    pub(crate) spec: &'static OptionSpec,
    /// Its value.
    pub(crate) value: Value,
    /// Where the value came from.
    pub(crate) source: Source,
}

impl Resolved {
    /// The value of one option of the table.
    pub(crate) fn value(&self, section: &str, key: &str) -> &Value {
        let entry = self.entries.iter().find(|entry| entry.spec.section == section && entry.spec.key == key);
        &entry.expect("every option of the table is resolved").value
    }
}

/// Gives every option of `table` its value: flags win over the environment, that over the file, that over defaults.
/// On failure it names everything that is wrong, not only the first.
pub(crate) fn resolve(table: &'static [OptionSpec], inputs: &Inputs) -> Result<Resolved, Problems> {
    let mut problems = Vec::new();
    let flags = read_flags(table, &inputs.flags, &mut problems);
    let environment = environment::read(table, &inputs.surroundings, &mut problems);
    let file = ConfigFile::find(
        inputs.config_file.as_deref(),
        inputs.surroundings.variable(CONFIG_FILE_VARIABLE).map(Path::new),
        data_dir_without_file(table, &inputs.surroundings, &[&flags, &environment]).as_deref(),
    );
    let from_file = file.as_ref().map(|file| file.read(table, &mut problems)).unwrap_or_default();

    let layers = [&flags, &environment, &from_file];
    let mut entries = Vec::with_capacity(table.len());
    for spec in table {
        match strongest(spec, &layers, &inputs.surroundings) {
            Some(Setting { value, source }) => entries.push(Entry { spec, value, source }),
            None => problems.push(Problem::NoDefault { option: spec.name(), env: spec.env_name() }),
        }
    }
    if problems.is_empty() {
        Ok(Resolved { file: file.map(|file| file.path.display().to_string()), entries })
    } else {
        Err(Problems(problems))
    }
}

fn read_flags(
    table: &'static [OptionSpec],
    flags: &BTreeMap<&'static str, String>,
    problems: &mut Vec<Problem>,
) -> Layer {
    let mut layer = Layer::default();
    for spec in table {
        let Some((name, raw)) = spec.flag.and_then(|flag| flags.get_key_value(flag)) else { continue };
        problems.extend(layer.set_raw(spec, Source::Flag { name }, raw.as_ref()).err());
    }
    layer
}

/// What the first of `layers` that sets it says, else the default.
fn strongest(spec: &OptionSpec, layers: &[&Layer], surroundings: &Surroundings) -> Option<Setting> {
    let default = || Some(Setting { value: spec.default_in(surroundings)?, source: Source::Default });
    layers.iter().find_map(|layer| layer.get(spec)).cloned().or_else(default)
}

/// The data directory as far as it is known before a file is read; the file may still move it.
fn data_dir_without_file(
    table: &'static [OptionSpec],
    surroundings: &Surroundings,
    layers: &[&Layer],
) -> Option<PathBuf> {
    let spec = table.iter().find(|spec| (spec.section, spec.key) == ("store", "data_dir"))?;
    match strongest(spec, layers, surroundings)?.value {
        Value::Path(path) => Some(path),
        Value::Integer(_) | Value::Address(_) | Value::Switch(_) | Value::Text(_) | Value::Choice(_) => None,
    }
}
