//! What those who may only read do not see.
//!
//! Rows and payloads may carry what proves who somebody is: with it, a reader could do more than read. Such a field has
//! one of the names here, at the top level of its value.

use crate::access::Caller;
use crate::role::Role;
use abide_core::json::Json;
use serde_json::Value;

const NAMES: [&str; 2] = ["proof", "secret_sha256"];

/// The value as `caller` may see it.
pub(crate) fn shown(value: Json, caller: Caller) -> Json {
    if caller.0 >= Role::Operate || !NAMES.iter().any(|name| value.as_str().contains(name)) {
        return value;
    }
    match value.decode() {
        Ok(Value::Object(mut fields)) if NAMES.iter().any(|name| fields.contains_key(*name)) => {
            for name in NAMES {
                fields.remove(name);
            }
            Value::Object(fields).into()
        }
        Ok(_) | Err(_) => value,
    }
}
