//! `GET /v3/documents/{id}/chunks`.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{chunk_list_shape, expect_ok};

/// Returns paragraphs that are too long for one chunk together.
pub(crate) fn long_text(paragraphs: usize) -> String {
    let paragraph = |n: usize| {
        format!(
            "Paragraph {n} tells of voyage {n}. The ship left harbour number {n} in the grey morning and turned to the \
             north, where the ice begins. Nobody on board had been there before, and the maps were white. The captain \
             kept the log and wrote the code VOY-{n:04} on the page. They returned in the autumn with empty holds and a \
             story that nobody believed, and the owner sold the ship to pay the crew for voyage {n}."
        )
    };
    (1..=paragraphs)
        .map(paragraph)
        .collect::<Vec<_>>()
        .join("\n\n")
}

async fn list_chunks(client: &OrgClient, id: &str) -> Value {
    expect_ok(
        client.get(&format!("/v3/documents/{id}/chunks")).await,
        &chunk_list_shape(),
    )
}

#[tokio::test]
async fn chunks_are_numbered_pieces_of_the_text_in_order() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": long_text(12), "customId": "log"}))
        .await;
    let found = list_chunks(&client, &id).await;
    let text = client.get_document(&id).await["content"]
        .as_str()
        .expect("text")
        .to_owned();
    let chars: Vec<char> = text.chars().collect();
    let list = found["chunks"].as_array().expect("chunks");
    assert!(list.len() > 2, "{found}");
    assert_eq!(found["total"], list.len());
    assert_eq!(found["documentId"], id.as_str());
    let mut covered = 0;
    for (i, chunk) in list.iter().enumerate() {
        assert_eq!(chunk["position"], i);
        let place = |name: &str| chunk["metadata"][name].as_u64().expect("a place") as usize;
        let (start, end) = (place("start"), place("end"));
        assert_eq!(
            chunk["content"],
            chars[start..end].iter().collect::<String>(),
            "chunk {i}"
        );
        assert!(
            chars[covered.min(start)..start]
                .iter()
                .all(|c| c.is_whitespace()),
            "text before chunk {i} is lost"
        );
        covered = end;
    }

    assert!(
        chars[covered..].iter().all(|c| c.is_whitespace()),
        "text at the end is lost"
    );
    let names = collect_field(&found["chunks"], "id");
    assert_eq!(
        names.iter().collect::<std::collections::HashSet<_>>().len(),
        names.len()
    );
    let by_custom_id = list_chunks(&client, "log").await;
    assert_eq!(by_custom_id, found);
}

#[tokio::test]
async fn headings_lead_to_a_chunk() {
    let client = OrgClient::new().await;
    let text = format!(
        "# Ships\n\n## North\n\n{}\n\n## South\n\nWarm and calm.",
        long_text(6)
    );
    let id = client.add_document(json!({"content": text})).await;
    let found = list_chunks(&client, &id).await;
    let last = found["chunks"]
        .as_array()
        .and_then(|chunks| chunks.last())
        .expect("a chunk");

    assert!(
        last["content"]
            .as_str()
            .is_some_and(|text| text.contains("Warm and calm")),
        "{last}"
    );
    assert_eq!(last["metadata"]["headings"], json!(["Ships", "South"]));
}

#[tokio::test]
async fn a_document_without_chunks_yet_has_an_empty_list() {
    let client = OrgClient::new().await;
    let id = client.send_document(json!({"content": "Words."})).await;
    assert_eq!(list_chunks(&client, &id).await["total"], 0);
    client.run_until_settled().await;
    assert_eq!(list_chunks(&client, &id).await["total"], 1);
}

#[tokio::test]
async fn chunks_are_what_search_serves_until_new_content_is_ready() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "The old words.", "customId": "note"}))
        .await;
    client
        .send_document(json!({"content": "The new words.", "customId": "note"}))
        .await;
    assert_eq!(
        collect_field(&list_chunks(&client, &id).await["chunks"], "content"),
        ["The old words."]
    );

    client.run_until_settled().await;
    assert_eq!(
        collect_field(&list_chunks(&client, &id).await["chunks"], "content"),
        ["The new words."]
    );
}
