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
pub(super) enum Names {
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
pub(super) enum At {
    Path,
    Query,
    /// A field of the body.
    Field,
    /// A field of the body that is a list.
    List,
}

/// An operation and one of its parameters that name something.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) parameter: String,
    pub(super) at: At,
    pub(super) names: Names,
    /// The example of the body; `null` if there is none.
    example: Value,
}

/// A request that can be sent.
#[derive(Debug, Clone)]
pub(super) struct Asked {
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
pub(super) fn targets() -> Vec<Target> {
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

fn targets_of(method: &str, path: &str, operation: &Value) -> Vec<Target> {
    let body = component(&operation["requestBody"]);
    let form = entries(&body["content"]).next();
    let example = form.map_or(Value::Null, |(_, form)| form["example"].clone());
    let target = |parameter: &str, at, names| Target {
        method: method.to_owned(),
        path: path.to_owned(),
        parameter: parameter.to_owned(),
        at,
        names,
        example: example.clone(),
    };

    let mut found = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = component(parameter);
        let name = parameter["name"].as_str().expect("a name");
        let at = if parameter["in"] == "path" {
            At::Path
        } else {
            At::Query
        };
        match names(path, name) {
            Some(names) => found.push(target(name, at, names)),
            // A new path parameter must be classified here before it counts as harmless.
            None => assert_ne!(at, At::Path, "what does {{{name}}} of {path} name?"),
        }
    }

    let properties = form
        .map(|(_, form)| properties(&form["schema"]))
        .unwrap_or_default();
    for name in properties {
        if let Some(names) = names(path, &name) {
            let at = if name.ends_with('s') {
                At::List
            } else {
                At::Field
            };
            found.push(target(&name, at, names));
        }
    }

    found
}

/// Returns the kind of object that a parameter with this name names in this path.
fn names(path: &str, parameter: &str) -> Option<Names> {
    Some(match parameter {
        "tag" | "containerTag" | "containerTags" | "targetContainerTag" => Names::Tag,
        "memoryId" => Names::Memory,
        "mergeId" => Names::Merge,
        "deletionId" => Names::Deletion,
        "keyId" => Names::Key,
        "docId" => Names::Document,
        "id" | "ids" if path.starts_with("/v4/memories") => Names::Memory,
        "id" | "ids" if path.starts_with("/v3/auth") => Names::Key,
        "id" | "ids" if path.starts_with("/v3/analytics") => Names::Request,
        "id" | "ids" if path.starts_with("/v3/connections") => Names::Connection,
        "id" | "ids" => Names::Document,
        _ => return None,
    })
}

/// Returns the names of the properties in a schema.
fn properties(schema: &Value) -> BTreeSet<String> {
    let schema = component(schema);
    let own = entries(&schema["properties"]).map(|(name, _)| name.clone());
    let parts = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|kind| schema[kind].as_array())
        .flatten();
    own.chain(parts.flat_map(properties)).collect()
}

/// Resolves a reference. Returns the value itself if it is not one.
pub(crate) fn component(value: &Value) -> &Value {
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

impl Target {
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
    pub(super) fn ask(&self, value: &str, own: &str) -> Asked {
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

        // A dry run reports the changes without making any, which a second request would find.
        if self.path.ends_with("/merge") {
            body.insert("dryRun".into(), true.into());
        }

        let mut path = self.path.replace(
            "{tag}",
            if self.parameter == "tag" {
                "{tag}"
            } else {
                own
            },
        );

        match self.at {
            At::Path => path = path.replace(&format!("{{{}}}", self.parameter), value),
            At::Query => path = format!("{path}?{}={value}", self.parameter),
            At::Field => {
                // A request must not name its target in two ways.
                let other = if self.parameter == "containerTag" {
                    "containerTags"
                } else {
                    "query"
                };
                body.remove(other);
                if self.names == Names::Memory {
                    body.remove("content");
                }
                body.insert(self.parameter.clone(), value.into());
            }

            At::List => {
                for other in ["containerTag", "query", "threshold", "maxForget"] {
                    if self.parameter != "containerTags" || other == "containerTag" {
                        body.remove(other);
                    }
                }
                if self.names == Names::Memory {
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
        let is_form = self.path.ends_with("/file");
        let sends = !body.is_empty();

        Asked {
            method: self.method.clone(),
            path,
            body: if sends { body.into() } else { Value::Null },
            is_form,
        }
    }
}

/// An id that no object has.
pub(super) const UNKNOWN: &str = "2222222222222222222222";
