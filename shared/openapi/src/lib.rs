//! The description of the interface in the form of OpenAPI.
//!
//! Each function describes its operations beside their handlers, as values of [`Operation`]. The
//! schemas come from the types of the requests and answers. A test builds the document with
//! [`build_document`] and compares it with `openapi.yaml`, which is what a server shows. A running
//! program never builds it.

mod document;
mod operation;
mod schemas;
#[cfg(test)]
mod tests;
mod yaml;

pub use document::build_document;
pub use operation::{ErrorAnswer, Operation};
pub use yaml::write_yaml;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The schema of a text in a path that names something: any text that is not empty.
pub struct PathId;

impl JsonSchema for PathId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PathId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 1})
    }
}
