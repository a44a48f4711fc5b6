//! Every operation of the interface, on documents of 2 KB.

use serde_json::{Value, json};

use crate::rig::Rig;

/// The number of calls over which a figure is averaged.
const TIMES: usize = 10;
/// The number of documents in the container that is read.
const DOCUMENTS: usize = 20;

/// Returns about 2 KB of text on one subject, with a few statements to extract.
fn text(number: usize) -> String {
    let plain = format!(
        "Paragraph {number} describes the harbour of Brunsund, where ferry {number} leaves at dawn and comes back with \
         the mail. The harbour master writes down every arrival in a green book, and the children count the gulls. "
    );
    let learned = format!("I prefer tea number {number}. We decided to repaint pier {number}. ");
    learned + &plain.repeat(9)
}

pub(crate) async fn measure_all(rig: &mut Rig) {
    let documents = ingest(rig).await;
    read(rig, &documents).await;
    recall(rig).await;
    memories(rig).await;
    change(rig, &documents).await;
    containers(rig).await;
    organization(rig).await;
    analytics(rig).await;
    connections(rig).await;

    // This comes last because a document that waits for its file is unfinished.
    let form = fixed(
        "POST",
        "/v3/documents/file/uploads",
        json!({"fileName": "a.txt", "containerTag": "box"}),
    );
    rig.measure("begin_upload", 2, form).await;
}

fn fixed(
    method: &'static str,
    path: &str,
    body: Value,
) -> impl Fn(usize) -> (&'static str, String, Value) {
    let path = path.to_owned();
    move |_| (method, path.clone(), body.clone())
}

async fn ingest(rig: &mut Rig) -> Vec<String> {
    // The very first request creates the container and opens the hour in the request log.
    rig.call(
        "POST",
        "/v3/documents",
        &json!({"content": "The first.", "containerTag": "box"}),
    )
    .await;
    rig.work().await.expect("work");
    let add = |number| {
        let body =
            json!({"content": text(number), "containerTag": "box", "metadata": {"number": number}});
        ("POST", "/v3/documents".to_owned(), body)
    };
    let added = rig.measure("add_document", DOCUMENTS, add).await;
    rig.measure_work("process_document", DOCUMENTS)
        .await
        .expect("work");
    let upsert = |number| {
        let body =
            json!({"content": text(100), "containerTag": "box", "customId": format!("c{number}")});
        ("POST", "/v3/documents".to_owned(), body)
    };
    rig.measure("upsert_document_new", TIMES, upsert).await;
    rig.measure("upsert_document_unchanged", TIMES, upsert)
        .await;
    rig.work().await.expect("work");
    let batch = |number| {
        let documents: Vec<String> = (0..20).map(|i| text(1000 + 20 * number + i)).collect();
        (
            "POST",
            "/v3/documents/batch".to_owned(),
            json!({"documents": documents, "containerTag": "batch"}),
        )
    };
    rig.measure("add_batch_of_20", 2, batch).await;
    rig.work().await.expect("work");
    let turn = |number| {
        let messages = json!([{"role": "user", "content": format!("I moved to Lund {number}.")}]);
        let body = json!({"conversationId": format!("chat-{number}"), "messages": messages, "containerTags": ["chat"]});
        ("POST", "/v4/conversations".to_owned(), body)
    };
    rig.measure("add_conversation", TIMES, turn).await;
    rig.work().await.expect("work");

    added
        .iter()
        .map(|answer| answer["id"].as_str().expect("an id").to_owned())
        .collect()
}

async fn read(rig: &mut Rig, documents: &[String]) {
    for (operation, end) in [("get_document", ""), ("list_chunks", "/chunks")] {
        let path = |number: usize| format!("/v3/documents/{}{end}", documents[number]);
        rig.measure(operation, TIMES, |number| {
            ("GET", path(number), Value::Null)
        })
        .await;
    }

    let list = json!({"containerTags": ["box"], "limit": 20});
    rig.measure(
        "list_documents",
        TIMES,
        fixed("POST", "/v3/documents/list", list.clone()),
    )
    .await;
    rig.measure(
        "list_documents_with_memories",
        TIMES,
        fixed("POST", "/v3/documents/documents", list),
    )
    .await;
    let processing = "/v3/documents/processing?containerTags=box";
    rig.measure(
        "list_processing",
        TIMES,
        fixed("GET", processing, Value::Null),
    )
    .await;
}

async fn recall(rig: &mut Rig) {
    for (operation, mode) in [
        ("search_memories", "memories"),
        ("search_documents", "documents"),
        ("search_hybrid", "hybrid"),
    ] {
        let body = json!({"q": "ferry at dawn", "containerTag": "box", "searchMode": mode, "threshold": 0});
        rig.call("POST", "/v4/search", &body).await;
        rig.measure(operation, TIMES, fixed("POST", "/v4/search", body))
            .await;
    }

    let v3 = json!({"q": "ferry at dawn", "containerTag": "box"});
    rig.measure("search_v3", TIMES, fixed("POST", "/v3/search", v3))
        .await;
    let tag = json!({"containerTag": "box"});
    rig.measure("profile", TIMES, fixed("POST", "/v4/profile", tag.clone()))
        .await;
    rig.measure(
        "profile_buckets",
        TIMES,
        fixed("POST", "/v4/profile/buckets", tag),
    )
    .await;
}

async fn memories(rig: &mut Rig) {
    let create = |number| {
        let memories = json!([{"content": format!("Ada keeps bees in garden {number}.")}]);
        (
            "POST",
            "/v4/memories".to_owned(),
            json!({"containerTag": "box", "memories": memories}),
        )
    };
    let made = rig.measure("create_memory", TIMES, create).await;

    let ids: Vec<String> = made
        .iter()
        .map(|one| one["memories"][0]["id"].as_str().expect("an id").to_owned())
        .collect();
    let list = json!({"containerTags": ["box"], "limit": 20});
    rig.measure(
        "list_memories",
        TIMES,
        fixed("POST", "/v4/memories/list", list),
    )
    .await;
    let update = |number: usize| {
        let body = json!({"containerTag": "box", "id": ids[number], "newContent": format!("Ada keeps {number} goats.")});
        ("PATCH", "/v4/memories".to_owned(), body)
    };
    let updated = rig.measure("update_memory", TIMES, update).await;

    let forget = |number: usize| {
        (
            "DELETE",
            "/v4/memories".to_owned(),
            json!({"containerTag": "box", "id": updated[number]["id"]}),
        )
    };
    rig.measure("forget_memory", TIMES, forget).await;

    let matching = json!({"containerTag": "box", "query": "tea", "dryRun": true});
    rig.measure(
        "forget_matching_dry",
        2,
        fixed("POST", "/v4/memories/forget-matching", matching),
    )
    .await;
}

async fn change(rig: &mut Rig, documents: &[String]) {
    let path = |number: usize| format!("/v3/documents/{}", documents[number]);
    let patch = |number: usize| ("PATCH", path(number), json!({"metadata": {"seen": true}}));
    rig.measure("patch_metadata", TIMES, patch).await;
    rig.measure("delete_document", TIMES, |number| {
        ("DELETE", path(number), Value::Null)
    })
    .await;
    rig.work().await.expect("work");
}

async fn containers(rig: &mut Rig) {
    rig.measure(
        "get_container_tag",
        TIMES,
        fixed("GET", "/v3/container-tags/box", Value::Null),
    )
    .await;
    let patch = |number| {
        (
            "PATCH",
            "/v3/container-tags/box".to_owned(),
            json!({"name": format!("Box {number}")}),
        )
    };
    rig.measure("patch_container_tag", TIMES, patch).await;

    rig.measure(
        "list_container_tags_3",
        TIMES,
        fixed("GET", "/v3/container-tags/list", Value::Null),
    )
    .await;
    for number in 0..4 {
        for tag in ["left", "right", "old"] {
            let body = json!({"content": text(number), "containerTag": format!("{tag}{number}")});
            rig.call("POST", "/v3/documents", &body).await;
        }
    }

    rig.work().await.expect("work");
    let merge = |number| {
        let (from, to) = (format!("left{number}"), format!("right{number}"));
        let body = json!({"containerTags": [from, to], "targetContainerTag": to});
        ("POST", "/v3/container-tags/merge".to_owned(), body)
    };
    let merges = rig.measure("merge_container_tags", 4, merge).await;

    let status = |number: usize| {
        let id = merges[number]["mergeId"].as_str().expect("an id");
        ("GET", format!("/v3/container-tags/merge/{id}"), Value::Null)
    };
    rig.measure("get_merge", 4, status).await;

    let delete = |number| {
        (
            "DELETE",
            format!("/v3/container-tags/old{number}"),
            Value::Null,
        )
    };
    rig.measure("delete_container_tag", 4, delete).await;

    rig.work().await.expect("work");
}

async fn organization(rig: &mut Rig) {
    rig.measure(
        "get_settings",
        TIMES,
        fixed("GET", "/v3/settings", Value::Null),
    )
    .await;
    let patch = |number| {
        (
            "PATCH",
            "/v3/settings".to_owned(),
            json!({"chunkSize": 500 + number}),
        )
    };
    rig.measure("patch_settings", TIMES, patch).await;

    rig.measure(
        "get_session",
        TIMES,
        fixed("GET", "/v3/session", Value::Null),
    )
    .await;
    let key = |number| {
        (
            "POST",
            "/v3/auth/scoped-key".to_owned(),
            json!({"containerTag": "box", "name": format!("k{number}")}),
        )
    };
    let keys = rig.measure("create_scoped_key", TIMES, key).await;

    rig.measure(
        "list_keys_10",
        TIMES,
        fixed("GET", "/v3/auth/keys", Value::Null),
    )
    .await;
    let delete = |number: usize| {
        let id = keys[number]["id"].as_str().expect("an id");
        ("DELETE", format!("/v3/auth/scoped-key/{id}"), Value::Null)
    };
    rig.measure("delete_scoped_key", TIMES, delete).await;
}

/// Measures connections to a website. Connections to a drive have the same records.
async fn connections(rig: &mut Rig) {
    let site = |number| {
        let metadata = json!({"startUrl": format!("https://site{number}.example/")});
        (
            "POST",
            "/v3/connections/web-crawler".to_owned(),
            json!({"containerTag": "box", "metadata": metadata}),
        )
    };
    let made = rig.measure("create_connection", TIMES, site).await;
    let id = |number: usize| made[number]["id"].as_str().expect("an id").to_owned();

    let list = fixed(
        "POST",
        "/v3/connections/list",
        json!({"containerTags": ["box"]}),
    );
    rig.measure("list_connections_10", TIMES, list).await;

    let get = |number| {
        (
            "GET",
            format!("/v3/connections/{}", id(number)),
            Value::Null,
        )
    };
    rig.measure("get_connection", TIMES, get).await;

    let import = |number| {
        (
            "POST",
            format!("/v3/connections/{}/import", id(number)),
            json!({}),
        )
    };
    rig.measure("import_connection", TIMES, import).await;

    let end = |number| {
        (
            "DELETE",
            format!("/v3/connections/{}", id(number)),
            Value::Null,
        )
    };
    rig.measure("end_connection", TIMES, end).await;
    rig.work().await.expect("work");
}

async fn analytics(rig: &mut Rig) {
    for (operation, path) in [
        ("analytics_usage", "/v3/analytics/usage"),
        ("analytics_errors", "/v3/analytics/errors"),
        ("analytics_logs", "/v3/analytics/logs"),
        ("analytics_requests", "/v3/analytics/requests"),
        ("analytics_memory", "/v3/analytics/memory?period=7d"),
    ] {
        rig.measure(operation, 5, fixed("GET", path, Value::Null))
            .await;
    }
}
