//! Every operation of `openapi.yaml`, with the parameters that name something, and a request from
//! its examples.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_norway::from_str(include_str!("../../../openapi.yaml")).expect("openapi.yaml")
});

/// The kind of object that a parameter names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NamedKind {
    Tag,
    Document,
    Memory,
    Key,
    Merge,
    Deletion,
    Request,
    Connection,
}

/// The position of a parameter in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterPosition {
    Path,
    Query,
    /// A field of the body.
    Field,
    /// A field of the body that is a list.
    List,
}

/// An operation and one of its parameters that name something.
#[derive(Debug, Clone)]
pub(super) struct NamingParameter {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) parameter: String,
    pub(super) at: ParameterPosition,
    pub(super) names: NamedKind,
    /// The example of the body; `null` if there is none.
    example: Value,
}

/// A request that can be sent.
#[derive(Debug, Clone)]
pub(super) struct TestRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Value,
    pub(super) is_form: bool,
}

/// Returns every operation: its method, its path and its description.
pub(crate) fn every_operation() -> impl Iterator<Item = (String, String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations");
        operations
            .iter()
            .map(|(method, operation)| (method.to_uppercase(), path.clone(), operation))
    })
}

/// Returns every parameter of every operation that names something.
pub(super) fn naming_parameters() -> Vec<NamingParameter> {
    let mut targets = Vec::new();
    for (path, operations) in DOCUMENT["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            // An operation without a key does not distinguish callers.
            if operation["security"].as_array().is_some_and(Vec::is_empty) {
                continue;
            }
            targets.extend(targets_of(&method.to_uppercase(), path, operation));
        }
    }
    targets
}

fn targets_of(method: &str, path: &str, operation: &Value) -> Vec<NamingParameter> {
    let body = resolve_reference(&operation["requestBody"]);
    let form = entries(&body["content"]).next();
    let example = form.map_or(Value::Null, |(_, form)| form["example"].clone());
    let target = |parameter: &str, at, names| NamingParameter {
        method: method.to_owned(),
        path: path.to_owned(),
        parameter: parameter.to_owned(),
        at,
        names,
        example: example.clone(),
    };

    let mut found = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = resolve_reference(parameter);
        let name = parameter["name"].as_str().expect("a name");
        let at = if parameter["in"] == "path" {
            ParameterPosition::Path
        } else {
            ParameterPosition::Query
        };
        match named_kind(path, name) {
            Some(names) => found.push(target(name, at, names)),
            // A new path parameter must be classified here before it counts as harmless.
            None => assert_ne!(
                at,
                ParameterPosition::Path,
                "what does {{{name}}} of {path} name?"
            ),
        }
    }

    let properties = form
        .map(|(_, form)| schema_properties(&form["schema"]))
        .unwrap_or_default();
    for name in properties {
        if let Some(names) = named_kind(path, &name) {
            let at = if name.ends_with('s') {
                ParameterPosition::List
            } else {
                ParameterPosition::Field
            };
            found.push(target(&name, at, names));
        }
    }

    found
}

/// Returns the kind of object that a parameter with this name names in this path.
fn named_kind(path: &str, parameter: &str) -> Option<NamedKind> {
    Some(match parameter {
        "tag" | "containerTag" | "containerTags" | "targetContainerTag" => NamedKind::Tag,
        "namespace" | "moveTo" => NamedKind::Tag,
        "memoryId" => NamedKind::Memory,
        "mergeId" => NamedKind::Merge,
        "deletionId" => NamedKind::Deletion,
        "keyId" => NamedKind::Key,
        "docId" => NamedKind::Document,
        // A document gets this id, as it gets a customId elsewhere.
        "id" if path == "/ns/{namespace}/document" => return None,
        "id" | "ids" if path.starts_with("/v4/memories") => NamedKind::Memory,
        "id" | "ids" if path.starts_with("/ns/{namespace}/memories") => NamedKind::Memory,
        "id" | "ids" if path.starts_with("/ns/{namespace}/connectors") => NamedKind::Connection,
        "id" | "ids" if path.starts_with("/v3/auth") => NamedKind::Key,
        "id" | "ids" if path.starts_with("/v3/analytics") => NamedKind::Request,
        "id" | "ids" if path.starts_with("/v3/connections") => NamedKind::Connection,
        "id" | "ids" => NamedKind::Document,
        _ => return None,
    })
}

/// Returns the names of the properties in a schema.
fn schema_properties(schema: &Value) -> BTreeSet<String> {
    let schema = resolve_reference(schema);
    let own = entries(&schema["properties"]).map(|(name, _)| name.clone());
    let parts = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|kind| schema[kind].as_array())
        .flatten();
    own.chain(parts.flat_map(schema_properties)).collect()
}

/// Resolves a reference. Returns the value itself if it is not one.
pub(crate) fn resolve_reference(value: &Value) -> &Value {
    match value["$ref"].as_str() {
        Some(reference) => DOCUMENT
            .pointer(reference.trim_start_matches('#'))
            .expect("what is referred to"),
        None => value,
    }
}

pub(crate) fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

impl NamingParameter {
    /// Checks whether the path names a provider. The containers are then in the body.
    fn names_provider(&self) -> bool {
        let end = self.path.strip_prefix("/v3/connections/{id}");
        let by_method = end == Some("") && ["POST", "DELETE"].contains(&self.method.as_str());
        by_method
            || ["/connection", "/documents", "/import"]
                .iter()
                .any(|known| end == Some(known))
    }

    /// Builds a request with `value` in this parameter, and with `own` as the container everywhere
    /// else.
    pub(super) fn build_request(&self, value: &str, own: &str) -> TestRequest {
        let mut body = match &self.example {
            Value::Object(example) => example.clone(),
            _ => Map::new(),
        };
        for field in ["containerTag", "containerTags"] {
            if body.contains_key(field) {
                body.insert(
                    field.to_owned(),
                    if field.ends_with('s') {
                        json!([own])
                    } else {
                        json!(own)
                    },
                );
            }
        }

        // A customId is one document in the organization, so each container gets its own.
        if body.contains_key("customId") {
            body.insert("customId".into(), json!(format!("of-{value}")));
        }

        // A dry run reports the changes without making any, which a second request would find.
        if self.path.ends_with("/merge") {
            body.insert("dryRun".into(), true.into());
        }

        let mut path = self.path.clone();
        for container in ["tag", "namespace"] {
            if self.parameter != container {
                path = path.replace(&format!("{{{container}}}"), own);
            }
        }

        match self.at {
            ParameterPosition::Path => {
                path = path.replace(&format!("{{{}}}", self.parameter), value)
            }
            ParameterPosition::Query => path = format!("{path}?{}={value}", self.parameter),
            ParameterPosition::Field => {
                // A request must not name its target in two ways.
                let other = if self.parameter == "containerTag" {
                    "containerTags"
                } else {
                    "query"
                };
                body.remove(other);
                if self.names == NamedKind::Memory {
                    body.remove("content");
                }
                body.insert(self.parameter.clone(), value.into());
            }

            ParameterPosition::List => {
                for other in ["containerTag", "query", "threshold", "maxForget"] {
                    if self.parameter != "containerTags" || other == "containerTag" {
                        body.remove(other);
                    }
                }
                if self.names == NamedKind::Memory && !self.path.starts_with("/ns/") {
                    body.insert("containerTag".into(), own.into());
                }
                body.insert(self.parameter.clone(), json!([value]));
            }
        }

        // The other parameters of the path get an unused id.
        let id = if self.names_provider() {
            "web-crawler"
        } else {
            UNKNOWN
        };
        let path = path.replace("{memoryId}", UNKNOWN).replace("{id}", id);
        let is_form = self.path.ends_with("/file") || self.path.contains("/document/file/");
        let sends = !body.is_empty();

        TestRequest {
            method: self.method.clone(),
            path,
            body: if sends { body.into() } else { Value::Null },
            is_form,
        }
    }
}

/// An id that no object has.
pub(super) const UNKNOWN: &str = "2222222222222222222222";
