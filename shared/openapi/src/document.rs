//! The document, assembled from operations and from the parts that are written by hand.

use serde_json::{Map, Value, json};

use crate::operation::{Answer, ErrorAnswer, Operation, Parameter, RequestBody};
use crate::schemas::{SchemaBuilder, remove_null};

/// Builds the document from operations and from a document of everything else: its title, groups
/// and shared answers, and the operations that no code describes yet.
///
/// # Errors
/// The name of an operation, a component or a schema that is described twice or not at all.
pub fn build_document(written: &Value, operations: &[Operation]) -> Result<Value, String> {
    let mut document = written.clone();
    let mut schemas = SchemaBuilder::new();
    for operation in operations {
        let item = describe_operation(&mut document, &mut schemas, operation)?;
        let place = &mut document["paths"][&operation.path][operation.method];
        if !place.is_null() {
            return Err(format!("{} is described twice", operation.id));
        }
        *place = item;
    }

    for (name, schema) in schemas.into_definitions()? {
        let known = &mut document["components"]["schemas"][&name];
        if !known.is_null() {
            return Err(format!("the schema {name} is described twice"));
        }
        *known = schema;
    }

    sort_entries(&mut document);
    Ok(document)
}

fn describe_operation(
    document: &mut Value,
    schemas: &mut SchemaBuilder,
    operation: &Operation,
) -> Result<Value, String> {
    let mut item = Map::new();
    item.insert("operationId".into(), operation.id.as_str().into());
    if let Some(group) = operation.group {
        item.insert("tags".into(), json!([group]));
    }
    item.insert("summary".into(), operation.summary.as_str().into());
    if !operation.description.is_empty() {
        item.insert("description".into(), operation.description.into());
    }
    if operation.alias_of.is_some() {
        item.insert("deprecated".into(), true.into());
    }
    if operation.is_open {
        item.insert("security".into(), json!([]));
    }

    let mut parameters = Vec::new();
    for parameter in &operation.parameters {
        parameters.extend(describe_parameters(schemas, parameter, &operation.id)?);
    }
    if !parameters.is_empty() {
        item.insert("parameters".into(), parameters.into());
    }

    let component = operation.component();
    if let Some(body) = &operation.body {
        let described = describe_body(schemas, body);
        let reference = add_component(document, "requestBodies", &component, described)?;
        item.insert("requestBody".into(), reference);
    }

    let responses = describe_answers(document, schemas, operation, &component)?;
    item.insert("responses".into(), responses);
    Ok(item.into())
}

/// Returns the answers of an operation by status, those of errors among them.
fn describe_answers(
    document: &mut Value,
    schemas: &mut SchemaBuilder,
    operation: &Operation,
    component: &str,
) -> Result<Value, String> {
    let mut responses: Vec<(u16, Value)> = Vec::new();
    for (position, answer) in operation.answers.iter().enumerate() {
        let name = match position {
            0 => component.to_owned(),
            _ => format!("{component}{}", answer.status),
        };
        let described = describe_answer(schemas, answer);
        let reference = add_component(document, "responses", &name, described)?;
        responses.push((answer.status, reference));
    }

    for (error, description) in &operation.errors {
        responses.push((error.status(), describe_error(*error, description)));
    }
    responses.sort_by_key(|(status, _)| *status);

    let by_status = responses
        .into_iter()
        .map(|(status, answer)| (status.to_string(), answer));
    Ok(Value::Object(by_status.collect()))
}

fn describe_error(error: ErrorAnswer, description: &str) -> Value {
    let mut reference = json!({"$ref": format!("#/components/responses/{}", error.component())});
    if !description.is_empty() {
        reference["description"] = description.into();
    }
    reference
}

fn describe_parameters(
    schemas: &mut SchemaBuilder,
    parameter: &Parameter,
    operation: &str,
) -> Result<Vec<Value>, String> {
    match parameter {
        Parameter::Single {
            name,
            position,
            description,
            schema,
        } => {
            let mut described = json!({"name": name, "in": position});
            if *position == "path" {
                described["required"] = true.into();
            }
            described["description"] = (*description).into();
            described["schema"] = schemas.request_schema(*schema);
            Ok(vec![described])
        }
        Parameter::Query { schema, names } => {
            let object = schemas.request_schema(*schema);
            let fields = object["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            let all_names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let names = if names.is_empty() { &all_names } else { *names };

            let mut described = Vec::new();
            for name in names {
                let field = fields
                    .get(*name)
                    .ok_or_else(|| format!("{operation} has no parameter {name}"))?;
                described.push(describe_query_field(name, field));
            }
            Ok(described)
        }
    }
}

/// Returns a field of a query string as a parameter. A parameter is absent rather than null,
/// and always sent as text.
fn describe_query_field(name: &str, field: &Value) -> Value {
    let mut schema = field.clone();
    remove_null(&mut schema);
    if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
        let number = alternatives[0].clone();
        schema = merge(number, &schema, "anyOf");
    }
    if schema["type"] == json!(["boolean", "string"]) {
        schema = merge(json!({"type": "boolean"}), &schema, "enum");
    }

    let description = schema
        .as_object_mut()
        .and_then(|object| object.remove("description"));
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

/// Returns `schema` with the members of `other` that it lacks, except the one named `without`.
fn merge(mut schema: Value, other: &Value, without: &str) -> Value {
    for (name, value) in other.as_object().into_iter().flatten() {
        if name != without && schema.get(name).is_none() {
            schema[name] = value.clone();
        }
    }
    schema
}

fn describe_body(schemas: &mut SchemaBuilder, body: &RequestBody) -> Value {
    let mut content = json!({"schema": schemas.request_schema(body.schema)});
    if !body.example.is_null() {
        content["example"] = body.example.clone();
    }
    json!({"required": body.is_required, "content": {body.media_type: content}})
}

fn describe_answer(schemas: &mut SchemaBuilder, answer: &Answer) -> Value {
    let mut described = json!({"description": answer.description});
    for content in &answer.contents {
        let mut value = json!({"schema": schemas.answer_schema(content.schema)});
        if !content.example.is_null() {
            value["example"] = content.example.clone();
        }
        described["content"][content.media_type] = value;
    }
    described
}

/// Adds a component, and returns a reference to it. Operations may share a component if it is the
/// same for each of them.
fn add_component(
    document: &mut Value,
    kind: &str,
    name: &str,
    component: Value,
) -> Result<Value, String> {
    let known = &mut document["components"][kind][name];
    if known.is_null() {
        *known = component;
    } else if *known != component {
        return Err(format!("{kind} has two components {name}"));
    }
    Ok(json!({"$ref": format!("#/components/{kind}/{name}")}))
}

/// Sorts paths, their methods and components by name, so that the place of an operation in the code
/// does not matter.
fn sort_entries(document: &mut Value) {
    const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
    if let Some(paths) = document["paths"].as_object_mut() {
        paths.sort_keys();
        for item in paths.values_mut().filter_map(Value::as_object_mut) {
            let mut methods: Vec<(String, Value)> = std::mem::take(item).into_iter().collect();
            methods.sort_by_key(|(method, _)| METHODS.iter().position(|known| known == method));
            item.extend(methods);
        }
    }
    let kinds = document["components"].as_object_mut().into_iter().flatten();
    for (_, components) in kinds {
        if let Some(components) = components.as_object_mut() {
            components.sort_keys();
        }
    }
}
