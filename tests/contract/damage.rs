//! Unreadable stored bytes affect only their own document, which can be repaired.

use domain::{BlobRef, Document};
use serde_json::{Value, json};
use testkit::{DamageKind, TestApp};

use crate::client::OrgClient;
use crate::containers::compact;

/// The damaged part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DamagedPart {
    Body,
    Pack,
    Statements,
}

const PARTS: [DamagedPart; 3] = [
    DamagedPart::Body,
    DamagedPart::Pack,
    DamagedPart::Statements,
];
const HEALTHY: &str = "The lighthouse of Bergen has a green lamp.";

/// Returns content with a canary word, below or above the size up to which blobs are stored in
/// DynamoDB.
fn canary_content(large: bool) -> String {
    let lines = (0..if large { 2500 } else { 1 })
        .map(|i| format!("Line {} of {}.", i * 7919 % 10_007, i * 104_729));
    format!(
        "The canary sings in the mill. My brother's name is Otto. {}",
        lines.collect::<Vec<_>>().join(" ")
    )
}

fn blob_of_part(record: &Document, part: DamagedPart) -> BlobRef {
    let served = record.indexed.as_ref().expect("what is served");
    match part {
        DamagedPart::Body => record.body.blob.clone(),
        DamagedPart::Pack => served.pack.clone(),
        DamagedPart::Statements => served.statements_blob().expect("statements").clone(),
    }
}

/// Three documents, one of which yields a memory and is to be damaged.
struct DamageScene {
    client: OrgClient,
    id: String,
    body: Value,
}

impl DamageScene {
    async fn new(large: bool) -> Self {
        let client = OrgClient::new().await;
        client
            .add_document(json!({"content": HEALTHY, "containerTag": "box", "customId": "healthy"}))
            .await;
        client
            .add_document(json!({"content": "Elsewhere it rains.", "containerTag": "other"}))
            .await;
        let body =
            json!({"content": canary_content(large), "containerTag": "box", "customId": "broken"});
        let id = client.add_document(body.clone()).await;
        Self { client, id, body }
    }

    async fn damage_part(&self, part: DamagedPart, harm: DamageKind) {
        let record = self.client.stored_record(&self.id).await.expect("a record");
        self.client
            .app
            .damage_blob(&self.client.tenant, &blob_of_part(&record, part), harm)
            .await;
    }

    /// Returns the same scene after a restart, with nothing in memory.
    async fn restart(self) -> Self {
        let app = TestApp::start(&self.client.app.environment, 0)
            .await
            .expect("an app");
        Self {
            client: OrgClient::of(app, "acme").await,
            ..self
        }
    }

    /// Checks that everything about the other documents works.
    async fn check_others(&self, case: &str) {
        let client = &self.client;
        assert!(
            client.search_finds("lighthouse").await && client.search_finds("rains").await,
            "{case}"
        );
        let listing = client
            .post("/v3/documents/list", json!({"includeContent": true}))
            .await;
        assert_eq!(listing.status, 200, "{case}: {}", listing.body);
        assert_eq!(
            listing.body["pagination"]["totalItems"], 3,
            "{case}: {}",
            listing.body
        );
        let one = client.get("/v3/documents/healthy").await;
        assert_eq!(one.body["content"], HEALTHY, "{case}: {}", one.body);
        for (path, body) in [
            ("/v4/profile", json!({"containerTag": "box"})),
            (
                "/v4/search",
                json!({"q": "Otto", "searchMode": "hybrid", "containerTag": "box"}),
            ),
            ("/v4/search", json!({"q": "Otto", "searchMode": "memories"})),
            ("/v3/search", json!({"q": "lamp", "includeFullDocs": true})),
            ("/v4/memories/list", json!({"containerTags": ["box"]})),
        ] {
            let answer = client.post(path, body).await;
            assert!(answer.status.is_success(), "{case} {path}: {}", answer.body);
        }

        for path in ["", "/chunks"] {
            let answer = client
                .get(&format!("/v3/documents/{}{path}", self.id))
                .await;
            assert!(
                answer.status.as_u16() < 500,
                "{case} {path}: {} {}",
                answer.status,
                answer.body
            );
        }
    }

    async fn is_whole(&self) -> bool {
        let record = self.client.stored_record(&self.id).await.expect("a record");
        let ctx = &self.client.app.system.ctx;
        service::inspect_document(ctx, &self.client.tenant, &record)
            .await
            .expect("an answer")
            .is_none()
    }

    async fn document_status(&self) -> Value {
        self.client.get_document_unchecked(&self.id).await["status"].clone()
    }

    async fn send_again(&self) {
        let answer = self.client.post("/v3/documents", self.body.clone()).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        self.client.run_until_settled().await;
    }
}

#[tokio::test]
async fn a_compaction_repairs_what_it_cannot_read() {
    for part in [DamagedPart::Pack, DamagedPart::Statements] {
        let scene = DamageScene::new(false).await;
        scene.damage_part(part, DamageKind::Missing).await;
        compact(&scene.client, "box").await;
        scene.client.run_until_settled().await;
        let scene = scene.restart().await;
        assert!(scene.client.search_finds("canary").await, "{part:?}");
        let memories = json!({"q": "Otto", "searchMode": "memories", "containerTag": "box"});
        let found = scene.client.post("/v4/search", memories).await.body;
        assert_eq!(
            found["results"].as_array().map(Vec::len),
            Some(1),
            "{part:?}: {found}"
        );
    }
}

#[tokio::test]
async fn one_unreadable_blob_takes_nothing_else_and_what_is_made_of_a_document_is_made_again() {
    for part in PARTS {
        for harm in DamageKind::ALL {
            for large in [false, true] {
                let case = format!("{harm:?} {part:?}, large: {large}");
                let scene = DamageScene::new(large).await;
                scene.damage_part(part, harm).await;
                assert!(!scene.is_whole().await, "{case}");

                let scene = scene.restart().await;
                scene.check_others(&case).await;
                scene.client.run_until_settled().await;
                scene.check_others(&case).await;
                assert_eq!(scene.document_status().await, "done", "{case}");
                assert!(scene.client.search_finds("canary").await, "{case}");

                // The body is the client's content, so only the client can restore it.
                assert_eq!(scene.is_whole().await, part != DamagedPart::Body, "{case}");
                scene.send_again().await;
                assert!(scene.is_whole().await, "{case}");
                assert!(scene.client.search_finds("canary").await, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_made_again_is_failed_until_its_content_is_sent_again() {
    for harm in DamageKind::ALL {
        let scene = DamageScene::new(true).await;
        scene.damage_part(DamagedPart::Body, harm).await;
        scene.damage_part(DamagedPart::Pack, harm).await;
        let scene = scene.restart().await;
        for _ in 0..2 {
            scene.check_others("body and pack").await;
            scene.client.run_until_settled().await;
            let document = scene.client.get_document_unchecked(&scene.id).await;
            assert_eq!(
                (&document["status"], &document["errorCode"]),
                (&json!("failed"), &json!("damaged"))
            );

            let message = document["errorMessage"].as_str().expect("a reason");
            assert!(
                message.contains("send") && !message.contains("canary"),
                "{message}"
            );

            let retry = format!("/v3/documents/{}/retry", scene.id);
            assert_eq!(scene.client.post(&retry, Value::Null).await.status, 200);
        }

        scene.client.run_until_settled().await;
        assert_eq!(scene.document_status().await, "failed");
        scene.send_again().await;
        assert_eq!(scene.document_status().await, "done");
        assert!(scene.is_whole().await && scene.client.search_finds("canary").await);
    }
}

#[tokio::test]
async fn a_retry_heals_a_document_that_is_done_and_damaged() {
    for part in [DamagedPart::Pack, DamagedPart::Statements] {
        let scene = DamageScene::new(false).await;
        scene.damage_part(part, DamageKind::Flipped).await;
        let answer = scene
            .client
            .post(&format!("/v3/documents/{}/retry", scene.id), Value::Null)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        scene.client.run_until_settled().await;
        assert_eq!(scene.document_status().await, "done");
        assert!(scene.is_whole().await && scene.client.search_finds("canary").await);
    }
}

#[tokio::test]
async fn a_damaged_container_can_be_deleted_to_the_last_byte() {
    for part in PARTS {
        let scene = DamageScene::new(false).await;
        scene.damage_part(part, DamageKind::Flipped).await;
        assert!(
            scene
                .client
                .delete("/v3/container-tags/box")
                .await
                .status
                .is_success()
        );

        scene.client.run_until_settled().await;
        assert!(scene.client.stored_record(&scene.id).await.is_none());
        assert!(
            scene.client.search_finds("rains").await && !scene.client.search_finds("canary").await
        );
    }
}

#[tokio::test]
async fn an_export_leaves_damaged_documents_out_and_names_them() {
    for part in PARTS {
        let scene = DamageScene::new(true).await;
        scene.damage_part(part, DamageKind::Truncated).await;
        let (mut out, tag) = (
            Vec::new(),
            domain::ContainerTag::parse("box").expect("a tag"),
        );
        let ctx = &scene.client.app.system.ctx;
        let bar = cli::transfer::ProgressBar::hidden();
        let exported =
            cli::transfer::export_container(ctx, &scene.client.tenant, &tag, &mut out, &bar).await;
        let exported = exported.expect("an export of the rest");
        let damaged: Vec<&str> = exported.damaged.iter().map(|id| id.as_str()).collect();
        assert_eq!((exported.documents, damaged), (1, vec![scene.id.as_str()]));

        let text = String::from_utf8(out).expect("text");
        assert!(
            text.contains("green lamp") && text.lines().last().expect("a line").contains("end")
        );
    }
}

#[tokio::test]
async fn a_conversation_whose_turns_cannot_be_read_heals_by_what_is_sent() {
    for harm in DamageKind::ALL {
        let client = OrgClient::new().await;
        let messages = json!([{"role": "user", "content": "The canary sings in the mill."}]);
        let body =
            json!({"conversationId": "talk", "messages": messages, "containerTags": ["box"]});
        let answer = client.post("/v4/conversations", body.clone()).await;
        let id = answer.body["id"].as_str().expect("an id").to_owned();
        client.run_until_settled().await;
        let record = client.stored_record(&id).await.expect("a record");
        client
            .app
            .damage_blob(&client.tenant, &record.body.blob, harm)
            .await;
        let answer = client.post("/v4/conversations", body).await;
        assert!(answer.status.is_success(), "{harm:?}: {}", answer.body);

        client.run_until_settled().await;
        let record = client.stored_record(&id).await.expect("a record");
        let ctx = &client.app.system.ctx;
        let damage = service::inspect_document(ctx, &client.tenant, &record)
            .await
            .expect("an answer");
        assert_eq!(damage, None, "{harm:?}");
        assert!(client.search_finds("canary").await, "{harm:?}");
    }
}
