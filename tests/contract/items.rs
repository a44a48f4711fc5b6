//! Documents that connections create from items: their owners, the fields that they show, and the
//! fields that stay under the client's control.

use domain::connection::{ConnectionStatus, DocumentClaim, DocumentOrigin, Provider};
use domain::{BodyForm, Connection, ConnectionId, ContainerTag, DocumentId, DocumentType, Error};
use serde_json::{Value, json};
use service::Ctx;
use service::{
    ItemDocument, file_item, item_custom_id, item_document_id, refile_item, release_item,
};

use crate::client::OrgClient;
use crate::merge::begin_merge;
use crate::shape::{document_shape, expect_ok};

pub(crate) const CONTENT: &str = "The lighthouse at Skagen was painted white in spring.";

/// An item of a drive as one connection sees it.
#[derive(Clone)]
pub(crate) struct ConnectedItem {
    pub(crate) item: ItemDocument,
    pub(crate) content: &'static str,
}

impl ConnectedItem {
    /// Returns an item seen by a new connection.
    pub(crate) async fn new_item(client: &OrgClient) -> Self {
        Self::by_one_into(client, "drive").await
    }

    /// Returns an item seen by a new connection to this container.
    async fn by_one_into(client: &OrgClient, tag: &str) -> Self {
        let tag = ContainerTag::parse(tag).expect("a tag");
        let ctx = ctx(client);
        let mut connection = Connection::new(Provider::CloudDrive, tag.clone(), ctx.clock.now());
        connection.status = ConnectionStatus::Active;
        assert!(
            ctx.connections
                .save(&client.tenant, &connection)
                .await
                .expect("a saved connection")
        );
        Self::of(&connection.id, tag)
    }

    fn of(connection: &ConnectionId, tag: ContainerTag) -> Self {
        let item = "1fA_lighthouse-9";
        let origin = DocumentOrigin {
            provider: Provider::CloudDrive,
            connection: connection.clone(),
            title: "Lighthouse".into(),
            kind: Some(DocumentType::CloudDoc),
            content_version: "one".into(),
        };

        let item = ItemDocument {
            tag,
            custom_id: item_custom_id(Provider::CloudDrive, item),
            origin,
            url: Some("https://drive.example/open?id=1fA".into()),
            filepath: "/My Drive/Lighthouse".into(),
            claim: DocumentClaim {
                connection: connection.clone(),
                item: item.into(),
            },
        };

        Self {
            item,
            content: CONTENT,
        }
    }

    pub(crate) fn with_title(&self, name: &str) -> Self {
        let mut seen = self.clone();
        seen.item.origin.title = name.into();
        seen.item.filepath = format!("/My Drive/{name}");
        seen
    }

    pub(crate) fn with_content(&self, mark: &str, content: &'static str) -> Self {
        let mut seen = Self {
            content,
            ..self.clone()
        };
        seen.item.origin.content_version = mark.into();
        seen
    }

    pub(crate) async fn file_item(&self, client: &OrgClient) -> DocumentId {
        let form = BodyForm::File {
            name: Some("file.md".into()),
            declared: Some("text/markdown".into()),
        };
        let (ctx, item) = (ctx(client), self.item.clone());
        file_item(ctx, &client.tenant, item, self.content.into(), form)
            .await
            .expect("a filed item")
            .id
    }

    pub(crate) async fn refile_item(&self, client: &OrgClient) -> Option<DocumentId> {
        refile_item(ctx(client), &client.tenant, &self.item)
            .await
            .expect("an answer")
    }

    /// Synchronizes as the engine does: without the content if possible.
    pub(crate) async fn sync_item(&self, client: &OrgClient) -> DocumentId {
        match self.refile_item(client).await {
            Some(id) => id,
            None => self.file_item(client).await,
        }
    }

    pub(crate) async fn release_claim(&self, client: &OrgClient) -> bool {
        let (ctx, tag, custom_id) = (ctx(client), &self.item.tag, &self.item.custom_id);
        let id = item_document_id(ctx, &client.tenant, tag, custom_id)
            .await
            .expect("an answer")
            .expect("an id");
        self.release_from(client, &id).await
    }

    async fn release_from(&self, client: &OrgClient, document: &DocumentId) -> bool {
        release_item(ctx(client), &client.tenant, document, &self.item.claim)
            .await
            .expect("an answer")
    }
}

fn ctx(client: &OrgClient) -> &Ctx {
    &client.app.system.ctx
}

/// Returns the document of an item, and checks its full shape.
pub(crate) async fn get_item_document(client: &OrgClient, id: &str) -> Value {
    let mut shape = document_shape();
    for (field, kind) in [
        ("connectionId", "id"),
        ("source", "string"),
        ("url?", "string"),
    ] {
        shape[field] = json!(kind);
    }
    expect_ok(client.get(&format!("/v3/documents/{id}")).await, &shape)
}

/// Returns the fields of a document that the item determines.
fn item_fields(document: &Value) -> Value {
    let fields = [
        "title",
        "type",
        "source",
        "filepath",
        "url",
        "latestRevision",
        "status",
    ];

    Value::Object(
        fields
            .iter()
            .map(|field| ((*field).to_owned(), document[*field].clone()))
            .collect(),
    )
}

#[tokio::test]
async fn a_filed_item_shows_where_it_is_from_and_a_rename_changes_that_alone() {
    let client = OrgClient::new().await;
    let seen = ConnectedItem::new_item(&client).await;
    assert_eq!(
        seen.refile_item(&client).await,
        None,
        "there is nothing yet"
    );
    let id = seen.file_item(&client).await;
    client.run_until_settled().await;
    let mut wanted = json!({
        "title": "Lighthouse", "type": "cloud_doc", "source": "cloud-drive", "filepath": "/My Drive/Lighthouse",
        "url": "https://drive.example/open?id=1fA", "latestRevision": 1, "status": "done",
    });

    let document = get_item_document(&client, id.as_str()).await;
    assert_eq!(item_fields(&document), wanted);
    assert_eq!(
        document["connectionId"],
        seen.item.claim.connection.as_str()
    );
    assert_eq!(document["customId"], "cloud-drive:1fA_lighthouse-9");
    assert_eq!(document["content"], CONTENT);

    let renamed = seen.with_title("Beacon");
    assert_eq!(renamed.refile_item(&client).await, Some(id.clone()));
    (wanted["title"], wanted["filepath"]) = (json!("Beacon"), json!("/My Drive/Beacon"));
    assert_eq!(
        item_fields(&get_item_document(&client, id.as_str()).await),
        wanted,
        "at once, and not a new revision"
    );
    let listed = client.post("/v3/documents/list", json!({})).await.body["memories"][0].clone();
    assert_eq!(
        (&listed["title"], &listed["type"]),
        (&json!("Beacon"), &json!("cloud_doc"))
    );
    let found = client
        .post(
            "/v3/search",
            json!({"q": "lighthouse", "chunkThreshold": 0}),
        )
        .await
        .body;
    let found = &found["results"][0];
    assert_eq!(
        (&found["title"], &found["type"]),
        (&json!("Beacon"), &json!("cloud_doc"))
    );
    assert_eq!(
        client.search_texts("beacon").await,
        [CONTENT],
        "its new name is a way to find it"
    );
}

#[tokio::test]
async fn a_name_that_changes_while_the_content_is_read_is_not_lost() {
    for call in 0.. {
        let client = OrgClient::new().await;
        let seen = ConnectedItem::new_item(&client).await;
        let id = seen.file_item(&client).await;
        for _ in 0..call {
            if client.app.run_workers_once().await == 0 {
                break;
            }
        }

        let ended = get_item_document(&client, id.as_str()).await["status"] == "done";
        assert_eq!(
            seen.with_title("Beacon").refile_item(&client).await,
            Some(id.clone())
        );

        client.run_until_settled().await;
        let document = get_item_document(&client, id.as_str()).await;
        assert_eq!(
            item_fields(&document)["title"],
            "Beacon",
            "after {call} turns"
        );
        assert_eq!(
            client.search_texts("beacon").await,
            [CONTENT],
            "after {call} turns"
        );

        if ended {
            break;
        }
    }
}

#[tokio::test]
async fn only_another_content_is_processed_again() {
    let client = OrgClient::new().await;
    let seen = ConnectedItem::new_item(&client).await;
    let id = seen.file_item(&client).await;
    client.run_until_settled().await;
    let revision = async || get_item_document(&client, id.as_str()).await["latestRevision"].clone();
    let edited = client
        .stored_record(id.as_str())
        .await
        .expect("a record")
        .description_changes;
    assert_eq!(seen.refile_item(&client).await, Some(id.clone()));
    assert_eq!(seen.file_item(&client).await, id);
    assert_eq!(
        client
            .stored_record(id.as_str())
            .await
            .expect("a record")
            .description_changes,
        edited,
        "nothing was written"
    );

    let touched = seen.with_content("two", CONTENT);
    assert_eq!(
        touched.refile_item(&client).await,
        None,
        "another mark may be another content"
    );
    assert_eq!(touched.file_item(&client).await, id);
    assert_eq!(revision().await, 1, "but it was not");
    assert_eq!(touched.refile_item(&client).await, Some(id.clone()));

    let edited = seen.with_content(
        "three",
        "The lighthouse at Skagen was painted red in autumn.",
    );
    assert_eq!(edited.file_item(&client).await, id);
    client.run_until_settled().await;
    assert_eq!(revision().await, 2);
    assert_eq!(client.search_texts("lighthouse").await, [edited.content]);
    assert_eq!(
        seen.with_content("", CONTENT).refile_item(&client).await,
        None,
        "no mark equals none"
    );
}

#[tokio::test]
async fn what_a_caller_says_about_a_document_stays() {
    let client = OrgClient::new().await;
    let seen = ConnectedItem::new_item(&client).await;
    let id = seen.file_item(&client).await;
    client.run_until_settled().await;
    client
        .update_document(
            id.as_str(),
            json!({"metadata": {"team": "coast"}, "taskType": "superrag"}),
        )
        .await;
    seen.with_title("Beacon").sync_item(&client).await;
    seen.with_content("two", "The lighthouse was sold.")
        .sync_item(&client)
        .await;
    client.run_until_settled().await;
    let document = get_item_document(&client, id.as_str()).await;
    assert_eq!(
        (&document["metadata"], &document["taskType"]),
        (&json!({"team": "coast"}), &json!("superrag"))
    );

    client
        .update_document(id.as_str(), json!({"content": "The caller's own words."}))
        .await;
    client.run_until_settled().await;
    let document = get_item_document(&client, id.as_str()).await;
    assert_eq!(
        (&document["title"], &document["source"]),
        (&json!("Lighthouse"), &json!("cloud-drive"))
    );
    let now = seen.with_content("two", "The lighthouse was sold.");
    assert_eq!(
        now.refile_item(&client).await,
        None,
        "it is no longer what the item is"
    );

    assert_eq!(
        client.delete(&format!("/v3/documents/{id}")).await.status,
        204
    );
    assert_eq!(now.refile_item(&client).await, None);
    assert_eq!(now.file_item(&client).await, id, "under the same id");
    client.run_until_settled().await;
    assert_eq!(
        get_item_document(&client, id.as_str()).await["metadata"],
        Value::Null
    );
}

#[tokio::test]
async fn a_document_goes_with_its_last_claim() {
    let client = OrgClient::new().await;
    let one = ConnectedItem::new_item(&client).await;
    let two = ConnectedItem::new_item(&client).await;
    let mut shortcut = one.clone();
    shortcut.item.claim.item = "another".into();
    let id = one.sync_item(&client).await;
    for seen in [&two, &shortcut] {
        assert_eq!(seen.sync_item(&client).await, id);
    }
    client.run_until_settled().await;

    assert!(
        !one.release_claim(&client).await && !one.release_claim(&client).await,
        "two others need it"
    );
    assert!(!two.release_claim(&client).await);
    assert_eq!(client.listed_ids(json!({})).await, [id.as_str()]);
    assert!(shortcut.release_claim(&client).await);
    assert!(
        client.listed_ids(json!({})).await.is_empty()
            && client.search_texts("lighthouse").await.is_empty()
    );
    assert!(!shortcut.release_claim(&client).await, "it is gone");
}

#[tokio::test]
async fn a_document_that_superseded_another_goes_with_the_last_claim_on_both() {
    for synced_again in [false, true] {
        let client = OrgClient::new().await;
        let (mut loser, winner) = (
            ConnectedItem::by_one_into(&client, "drive").await,
            ConnectedItem::by_one_into(&client, "shore").await,
        );
        let lost = loser.sync_item(&client).await;
        client.run_until_settled().await;
        client.app.environment.clock.advance_seconds(5);
        let won = winner.sync_item(&client).await;
        client.run_until_settled().await;
        begin_merge(&client, &["drive"], "shore").await;
        client.run_until_settled().await;
        assert_eq!(client.listed_ids(json!({})).await, [won.as_str()]);

        if synced_again {
            // The engine synchronizes into the other document and then gives up the first one.
            loser.item.tag = winner.item.tag.clone();
            assert_eq!(loser.sync_item(&client).await, won);
            assert!(!loser.release_from(&client, &lost).await);
        }

        assert!(
            !winner.release_from(&client, &won).await,
            "the other one needs it: {synced_again}"
        );
        assert_eq!(client.listed_ids(json!({})).await, [won.as_str()]);

        let has = if synced_again { &won } else { &lost };
        assert!(loser.release_from(&client, has).await, "{synced_again}");
        assert!(client.listed_ids(json!({})).await.is_empty());
    }
}

#[tokio::test]
async fn nothing_is_filed_into_a_later_container_of_the_tag() {
    let client = OrgClient::new().await;
    let seen = ConnectedItem::new_item(&client).await;
    seen.file_item(&client).await;
    client.run_until_settled().await;
    assert!(
        client
            .delete("/v3/container-tags/drive")
            .await
            .status
            .is_success()
    );

    for own in [
        None,
        Some(json!({"content": "Mine.", "containerTag": "drive"})),
    ] {
        let mut listed = Vec::new();
        if let Some(own) = own {
            listed.push(client.add_document(own).await);
        }
        let form = BodyForm::File {
            name: None,
            declared: None,
        };
        let (ctx, item) = (ctx(&client), seen.item.clone());
        let answer = file_item(ctx, &client.tenant, item, CONTENT.into(), form).await;
        assert!(matches!(answer, Err(Error::Conflict(_))), "{answer:?}");
        assert!(matches!(
            refile_item(ctx, &client.tenant, &seen.item).await,
            Err(Error::Conflict(_))
        ));
        assert_eq!(client.listed_ids(json!({})).await, listed);
    }
}

#[tokio::test]
async fn a_document_of_a_caller_with_the_custom_id_of_an_item_is_filed_over_and_never_removed_before()
 {
    let client = OrgClient::new().await;
    let seen = ConnectedItem::new_item(&client).await;
    let own = json!({"content": "Mine.", "customId": "cloud-drive:1fA_lighthouse-9", "containerTag": "drive"});
    let id = client.add_document(own).await;
    assert!(
        !seen.release_claim(&client).await,
        "it is no item's document"
    );
    assert_eq!(seen.sync_item(&client).await.as_str(), id);
    client.run_until_settled().await;
    assert_eq!(get_item_document(&client, &id).await["content"], CONTENT);
    assert!(seen.release_claim(&client).await);
}

#[tokio::test]
async fn nothing_is_filed_of_an_empty_item() {
    let client = OrgClient::new().await;
    let item = ConnectedItem::new_item(&client).await.item;
    let (ctx, form) = (
        ctx(&client),
        BodyForm::File {
            name: None,
            declared: None,
        },
    );
    let answer = file_item(ctx, &client.tenant, item, " \n".into(), form).await;
    assert!(matches!(answer, Err(Error::Invalid { .. })), "{answer:?}");
}

#[tokio::test]
async fn listings_tell_documents_apart_by_where_they_came_from() {
    let client = OrgClient::new().await;
    let own = client
        .add_document(json!({"content": "Mine.", "containerTag": "drive"}))
        .await;
    let filed = ConnectedItem::new_item(&client)
        .await
        .sync_item(&client)
        .await
        .to_string();
    client.run_until_settled().await;
    let both = [filed.clone(), own];
    let filed = std::slice::from_ref(&filed);

    for (path, field, value, wanted) in [
        ("list", "source", json!("cloud-drive"), filed),
        ("list", "source", json!("google-drive"), filed),
        ("list", "source", json!("web-crawler"), &[]),
        ("list", "source", json!("notion"), &[]),
        ("list", "source", Value::Null, &both),
        (
            "documents",
            "sources",
            json!(["notion", "cloud-drive"]),
            filed,
        ),
        ("documents", "sources", json!(["notion"]), &[]),
        ("documents", "sources", json!([]), &both),
    ] {
        let answer = client
            .post(&format!("/v3/documents/{path}"), json!({field: value}))
            .await
            .body;
        let listed = answer["memories"]
            .as_array()
            .or(answer["documents"].as_array())
            .expect("documents");
        let ids: Vec<&str> = listed
            .iter()
            .filter_map(|document| document["id"].as_str())
            .collect();
        assert_eq!(ids.len(), wanted.len(), "{path} {field} {value}");
        assert!(
            wanted.iter().all(|id| ids.contains(&id.as_str())),
            "{path} {field} {value}: {ids:?}"
        );
    }
}
