//! The schemas of fields that are read more leniently than their types say, and of bodies that two
//! types read.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::extract::JsonParts;

/// The fields of both types, with the name and the description of the first.
impl<A: JsonSchema, B: JsonSchema> JsonSchema for JsonParts<A, B> {
    fn schema_name() -> Cow<'static, str> {
        A::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{} and {}", A::schema_id(), B::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = A::json_schema(generator);
        let other = B::json_schema(generator);
        let object = schema.ensure_object();
        if let Some(Value::Object(fields)) = other.get("properties") {
            let all = object.entry("properties").or_insert_with(|| json!({}));
            for (name, field) in fields {
                all[name] = field.clone();
            }
        }
        if let Some(Value::Array(names)) = other.get("required") {
            let all = object.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.extend(names.iter().cloned());
            }
        }

        schema
    }
}

/// Returns the schema of a field that [`crate::deserialize_bool`] reads.
pub fn flexible_boolean_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["boolean", "string", "null"],
        "enum": [true, false, "true", "false", null],
        "default": false,
    })
}

/// Returns the schema of a field from `MIN` to `MAX` that [`crate::deserialize_count`] reads.
pub fn count_schema<const MIN: usize, const MAX: usize>(_: &mut SchemaGenerator) -> Schema {
    let mut number = json_schema!({"type": "integer", "minimum": MIN});
    if MAX < usize::MAX {
        number.insert("maximum".into(), MAX.into());
    }
    json_schema!({
        "anyOf": [number, {"type": "string", "pattern": "^[0-9]+$"}, {"type": "null"}],
    })
}

/// Returns the schema of the number of a page.
pub fn page_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = count_schema::<1, { usize::MAX }>(generator);
    schema.insert("default".into(), 1.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct First {
        name: String,
    }

    /// Fields that several bodies share.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Second {
        /// The time.
        time: u8,
        place: Option<String>,
    }

    #[test]
    fn a_body_that_two_types_read_has_the_fields_of_both() {
        let mut generator = SchemaGenerator::default();
        let schema = JsonParts::<First, Second>::json_schema(&mut generator);
        assert_eq!(schema.get("description"), Some(&json!("A body.")));
        assert_eq!(schema.get("required"), Some(&json!(["name", "time"])));

        let fields = schema.get("properties").and_then(Value::as_object).unwrap();
        let names: Vec<&String> = fields.keys().collect();
        assert_eq!(names, ["name", "time", "place"]);
        assert_eq!(fields["time"]["description"], "The time.");
        assert_eq!(JsonParts::<First, Second>::schema_name(), "First");
    }
}
