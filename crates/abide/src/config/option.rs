//! One option: its name, what it may be and what it is for.

use std::path::PathBuf;

use super::environment::Surroundings;
use super::kind::Kind;
use super::value::Value;

/// The declaration of one option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionSpec {
    /// The section of `abide.toml`; without underscore, so that environment names are unambiguous.
    pub(crate) section: &'static str,
    /// The key in its section; its unit comes last (`drain_ms`).
    pub(crate) key: &'static str,
    /// What its values look like.
    pub(crate) kind: Kind,
    /// Its value when nobody sets it.
    pub(crate) default: DefaultValue,
    /// The flag that sets it.
    pub(crate) flag: Option<&'static str>,
    /// Other environment names that it answers to; its own name wins over them, an earlier one over a later.
    pub(crate) aliases: &'static [&'static str],
    /// Never printed.
    pub(crate) secret: bool,
    /// What it is for.
    pub(crate) doc: &'static str,
}

/// What an option is when nobody sets it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultValue {
    /// This number.
    Integer(i64),
    /// What the option's kind reads from this text.
    Text(&'static str),
    /// The number of cores of this machine.
    Cores,
    /// `abide` in the user's data directory: `$XDG_DATA_HOME`, or `~/.local/share`.
    UserDataDir,
}

impl OptionSpec {
    /// What the declarations of the table start from.
    pub(crate) const BASE: Self = Self {
        section: "",
        key: "",
        kind: Kind::Path,
        default: DefaultValue::Text(""),
        flag: None,
        aliases: &[],
        secret: false,
        doc: "",
    };

    /// `section.key`, the name that people see.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// `ABIDE_SECTION_KEY`.
    pub(crate) fn env_name(&self) -> String {
        format!("ABIDE_{}_{}", self.section, self.key).to_uppercase()
    }

    /// The default; `None` if these surroundings offer none.
    pub(crate) fn default_in(&self, surroundings: &Surroundings) -> Option<Value> {
        match self.default {
            DefaultValue::Integer(number) => Some(Value::Integer(number)),
            DefaultValue::Text(text) => self.kind.parse(text),
            DefaultValue::Cores => Some(Value::Integer(self.kind.clamp(surroundings.cores))),
            DefaultValue::UserDataDir => user_data_dir(surroundings).map(Value::Path),
        }
    }
}

/// The directory that users have for data. The XDG specification asks that a relative `XDG_DATA_HOME` is ignored.
pub(crate) fn user_data_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    let absolute = |name| surroundings.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data_home = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data_home.join("abide"))
}
