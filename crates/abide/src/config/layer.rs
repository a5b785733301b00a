//! What one source of options sets.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::option::OptionSpec;
use super::problem::Problem;
use super::source::Source;
use super::value::Value;

/// The options that one of flags, environment and file sets.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    settings: BTreeMap<(&'static str, &'static str), Setting>,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The value.
    pub(crate) value: Value,
    /// Where it came from.
    pub(crate) source: Source,
}

impl Layer {
    /// Sets an option.
    pub(crate) fn set(&mut self, spec: &OptionSpec, setting: Setting) {
        self.settings.insert((spec.section, spec.key), setting);
    }

    /// Sets an option to what its kind reads from `raw`.
    pub(crate) fn set_raw(&mut self, spec: &OptionSpec, source: Source, raw: &OsStr) -> Result<(), Problem> {
        match raw.to_str().and_then(|text| spec.kind.parse(text)) {
            Some(value) => {
                self.set(spec, Setting { value, source });
                Ok(())
            }
            None => Err(Problem::bad_value(spec, &source, format!("{raw:?}"))),
        }
    }

    /// What this layer sets an option to.
    pub(crate) fn get(&self, spec: &OptionSpec) -> Option<&Setting> {
        self.settings.get(&(spec.section, spec.key))
    }
}
