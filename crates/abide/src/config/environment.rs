//! The environment: what the process was started with, and the options that its variables set.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::thread;

use super::layer::Layer;
use super::nearest::{distance, nearest};
use super::option::OptionSpec;
use super::problem::Problem;
use super::source::Source;

/// Names the config file; not an option, because options are read from that file.
pub(crate) const CONFIG_FILE_VARIABLE: &str = "ABIDE_CONFIG";

const PREFIX: &str = "ABIDE_";

/// Kubernetes sets these in every container that runs beside a service named "abide".
const FOREIGN_PREFIXES: &[&str] = &["ABIDE_SERVICE_", "ABIDE_PORT"];

/// What the configuration may depend on besides files and flags.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The environment variables with readable names.
    pub(crate) variables: BTreeMap<String, OsString>,
    /// The number of cores.
    pub(crate) cores: i64,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        Self { variables, cores: i64::try_from(cores).unwrap_or(i64::MAX) }
    }

    /// The value of one variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }
}

/// Reads every option that a variable sets, and refuses `ABIDE_` variables that set none.
pub(crate) fn read(
    table: &'static [OptionSpec],
    surroundings: &Surroundings,
    problems: &mut Vec<Problem>,
) -> Layer {
    let mut layer = Layer::default();
    for spec in table {
        let set = names_of(spec).find_map(|name| Some((surroundings.variable(&name)?, Source::Env { name })));
        let Some((raw, source)) = set else { continue };
        problems.extend(layer.set_raw(spec, source, raw).err());
    }
    let known: Vec<String> = table.iter().flat_map(names_of).collect();
    let ours = surroundings.variables.keys().filter(|name| {
        name.starts_with(PREFIX) && !FOREIGN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    problems.extend(
        ours.filter(|name| *name != CONFIG_FILE_VARIABLE && !known.contains(name)).map(|name| {
            Problem::UnknownVariable { name: name.clone(), nearest: nearest_variable(table, name) }
        }),
    );
    layer
}

/// Every variable that sets `spec`, the strongest first.
fn names_of(spec: &OptionSpec) -> impl Iterator<Item = String> {
    std::iter::once(spec.env_name()).chain(spec.aliases.iter().map(|alias| (*alias).to_owned()))
}

/// Leaving out the section (`ABIDE_LISTEN`) counts as one mistake.
fn nearest_variable(table: &'static [OptionSpec], name: &str) -> String {
    let keyed =
        table.iter().map(|spec| (distance(&format!("{PREFIX}{}", spec.key), name) + 1, spec.env_name()));
    let whole = table.iter().flat_map(names_of).chain([CONFIG_FILE_VARIABLE.to_owned()]);
    let (_, name) =
        nearest(whole.map(|known| (distance(&known, name), known)).chain(keyed), |(cost, _)| *cost);
    name
}
