//! JSON-LD: the first thing in a page that describes the page.

use super::metadata::Metadata;
use dom_query::Document;
use serde_json::Value;

const TYPES: [&str; 10] = [
    "Article",
    "BlogPosting",
    "NewsArticle",
    "Report",
    "ScholarlyArticle",
    "TechArticle",
    "VideoObject",
    "Recipe",
    "Product",
    "WebPage",
];
/// Levels of arrays and graphs that are looked into.
const DEPTH: usize = 8;

/// What the page's JSON-LD says; URLs are as they are written.
pub(super) fn of(document: &Document) -> Option<Metadata> {
    document.select(r#"script[type="application/ld+json"]"#).iter().find_map(|script| {
        let value: Value = serde_json::from_str(script.text().trim()).ok()?;
        find(&value, DEPTH).map(read)
    })
}

fn find(value: &Value, depth: usize) -> Option<&Value> {
    if depth == 0 {
        return None;
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| find(item, depth - 1)),
        Value::Object(fields) => {
            let is_page = fields.get("@type").is_some_and(is_known);
            if is_page { Some(value) } else { fields.get("@graph").and_then(|graph| find(graph, depth - 1)) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn is_known(kind: &Value) -> bool {
    let known = |word: &str| TYPES.contains(&word.rsplit(['/', ':']).next().unwrap_or_default());
    match kind {
        Value::String(word) => known(word),
        Value::Array(words) => words.iter().filter_map(Value::as_str).any(known),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn read(node: &Value) -> Metadata {
    let text = |name: &str| node.get(name).and_then(Value::as_str).map(str::to_owned);
    Metadata {
        title: text("headline").or_else(|| text("name")),
        description: text("description"),
        image: node.get("image").and_then(image).or_else(|| node.get("thumbnailUrl").and_then(image)),
        favicon: None,
    }
}

fn image(value: &Value) -> Option<String> {
    match value {
        Value::String(url) => Some(url.clone()),
        Value::Array(items) => items.first().and_then(image),
        Value::Object(fields) => fields.get("url").or_else(|| fields.get("@id")).and_then(image),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
