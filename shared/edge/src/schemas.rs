//! The schemas of fields that are read more leniently than their types say.

use schemars::{Schema, SchemaGenerator, json_schema};

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
