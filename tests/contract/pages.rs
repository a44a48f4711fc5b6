//! `POST /v3/documents/list`: the pages together are the whole list.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};

const DOCUMENTS: usize = 60;

/// Creates documents in three containers. A third of them are changed after all were created.
async fn create_documents() -> OrgClient {
    let client = OrgClient::new().await;
    let body = |i: usize, text: &str| {
        json!({
            "content": format!("{text} {i}"), "customId": format!("n{i}"), "containerTag": format!("box-{}", i % 3),
            "metadata": {"number": i, "even": i.is_multiple_of(2)},
        })
    };
    for i in 0..DOCUMENTS {
        client.send_document(body(i, "First")).await;
    }
    for i in (0..DOCUMENTS).step_by(3).rev() {
        client.send_document(body(i, "Changed")).await;
    }
    client
}

async fn get_page(client: &OrgClient, base: &Value, limit: Value, page: Value) -> Value {
    let mut body = base.clone();
    body["limit"] = limit;
    body["page"] = page;
    let answer = client.post("/v3/documents/list", body).await;
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.body
}

#[tokio::test]
async fn pages_of_any_size_concatenate_to_the_whole_list() {
    let client = create_documents().await;
    let filter = json!({"AND": [{"key": "even", "value": "true"}]});
    for base in [
        json!({}),
        json!({"sort": "updatedAt"}),
        json!({"sort": "updatedAt", "order": "asc", "containerTags": ["box-0", "box-2"]}),
        json!({"sort": "createdAt", "order": "asc", "filters": filter}),
    ] {
        let whole = collect_field(
            &get_page(&client, &base, json!(1100), json!(1)).await["memories"],
            "id",
        );
        for size in [7, 13, 20, 39, 40, 59, 60, 61, 1100] {
            let pages = whole.len().div_ceil(size);
            let mut all = Vec::new();
            // Some clients send sizes and page numbers as strings.
            for number in 1..=pages {
                let body = get_page(
                    &client,
                    &base,
                    json!(size.to_string()),
                    json!(number.to_string()),
                )
                .await;
                let wanted = json!({"currentPage": number, "limit": size, "totalItems": whole.len(), "totalPages": pages});
                assert_eq!(body["pagination"], wanted);
                all.extend(collect_field(&body["memories"], "id"));
            }

            assert_eq!(all, whole, "{base} in pages of {size}");
            let beyond = get_page(&client, &base, json!(size), json!(pages + 1)).await;
            assert_eq!(beyond["memories"], json!([]));
            assert_eq!(beyond["pagination"]["totalItems"], whole.len());
        }
    }
}

#[tokio::test]
async fn a_page_far_beyond_the_end_is_empty() {
    let client = OrgClient::new().await;
    client.send_document(json!({"content": "One."})).await;
    let body = get_page(&client, &json!({}), json!(1100), json!(u64::MAX)).await;
    assert_eq!(body["memories"], json!([]));
}

#[tokio::test]
async fn order_follows_the_field_and_the_direction() {
    let client = create_documents().await;
    for (sort, field) in [("createdAt", "createdAt"), ("updatedAt", "updatedAt")] {
        for order in ["asc", "desc"] {
            let body = json!({"sort": sort, "order": order, "limit": 100});
            let list = client.post("/v3/documents/list", body).await.body;
            let times = collect_field(&list["memories"], field);
            assert_eq!(times.len(), DOCUMENTS);
            let ordered = if order == "asc" {
                times.is_sorted()
            } else {
                times.is_sorted_by(|a, b| a >= b)
            };
            assert!(ordered, "{sort} {order}: {times:?}");
        }
    }

    let newest = client
        .post("/v3/documents/list", json!({"limit": 1}))
        .await
        .body;
    assert_eq!(
        newest["memories"][0]["customId"], "n59",
        "newest first, by creation, unless asked otherwise"
    );

    let changed = client
        .post(
            "/v3/documents/list",
            json!({"limit": 1, "sort": "updatedAt"}),
        )
        .await
        .body;
    assert_eq!(changed["memories"][0]["customId"], "n0");
}
