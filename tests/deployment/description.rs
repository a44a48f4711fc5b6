//! Builds `openapi.yaml` from the operations in the code, and compares the two.

use std::env;
use std::fs;

use openapi::{Operation, build_document};
use serde_json::Value;

use crate::tree::{read_file, workspace_root};

/// Returns the operations that the functions describe.
fn described_operations() -> Vec<Operation> {
    [
        analytics::operations(),
        container_tags::operations(),
        memories::operations(),
        settings::operations(),
    ]
    .concat()
}

/// Returns the document that follows from the code and from the written parts, as YAML.
fn build_yaml() -> String {
    let written: Value =
        serde_norway::from_str(&read_file("shared/openapi/written.yaml")).expect("YAML");
    let document = build_document(&written, &described_operations()).expect("one document");
    let yaml = serde_norway::to_string(&document).expect("a document that can be written");
    format!(
        "# Made from the code: RECOLLECT_OPENAPI=write cargo test -p acceptance --test deployment openapi\n{yaml}"
    )
}

#[test]
fn openapi_yaml_is_what_the_code_describes() {
    let built = build_yaml();
    if env::var("RECOLLECT_OPENAPI").as_deref() == Ok("write") {
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
         RECOLLECT_OPENAPI=write cargo test -p acceptance --test deployment openapi",
        difference.map(|line| line + 1)
    );
}
