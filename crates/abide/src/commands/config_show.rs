//! `abide config show`: every option, its value and where the value came from.

use serde::Serialize;

use crate::columns::columns;
use crate::config::{Entry, Resolved, Source, Value};
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct ShowDocument<'a> {
    file: Option<&'a str>,
    options: Vec<OptionDocument<'a>>,
}

#[derive(Serialize)]
struct OptionDocument<'a> {
    option: String,
    value: Shown<'a>,
    source: &'a Source,
    env: String,
    secret: bool,
    doc: &'a str,
}

/// A value as it may be printed.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Open(&'a Value),
    Hidden(&'static str),
}

/// Prints the table.
pub(crate) fn run(resolved: &Resolved, output: Output) -> Result<(), Failure> {
    output.data(&text(resolved), &document(resolved))
}

fn text(resolved: &Resolved) -> String {
    let row = |entry: &Entry| {
        let value = match shown(entry) {
            Shown::Open(value) => value.to_string(),
            Shown::Hidden(instead) => instead.to_owned(),
        };
        [entry.spec.name(), value, entry.source.to_string()]
    };
    columns(["OPTION", "VALUE", "FROM"], &resolved.entries.iter().map(row).collect::<Vec<_>>())
}

fn document(resolved: &Resolved) -> ShowDocument<'_> {
    let options = resolved.entries.iter().map(option_document).collect();
    ShowDocument { file: resolved.file.as_deref(), options }
}

fn option_document(entry: &Entry) -> OptionDocument<'_> {
    let Entry { spec, source, .. } = entry;
    OptionDocument {
        option: spec.name(),
        value: shown(entry),
        source,
        env: spec.env_name(),
        secret: spec.secret,
        doc: spec.doc,
    }
}

fn shown(entry: &Entry) -> Shown<'_> {
    match (entry.spec.secret, &entry.source) {
        (false, _) => Shown::Open(&entry.value),
        (true, Source::Default) => Shown::Hidden("(not set)"),
        (true, Source::File { .. } | Source::Env { .. } | Source::Flag { .. }) => Shown::Hidden("(set)"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{document, text};
    use crate::config::kind::Kind;
    use crate::config::option::{DefaultValue, OptionSpec};
    use crate::config::{Inputs, Surroundings, resolve};

    const SECRET: OptionSpec = OptionSpec {
        section: "mail",
        kind: Kind::Integer { min: 0, max: 1_000_000 },
        default: DefaultValue::Integer(0),
        secret: true,
        ..OptionSpec::BASE
    };
    const TABLE: &[OptionSpec] = &[
        OptionSpec { key: "pin", aliases: &["MAIL_PIN"], doc: "A secret that is set.", ..SECRET },
        OptionSpec { key: "puk", doc: "A secret that nobody set.", ..SECRET },
    ];

    fn inputs(pin: &str) -> Inputs {
        let variables = BTreeMap::from([("MAIL_PIN".to_owned(), pin.into())]);
        let surroundings = Surroundings { variables, cores: 1 };
        Inputs { surroundings, config_file: None, flags: BTreeMap::new() }
    }

    #[test]
    fn secrets_are_not_shown() {
        let resolved = resolve(TABLE, &inputs("48151")).unwrap();
        let json = serde_json::to_string_pretty(&document(&resolved)).unwrap();
        insta::assert_snapshot!(text(&resolved), @"
        OPTION    VALUE      FROM
        mail.pin  (set)      env MAIL_PIN
        mail.puk  (not set)  default
        ");
        insta::assert_snapshot!(json, @r#"
        {
          "file": null,
          "options": [
            {
              "option": "mail.pin",
              "value": "(set)",
              "source": {
                "from": "env",
                "name": "MAIL_PIN"
              },
              "env": "ABIDE_MAIL_PIN",
              "secret": true,
              "doc": "A secret that is set."
            },
            {
              "option": "mail.puk",
              "value": "(not set)",
              "source": {
                "from": "default"
              },
              "env": "ABIDE_MAIL_PUK",
              "secret": true,
              "doc": "A secret that nobody set."
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_bad_secret_is_not_quoted() {
        let problems = resolve(TABLE, &inputs("hunter2")).unwrap_err();
        insta::assert_snapshot!(problems, @"MAIL_PIN is not valid (hidden: it is a secret), expected a whole number from 0 to 1000000");
    }
}
