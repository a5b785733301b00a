//! Blocks as DAG-JSON: links and bytes under the key `/`.

use crate::content::ContentId;
use crate::file_dag::FileNode;
use ipld_core::ipld::Ipld;
use serde_json::{Map, Number, Value, json};

/// A value of a manifest.
pub(crate) fn of_value(value: &Ipld) -> Value {
    match value {
        Ipld::Null => Value::Null,
        Ipld::Bool(truth) => (*truth).into(),
        Ipld::Integer(number) => Number::from_i128(*number).map_or(Value::Null, Value::Number),
        Ipld::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
        Ipld::String(text) => text.as_str().into(),
        Ipld::Bytes(bytes) => of_bytes(bytes),
        Ipld::List(items) => items.iter().map(of_value).collect(),
        Ipld::Map(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), of_value(value)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        Ipld::Link(id) => json!({ "/": id.to_string() }),
    }
}

/// A node of a file.
pub(crate) fn of_node(node: &FileNode) -> Value {
    let link = |id: ContentId, size: u64| json!({ "Hash": { "/": id }, "Name": "", "Tsize": size });
    let links: Vec<Value> = node.links.iter().map(|at| link(at.id, at.total_bytes)).collect();
    json!({ "Data": of_bytes(&node.data), "Links": links })
}

/// Raw bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> Value {
    json!({ "/": { "bytes": base64(bytes) } })
}

/// Base 64 without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..=group.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(char::from(DIGITS[index as usize]));
        }
    }
    text
}
