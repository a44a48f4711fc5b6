//! `POST /ns/{namespace}/list/chunks`.

use serde_json::{Value, json};

use super::CHUNKS;
use crate::chunks::long_text;
use crate::client::{OrgClient, collect_field};
use crate::shape::{expect_ok, pagination_shape};

async fn list_chunks(client: &OrgClient, query: &str, body: Value) -> Value {
    let place = json!({"start": "int", "end": "int", "headings": ["string"]});
    let chunk = json!({
        "id": "string", "position": "int", "content": "string", "type": "string",
        "metadata": place, "system": {"createdAt": "time"}, "documentId": "string",
    });
    let shape = json!({
        "documents": [], "chunks": [chunk], "memories": [], "pagination": pagination_shape(),
    });
    expect_ok(
        client.post(&format!("{CHUNKS}?{query}"), body).await,
        &shape,
    )
}

/// Returns the documents and positions of listed chunks.
fn chunk_places(page: &Value) -> Vec<String> {
    let chunks = page["chunks"].as_array().expect("chunks");
    let place = |chunk: &Value| {
        let document = chunk["documentId"].as_str().expect("an id");
        format!("{document} {}", chunk["position"])
    };
    chunks.iter().map(place).collect()
}

/// Returns a client whose namespace `box` has a document of several chunks and, newer, two of one.
async fn client_with_chunks() -> (OrgClient, usize) {
    let client = OrgClient::new().await;
    for (id, content, year) in [
        ("long", long_text(12), 2024),
        ("short", "The heron waits at the weir.".to_owned(), 2025),
        ("last", "The ferry leaves at nine.".to_owned(), 2026),
    ] {
        client
            .add_document(json!({
                "content": content, "containerTag": "box", "customId": id,
                "metadata": {"year": year}, "taskType": "superrag",
            }))
            .await;
        client.app.environment.clock.advance_seconds(60);
    }
    let page = list_chunks(&client, "limit=1000", json!({})).await;
    let total = page["pagination"]["totalItems"].as_u64().expect("a number") as usize;
    assert!(total > 4, "the long text has several chunks: {total}");
    (client, total)
}

#[tokio::test]
async fn chunks_are_listed_by_document_or_by_position() {
    let (client, total) = client_with_chunks().await;
    let of_long: Vec<String> = (0..total - 2).map(|n| format!("long {n}")).collect();
    let short = ["short 0".to_owned()];
    let last = ["last 0".to_owned()];
    let newest_first = [&last[..], &short, &of_long].concat();
    let oldest_first = [&of_long[..], &short, &last].concat();
    for (query, expected) in [
        ("limit=1100", &newest_first),
        ("limit=1100&sort=createdAt&order=desc", &newest_first),
        ("limit=1100&sort=updatedAt", &newest_first),
        ("limit=1100&order=asc", &oldest_first),
    ] {
        let page = list_chunks(&client, query, json!({})).await;
        assert_eq!(chunk_places(&page), *expected, "{query}");
    }

    let positions = |page: &Value| -> Vec<u64> {
        let chunks = page["chunks"].as_array().expect("chunks");
        let position = |chunk: &Value| chunk["position"].as_u64().expect("a position");
        chunks.iter().map(position).collect()
    };
    let page = list_chunks(&client, "limit=1100&sort=position", json!({})).await;
    assert!(positions(&page).is_sorted() && positions(&page).len() == total);
    let page = list_chunks(&client, "limit=1100&sort=position&order=desc", json!({})).await;
    assert!(positions(&page).is_sorted_by(|a, b| a >= b));
    assert_eq!(positions(&page).len(), total);

    // The document's own list has the same chunks.
    let page = list_chunks(&client, "limit=1100&order=asc", json!({})).await;
    let listed = client.get("/v3/documents/long/chunks").await.body["chunks"].clone();
    for field in ["id", "content"] {
        let expected = collect_field(&listed, field);
        assert_eq!(collect_field(&page["chunks"], field)[..total - 2], expected);
    }
}

#[tokio::test]
async fn pages_of_chunks_are_disjoint_and_complete() {
    let (client, total) = client_with_chunks().await;
    for sort in ["createdAt", "updatedAt", "position"] {
        let whole = list_chunks(&client, &format!("limit=1100&sort={sort}"), json!({})).await;
        let mut found = Vec::new();
        for number in 1..=total.div_ceil(2) + 1 {
            let query = format!("page={number}&limit=2&sort={sort}");
            let page = list_chunks(&client, &query, json!({})).await;
            let pagination = json!({
                "currentPage": number, "limit": 2, "totalItems": total,
                "totalPages": total.div_ceil(2),
            });
            assert_eq!(page["pagination"], pagination);
            found.extend(chunk_places(&page));
        }
        assert_eq!(found, chunk_places(&whole), "{sort}");
    }

    let default = list_chunks(&client, "", json!({})).await;
    assert_eq!(default["pagination"]["limit"], 10);
    let recent = json!({"filter": {"field": "year", "operator": "gte", "value": 2025}});
    let page = list_chunks(&client, "", recent).await;
    assert_eq!(chunk_places(&page), ["last 0", "short 0"]);
    let none = json!({"filter": {"field": "year", "operator": "lt", "value": 2000}});
    let page = list_chunks(&client, "", none).await;
    assert_eq!(page["pagination"]["totalPages"], 0);
}
