//! Builds `openapi.yaml` from the operations in the code, and compares the two.

use std::env;
use std::fs;

use openapi::{Operation, build_document, write_yaml};
use serde_json::{Value, json};

use crate::tree::{read_file, workspace_root};

/// Returns the operations that the functions describe.
fn described_operations() -> Vec<Operation> {
    [
        analytics::operations(),
        connections::operations(),
        container_tags::operations(),
        documents::operations(),
        memories::operations(),
        search::operations(),
        settings::operations(),
    ]
    .concat()
}

/// Returns the document that follows from the code and from the written parts, as YAML.
fn build_yaml() -> String {
    let written: Value =
        serde_norway::from_str(&read_file("shared/openapi/written.yaml")).expect("YAML");
    let document = build_document(&written, &described_operations()).expect("one document");
    format!(
        "# Made from the code. docs/contributing.md says how.\n{}",
        write_yaml(&document)
    )
}

#[test]
fn every_described_operation_has_a_description_examples_and_its_errors() {
    let nothing = json!({"paths": {}, "components": {}});
    let document = build_document(&nothing, &described_operations()).expect("one document");
    let mut faults = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let mut expect = |holds: bool, what: &str| {
                if !holds {
                    faults.push(format!("{method} {path} has no {what}"));
                }
            };
            let text = operation["description"].as_str().unwrap_or_default();
            expect(text.ends_with('.'), "description");
            expect(
                has_examples(&document, &operation["requestBody"]),
                "example of a request",
            );

            for (status, answer) in operation["responses"].as_object().expect("answers") {
                // What does not exist and what contradicts depends on the operation.
                let is_own_error = ["404", "409"].contains(&status.as_str());
                let is_described = !is_own_error || answer["description"].is_string();
                expect(is_described, "description of an error");
                if status.starts_with('2') {
                    expect(has_examples(&document, answer), "example of an answer");
                }
            }
        }
    }

    assert_eq!(faults, Vec::<String>::new());
}

/// Checks whether every content of a component has an example. There may be no component.
fn has_examples(document: &Value, reference: &Value) -> bool {
    let Some(reference) = reference["$ref"].as_str() else {
        return true;
    };
    let component = document.pointer(&reference[1..]).expect("a component");
    let contents = component["content"].as_object().into_iter().flatten();
    contents
        .filter(|(media_type, _)| *media_type != "multipart/form-data")
        .all(|(_, content)| !content["example"].is_null())
}

#[test]
fn the_yaml_says_what_the_document_says() {
    let values = json!({
        "plain": ["Some words, with a comma.", "/v3/openapi", "a-b_c", "camelCase"],
        "quoted": ["no", "=", "2026-03-01", "a: b", "1.5", "", " x", "a  b", "a #b", "\n\"", "é"],
        "other": [null, true, 1, 0.5, {}, [], [[1], {"a": {"b": []}}], {"200": {"x": "y"}}],
    });
    let yaml = write_yaml(&values);
    let parsed: Value = serde_norway::from_str(&yaml).expect("YAML");
    assert_eq!(parsed, values, "{yaml}");
    assert!(
        yaml.contains("- /v3/openapi\n") && yaml.contains("- \"no\"\n"),
        "{yaml}"
    );
}

#[test]
fn openapi_yaml_is_what_the_code_describes() {
    let built = build_yaml();
    if env::var_os("RECOLLECT_OPENAPI").is_some_and(|value| value == "write") {
        fs::write(workspace_root().join("openapi.yaml"), &built).expect("openapi.yaml");
    }

    let committed = read_file("openapi.yaml");
    let difference = built
        .lines()
        .zip(committed.lines())
        .position(|(built, committed)| built != committed);
    assert!(
        built == committed,
        "openapi.yaml differs from the code at line {:?}; to write it anew: \
         RECOLLECT_OPENAPI=write cargo test -p acceptance --test deployment openapi_yaml_is",
        difference.map(|line| line + 1)
    );
}
