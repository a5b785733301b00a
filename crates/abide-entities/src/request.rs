//! What can be asked for, as it goes over the wire, and whether it may be.

use crate::content::ContentId;
use crate::error::EntityError;
use crate::id::EntityId;
use crate::limits::{
    CHILDREN_AT_ONCE, COMPONENT_CHANGES, COMPONENT_NAME_BYTES, COMPONENTS_AT_CREATION, DESCRIPTION_BYTES,
    LABEL_BYTES, NOTE_BYTES, PROPERTIES_BYTES, PROPERTIES_DEPTH, RELATIONSHIPS_BYTES, TYPE_BYTES,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The type of an entity that says none.
pub const USUAL_TYPE: &str = "PI";

/// A component's name.
pub type ComponentName = String;

/// `POST /entities/collect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Collect {
    /// Files that nobody uploaded or was about to name for so long; a day if it does not say.
    pub older_than_ms: Option<i64>,
    /// Whether they are only counted.
    pub dry_run: bool,
}

/// `POST /entities`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The client's id; one is made if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EntityId>,
    /// The same, as another generation of clients calls it; some send both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pi: Option<EntityId>,
    /// `PI`, `file`, `person`, …
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Blobs by name.
    #[serde(default)]
    pub components: BTreeMap<ComponentName, ContentId>,
    /// Its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children_pi: Vec<EntityId>,
    /// Its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pi: Option<EntityId>,
    /// What it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_pi: Option<EntityId>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
    /// How it stands to others; kept as the component `relationships`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationships: Option<Vec<Relationship>>,
    /// Why this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How an entity stands to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relationship {
    /// In which way.
    pub predicate: String,
    /// `pi` or `entity`.
    pub target_type: TargetType,
    /// To which one.
    pub target_id: String,
    /// What people call it.
    pub target_label: String,
    /// Of which type it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_entity_type: Option<String>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
}

/// What a relationship points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetType {
    /// A place in the collection.
    Pi,
    /// A thing that is spoken of.
    Entity,
}

/// `POST /entities/{id}/versions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The tip that the change was made for.
    pub expect_tip: ContentId,
    /// Components to add or replace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<ComponentName, ContentId>,
    /// Components to remove, after that.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub components_remove: BTreeSet<ComponentName>,
    /// Children to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children_pi_add: Vec<EntityId>,
    /// Children to remove, after that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children_pi_remove: Vec<EntityId>,
    /// Another type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Another label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Another description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Other properties in place of all there are; `{}` removes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
    /// Other relationships in place of all there are; `[]` removes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationships: Option<Vec<Relationship>>,
    /// Why this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// `POST /hierarchy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hierarchy {
    /// Whose children.
    pub parent_pi: EntityId,
    /// Its tip.
    pub expect_tip: ContentId,
    /// Children to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_children: Vec<EntityId>,
    /// Children to remove, after that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_children: Vec<EntityId>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Which version of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selector {
    /// By its manifest's id: `cid:…`.
    Cid(ContentId),
    /// By its number: `ver:…`.
    Ver(u32),
}

impl Selector {
    /// Reads `cid:<cid>` or `ver:<n>`.
    pub fn parse(text: &str) -> Result<Selector, EntityError> {
        if let Some(cid) = text.strip_prefix("cid:") {
            return Ok(Selector::Cid(ContentId::parse(cid)?));
        }
        let ver = text.strip_prefix("ver:").and_then(|ver| ver.parse().ok());
        ver.map(Selector::Ver).ok_or_else(|| {
            let given: String = text.chars().take(80).collect();
            EntityError::Invalid(format!("{given:?} selects no version: say cid:<cid> or ver:<n>"))
        })
    }
}

impl Append {
    /// A version that changes nothing but its number.
    #[must_use]
    pub fn onto(expect_tip: ContentId) -> Append {
        Append {
            expect_tip,
            components: BTreeMap::new(),
            components_remove: BTreeSet::new(),
            children_pi_add: Vec::new(),
            children_pi_remove: Vec::new(),
            kind: None,
            label: None,
            description: None,
            properties: None,
            relationships: None,
            note: None,
        }
    }

    /// Checks everything that does not depend on the entity.
    pub fn check(&self, id: &EntityId) -> Result<(), EntityError> {
        let changes = self.components.len() + self.components_remove.len();
        at_most("components and components_remove of one version", COMPONENT_CHANGES, changes)?;
        check_names(&self.components)?;
        check_children("children_pi_add", id, &self.children_pi_add)?;
        check_children("children_pi_remove", id, &self.children_pi_remove)?;
        check_relationships(self.relationships.as_deref(), self.components.contains_key(RELATIONSHIPS))?;
        Texts {
            kind: &self.kind,
            label: &self.label,
            description: &self.description,
            properties: &self.properties,
            note: &self.note,
        }
        .check()
    }
}

impl Hierarchy {
    /// The version of the parent that it asks for.
    #[must_use]
    pub fn into_append(self) -> Append {
        Append {
            children_pi_add: self.add_children,
            children_pi_remove: self.remove_children,
            note: self.note,
            ..Append::onto(self.expect_tip)
        }
    }
}

impl Create {
    /// Takes the client's id out, under whichever name it came.
    pub fn take_id(&mut self) -> Result<Option<EntityId>, EntityError> {
        match (self.id.take(), self.pi.take()) {
            (Some(id), Some(pi)) if id != pi => {
                Err(EntityError::Invalid(format!("id: {id} is not {pi}, which pi says: send one of them")))
            }
            (id, pi) => Ok(id.or(pi)),
        }
    }

    /// Checks everything, for the entity `id`.
    pub fn check(&self, id: &EntityId) -> Result<(), EntityError> {
        at_most("components of a new entity", COMPONENTS_AT_CREATION, self.components.len())?;
        check_names(&self.components)?;
        check_children("children_pi", id, &self.children_pi)?;
        if self.parent_pi.as_ref() == Some(id) {
            return Err(EntityError::Invalid(format!("parent_pi: {id} cannot be its own parent")));
        }
        if let Some(both) = self.children_pi.iter().find(|child| self.parent_pi.as_ref() == Some(child)) {
            let message = format!("children_pi: {both} cannot be parent and child of the same entity");
            return Err(EntityError::Invalid(message));
        }
        check_relationships(self.relationships.as_deref(), self.components.contains_key(RELATIONSHIPS))?;
        Texts {
            kind: &self.kind,
            label: &self.label,
            description: &self.description,
            properties: &self.properties,
            note: &self.note,
        }
        .check()
    }
}

/// The component that relationships are kept as.
pub const RELATIONSHIPS: &str = "relationships";

/// What both requests say in words.
struct Texts<'a> {
    kind: &'a Option<String>,
    label: &'a Option<String>,
    description: &'a Option<String>,
    properties: &'a Option<Map<String, Value>>,
    note: &'a Option<String>,
}

impl Texts<'_> {
    fn check(&self) -> Result<(), EntityError> {
        if self.kind.as_ref().is_some_and(String::is_empty) {
            return Err(EntityError::Invalid("type: it is empty".to_owned()));
        }
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        at_most("bytes of type", TYPE_BYTES, length(self.kind))?;
        at_most("bytes of label", LABEL_BYTES, length(self.label))?;
        at_most("bytes of description", DESCRIPTION_BYTES, length(self.description))?;
        at_most("bytes of note", NOTE_BYTES, length(self.note))?;
        if let Some(properties) = self.properties {
            let value = Value::Object(properties.clone());
            at_most("bytes of properties", PROPERTIES_BYTES, value.to_string().len())?;
            check_value(&value, PROPERTIES_DEPTH)?;
        }
        Ok(())
    }
}

/// Whether a value has a form in a manifest: `/` is the key of links there.
fn check_value(value: &Value, levels: usize) -> Result<(), EntityError> {
    let deeper = |inner: &Value| match levels.checked_sub(1) {
        Some(levels) => check_value(inner, levels),
        None => {
            let message = format!("properties: they are nested more than {PROPERTIES_DEPTH} levels deep");
            Err(EntityError::Invalid(message))
        }
    };
    match value {
        Value::Array(items) => items.iter().try_for_each(deeper),
        Value::Object(fields) if fields.contains_key("/") => Err(EntityError::Invalid(
            "properties: the key \"/\" is how manifests write links: use another".to_owned(),
        )),
        Value::Object(fields) => fields.values().try_for_each(deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check_names(components: &BTreeMap<ComponentName, ContentId>) -> Result<(), EntityError> {
    for name in components.keys() {
        let bad = |reason: &str| {
            let shown: String = name.chars().take(80).collect();
            Err(EntityError::Invalid(format!("components: the name {shown:?} {reason}")))
        };
        if name.is_empty() {
            return bad("is empty");
        }
        if name.len() > COMPONENT_NAME_BYTES {
            return bad(&format!("is longer than {COMPONENT_NAME_BYTES} bytes"));
        }
        if name.chars().any(char::is_control) {
            return bad("has a control character");
        }
    }
    Ok(())
}

fn check_children(what: &'static str, id: &EntityId, children: &[EntityId]) -> Result<(), EntityError> {
    at_most(what, CHILDREN_AT_ONCE, children.len())?;
    if children.contains(id) {
        return Err(EntityError::Invalid(format!("{what}: {id} cannot be its own child")));
    }
    Ok(())
}

fn check_relationships(given: Option<&[Relationship]>, is_component: bool) -> Result<(), EntityError> {
    let Some(given) = given else { return Ok(()) };
    if is_component {
        let message = "relationships: they are kept as the component of that name, which is given as well";
        return Err(EntityError::Invalid(message.to_owned()));
    }
    at_most("bytes of relationships", RELATIONSHIPS_BYTES, relationships_json(given).len())
}

/// Relationships as they are kept.
pub(crate) fn relationships_json(given: &[Relationship]) -> String {
    serde_json::to_string(given).expect("relationships have a form in JSON")
}

fn at_most(what: &str, bound: usize, given: usize) -> Result<(), EntityError> {
    if given <= bound {
        return Ok(());
    }
    Err(EntityError::Invalid(format!("{what} may be at most {bound}, and the request has {given}")))
}
