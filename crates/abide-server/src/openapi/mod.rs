//! `/openapi.json`: every route of the table, with the schemas of what goes in and comes out.
//!
//! The table says which routes there are. `operations.json` says what each takes and answers, by schemas of
//! `schemas.json`; tests hold both against the running server. A route of a service that is not in there is documented
//! with its path alone.

use crate::role::Role;
use crate::route::RouteInfo;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const SCHEMAS: &str = include_str!("schemas.json");
const OPERATIONS: &str = include_str!("operations.json");

/// What a route takes and answers.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    /// Schemas of its query's parameters.
    #[serde(default)]
    query: BTreeMap<String, Value>,
    /// Schemas of its headers.
    #[serde(default)]
    header: BTreeMap<String, Value>,
    /// The name of its body's schema.
    body: Option<String>,
    /// Names of the schemas of its answers, by status.
    #[serde(default)]
    answers: BTreeMap<String, String>,
    /// What its answers are, if not JSON.
    media: Option<String>,
}

/// The document of these routes.
pub(crate) fn document(routes: &[RouteInfo]) -> Value {
    let schemas: Value = serde_json::from_str(SCHEMAS).expect("a test reads it");
    let mut operations: BTreeMap<String, Operation> =
        serde_json::from_str(OPERATIONS).expect("a test reads it");
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes {
        let line = format!("{} {}", route.method, route.path);
        let operation = operations.remove(&line).unwrap_or_default();
        let item = paths.entry(route.path).or_default();
        item.insert(route.method.to_ascii_lowercase(), operation.document(route));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Abide",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable objects, jobs and services in one process.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

impl Operation {
    fn document(self, route: &RouteInfo) -> Value {
        let mut document = json!({
            "summary": route.does,
            "operationId": operation_id(route),
            "parameters": self.parameters(route.path),
            "responses": self.responses(),
            "x-role": word(route.role),
        });
        if route.role != Role::Anyone {
            document["security"] = json!([{}, { "token": [] }]);
        }
        if let Some(body) = &self.body {
            document["requestBody"] =
                json!({ "content": { "application/json": { "schema": reference(body) } } });
        }
        document
    }

    fn parameters(&self, path: &str) -> Vec<Value> {
        let segments = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let of_path = segments.map(
            |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
        );
        let of = |place: &'static str| move |(name, schema): (&String, &Value)| json!({ "name": name, "in": place, "schema": schema });
        of_path
            .chain(self.query.iter().map(of("query")))
            .chain(self.header.iter().map(of("header")))
            .collect()
    }

    fn responses(&self) -> Map<String, Value> {
        let media = self.media.as_deref().unwrap_or("application/json");
        let mut responses: Map<String, Value> = self
            .answers
            .iter()
            .map(|(status, schema)| {
                let content = json!({ media: { "schema": reference(schema) } });
                (status.clone(), json!({ "description": schema, "content": content }))
            })
            .collect();
        let content = json!({ "application/json": { "schema": reference("Error") } });
        responses.insert("default".to_owned(), json!({ "description": "It failed.", "content": content }));
        responses
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// `get_v1_jobs_job_why`
fn operation_id(route: &RouteInfo) -> String {
    let words = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let method = route.method.to_ascii_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Anyone => "anyone",
        Role::Read => "read",
        Role::Operate => "operate",
        Role::Admin => "admin",
    }
}
