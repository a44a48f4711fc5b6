//! Schemas from types. A type that is both sent and answered can differ in the two directions: an
//! answer has exactly the fields that it names, and a request may leave out what has a default.

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use crate::operation::BuildSchema;

/// The schemas of the types of requests, and those of answers.
pub(crate) struct SchemaBuilder {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl SchemaBuilder {
    pub(crate) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
                settings.transforms.clear();
            })
        };

        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// Returns the schema of what a client sends.
    pub(crate) fn request_schema(&mut self, build: BuildSchema) -> Value {
        let mut schema = build(&mut self.requests);
        Simplify.transform(&mut schema);
        schema.into()
    }

    /// Returns the schema of what the service answers.
    pub(crate) fn answer_schema(&mut self, build: BuildSchema) -> Value {
        let mut schema = build(&mut self.answers);
        Simplify.transform(&mut schema);
        Close.transform(&mut schema);
        schema.into()
    }

    /// Returns the schemas that the others refer to, by name.
    ///
    /// # Errors
    /// The name of a type whose schema differs between requests and answers by more than further
    /// fields. Such a type needs two names.
    pub(crate) fn into_definitions(mut self) -> Result<Map<String, Value>, String> {
        let mut definitions = Map::new();
        for (name, mut value) in self.answers.take_definitions(false) {
            if let Ok(schema) = <&mut Schema>::try_from(&mut value) {
                Simplify.transform(schema);
                Close.transform(schema);
            }
            definitions.insert(name, value);
        }

        for (name, mut value) in self.requests.take_definitions(false) {
            if let Ok(schema) = <&mut Schema>::try_from(&mut value) {
                Simplify.transform(schema);
            }
            if definitions
                .get(&name)
                .is_some_and(|known| open_schema(known) != value)
            {
                return Err(format!(
                    "the schema {name} differs in requests and in answers"
                ));
            }
            definitions.insert(name, value);
        }

        Ok(definitions)
    }
}

/// Returns a schema of an answer as a request would have it.
fn open_schema(schema: &Value) -> Value {
    let mut opened = schema.clone();
    if let Some(object) = opened.as_object_mut()
        && object.get("additionalProperties") == Some(&Value::Bool(false))
    {
        object.remove("additionalProperties");
    }
    opened
}

/// Writes what derived schemas express in several ways in the shortest one.
struct Simplify;

impl Transform for Simplify {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };

        // The width of a number is not part of the interface.
        let is_number = ["integer", "number"].iter().any(|kind| {
            object.get("type") == Some(&json!(kind))
                || object.get("type") == Some(&json!([kind, "null"]))
        });
        if is_number {
            object.remove("format");
            if let Some(maximum) = object.get("maximum")
                && [json!(u8::MAX), json!(u16::MAX)].contains(maximum)
            {
                object.remove("maximum");
            }
        }

        join_lines(object);
        name_variants(object);
        // A default that only says "absent" or "empty" says nothing.
        let is_empty = [Value::Null, json!(""), json!([])]
            .iter()
            .any(|empty| object.get("default") == Some(empty));
        if is_empty {
            object.remove("default");
        }
    }
}

/// Joins the lines of each paragraph of a description, which a comment breaks where it has to.
fn join_lines(object: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = object.get_mut("description") {
        let paragraphs = description.split("\n\n");
        let joined = paragraphs.map(|paragraph| paragraph.replace('\n', " "));
        *description = joined.collect::<Vec<_>>().join("\n\n");
    }
}

/// Turns variants without content, each with its description, into one list of values.
fn name_variants(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get("oneOf") else {
        return;
    };

    let mut values = Vec::new();
    let mut descriptions = Vec::new();
    for variant in variants {
        let (Some(value), Some("string")) = (variant.get("const"), variant["type"].as_str()) else {
            return;
        };
        if let (Some(name), Some(text)) = (value.as_str(), variant["description"].as_str()) {
            descriptions.push(format!("- `{name}`: {}", text));
        }
        values.push(value.clone());
    }

    let mut description = object
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if !descriptions.is_empty() {
        description = format!("{description}\n\n{}", descriptions.join("\n"));
        object.insert("description".into(), description.trim().into());
    }

    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), values.into());
}

/// Forbids fields that an answer does not name.
struct Close;

impl Transform for Close {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        remove_null_of_optional(object);
        // Only a request can leave out what has a default.
        object.remove("default");
        let is_open = !object.contains_key("additionalProperties")
            && !object.contains_key("unevaluatedProperties");
        // Without a type, it is a condition on the fields of the object that it is a part of.
        let is_object = object.contains_key("type") && object.contains_key("properties");
        if is_object && is_open {
            object.insert("additionalProperties".into(), false.into());
        }
    }
}

/// Removes null from the fields that an answer may leave out. Such a field is left out instead of
/// being null.
fn remove_null_of_optional(object: &mut Map<String, Value>) {
    let required: Vec<Value> = object
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let Some(Value::Object(fields)) = object.get_mut("properties") else {
        return;
    };
    for (name, field) in fields {
        if !required.contains(&json!(name)) {
            remove_null(field);
        }
    }
}

/// Removes null from what a schema permits.
pub(crate) fn remove_null(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };

    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            object.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }

    let Some(Value::Array(mut alternatives)) = object.remove("anyOf") else {
        return;
    };
    alternatives.retain(|alternative| *alternative != json!({"type": "null"}));
    match alternatives.as_slice() {
        [Value::Object(only)] => {
            for (name, value) in only {
                object.entry(name).or_insert_with(|| value.clone());
            }
        }
        _ => {
            object.insert("anyOf".into(), alternatives.into());
        }
    }
}
