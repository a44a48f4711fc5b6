//! Conformance tests of concurrent requests for one customId or one tag.

use domain::BodyForm;
use domain::{ContainerTag, CustomId, DocumentId, Error};
use futures::future::join_all;
use serde_json::json;
use service::{Content, NewDocument, submit_document};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    concurrent_contents_of_one_custom_id_are_one_document,
    concurrent_equal_contents_are_one_document,
    concurrent_firsts_of_a_container_end_in_the_same_one,
);

/// The number of concurrent requests. An upsert tolerates this many.
const MANY: usize = 12;

fn new_note(text: String, custom_id: Option<&str>) -> NewDocument {
    let content = Content::Complete {
        bytes: text.into(),
        form: BodyForm::Text,
    };
    NewDocument {
        tags: vec![ContainerTag::parse("box").expect("a tag")],
        custom_id: custom_id.map(|id| CustomId::parse(id).expect("an id")),
        ..NewDocument::new(content)
    }
}

/// Sends a document until the request is answered, as clients do.
async fn send_until_answered(setting: &PortFixture, new: NewDocument) -> DocumentId {
    loop {
        match submit_document(setting.ctx(), &setting.alpha, new.clone()).await {
            Ok(accepted) => return accepted.id,
            Err(Error::Unavailable(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

async fn search_texts(setting: &PortFixture, q: &str) -> Vec<String> {
    let key = setting.app.create_key("alpha").await;
    let body = json!({"q": q, "searchMode": "documents", "threshold": 0, "limit": 100});
    let answer = setting.app.post("/v4/search", &key, &body).await.body;
    let results = answer["results"].as_array().expect("results").clone();
    results
        .iter()
        .map(|result| result["chunk"].as_str().expect("a chunk").to_owned())
        .collect()
}

async fn run_until_settled(setting: &PortFixture) {
    setting.stop_faults();
    setting
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
}

async fn concurrent_contents_of_one_custom_id_are_one_document(setting: &PortFixture) {
    let text = |i: usize| format!("The keeper wrote the number {i} into the log.");
    let sent: Vec<String> = (0..MANY).map(text).collect();
    let ids = join_all(
        sent.iter()
            .map(|text| send_until_answered(setting, new_note(text.clone(), Some("log")))),
    )
    .await;
    assert!(ids.iter().all(|id| *id == ids[0]));

    let record = setting.read_record(&ids[0]).await.expect("a record");
    // Each content was the newest once. A content whose answer was lost may have been the newest
    // twice.
    let revisions = record.revision_number;
    if setting.is_calm() {
        assert_eq!(revisions, MANY as u64);
    } else {
        assert!(
            revisions >= MANY as u64,
            "{revisions} revisions of {MANY} contents"
        );
    }

    run_until_settled(setting).await;
    let chunks = search_texts(setting, "keeper log number").await;
    assert!(chunks.len() == 1 && sent.contains(&chunks[0]), "{chunks:?}");

    let read = async || {
        setting
            .ctx()
            .blobs
            .get_intact(&setting.alpha, std::slice::from_ref(&record.body.blob))
            .await
    };
    let bytes = retry_unavailable(read)
        .await
        .expect("blobs")
        .pop()
        .flatten()
        .expect("the newest bytes");
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        chunks[0],
        "what is served is what was accepted last"
    );
}

async fn concurrent_equal_contents_are_one_document(setting: &PortFixture) {
    for custom_id in [Some("same"), None] {
        let text = format!("The same words for everybody, {custom_id:?}.");
        let ids = join_all(
            (0..MANY).map(|_| send_until_answered(setting, new_note(text.clone(), custom_id))),
        )
        .await;
        assert!(ids.iter().all(|id| *id == ids[0]), "{custom_id:?}");
        let revisions = setting
            .read_record(&ids[0])
            .await
            .expect("a record")
            .revision_number;
        assert_eq!(revisions, 1, "{custom_id:?}");
    }

    run_until_settled(setting).await;
    assert_eq!(
        search_texts(setting, "same words for everybody")
            .await
            .len(),
        2
    );
}

async fn concurrent_firsts_of_a_container_end_in_the_same_one(setting: &PortFixture) {
    let all = (0..MANY)
        .map(|i| send_until_answered(setting, new_note(format!("Number {i} of the box."), None)));
    let ids = join_all(all).await;
    let mut containers = Vec::new();
    for id in &ids {
        containers.push(setting.read_record(id).await.expect("a record").container);
    }

    containers.dedup();
    assert_eq!(containers.len(), 1);
    run_until_settled(setting).await;
    assert_eq!(
        search_texts(setting, "number of the box").await.len(),
        MANY,
        "none is lost"
    );
}
