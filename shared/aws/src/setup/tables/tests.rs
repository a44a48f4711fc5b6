use aws_sdk_dynamodb::types::AttributeValue;
use embedded::{ACCESS_KEY, REGION, SECRET_KEY, Services, Transport};

use super::*;
use crate::layout::{ACTIVITY, DUE, RECORDS, SECRETS};

fn client(folder: &std::path::Path) -> Client {
    let transport = Transport::new(Services::open(folder).unwrap());
    Client::new(&crate::through(transport, ACCESS_KEY, SECRET_KEY, REGION))
}

async fn put(client: &Client, key: &str, due: &str) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = client
        .put_item()
        .table_name(ACTIVITY.name)
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
async fn due(client: &Client) -> Vec<String> {
    let query = client
        .query()
        .table_name(ACTIVITY.name)
        .index_name(DUE.name);
    let query = query.key_condition_expression("qs = :qs");
    let found = query
        .expression_attribute_values(":qs", AttributeValue::S("O".into()))
        .send()
        .await
        .unwrap();

    found
        .items()
        .iter()
        .map(|item| item["pk"].as_s().unwrap().clone())
        .collect()
}

/// Checks whether the tables have the indexes and the time to live of the layout.
async fn is_as_laid_out(client: &Client) -> bool {
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
        let wanted = layout.indexes.iter().map(|index| index.name);
        let ttl = client
            .describe_time_to_live()
            .table_name(layout.name)
            .send()
            .await
            .unwrap();
        let ttl = ttl.time_to_live_description.unwrap().attribute_name;
        if indexes.collect::<Vec<_>>() != wanted.collect::<Vec<_>>() || ttl.as_deref() != layout.ttl
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
    create_table(&before, &RECORDS, RECORDS.name).await.unwrap();
    create_table(
        &before,
        &TableLayout {
            ttl: None,
            ..SECRETS
        },
        SECRETS.name,
    )
    .await
    .unwrap();
    let activity = TableLayout {
        indexes: &[],
        ..ACTIVITY
    };

    create_table(&before, &activity, ACTIVITY.name)
        .await
        .unwrap();
    expire(&before, &activity, ACTIVITY.name).await.unwrap();
    put(&before, "kept", "").await;
    put(&before, "second", "00000000000002").await;
    assert!(!is_as_laid_out(&before).await);
    drop(before);

    let after = client(folder.path());
    for _ in 0..2 {
        create_missing(&after, &Names::embedded()).await.unwrap();
        assert!(is_as_laid_out(&after).await);
    }

    put(&after, "first", "00000000000001").await;
    assert_eq!(due(&after).await, ["first", "second"]);
    assert_eq!(
        after
            .scan()
            .table_name(ACTIVITY.name)
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
    create_missing(&client, &Names::embedded()).await.unwrap();
    assert!(is_as_laid_out(&client).await);
}
