//! Answers that are right in all but their form are put right: a single text where a list is wanted, a number where a text is, a
//! field that nobody asked for. What was said is never changed, and what is missing is never made up.

use serde_json::Value;

/// Makes `value` fit `schema` where that is safe. Whether anything was changed.
pub(crate) fn fit(schema: &Value, value: &mut Value) -> bool {
    let mut changed = false;
    if !is_taken(schema, value)
        && let Some(right) = put_right(schema, value)
    {
        *value = right;
        changed = true;
    }
    match value {
        Value::Object(fields) => {
            let Some(known) = schema.get("properties").and_then(Value::as_object) else { return changed };
            if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
                let before = fields.len();
                fields.retain(|name, _| known.contains_key(name));
                changed |= fields.len() < before;
            }
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = known.get(name) {
                    changed |= fit(schema, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    changed |= fit(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    changed
}

/// Whether a schema takes a type.
fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        Some(_) | None => false,
    }
}

fn is_taken(schema: &Value, value: &Value) -> bool {
    match value {
        _ if schema.get("type").is_none() => true,
        Value::Null => takes(schema, "null"),
        Value::Bool(_) => takes(schema, "boolean"),
        Value::Number(_) => takes(schema, "number") || takes(schema, "integer"),
        Value::String(_) => takes(schema, "string"),
        Value::Array(_) => takes(schema, "array"),
        Value::Object(_) => takes(schema, "object"),
    }
}

/// The same in a form that the schema takes, if there is one.
fn put_right(schema: &Value, value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if takes(schema, "boolean") => match text.trim().to_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        Value::String(_) | Value::Number(_) if takes(schema, "array") => {
            Some(Value::Array(vec![value.clone()]))
        }
        Value::Null if takes(schema, "array") => Some(Value::Array(Vec::new())),
        Value::Number(number) if takes(schema, "string") => Some(Value::String(number.to_string())),
        Value::Array(items) if takes(schema, "string") => match items.as_slice() {
            [one @ Value::String(_)] => Some(one.clone()),
            [] if takes(schema, "null") => Some(Value::Null),
            _ => None,
        },
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn careless_forms_are_put_right_and_nothing_else() {
        let schema = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "created": { "type": ["string", "null"] },
                "names": { "type": ["array", "null"], "items": { "type": "string" } },
                "both": { "type": "boolean" },
                "groups": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "files": { "type": "array", "items": { "type": "string" } } },
                    "additionalProperties": false,
                } },
            },
            "required": ["title"],
        });
        for (said, expected, changed) in [
            (json!({ "title": "a", "names": ["b"] }), json!({ "title": "a", "names": ["b"] }), false),
            (json!({ "names": "Unknown" }), json!({ "names": ["Unknown"] }), true),
            (json!({ "names": [1887] }), json!({ "names": ["1887"] }), true),
            (json!({ "names": null }), json!({ "names": null }), false),
            (json!({ "created": 1887 }), json!({ "created": "1887" }), true),
            (json!({ "created": ["1887"] }), json!({ "created": "1887" }), true),
            (json!({ "created": ["1885", "1887"] }), json!({ "created": ["1885", "1887"] }), false),
            (json!({ "both": "True" }), json!({ "both": true }), true),
            (json!({ "both": "perhaps" }), json!({ "both": "perhaps" }), false),
            (
                json!({ "groups": [{ "files": "a.txt", "why": "b" }], "more": 1 }),
                json!({ "groups": [{ "files": ["a.txt"] }], "more": 1 }),
                true,
            ),
            (json!({ "title": null, "groups": null }), json!({ "title": null, "groups": [] }), true),
        ] {
            let mut value = said.clone();
            assert_eq!((fit(&schema, &mut value), value), (changed, expected), "{said}");
        }
    }
}
