//! The config file: finding it, and the options that it sets.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::layer::{Layer, Setting};
use super::nearest::{distance, nearest};
use super::option::OptionSpec;
use super::problem::Problem;
use super::source::Source;
use super::value::Value;

const FILE_NAME: &str = "abide.toml";

/// A config file that was named or found.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// As it was named or found.
    pub(crate) path: PathBuf,
    found_by: &'static str,
}

impl ConfigFile {
    /// The file to read: the one that is named, else `./abide.toml`, else `abide.toml` in the data directory.
    pub(crate) fn find(
        by_flag: Option<&Path>,
        by_variable: Option<&Path>,
        data_dir: Option<&Path>,
    ) -> Option<Self> {
        let named = |path: &Path, found_by| Self { path: path.to_owned(), found_by };
        let present = |path: PathBuf, found_by| match fs::symlink_metadata(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            // Whatever else hides it, reading it will say so.
            Ok(_) | Err(_) => Some(Self { path, found_by }),
        };
        // A data directory that lets nobody look into it is for whoever opens it to complain of.
        let may_be_looked_for = |path: &PathBuf| {
            !fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        };
        by_flag
            .map(|path| named(path, "named by --config"))
            .or_else(|| by_variable.map(|path| named(path, "named by ABIDE_CONFIG")))
            .or_else(|| present(PathBuf::from(FILE_NAME), "found in the working directory"))
            .or_else(|| {
                let path = Some(data_dir?.join(FILE_NAME)).filter(may_be_looked_for)?;
                present(path, "found in the data directory")
            })
    }

    /// Reads every option that the file sets, and refuses what it does not know.
    pub(crate) fn read(&self, table: &'static [OptionSpec], problems: &mut Vec<Problem>) -> Layer {
        match fs::read_to_string(&self.path) {
            Ok(text) => {
                let mut reader =
                    Reader { table, path: &self.path, text: &text, problems, layer: Layer::default() };
                reader.document();
                reader.layer
            }
            Err(error) => {
                let (path, found_by) = (self.path.clone(), self.found_by);
                problems.push(Problem::Unreadable { path, found_by, error });
                Layer::default()
            }
        }
    }
}

type Item<'a, 'text> = (&'a Spanned<DeString<'text>>, &'a Spanned<DeValue<'text>>);

struct Reader<'a> {
    table: &'static [OptionSpec],
    path: &'a Path,
    text: &'a str,
    problems: &'a mut Vec<Problem>,
    layer: Layer,
}

impl Reader<'_> {
    fn document(&mut self) {
        let text = self.text;
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let at = self.at(error.span().map_or(0, |span| span.start));
                let message = error.message().replace('\n', ", ");
                self.problems.push(Problem::Syntax { at, message });
                return;
            }
        };
        for (name, value) in in_order(document.get_ref()) {
            let at = self.at(name.span().start);
            let section =
                self.table.iter().map(|spec| spec.section).find(|section| *section == name.get_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(keys)) => self.section(section, keys),
                (Some(section), _) => self.problems.push(Problem::NotASection { at, section }),
                (None, value) => self.unknown(at, name.get_ref(), value),
            }
        }
    }

    fn section(&mut self, section: &'static str, keys: &DeTable<'_>) {
        for (key, value) in in_order(keys) {
            let source = self.at(key.span().start);
            let key = key.get_ref();
            let Some(spec) = self.table.iter().find(|spec| spec.section == section && spec.key == key) else {
                let nearest = nearest(self.table, |spec| {
                    distance(spec.key, key) + usize::from(spec.section != section)
                });
                let (name, nearest) = (format!("{section}.{key}"), nearest.name());
                self.problems.push(Problem::UnknownKey { at: source, name, nearest });
                continue;
            };
            match spec.kind.decode(value.get_ref()) {
                Some(value) => {
                    let value = self.beside_the_file(value);
                    self.layer.set(spec, Setting { value, source });
                }
                None => {
                    self.problems.push(Problem::bad_value(spec, &source, describe(value.get_ref())));
                }
            }
        }
    }

    fn unknown(&mut self, at: Source, name: &str, value: &DeValue<'_>) {
        let name = name.to_owned();
        self.problems.push(if let DeValue::Table(_) = value {
            let nearest = nearest(self.table, |spec| distance(spec.section, &name)).section;
            Problem::UnknownSection { at, name, nearest }
        } else {
            let nearest = nearest(self.table, |spec| distance(spec.key, &name)).name();
            Problem::UnknownKey { at, name, nearest }
        });
    }

    /// Relative paths stand beside the file, so that they mean the same wherever the command is started.
    fn beside_the_file(&self, value: Value) -> Value {
        match value {
            Value::Path(path) => {
                Value::Path(self.path.parent().map(|folder| folder.join(&path)).unwrap_or(path))
            }
            Value::Integer(_) | Value::Address(_) | Value::Switch(_) | Value::Text(_) | Value::Choice(_) => {
                value
            }
        }
    }

    fn at(&self, offset: usize) -> Source {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        Source::File { path: self.path.to_owned(), line }
    }
}

/// What a table holds, as the file has it from top to bottom.
fn in_order<'a, 'text>(table: &'a DeTable<'text>) -> Vec<Item<'a, 'text>> {
    let mut items: Vec<_> = table.iter().collect();
    items.sort_by_key(|(key, _)| key.span().start);
    items
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(instant) => instant.to_string(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
