//! Whole containers: support for the tests of their deletion and merge, and `GET
//! /v3/container-tags/list`.

use std::collections::{BTreeMap, BTreeSet};

use domain::key::Permission;
use domain::{Container, ContainerId, ContainerTag, IndexHead, Job, JobMessage};
use serde_json::{Value, json};
use service::{measure_container, read_heads};
use testkit::TestApp;

use crate::client::{OrgClient, collect_field};
use crate::shape::{expect_error, expect_ok};

const LIST: &str = "/v3/container-tags/list";

/// Returns the container behind a tag.
pub(crate) async fn find_container(client: &OrgClient, tag: &str) -> Option<Container> {
    let tag = ContainerTag::parse(tag).expect("a tag");
    client
        .app
        .system
        .ctx
        .containers
        .get(&client.tenant, &tag)
        .await
        .expect("an answer")
}

/// Returns the first physical container behind a tag.
pub(crate) async fn physical_container(client: &OrgClient, tag: &str) -> ContainerId {
    let container = find_container(client, tag).await.expect("a container");
    container.primary_id().clone()
}

/// Returns the head of the index of a tag's first physical container.
pub(crate) async fn index_head(client: &OrgClient, tag: &str) -> IndexHead {
    let id = physical_container(client, tag).await;
    let index = &client.app.system.ctx.index;
    index.get_head(&client.tenant, &id).await.expect("a head")
}

/// Compacts the index of a tag's first physical container.
pub(crate) async fn compact(client: &OrgClient, tag: &str) {
    let job = Job::CompactV1 {
        container: physical_container(client, tag).await,
        through: None,
    };
    let envelope = JobMessage {
        org: client.tenant.org().clone(),
        job,
    };

    let jobs = &client.app.system.ctx.jobs;
    jobs.send(&[envelope]).await.expect("a sent message");
    client.run_until_settled().await;
}

/// The stored data that matches a search: the keys of items and of objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredData {
    /// The items whose key or content contains a needle, as `table pk sk`.
    pub(crate) items: BTreeSet<String>,
    /// The objects, with their sizes.
    pub(crate) objects: BTreeMap<String, u64>,
}

/// Returns everything stored that contains one of the needles.
pub(crate) async fn find_stored(app: &TestApp, needles: &[&str]) -> StoredData {
    let (clients, names) = (&app.system.clients, &app.system.names);
    let mut stored = StoredData::default();
    for table in [&names.records, &names.secrets, &names.activity] {
        let mut from = None;
        loop {
            let scan = clients
                .dynamodb
                .scan()
                .table_name(table)
                .set_exclusive_start_key(from);
            let answer = scan.send().await.expect("a scan");
            for item in answer.items.unwrap_or_default() {
                let text = format!("{item:?}");
                if needles.iter().any(|needle| text.contains(needle)) {
                    let part = |name| {
                        item.get(name)
                            .and_then(|value| value.as_s().ok())
                            .expect("a key")
                    };
                    stored
                        .items
                        .insert(format!("{table} {} {}", part("pk"), part("sk")));
                }
            }
            from = answer.last_evaluated_key;
            if from.is_none() {
                break;
            }
        }
    }

    let listed = clients
        .s3
        .list_objects_v2()
        .bucket(&names.bucket)
        .send()
        .await
        .expect("a list");
    for object in listed.contents.unwrap_or_default() {
        let key = object.key.unwrap_or_default();
        if needles.iter().any(|needle| key.contains(needle)) {
            stored
                .objects
                .insert(key, object.size.unwrap_or(0).unsigned_abs());
        }
    }

    stored
}

/// Returns the list of container tags.
pub(crate) async fn list_tags(client: &OrgClient) -> Vec<Value> {
    let shape = json!([{
        "id": "id", "name": "string", "containerTag": "string", "description": "null", "createdAt": "time",
        "updatedAt": "time", "isExperimental": "bool", "visibility": "string", "isNova": "bool",
        "documentCount": "int", "memoryCount": "int", "lastActivityAt": "time|null", "mergeStatus?": "string",
        "mergeId?": "id", "mergeTargetTag?": "string",
    }]);
    expect_ok(client.get(LIST).await, &shape)
        .as_array()
        .expect("an array")
        .clone()
}

/// Returns one field of every container tag, by tag.
pub(crate) async fn field_by_tag(client: &OrgClient, field: &str) -> BTreeMap<String, Value> {
    let name = |tag: &Value| tag["containerTag"].as_str().expect("a tag").to_owned();
    list_tags(client)
        .await
        .iter()
        .map(|tag| (name(tag), tag[field].clone()))
        .collect()
}

#[tokio::test]
async fn the_list_counts_what_is_in_each_container() {
    let client = OrgClient::new().await;
    assert_eq!(list_tags(&client).await, Vec::<Value>::new());
    client
        .send_patch("/v3/container-tags/empty", json!({"name": "Nothing yet"}))
        .await;
    for (content, tag) in [
        ("I live in Bonn.", "home"),
        ("The mill stands.", "home"),
        ("A heron.", "sm_project_x"),
    ] {
        client
            .add_document(json!({"content": content, "containerTag": tag}))
            .await;
    }

    client
        .send_document(json!({"content": "Not processed yet.", "containerTag": "home"}))
        .await;
    let all = list_tags(&client).await;
    assert_eq!(
        collect_field(&json!(all), "containerTag"),
        ["empty", "home", "sm_project_x"]
    );
    assert_eq!(
        collect_field(&json!(all), "name"),
        ["Nothing yet", "home", "sm_project_x"]
    );
    let counts: Vec<&Value> = all.iter().map(|tag| &tag["documentCount"]).collect();
    assert_eq!(counts, [0, 3, 1]);
    assert_eq!(
        (&all[0]["memoryCount"], &all[1]["memoryCount"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(
        (&all[1]["isNova"], &all[2]["isNova"]),
        (&json!(false), &json!(true))
    );
    assert!(
        all[1]["lastActivityAt"].as_str() > all[1]["createdAt"].as_str(),
        "{}",
        all[1]
    );
    client.run_until_settled().await;
    let before = field_by_tag(&client, "memoryCount").await["home"]
        .as_u64()
        .expect("a count");
    // A forgotten memory reduces the count by one.
    let body = json!({"containerTag": "home", "content": "User lives in Bonn."});
    let forgotten = client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &body)
        .await;
    assert_eq!(forgotten.status, 200, "{}", forgotten.body);
    assert_eq!(
        field_by_tag(&client, "memoryCount").await["home"],
        before - 1
    );
}

#[tokio::test]
async fn a_key_lists_what_it_reaches() {
    let client = OrgClient::new().await;
    for tag in ["mine", "theirs"] {
        client
            .send_patch(&format!("/v3/container-tags/{tag}"), json!({}))
            .await;
    }

    let tags =
        async |key: &str| collect_field(&client.app.get(LIST, key).await.body, "containerTag");
    let agent = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["mine", "nowhere"]))
        .await;
    assert_eq!(tags(&agent).await, ["mine"]);
    assert_eq!(
        tags(&client.app.create_key("other").await).await,
        Vec::<String>::new()
    );
    expect_error(
        &client.app.get(LIST, "").await,
        401,
        "AuthenticationError",
        "key",
    );
}

#[tokio::test]
async fn the_documents_of_a_large_container_are_counted_without_reading_them() {
    let client = OrgClient::new().await;
    for i in 0..4 {
        let content = format!("The heron waits at post {i}.");
        client
            .add_document(
                json!({"content": content, "containerTag": "box", "customId": format!("d{i}")}),
            )
            .await;
    }
    assert_eq!(client.delete("/v3/documents/d0").await.status, 204);
    client.run_until_settled().await;
    compact(&client, "box").await;

    let container = find_container(&client, "box").await.expect("a container");
    let ctx = &client.app.system.ctx;
    let measure = async |read_limit| {
        let heads = read_heads(ctx, &client.tenant, &container).await?;
        measure_container(ctx, &client.tenant, &container, &heads, read_limit).await
    };
    for read_limit in [1_000, 2] {
        let size = measure(read_limit).await.expect("a size");
        assert_eq!(size.documents, 3, "{read_limit}");
    }

    // One that is not processed yet counts, and one that replaces another does not.
    for custom_id in ["d1", "new"] {
        client
            .send_document(
                json!({"content": "Later.", "containerTag": "box", "customId": custom_id}),
            )
            .await;
    }
    for read_limit in [1_000, 2] {
        let size = measure(read_limit).await.expect("a size");
        assert_eq!(size.documents, 4, "{read_limit}");
    }
}
