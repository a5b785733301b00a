//! What those who may only read do not see.
//!
//! Rows and payloads may carry what proves who somebody is: with it, a reader could do more than read. Such a field has
//! one of the names here, at the top level of its value.

use crate::access::{Caller, enough};
use crate::error::ApiError;
use crate::role::Role;
use abide_core::json::Json;
use abide_core::name::QueueName;
use abide_core::object::ObjectKey;
use abide_links::auth::keys;
use abide_links::event::{LINKS, SYNC};
use abide_links::processor::{FETCH_QUEUE, SUMMARIZE_QUEUE};
use serde_json::Value;

const NAMES: [&str; 2] = ["proof", "secret_sha256"];

/// Kinds of objects that belong to an organization, which proves itself by another door.
const OWNED: [&str; 3] = [SYNC, LINKS, keys::KIND];

/// Queues whose jobs are all work for such objects.
const OWNED_QUEUES: [&str; 2] = [FETCH_QUEUE, SUMMARIZE_QUEUE];

/// Whether `caller` may look into `object`.
pub(crate) fn may_look_into(object: &ObjectKey, caller: Caller) -> Result<(), ApiError> {
    let role = if is_owned(object) { Role::Admin } else { Role::Read };
    enough(caller, role)
}

/// Whether `caller` may take jobs of `queue`, and so see what they are about.
pub(crate) fn may_work_on(queue: &QueueName, caller: Caller) -> Result<(), ApiError> {
    let role = if OWNED_QUEUES.contains(&queue.as_str()) { Role::Admin } else { Role::Operate };
    enough(caller, role)
}

/// Whether `object` belongs to an organization.
pub(crate) fn is_owned(object: &ObjectKey) -> bool {
    OWNED.contains(&object.kind.as_str())
}

/// Whether what is about `object`, or about work for it, says more than `caller` may know.
pub(crate) fn is_closed_to(caller: Caller, object: &ObjectKey) -> bool {
    may_look_into(object, caller).is_err()
}

/// The value as `caller` may see it.
pub(crate) fn shown(value: Json, caller: Caller) -> Json {
    let text = value.as_str();
    // A name may be written with escapes.
    let may_name = text.contains("\\u") || NAMES.iter().any(|name| text.contains(name));
    if caller.0 >= Role::Operate || !may_name {
        return value;
    }
    match value.decode() {
        Ok(Value::Object(mut fields)) if NAMES.iter().any(|name| fields.contains_key(*name)) => {
            for name in NAMES {
                fields.remove(name);
            }
            Value::Object(fields).into()
        }
        Ok(_) => value,
        // Nobody can say what is in it.
        Err(_) => Json::null(),
    }
}
