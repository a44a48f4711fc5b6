//! Tests of the document that operations and types make.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::{ErrorAnswer, Operation, PathId, build_document};

/// A request.
#[derive(serde::Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct SampleRequest {
    /// The name.
    #[schemars(length(max = 5))]
    name: Option<String>,
    mode: SampleMode,
}

/// The mode.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SampleMode {
    /// Slowly.
    Slow,
    /// Quickly.
    Fast,
}

/// An answer.
#[derive(serde::Serialize, JsonSchema)]
struct SampleAnswer {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    end: Option<String>,
}

fn sample_operation() -> Operation {
    Operation::post("/samples/{id}", "create_sample")
        .summary("Create a sample.")
        .path_parameter::<PathId>("id", "The id.")
        .query_fields::<SampleRequest>(&["name"])
        .body::<SampleRequest>(json!({"mode": "fast"}))
        .answer::<SampleAnswer>("The sample.", json!({"count": 1, "end": null}))
        .error(ErrorAnswer::NotFound, "There is no such sample.")
}

fn build_sample(operations: &[Operation]) -> Result<Value, String> {
    build_document(&json!({"paths": {}, "components": {}}), operations)
}

#[test]
fn an_operation_becomes_components_and_references() {
    let document = build_sample(&[sample_operation()]).unwrap();
    let operation = &document["paths"]["/samples/{id}"]["post"];
    assert_eq!(
        operation["parameters"],
        json!([
            {
                "name": "id", "in": "path", "required": true, "description": "The id.",
                "schema": {"type": "string", "minLength": 1},
            },
            {
                "name": "name", "in": "query", "description": "The name.",
                "schema": {"type": "string", "maxLength": 5},
            },
        ])
    );

    let reference = json!({"$ref": "#/components/requestBodies/CreateSample"});
    assert_eq!(operation["requestBody"], reference);
    let statuses: Vec<&String> = operation["responses"].as_object().unwrap().keys().collect();
    assert_eq!(
        statuses,
        ["200", "401", "403", "404", "413", "429", "500", "503"]
    );
    assert_eq!(
        operation["responses"]["404"],
        json!({
            "$ref": "#/components/responses/NotFound",
            "description": "There is no such sample.",
        })
    );
}

#[test]
fn an_answer_has_only_the_fields_it_names_and_leaves_out_rather_than_null() {
    let document = build_sample(&[sample_operation()]).unwrap();
    assert_eq!(
        document["components"]["schemas"]["SampleAnswer"],
        json!({
            "type": "object",
            "description": "An answer.",
            "properties": {
                "count": {"type": "integer", "minimum": 0},
                "end": {"type": ["string", "null"]},
                "note": {"type": "string"},
            },
            "required": ["count", "end"],
            "additionalProperties": false,
        })
    );
}

/// An answer with a condition.
#[derive(serde::Serialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"count": {"const": 0}}},
    "then" = {"required": ["reason"]},
))]
struct ConditionalAnswer {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[test]
fn a_condition_on_some_fields_allows_the_others() {
    let operation = Operation::get("/counts", "get_count")
        .answer::<ConditionalAnswer>("The count.", json!({"count": 1}));
    let document = build_sample(&[operation]).unwrap();
    let schema = &document["components"]["schemas"]["ConditionalAnswer"];
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["if"], json!({"properties": {"count": {"const": 0}}}));
}

#[test]
fn variants_become_one_list_of_values() {
    let document = build_sample(&[sample_operation()]).unwrap();
    assert_eq!(
        document["components"]["schemas"]["SampleMode"],
        json!({
            "description": "The mode.\n\n- `slow`: Slowly.\n- `fast`: Quickly.",
            "type": "string",
            "enum": ["slow", "fast"],
        })
    );
}

#[test]
fn an_alias_shares_the_components_of_its_original() {
    let original = sample_operation();
    let alias = original.alias("/examples/{id}");
    let document = build_sample(&[original, alias]).unwrap();
    let paths = &document["paths"];
    let (alias, original) = (&paths["/examples/{id}"], &paths["/samples/{id}"]);
    assert_eq!(alias["post"]["operationId"], "create_sample_alias");
    assert_eq!(alias["post"]["deprecated"], true);
    let summary = "The same as `POST /samples/{id}`.";
    assert_eq!(alias["post"]["summary"], summary);
    assert_eq!(alias["post"]["responses"], original["post"]["responses"]);
}

#[test]
fn nothing_is_described_twice() {
    let twice = build_sample(&[sample_operation(), sample_operation()]);
    assert_eq!(twice.unwrap_err(), "create_sample is described twice");

    let written = json!({"paths": {}, "components": {"schemas": {"SampleMode": {}}}});
    let error = build_document(&written, &[sample_operation()]).unwrap_err();
    assert_eq!(error, "the schema SampleMode is described twice");

    let unknown = sample_operation().query_fields::<SampleRequest>(&["colour"]);
    let error = build_sample(&[unknown]).unwrap_err();
    assert_eq!(error, "create_sample has no parameter colour");
}
