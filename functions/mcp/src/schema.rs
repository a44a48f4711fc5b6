//! JSON schemas of arguments and answers.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of arguments.
pub(crate) fn input_schema<T: JsonSchema>() -> JsonObject {
    build_schema::<T>(SchemaSettings::draft2020_12())
}

/// Returns the schema of an answer.
pub(crate) fn output_schema<T: JsonSchema>() -> JsonObject {
    build_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn build_schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    // Some clients do not follow references.
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut object = schema.ensure_object().clone();
    object.remove("$schema");
    object.remove("title");
    for value in object.values_mut() {
        simplify(value);
    }
    object
}

/// Removes what clients need not know. An absent field says the same as `null`, and some clients
/// accept one type for each field only.
fn simplify(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(simplify),
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [name] = types.as_slice() {
                    let name = name.clone();
                    object.insert("type".to_owned(), name);
                }
            }
            // Formats of numbers are names of Rust, which clients warn about.
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            object.values_mut().for_each(simplify);
        }
        _ => {}
    }
}
