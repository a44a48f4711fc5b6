use aws_sdk_dynamodb::types::AttributeValue;
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};

use super::*;
use crate::layout::{
    ACTIVITY_TABLE, CONTAINER_INDEX, DUE_INDEX, PENDING_INDEX, RECORDS_TABLE, SECRETS_TABLE,
};

fn client(folder: &std::path::Path) -> Client {
    let transport = InProcessTransport::new(EmbeddedServices::open(folder).unwrap());
    Client::new(&crate::config_through(
        transport,
        ACCESS_KEY_ID,
        SECRET_ACCESS_KEY,
        REGION,
    ))
}

async fn put_item(client: &Client, key: &str, due: &str) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client
        .put_item()
        .table_name(ACTIVITY_TABLE.name)
        .item("pk", text(key))
        .item("sk", text("A"));
    let put = if due.is_empty() {
        put
    } else {
        put.item("qs", text("O")).item("qd", text(due))
    };
    put.send().await.unwrap();
}

/// Returns the keys in the index, in the order in which they are due.
async fn list_due_keys(client: &Client) -> Vec<String> {
    let query = client
        .query()
        .table_name(ACTIVITY_TABLE.name)
        .index_name(DUE_INDEX.name);
    let query = query.key_condition_expression("qs = :qs");
    let response = query
        .expression_attribute_values(":qs", AttributeValue::S("O".into()))
        .send()
        .await
        .unwrap();

    response
        .items()
        .iter()
        .map(|item| item["pk"].as_s().unwrap().clone())
        .collect()
}

/// Puts a document of a container. One that is pending has the attribute that places it in the index
/// `pending`.
async fn put_document(client: &Client, key: &str, is_pending: bool) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client
        .put_item()
        .table_name(RECORDS_TABLE.name)
        .item("pk", text(key))
        .item("sk", text("A"))
        .item("gl", text("L"))
        .item("gs", text(key))
        .item("idx", text("served"))
        .item("body", text("bytes"));
    let put = if is_pending {
        put.item("gp", text("P"))
    } else {
        put
    };
    put.send().await.unwrap();
}

/// Returns the items of the index `pending`, each with the names of its attributes.
async fn list_pending(client: &Client) -> Vec<(String, Vec<String>)> {
    let query = client
        .query()
        .table_name(RECORDS_TABLE.name)
        .index_name(PENDING_INDEX.name)
        .key_condition_expression("gp = :gp");
    let response = query
        .expression_attribute_values(":gp", AttributeValue::S("P".into()))
        .send()
        .await
        .unwrap();

    let mut found = Vec::new();
    for item in response.items() {
        let mut names: Vec<String> = item.keys().cloned().collect();
        names.sort();
        found.push((item["pk"].as_s().unwrap().clone(), names));
    }
    found
}

/// Checks whether the tables have the indexes and the time to live of the layout.
async fn matches_layout(client: &Client) -> bool {
    for layout in &TABLES {
        let table = client
            .describe_table()
            .table_name(layout.name)
            .send()
            .await
            .unwrap()
            .table
            .unwrap();
        let indexes = table
            .global_secondary_indexes()
            .iter()
            .map(|index| index.index_name().unwrap());
        let expected = layout.indexes.iter().map(|index| index.name);
        let ttl = client
            .describe_time_to_live()
            .table_name(layout.name)
            .send()
            .await
            .unwrap();
        let ttl = ttl.time_to_live_description.unwrap().attribute_name;
        if indexes.collect::<Vec<_>>() != expected.collect::<Vec<_>>()
            || ttl.as_deref() != layout.ttl_attribute
        {
            return false;
        }
    }

    true
}

#[tokio::test]
async fn a_folder_of_an_earlier_version_gets_what_it_lacks_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let before = client(folder.path());
    let records = TableLayout {
        indexes: &[CONTAINER_INDEX, DUE_INDEX],
        ..RECORDS_TABLE
    };
    create_table(&before, &records, RECORDS_TABLE.name)
        .await
        .unwrap();
    put_document(&before, "former", false).await;
    put_document(&before, "second", true).await;
    create_table(
        &before,
        &TableLayout {
            ttl_attribute: None,
            ..SECRETS_TABLE
        },
        SECRETS_TABLE.name,
    )
    .await
    .unwrap();
    let activity = TableLayout {
        indexes: &[],
        ..ACTIVITY_TABLE
    };

    create_table(&before, &activity, ACTIVITY_TABLE.name)
        .await
        .unwrap();
    enable_ttl(&before, &activity, ACTIVITY_TABLE.name)
        .await
        .unwrap();
    put_item(&before, "kept", "").await;
    put_item(&before, "second", "00000000000002").await;
    assert!(!matches_layout(&before).await);
    drop(before);

    let after = client(folder.path());
    for _ in 0..2 {
        create_missing_tables(&after, &ResourceNames::for_embedded())
            .await
            .unwrap();
        assert!(matches_layout(&after).await);
    }

    put_document(&after, "first", true).await;
    let names = ["gp", "gs", "idx", "pk", "sk"].map(str::to_owned).to_vec();
    let wanted = ["first", "second"].map(|key| (key.to_owned(), names.clone()));
    assert_eq!(list_pending(&after).await, wanted);

    put_item(&after, "first", "00000000000001").await;
    assert_eq!(list_due_keys(&after).await, ["first", "second"]);
    assert_eq!(
        after
            .scan()
            .table_name(ACTIVITY_TABLE.name)
            .send()
            .await
            .unwrap()
            .count(),
        3
    );
}

#[tokio::test]
async fn a_new_folder_gets_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(folder.path());
    create_missing_tables(&client, &ResourceNames::for_embedded())
        .await
        .unwrap();
    assert!(matches_layout(&client).await);
}
