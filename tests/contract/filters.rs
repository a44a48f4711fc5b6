//! Filters, which have the same meaning in a listing and in both searches.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::memories::{client_with_box, write_memories};
use crate::shape::ErrorMismatches;

async fn fill_library() -> OrgClient {
    let client = OrgClient::new().await;
    for (id, metadata) in [
        (
            "heron",
            json!({"kind": "bird", "size": 90, "tags": ["grey", "Wader"], "sm_internal": "x"}),
        ),
        (
            "wren",
            json!({"kind": "bird", "size": 10, "tags": ["brown"]}),
        ),
        (
            "otter",
            json!({"kind": "mammal", "size": "70", "note": "Likes the River"}),
        ),
        ("stone", json!({})),
    ] {
        let body = json!({"content": format!("About the {id} at the river."), "customId": id, "metadata": metadata});
        client.add_document(body).await;
    }

    client
}

/// Returns filters with the documents that they match.
fn filter_cases() -> Vec<(Value, &'static [&'static str])> {
    let one = |condition: Value| json!({"AND": [condition]});
    let numeric = |operator: &str, value: &str| {
        one(
            json!({"key": "size", "value": value, "filterType": "numeric", "numericOperator": operator}),
        )
    };
    let bird = json!({"key": "kind", "value": "bird"});

    vec![
        (one(bird.clone()), &["heron", "wren"]),
        (bird.clone(), &["heron", "wren"]),
        (
            json!({"OR": [bird.clone(), {"key": "kind", "value": "mammal"}]}),
            &["heron", "otter", "wren"],
        ),
        (
            json!({"AND": [bird.clone(), {"OR": [{"AND": [{"key": "size", "value": "10"}]}]}]}),
            &["wren"],
        ),
        (
            one(json!({"key": "kind", "value": "bird", "negate": true})),
            &["otter", "stone"],
        ),
        (
            one(json!({"key": "kind", "value": "bird", "negate": "true"})),
            &["otter", "stone"],
        ),
        (one(json!({"key": "kind", "value": "BIRD"})), &[]),
        (
            one(json!({"key": "kind", "value": "BIRD", "ignoreCase": true})),
            &["heron", "wren"],
        ),
        (
            one(json!({"key": "tags", "value": "grey", "filterType": "array_contains"})),
            &["heron"],
        ),
        (
            one(json!({"key": "tags", "value": "gre", "filterType": "array_contains"})),
            &[],
        ),
        (
            one(json!({"key": "note", "value": "River", "filterType": "string_contains"})),
            &["otter"],
        ),
        (numeric(">", "50"), &["heron", "otter"]),
        (numeric("<=", "10"), &["wren"]),
        (numeric("=", "90.0"), &["heron"]),
        (
            one(
                json!({"key": "size", "value": "80", "filter_type": "numeric", "numeric_operator": "<"}),
            ),
            &["otter", "wren"],
        ),
        (one(json!({"key": "sm_internal", "value": "x"})), &["heron"]),
        (one(json!({"key": "absent", "value": "x"})), &[]),
        (json!({"AND": []}), &["heron", "otter", "stone", "wren"]),
        (json!({"OR": []}), &[]),
    ]
}

fn sorted_ids(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[tokio::test]
async fn a_filter_admits_the_same_documents_everywhere_as_object_and_as_string() {
    let client = fill_library().await;
    let names: Vec<(String, String)> = {
        let list = client.post("/v3/documents/list", json!({})).await.body;
        collect_field(&list["memories"], "id")
            .into_iter()
            .zip(collect_field(&list["memories"], "customId"))
            .collect()
    };
    let name = |id: &String| {
        names
            .iter()
            .find(|(known, _)| known == id)
            .expect("a known id")
            .1
            .clone()
    };

    for (filter, wanted) in filter_cases() {
        for filters in [filter.clone(), Value::String(filter.to_string())] {
            let list = client
                .post("/v3/documents/list", json!({"filters": filters}))
                .await
                .body;
            assert_eq!(
                sorted_ids(collect_field(&list["memories"], "customId")),
                wanted,
                "listing with {filter}"
            );

            let body = json!({"q": "river", "filters": filters, "limit": 100});
            let v3 = client.post("/v3/search", body.clone()).await.body;
            let found = collect_field(&v3["results"], "documentId")
                .iter()
                .map(name)
                .collect();
            assert_eq!(sorted_ids(found), wanted, "v3 search with {filter}");

            let mut texts = client.search_texts_with(body).await;
            texts.sort();
            let wanted: Vec<String> = wanted
                .iter()
                .map(|name| format!("About the {name} at the river."))
                .collect();
            assert_eq!(texts, wanted, "v4 search with {filter}");
        }
    }
}

#[tokio::test]
async fn a_negated_filter_leaves_out_a_memory_that_a_client_wrote_with_the_value() {
    let client = client_with_box().await;
    let memories = json!([
        {"content": "Mara counts herons.", "metadata": {"source": "diary"}},
        {"content": "Mara counts otters.", "metadata": {"source": "mail"}},
        {"content": "Mara counts boats."},
    ]);
    write_memories(&client, memories).await;
    let filters = json!({"AND": [{"key": "source", "value": "diary", "negate": true}]});
    let wanted = ["Mara counts boats.", "Mara counts otters."];

    let body = json!({
        "q": "What does Mara count?", "containerTag": "box", "filters": filters, "threshold": 0,
        "searchMode": "memories",
    });
    let search = client.post("/v4/search", body).await.body;
    let found = sorted_ids(collect_field(&search["results"], "memory"));
    assert_eq!(found, wanted, "{search}");

    let body = json!({"containerTags": ["box"], "filters": filters});
    let list = client.post("/v4/memories/list", body).await.body;
    let listed = sorted_ids(collect_field(&list["memoryEntries"], "memory"));
    assert_eq!(listed, wanted, "{list}");

    let body = json!({"containerTag": "box", "filters": filters});
    let profile = client.post("/v4/profile", body).await.body;
    let text = profile["profile"].to_string();
    assert!(!text.contains("herons"), "{profile}");
    assert!(
        text.contains("otters") && text.contains("boats"),
        "{profile}"
    );
}

fn nested_filter(levels: usize) -> Value {
    (0..levels).fold(
        json!({"key": "k", "value": "v"}),
        |inner, _| json!({"AND": [inner]}),
    )
}

#[tokio::test]
async fn a_wrong_filter_is_refused_everywhere() {
    let client = OrgClient::new().await;
    let condition = json!({"key": "k", "value": "v"});
    let with = |field: &str, value: Value| {
        let mut condition = condition.clone();
        condition[field] = value;
        json!({"AND": [condition]})
    };
    let wrong = [
        json!(7),
        json!("{"),
        json!("7"),
        json!([condition]),
        json!({}),
        json!({"AND": condition}),
        json!({"AND": [7]}),
        json!({"AND": [condition], "OR": [condition]}),
        json!({"NOT": [condition]}),
        json!({"AND": [{"key": "k"}]}),
        json!({"AND": [{"value": "v"}]}),
        with("filterType", json!("fuzzy")),
        with("filterType", json!("numeric")),
        with("numericOperator", json!("!=")),
        with("negate", json!("maybe")),
        with("value", json!({"a": 1})),
        with("surprise", json!(1)),
        nested_filter(9),
        json!({"AND": vec![condition.clone(); 201]}),
    ];
    let mut faults = ErrorMismatches::default();

    for filters in wrong {
        for path in ["/v3/documents/list", "/v3/search", "/v4/search"] {
            let answer = client
                .post(path, json!({"q": "x", "filters": filters}))
                .await;
            faults.check_error(
                &format!("{path} {filters}"),
                &answer,
                400,
                "ValidationError",
                "filters",
            );
        }
    }
    faults.assert_none();

    for filters in [
        nested_filter(8),
        json!({"AND": vec![condition; 200]}),
        Value::Null,
    ] {
        for path in ["/v3/documents/list", "/v3/search", "/v4/search"] {
            assert!(
                client
                    .post(path, json!({"q": "x", "filters": filters}))
                    .await
                    .status
                    .is_success()
            );
        }
    }
}
