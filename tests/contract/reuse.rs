//! Earlier results are reused where possible, and guidance does not count as content.

use domain::Pack;
use serde_json::json;

use crate::chunks::long_text;
use crate::client::OrgClient;
use crate::containers::find_container;

/// Returns the pack that search serves for a document.
pub(crate) async fn served_pack(client: &OrgClient, id: &str) -> Pack {
    let indexed = client
        .stored_record(id)
        .await
        .and_then(|record| record.indexed)
        .expect("a served document");
    let bytes = client
        .app
        .system
        .ctx
        .blobs
        .get_intact(&client.tenant, &[indexed.pack])
        .await
        .expect("blobs");

    Pack::decode(&bytes[0].clone().expect("a pack")).expect("a pack")
}

#[tokio::test]
async fn a_changed_paragraph_leaves_the_other_chunks_as_they_were() {
    let client = OrgClient::new().await;
    let old = long_text(300);
    let new = old.replace("VOY-0150", "the code that was washed out by the sea");
    assert_ne!(new, old);
    let id = client
        .add_document(json!({"content": old, "customId": "log"}))
        .await;
    let before = served_pack(&client, &id).await;
    assert!(before.chunks.len() >= 100, "{} chunks", before.chunks.len());
    client
        .add_document(json!({"content": new, "customId": "log"}))
        .await;
    let after = served_pack(&client, &id).await;
    let known = before.chunk_texts();
    let mut fresh = 0;
    for (text, chunk) in after.chunk_texts().iter().zip(&after.chunks) {
        match known.iter().position(|old| old == text) {
            Some(place) => assert_eq!(chunk.vector, before.chunks[place].vector, "{text}"),
            None => fresh += 1,
        }
    }

    // The new chunks are that of the paragraph, and those around it up to the point where the old
    // boundaries recur.
    assert!(
        (1..=6).contains(&fresh),
        "{fresh} of {} chunks are new",
        after.chunks.len()
    );
    assert!(
        client.search_finds("washed out").await
            && !client.search_finds("VOY-0150").await
            && client.search_finds("VOY-0151").await
    );
}

#[tokio::test]
async fn a_vector_is_the_same_whether_it_was_kept_or_made() {
    let (client, other) = (OrgClient::new().await, OrgClient::new().await);
    let new = long_text(30).replace("VOY-0015", "no code");
    let id = client
        .add_document(json!({"content": long_text(30), "customId": "log"}))
        .await;
    client
        .add_document(json!({"content": new, "customId": "log"}))
        .await;
    let made = other.add_document(json!({"content": new})).await;
    assert_eq!(
        served_pack(&client, &id).await,
        served_pack(&other, &made).await
    );
}

#[tokio::test]
async fn guidance_stays_on_the_tag_and_is_never_found() {
    let client = OrgClient::new().await;
    let context = async || {
        let container = find_container(&client, "box").await;
        container.and_then(|container| container.entity_context)
    };
    let body = |words: &str| json!({"content": words, "containerTag": "box"});
    client.add_document(body("The first words.")).await;
    assert_eq!(context().await, None);

    let mut guided = body("The second words.");
    guided["entityContext"] = json!("Ornithology of HERON-99.");
    client.add_document(guided).await;
    client.add_document(body("The third words.")).await;
    assert_eq!(
        context().await.as_deref(),
        Some("Ornithology of HERON-99."),
        "who says nothing keeps it"
    );

    let turns = json!([{"role": "user", "content": "The fourth words."}]);
    let talk = json!({"conversationId": "c", "messages": turns, "containerTag": "box", "entityContext": "Of BITTERN-7."});
    client.post("/v4/conversations", talk).await;
    client.run_until_settled().await;
    assert_eq!(
        context().await.as_deref(),
        Some("Of BITTERN-7."),
        "the last one stays"
    );

    for q in ["HERON-99", "BITTERN-7", "ornithology"] {
        for text in client.search_texts(q).await {
            assert!(
                !text.contains("HERON-99") && !text.contains("BITTERN-7"),
                "{text}"
            );
        }

        let v3 = client
            .post(
                "/v3/search",
                json!({"q": q, "includeFullDocs": true, "onlyMatchingChunks": false}),
            )
            .await;
        let text = v3.body["results"].to_string();
        assert!(
            !text.contains("HERON-99") && !text.contains("BITTERN-7"),
            "{text}"
        );
    }
}
