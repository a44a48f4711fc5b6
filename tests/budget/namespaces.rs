//! The operations of namespaces, on documents of 2 KB.

use serde_json::{Value, json};

use crate::operations::{TIMES, fixed_request, note_text};
use crate::rig::MeteredSystem;

/// The namespace that is measured.
const NAMESPACE: &str = "/ns/garden";

pub(crate) async fn measure_namespaces(rig: &mut MeteredSystem) {
    measure_documents(rig).await;
    measure_recall(rig).await;
    measure_administration(rig).await;
}

fn path(end: &str) -> String {
    format!("{NAMESPACE}{end}")
}

async fn measure_documents(rig: &mut MeteredSystem) {
    let first = json!({"content": "The first.", "id": "first"});
    rig.send_request("POST", &path("/document"), &first).await;
    rig.run_workers().await.expect("work");

    let add = |number: usize| {
        let body = json!({"content": note_text(number), "id": format!("n{number}")});
        ("POST", path("/document"), body)
    };
    rig.measure_requests("add_namespace_document", TIMES, add)
        .await;
    rig.run_workers().await.expect("work");
    let append = |number: usize| {
        let body = json!({"content": "I prefer coffee by now.", "id": format!("n{number}")});
        ("POST", path("/document"), body)
    };
    rig.measure_requests("append_to_namespace_document", TIMES, append)
        .await;
    rig.run_workers().await.expect("work");

    let get = |number: usize| {
        let end = format!("/document/n{number}?include=chunks,memories");
        ("GET", path(&end), Value::Null)
    };
    rig.measure_requests("get_namespace_document_with_parts", TIMES, get)
        .await;
    for (operation, kind) in [
        ("list_namespace_documents", "documents"),
        ("list_namespace_chunks", "chunks"),
        ("list_namespace_memories", "memories"),
    ] {
        let list = path(&format!("/list/{kind}?limit=20"));
        rig.measure_requests(operation, TIMES, fixed_request("POST", &list, json!({})))
            .await;
    }
    let counts = json!({"ids": ["n0", "n1", "n2"]});
    let counting = fixed_request("POST", &path("/list/documents/memory-counts"), counts);
    rig.measure_requests("count_memories_of_3", TIMES, counting)
        .await;
}

async fn measure_recall(rig: &mut MeteredSystem) {
    let search = fixed_request("POST", &path("/search"), json!({"query": "ferry at dawn"}));
    rig.measure_requests("search_namespace", TIMES, search)
        .await;
    let profile = fixed_request("POST", &path("/profile"), json!({}));
    rig.measure_requests("namespace_profile", TIMES, profile)
        .await;
    let preview = json!({"query": "tea", "dryRun": true});
    let preview = fixed_request("DELETE", &path("/memories/semantic"), preview);
    rig.measure_requests("forget_in_namespace_dry", 2, preview)
        .await;

    let delete = |number: usize| {
        let ids = json!({"ids": [format!("n{number}")]});
        ("DELETE", path("/document"), ids)
    };
    rig.measure_requests("delete_namespace_document", TIMES, delete)
        .await;
    rig.run_workers().await.expect("work");
}

async fn measure_administration(rig: &mut MeteredSystem) {
    let list = fixed_request("GET", "/ns?limit=3", Value::Null);
    rig.measure_requests("list_namespaces_3", TIMES, list).await;
    let get = fixed_request("GET", &path(""), Value::Null);
    rig.measure_requests("get_namespace", TIMES, get).await;
    let buckets = |number: usize| {
        let buckets = json!({"buckets": {"birds": format!("Birds {number}.")}});
        ("PUT", path("/profile/buckets"), buckets)
    };
    rig.measure_requests("set_namespace_buckets", TIMES, buckets)
        .await;
    let organization = fixed_request("GET", "/organization", Value::Null);
    rig.measure_requests("get_organization", TIMES, organization)
        .await;

    let site = |number: usize| {
        let config = json!({"startUrl": format!("https://site{number}.example/")});
        let body = json!({"provider": "web-crawler", "config": config});
        ("POST", path("/connectors"), body)
    };
    let made = rig.measure_requests("create_connector", TIMES, site).await;
    let get = |number: usize| {
        let id = made[number]["id"].as_str().expect("an id");
        (
            "GET",
            path(&format!("/connectors/{id}?include=syncs")),
            Value::Null,
        )
    };
    rig.measure_requests("get_connector_with_syncs", TIMES, get)
        .await;
}
