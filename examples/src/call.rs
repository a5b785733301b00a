//! A typed call: the kind says what is asked and what comes back.

use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_engine::{Answer, Call, Engine, Object};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Calls the object `name` of the kind `O` and waits until the reply is durable.
pub async fn call<O>(engine: &Engine, name: &str, body: &O::Call) -> anyhow::Result<Answer<O::Reply>>
where
    O: Object,
    O::Call: Serialize,
    O::Reply: DeserializeOwned,
{
    let object = ObjectKey::new(O::KIND, name)?;
    let call = Call { object, body: Json::encode(body)?, key: None };
    Ok(match engine.call(call).await? {
        Reply::Now(reply) => Answer::Now(reply.decode()?),
        Reply::Later(ticket) => Answer::Later(ticket),
    })
}
