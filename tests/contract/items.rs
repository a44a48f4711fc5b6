//! Documents that connections create from items: their owners, the fields that they show, and the
//! fields that stay under the client's control.

use domain::connection::{Claim, ConnectionStatus, Origin, Provider};
use domain::usecase::{
    ItemDocument, custom_id_of, file_item, item_document, refile_item, release_item,
};
use domain::{
    BodyForm, Connection, ConnectionId, ContainerTag, Ctx, DocumentId, DocumentType, Error,
};
use serde_json::{Value, json};

use crate::client::Client;
use crate::merge::begin;
use crate::shape::{full, ok};

pub(crate) const CONTENT: &str = "The lighthouse at Skagen was painted white in spring.";

/// An item of a drive as one connection sees it.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) item: ItemDocument,
    pub(crate) content: &'static str,
}

impl Seen {
    /// Returns an item seen by a new connection.
    pub(crate) async fn by(client: &Client) -> Self {
        Self::by_one_into(client, "drive").await
    }

    /// Returns an item seen by a new connection to this container.
    async fn by_one_into(client: &Client, tag: &str) -> Self {
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
        let origin = Origin {
            provider: Provider::CloudDrive,
            connection: connection.clone(),
            title: "Lighthouse".into(),
            kind: Some(DocumentType::CloudDoc),
            mark: "one".into(),
        };

        let item = ItemDocument {
            tag,
            custom_id: custom_id_of(Provider::CloudDrive, item),
            origin,
            url: Some("https://drive.example/open?id=1fA".into()),
            filepath: "/My Drive/Lighthouse".into(),
            claim: Claim {
                connection: connection.clone(),
                item: item.into(),
            },
        };

        Self {
            item,
            content: CONTENT,
        }
    }

    pub(crate) fn renamed(&self, name: &str) -> Self {
        let mut seen = self.clone();
        seen.item.origin.title = name.into();
        seen.item.filepath = format!("/My Drive/{name}");
        seen
    }

    pub(crate) fn edited(&self, mark: &str, content: &'static str) -> Self {
        let mut seen = Self {
            content,
            ..self.clone()
        };
        seen.item.origin.mark = mark.into();
        seen
    }

    pub(crate) async fn file(&self, client: &Client) -> DocumentId {
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

    pub(crate) async fn refile(&self, client: &Client) -> Option<DocumentId> {
        refile_item(ctx(client), &client.tenant, &self.item)
            .await
            .expect("an answer")
    }

    /// Synchronizes as the engine does: without the content if possible.
    pub(crate) async fn sync(&self, client: &Client) -> DocumentId {
        match self.refile(client).await {
            Some(id) => id,
            None => self.file(client).await,
        }
    }

    pub(crate) async fn release(&self, client: &Client) -> bool {
        let (ctx, tag, custom_id) = (ctx(client), &self.item.tag, &self.item.custom_id);
        let id = item_document(ctx, &client.tenant, tag, custom_id)
            .await
            .expect("an answer")
            .expect("an id");
        self.release_from(client, &id).await
    }

    async fn release_from(&self, client: &Client, document: &DocumentId) -> bool {
        release_item(ctx(client), &client.tenant, document, &self.item.claim)
            .await
            .expect("an answer")
    }
}

fn ctx(client: &Client) -> &Ctx {
    &client.app.system.ctx
}

/// Returns the document of an item, and checks its full shape.
pub(crate) async fn read(client: &Client, id: &str) -> Value {
    let mut shape = full();
    for (field, kind) in [
        ("connectionId", "id"),
        ("source", "string"),
        ("url?", "string"),
    ] {
        shape[field] = json!(kind);
    }
    ok(client.get(&format!("/v3/documents/{id}")).await, &shape)
}

/// Returns the fields of a document that the item determines.
fn shown(document: &Value) -> Value {
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
    let client = Client::new().await;
    let seen = Seen::by(&client).await;
    assert_eq!(seen.refile(&client).await, None, "there is nothing yet");
    let id = seen.file(&client).await;
    client.settle().await;
    let mut wanted = json!({
        "title": "Lighthouse", "type": "cloud_doc", "source": "cloud-drive", "filepath": "/My Drive/Lighthouse",
        "url": "https://drive.example/open?id=1fA", "latestRevision": 1, "status": "done",
    });

    let document = read(&client, id.as_str()).await;
    assert_eq!(shown(&document), wanted);
    assert_eq!(
        document["connectionId"],
        seen.item.claim.connection.as_str()
    );
    assert_eq!(document["customId"], "cloud-drive:1fA_lighthouse-9");
    assert_eq!(document["content"], CONTENT);

    let renamed = seen.renamed("Beacon");
    assert_eq!(renamed.refile(&client).await, Some(id.clone()));
    (wanted["title"], wanted["filepath"]) = (json!("Beacon"), json!("/My Drive/Beacon"));
    assert_eq!(
        shown(&read(&client, id.as_str()).await),
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
        client.found("beacon").await,
        [CONTENT],
        "its new name is a way to find it"
    );
}

#[tokio::test]
async fn a_name_that_changes_while_the_content_is_read_is_not_lost() {
    for call in 0.. {
        let client = Client::new().await;
        let seen = Seen::by(&client).await;
        let id = seen.file(&client).await;
        for _ in 0..call {
            if client.app.turn().await == 0 {
                break;
            }
        }

        let ended = read(&client, id.as_str()).await["status"] == "done";
        assert_eq!(
            seen.renamed("Beacon").refile(&client).await,
            Some(id.clone())
        );

        client.settle().await;
        let document = read(&client, id.as_str()).await;
        assert_eq!(shown(&document)["title"], "Beacon", "after {call} turns");
        assert_eq!(
            client.found("beacon").await,
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
    let client = Client::new().await;
    let seen = Seen::by(&client).await;
    let id = seen.file(&client).await;
    client.settle().await;
    let revision = async || read(&client, id.as_str()).await["latestRevision"].clone();
    let edited = client.record(id.as_str()).await.expect("a record").edits;
    assert_eq!(seen.refile(&client).await, Some(id.clone()));
    assert_eq!(seen.file(&client).await, id);
    assert_eq!(
        client.record(id.as_str()).await.expect("a record").edits,
        edited,
        "nothing was written"
    );

    let touched = seen.edited("two", CONTENT);
    assert_eq!(
        touched.refile(&client).await,
        None,
        "another mark may be another content"
    );
    assert_eq!(touched.file(&client).await, id);
    assert_eq!(revision().await, 1, "but it was not");
    assert_eq!(touched.refile(&client).await, Some(id.clone()));

    let edited = seen.edited(
        "three",
        "The lighthouse at Skagen was painted red in autumn.",
    );
    assert_eq!(edited.file(&client).await, id);
    client.settle().await;
    assert_eq!(revision().await, 2);
    assert_eq!(client.found("lighthouse").await, [edited.content]);
    assert_eq!(
        seen.edited("", CONTENT).refile(&client).await,
        None,
        "no mark equals none"
    );
}

#[tokio::test]
async fn what_a_caller_says_about_a_document_stays() {
    let client = Client::new().await;
    let seen = Seen::by(&client).await;
    let id = seen.file(&client).await;
    client.settle().await;
    client
        .update(
            id.as_str(),
            json!({"metadata": {"team": "coast"}, "taskType": "superrag"}),
        )
        .await;
    seen.renamed("Beacon").sync(&client).await;
    seen.edited("two", "The lighthouse was sold.")
        .sync(&client)
        .await;
    client.settle().await;
    let document = read(&client, id.as_str()).await;
    assert_eq!(
        (&document["metadata"], &document["taskType"]),
        (&json!({"team": "coast"}), &json!("superrag"))
    );

    client
        .update(id.as_str(), json!({"content": "The caller's own words."}))
        .await;
    client.settle().await;
    let document = read(&client, id.as_str()).await;
    assert_eq!(
        (&document["title"], &document["source"]),
        (&json!("Lighthouse"), &json!("cloud-drive"))
    );
    let now = seen.edited("two", "The lighthouse was sold.");
    assert_eq!(
        now.refile(&client).await,
        None,
        "it is no longer what the item is"
    );

    assert_eq!(
        client.delete(&format!("/v3/documents/{id}")).await.status,
        204
    );
    assert_eq!(now.refile(&client).await, None);
    assert_eq!(now.file(&client).await, id, "under the same id");
    client.settle().await;
    assert_eq!(read(&client, id.as_str()).await["metadata"], Value::Null);
}

#[tokio::test]
async fn a_document_goes_with_its_last_claim() {
    let client = Client::new().await;
    let one = Seen::by(&client).await;
    let two = Seen::by(&client).await;
    let mut shortcut = one.clone();
    shortcut.item.claim.item = "another".into();
    let id = one.sync(&client).await;
    for seen in [&two, &shortcut] {
        assert_eq!(seen.sync(&client).await, id);
    }
    client.settle().await;

    assert!(
        !one.release(&client).await && !one.release(&client).await,
        "two others need it"
    );
    assert!(!two.release(&client).await);
    assert_eq!(client.listed(json!({})).await, [id.as_str()]);
    assert!(shortcut.release(&client).await);
    assert!(
        client.listed(json!({})).await.is_empty() && client.found("lighthouse").await.is_empty()
    );
    assert!(!shortcut.release(&client).await, "it is gone");
}

#[tokio::test]
async fn a_document_that_superseded_another_goes_with_the_last_claim_on_both() {
    for synced_again in [false, true] {
        let client = Client::new().await;
        let (mut loser, winner) = (
            Seen::by_one_into(&client, "drive").await,
            Seen::by_one_into(&client, "shore").await,
        );
        let lost = loser.sync(&client).await;
        client.settle().await;
        client.app.world.clock.advance_seconds(5);
        let won = winner.sync(&client).await;
        client.settle().await;
        begin(&client, &["drive"], "shore").await;
        client.settle().await;
        assert_eq!(client.listed(json!({})).await, [won.as_str()]);

        if synced_again {
            // The engine synchronizes into the other document and then gives up the first one.
            loser.item.tag = winner.item.tag.clone();
            assert_eq!(loser.sync(&client).await, won);
            assert!(!loser.release_from(&client, &lost).await);
        }

        assert!(
            !winner.release_from(&client, &won).await,
            "the other one needs it: {synced_again}"
        );
        assert_eq!(client.listed(json!({})).await, [won.as_str()]);

        let has = if synced_again { &won } else { &lost };
        assert!(loser.release_from(&client, has).await, "{synced_again}");
        assert!(client.listed(json!({})).await.is_empty());
    }
}

#[tokio::test]
async fn nothing_is_filed_into_a_later_container_of_the_tag() {
    let client = Client::new().await;
    let seen = Seen::by(&client).await;
    seen.file(&client).await;
    client.settle().await;
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
            listed.push(client.add(own).await);
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
        assert_eq!(client.listed(json!({})).await, listed);
    }
}

#[tokio::test]
async fn a_document_of_a_caller_with_the_custom_id_of_an_item_is_filed_over_and_never_removed_before()
 {
    let client = Client::new().await;
    let seen = Seen::by(&client).await;
    let own = json!({"content": "Mine.", "customId": "cloud-drive:1fA_lighthouse-9", "containerTag": "drive"});
    let id = client.add(own).await;
    assert!(!seen.release(&client).await, "it is no item's document");
    assert_eq!(seen.sync(&client).await.as_str(), id);
    client.settle().await;
    assert_eq!(read(&client, &id).await["content"], CONTENT);
    assert!(seen.release(&client).await);
}

#[tokio::test]
async fn nothing_is_filed_of_an_empty_item() {
    let client = Client::new().await;
    let item = Seen::by(&client).await.item;
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
    let client = Client::new().await;
    let own = client
        .add(json!({"content": "Mine.", "containerTag": "drive"}))
        .await;
    let filed = Seen::by(&client).await.sync(&client).await.to_string();
    client.settle().await;
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
