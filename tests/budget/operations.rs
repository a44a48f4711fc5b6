//! Every operation of the interface, on documents of 2 KB.

use serde_json::{Value, json};

use crate::namespaces::measure_namespaces;
use crate::rig::MeteredSystem;

/// The number of calls over which a figure is averaged.
pub(crate) const TIMES: usize = 10;
/// The number of documents in the container that is read.
const DOCUMENTS: usize = 20;

/// Returns about 2 KB of text on one subject, with a few statements to extract.
pub(crate) fn note_text(number: usize) -> String {
    let plain = format!(
        "Paragraph {number} describes the harbour of Brunsund, where ferry {number} leaves at dawn and comes back with \
         the mail. The harbour master writes down every arrival in a green book, and the children count the gulls. "
    );
    let learned = format!("I prefer tea number {number}. We decided to repaint pier {number}. ");
    learned + &plain.repeat(9)
}

pub(crate) async fn measure_all(rig: &mut MeteredSystem) {
    let documents = measure_ingest(rig).await;
    measure_reads(rig, &documents).await;
    measure_search(rig).await;
    measure_memories(rig).await;
    measure_changes(rig, &documents).await;
    measure_containers(rig).await;
    measure_organization(rig).await;
    measure_analytics(rig).await;
    measure_connections(rig).await;
    measure_several_tags(rig).await;
    measure_namespaces(rig).await;
    measure_large_container(rig).await;

    // This comes last because a document that waits for its file is unfinished.
    let form = fixed_request(
        "POST",
        "/v3/documents/file/uploads",
        json!({"fileName": "a.txt", "containerTag": "box"}),
    );
    rig.measure_requests("begin_upload", 2, form).await;
}

/// Returns a request that is the same each time.
pub(crate) fn fixed_request(
    method: &'static str,
    path: &str,
    body: Value,
) -> impl Fn(usize) -> (&'static str, String, Value) + use<> {
    let path = path.to_owned();
    move |_| (method, path.clone(), body.clone())
}

async fn measure_ingest(rig: &mut MeteredSystem) -> Vec<String> {
    // The very first request creates the container and opens the hour in the request log.
    rig.send_request(
        "POST",
        "/v3/documents",
        &json!({"content": "The first.", "containerTag": "box"}),
    )
    .await;
    rig.run_workers().await.expect("work");
    let add = |number| {
        let body = json!({"content": note_text(number), "containerTag": "box", "metadata": {"number": number}});
        ("POST", "/v3/documents".to_owned(), body)
    };
    let added = rig.measure_requests("add_document", DOCUMENTS, add).await;
    rig.measure_processing("process_document", DOCUMENTS)
        .await
        .expect("work");
    let upsert = |number| {
        let body = json!({"content": note_text(100), "containerTag": "box", "customId": format!("c{number}")});
        ("POST", "/v3/documents".to_owned(), body)
    };
    rig.measure_requests("upsert_document_new", TIMES, upsert)
        .await;
    rig.measure_requests("upsert_document_unchanged", TIMES, upsert)
        .await;
    rig.run_workers().await.expect("work");
    let batch = |number| {
        let documents: Vec<String> = (0..20).map(|i| note_text(1000 + 20 * number + i)).collect();
        (
            "POST",
            "/v3/documents/batch".to_owned(),
            json!({"documents": documents, "containerTag": "batch"}),
        )
    };
    rig.measure_requests("add_batch_of_20", 2, batch).await;
    rig.measure_processing("process_document_of_batch", 40)
        .await
        .expect("work");
    let turn = |number| {
        let messages = json!([{"role": "user", "content": format!("I moved to Lund {number}.")}]);
        let body = json!({"conversationId": format!("chat-{number}"), "messages": messages, "containerTags": ["chat"]});
        ("POST", "/v4/conversations".to_owned(), body)
    };
    rig.measure_requests("add_conversation", TIMES, turn).await;
    rig.run_workers().await.expect("work");

    added
        .iter()
        .map(|answer| answer["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// Measures documents with two tags, which share a container already.
async fn measure_several_tags(rig: &mut MeteredSystem) {
    let body = |number: usize| {
        let tags = json!(["user", "team"]);
        json!({"content": note_text(300 + number), "containerTags": tags, "customId": format!("t{number}")})
    };
    rig.send_request("POST", "/v3/documents", &body(TIMES))
        .await;
    let add = |number| ("POST", "/v3/documents".to_owned(), body(number));
    rig.measure_requests("add_document_with_two_tags", TIMES, add)
        .await;
    rig.run_workers().await.expect("work");

    let search = json!({"q": "What was noted?", "containerTag": "team", "searchMode": "documents"});
    rig.measure_requests(
        "search_documents_with_two_tags",
        TIMES,
        fixed_request("POST", "/v4/search", search),
    )
    .await;
    let change = |number| {
        let path = format!("/v3/documents/t{number}");
        ("PATCH", path, json!({"containerTag": "user"}))
    };
    rig.measure_requests("move_document", TIMES, change).await;
    rig.run_workers().await.expect("work");
}

/// Measures lists of a container of which the index is read.
async fn measure_large_container(rig: &mut MeteredSystem) {
    const BATCHES: usize = 6;
    const DOCUMENTS_OF_BATCH: usize = 100;
    for batch in 0..BATCHES {
        let mut documents = Vec::new();
        for number in 0..DOCUMENTS_OF_BATCH {
            let content = format!("Ferry {number} of day {batch} was late.");
            documents.push(json!({"content": content, "metadata": {"ferry": number}}));
        }
        let body = json!({"documents": documents, "containerTag": "large"});
        rig.send_request("POST", "/v3/documents/batch", &body).await;
        rig.run_workers().await.expect("work");
    }

    let path = "/v3/documents/list";
    let far = json!({"containerTags": ["large"], "page": 55});
    let filter = json!({"AND": [{"key": "ferry", "value": 7, "filterType": "numeric",
        "numericOperator": "="}]});
    let filtered = json!({"containerTags": ["large"], "filters": filter});
    for (operation, body, expected) in [
        ("list_page_55_of_large", far, 10),
        ("list_large_with_filter", filtered, BATCHES),
    ] {
        rig.send_request("POST", path, &body).await;
        let request = fixed_request("POST", path, body);
        let answers = rig.measure_requests(operation, TIMES, request).await;
        for answer in answers {
            let listed = answer["memories"].as_array().map(Vec::len);
            assert_eq!(listed, Some(expected), "{answer}");
        }
    }
}

async fn measure_reads(rig: &mut MeteredSystem, documents: &[String]) {
    for (operation, end) in [("get_document", ""), ("list_chunks", "/chunks")] {
        let path = |number: usize| format!("/v3/documents/{}{end}", documents[number]);
        rig.measure_requests(operation, TIMES, |number| {
            ("GET", path(number), Value::Null)
        })
        .await;
    }

    let get = |number| ("GET", format!("/v3/documents/c{number}"), Value::Null);
    rig.measure_requests("get_document_by_custom_id", TIMES, get)
        .await;

    let list = json!({"containerTags": ["box"], "limit": 20});
    rig.measure_requests(
        "list_documents",
        TIMES,
        fixed_request("POST", "/v3/documents/list", list.clone()),
    )
    .await;
    rig.measure_requests(
        "list_documents_with_memories",
        TIMES,
        fixed_request("POST", "/v3/documents/documents", list),
    )
    .await;
    let processing = "/v3/documents/processing?containerTags=box";
    rig.measure_requests(
        "list_processing",
        TIMES,
        fixed_request("GET", processing, Value::Null),
    )
    .await;
}

async fn measure_search(rig: &mut MeteredSystem) {
    for (operation, mode) in [
        ("search_memories", "memories"),
        ("search_documents", "documents"),
        ("search_hybrid", "hybrid"),
    ] {
        let body = json!({"q": "ferry at dawn", "containerTag": "box", "searchMode": mode, "threshold": 0});
        rig.send_request("POST", "/v4/search", &body).await;
        rig.measure_requests(operation, TIMES, fixed_request("POST", "/v4/search", body))
            .await;
    }

    let v3 = json!({"q": "ferry at dawn", "containerTag": "box"});
    rig.measure_requests("search_v3", TIMES, fixed_request("POST", "/v3/search", v3))
        .await;
    let tag = json!({"containerTag": "box"});
    rig.measure_requests(
        "profile",
        TIMES,
        fixed_request("POST", "/v4/profile", tag.clone()),
    )
    .await;
    rig.measure_requests(
        "profile_buckets",
        TIMES,
        fixed_request("POST", "/v4/profile/buckets", tag),
    )
    .await;
}

async fn measure_memories(rig: &mut MeteredSystem) {
    let create = |number| {
        let memories = json!([{"content": format!("Ada keeps bees in garden {number}.")}]);
        (
            "POST",
            "/v4/memories".to_owned(),
            json!({"containerTag": "box", "memories": memories}),
        )
    };
    let made = rig.measure_requests("create_memory", TIMES, create).await;

    let ids: Vec<String> = made
        .iter()
        .map(|one| one["memories"][0]["id"].as_str().expect("an id").to_owned())
        .collect();
    let list = json!({"containerTags": ["box"], "limit": 20});
    rig.measure_requests(
        "list_memories",
        TIMES,
        fixed_request("POST", "/v4/memories/list", list),
    )
    .await;
    let update = |number: usize| {
        let body = json!({"containerTag": "box", "id": ids[number], "newContent": format!("Ada keeps {number} goats.")});
        ("PATCH", "/v4/memories".to_owned(), body)
    };
    let updated = rig.measure_requests("update_memory", TIMES, update).await;

    let forget = |number: usize| {
        (
            "DELETE",
            "/v4/memories".to_owned(),
            json!({"containerTag": "box", "id": updated[number]["id"]}),
        )
    };
    rig.measure_requests("forget_memory", TIMES, forget).await;

    let matching = json!({"containerTag": "box", "query": "tea", "dryRun": true});
    rig.measure_requests(
        "forget_matching_dry",
        2,
        fixed_request("POST", "/v4/memories/forget-matching", matching),
    )
    .await;
}

async fn measure_changes(rig: &mut MeteredSystem, documents: &[String]) {
    let path = |number: usize| format!("/v3/documents/{}", documents[number]);
    let patch = |number: usize| ("PATCH", path(number), json!({"metadata": {"seen": true}}));
    rig.measure_requests("patch_metadata", TIMES, patch).await;
    rig.measure_requests("delete_document", TIMES, |number| {
        ("DELETE", path(number), Value::Null)
    })
    .await;
    rig.run_workers().await.expect("work");
}

async fn measure_containers(rig: &mut MeteredSystem) {
    rig.measure_requests(
        "get_container_tag",
        TIMES,
        fixed_request("GET", "/v3/container-tags/box", Value::Null),
    )
    .await;
    let patch = |number| {
        (
            "PATCH",
            "/v3/container-tags/box".to_owned(),
            json!({"name": format!("Box {number}")}),
        )
    };
    rig.measure_requests("patch_container_tag", TIMES, patch)
        .await;

    rig.measure_requests(
        "list_container_tags_3",
        TIMES,
        fixed_request("GET", "/v3/container-tags/list", Value::Null),
    )
    .await;
    for number in 0..4 {
        for tag in ["left", "right", "old"] {
            let body =
                json!({"content": note_text(number), "containerTag": format!("{tag}{number}")});
            rig.send_request("POST", "/v3/documents", &body).await;
        }
    }

    rig.run_workers().await.expect("work");
    let merge = |number| {
        let (from, to) = (format!("left{number}"), format!("right{number}"));
        let body = json!({"containerTags": [from, to], "targetContainerTag": to});
        ("POST", "/v3/container-tags/merge".to_owned(), body)
    };
    let merges = rig.measure_requests("merge_container_tags", 4, merge).await;

    let status = |number: usize| {
        let id = merges[number]["mergeId"].as_str().expect("an id");
        ("GET", format!("/v3/container-tags/merge/{id}"), Value::Null)
    };
    rig.measure_requests("get_merge", 4, status).await;

    let delete = |number| {
        (
            "DELETE",
            format!("/v3/container-tags/old{number}"),
            Value::Null,
        )
    };
    rig.measure_requests("delete_container_tag", 4, delete)
        .await;

    rig.run_workers().await.expect("work");
}

async fn measure_organization(rig: &mut MeteredSystem) {
    rig.measure_requests(
        "get_settings",
        TIMES,
        fixed_request("GET", "/v3/settings", Value::Null),
    )
    .await;
    let patch = |number| {
        (
            "PATCH",
            "/v3/settings".to_owned(),
            json!({"chunkSize": 500 + number}),
        )
    };
    rig.measure_requests("patch_settings", TIMES, patch).await;

    rig.measure_requests(
        "get_session",
        TIMES,
        fixed_request("GET", "/v3/session", Value::Null),
    )
    .await;
    let key = |number| {
        (
            "POST",
            "/v3/auth/scoped-key".to_owned(),
            json!({"containerTag": "box", "name": format!("k{number}")}),
        )
    };
    let keys = rig.measure_requests("create_scoped_key", TIMES, key).await;

    rig.measure_requests(
        "list_keys_10",
        TIMES,
        fixed_request("GET", "/v3/auth/keys", Value::Null),
    )
    .await;
    let delete = |number: usize| {
        let id = keys[number]["id"].as_str().expect("an id");
        ("DELETE", format!("/v3/auth/scoped-key/{id}"), Value::Null)
    };
    rig.measure_requests("delete_scoped_key", TIMES, delete)
        .await;
}

/// Measures connections to a website. Connections to a drive have the same records.
async fn measure_connections(rig: &mut MeteredSystem) {
    let site = |number| {
        let metadata = json!({"startUrl": format!("https://site{number}.example/")});
        (
            "POST",
            "/v3/connections/web-crawler".to_owned(),
            json!({"containerTag": "box", "metadata": metadata}),
        )
    };
    let made = rig.measure_requests("create_connection", TIMES, site).await;
    let id = |number: usize| made[number]["id"].as_str().expect("an id").to_owned();

    let list = fixed_request(
        "POST",
        "/v3/connections/list",
        json!({"containerTags": ["box"]}),
    );
    rig.measure_requests("list_connections_10", TIMES, list)
        .await;

    let get = |number| {
        (
            "GET",
            format!("/v3/connections/{}", id(number)),
            Value::Null,
        )
    };
    rig.measure_requests("get_connection", TIMES, get).await;

    let import = |number| {
        (
            "POST",
            format!("/v3/connections/{}/import", id(number)),
            json!({}),
        )
    };
    rig.measure_requests("import_connection", TIMES, import)
        .await;

    let end = |number| {
        (
            "DELETE",
            format!("/v3/connections/{}", id(number)),
            Value::Null,
        )
    };
    rig.measure_requests("end_connection", TIMES, end).await;
    rig.run_workers().await.expect("work");
}

async fn measure_analytics(rig: &mut MeteredSystem) {
    for (operation, path) in [
        ("analytics_usage", "/v3/analytics/usage"),
        ("analytics_errors", "/v3/analytics/errors"),
        ("analytics_logs", "/v3/analytics/logs"),
        ("analytics_requests", "/v3/analytics/requests"),
        ("analytics_memory", "/v3/analytics/memory?period=7d"),
    ] {
        rig.measure_requests(operation, 5, fixed_request("GET", path, Value::Null))
            .await;
    }
}
