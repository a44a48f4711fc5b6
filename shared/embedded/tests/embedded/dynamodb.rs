//! Tests of the DynamoDB features that the adapters rely on.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, KeysAndAttributes, Projection, ProjectionType, Put, PutRequest, ReturnValue,
    ReturnValuesOnConditionCheckFailure, ScalarAttributeType, TimeToLiveSpecification,
    TransactWriteItem, Update, WriteRequest,
};

use crate::support::Fixture;

fn text_value(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number_value(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn item(pk: &str, sk: &str) -> HashMap<String, AttributeValue> {
    HashMap::from([
        ("pk".to_owned(), text_value(pk)),
        ("sk".to_owned(), text_value(sk)),
    ])
}

fn sort_keys(hash: &str, range: &str) -> Vec<KeySchemaElement> {
    let key = |name, kind| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
            .unwrap()
    };
    vec![key(hash, KeyType::Hash), key(range, KeyType::Range)]
}

/// Creates the table `records` with the keys `pk`, `sk` and the index `by-state` on `state`, `sk`.
pub(crate) async fn create_table(client: &Client) {
    let attribute = |name| {
        let builder = AttributeDefinition::builder().attribute_name(name);
        builder
            .attribute_type(ScalarAttributeType::S)
            .build()
            .unwrap()
    };

    let index = GlobalSecondaryIndex::builder()
        .index_name("by-state")
        .set_key_schema(Some(sort_keys("state", "sk")))
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::All)
                .build(),
        );
    client
        .create_table()
        .table_name("records")
        .set_key_schema(Some(sort_keys("pk", "sk")))
        .set_attribute_definitions(Some(vec![
            attribute("pk"),
            attribute("sk"),
            attribute("state"),
        ]))
        .global_secondary_indexes(index.build().unwrap())
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_failed_condition_is_the_typed_error_with_the_old_item() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    client
        .put_item()
        .table_name("records")
        .set_item(Some(item("a", "1")))
        .item("v", number_value(7))
        .send()
        .await
        .unwrap();

    let put_error = client
        .put_item()
        .table_name("records")
        .set_item(Some(item("a", "1")))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap_err()
        .into_service_error();

    let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(error) =
        put_error
    else {
        panic!("{put_error:?}")
    };

    assert_eq!(error.item().unwrap()["v"], number_value(7));
    assert_eq!(error.message().unwrap(), "The conditional request failed");
}

#[tokio::test]
async fn a_missing_table_and_a_bad_expression_are_told_apart() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    let missing = client
        .get_item()
        .table_name("nothing")
        .set_key(Some(item("a", "1")))
        .send()
        .await;
    assert!(
        missing
            .unwrap_err()
            .into_service_error()
            .is_resource_not_found_exception()
    );

    create_table(&client).await;
    let request = client
        .put_item()
        .table_name("records")
        .set_item(Some(item("a", "1")));
    let error = request
        .condition_expression("nonsense(")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(error.code(), Some("ValidationException"));
}

#[tokio::test]
async fn messages_of_refused_requests_have_no_internal_prefix() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();

    let error = client
        .describe_table()
        .table_name("x")
        .send()
        .await
        .unwrap_err()
        .into_service_error();

    assert_eq!(error.code(), Some("ValidationException"));
    assert!(
        error.message().unwrap().starts_with("TableName must be"),
        "{:?}",
        error.message()
    );
}

#[tokio::test]
async fn a_transaction_is_all_or_nothing_and_tells_each_reason() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    let put = |sk: &str| {
        let put = Put::builder()
            .table_name("records")
            .set_item(Some(item("a", sk)));
        let put = put
            .condition_expression("attribute_not_exists(pk)")
            .build()
            .unwrap();
        TransactWriteItem::builder().put(put).build()
    };

    client
        .transact_write_items()
        .transact_items(put("1"))
        .transact_items(put("2"))
        .send()
        .await
        .unwrap();

    let result = client
        .transact_write_items()
        .transact_items(put("3"))
        .transact_items(put("2"))
        .send()
        .await;
    let write_error = result.unwrap_err().into_service_error();
    let aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(error) =
        write_error
    else {
        panic!("{write_error:?}")
    };

    let codes: Vec<_> = error
        .cancellation_reasons()
        .iter()
        .filter_map(|reason| reason.code())
        .collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
    let third = client
        .get_item()
        .table_name("records")
        .set_key(Some(item("a", "3")))
        .send()
        .await
        .unwrap();
    assert!(third.item().is_none());
}

#[tokio::test]
async fn a_repeated_transaction_with_the_same_token_counts_once() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    for _ in 0..2 {
        let update = Update::builder()
            .table_name("records")
            .set_key(Some(item("a", "1")))
            .update_expression("ADD visits :one")
            .expression_attribute_values(":one", number_value(1));
        let write = TransactWriteItem::builder()
            .update(update.build().unwrap())
            .build();
        client
            .transact_write_items()
            .client_request_token("t1")
            .transact_items(write)
            .send()
            .await
            .unwrap();
    }

    let got = client
        .get_item()
        .table_name("records")
        .set_key(Some(item("a", "1")))
        .send()
        .await
        .unwrap();
    assert_eq!(got.item().unwrap()["visits"], number_value(1));
}

#[tokio::test]
async fn an_index_is_queried_in_pages_and_in_order() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    for index in 0..5 {
        let mut item = item(&format!("doc-{index}"), &format!("2026-0{index}"));
        if index != 2 {
            item.insert("state".to_owned(), text_value("queued"));
        }
        client
            .put_item()
            .table_name("records")
            .set_item(Some(item))
            .send()
            .await
            .unwrap();
    }

    let pages = client
        .query()
        .table_name("records")
        .index_name("by-state")
        .key_condition_expression("#s = :s")
        .expression_attribute_names("#s", "state")
        .expression_attribute_values(":s", text_value("queued"))
        .scan_index_forward(false)
        .limit(3)
        .into_paginator()
        .items()
        .send()
        .collect::<Result<Vec<_>, _>>()
        .await
        .unwrap();
    let order: Vec<_> = pages
        .iter()
        .map(|item| item["pk"].as_s().unwrap().as_str())
        .collect();
    assert_eq!(order, ["doc-4", "doc-3", "doc-1", "doc-0"]);
}

#[tokio::test]
async fn batches_write_and_read() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    let writes = (0..25).map(|index| {
        let put = PutRequest::builder()
            .set_item(Some(item("a", &format!("{index:02}"))))
            .build()
            .unwrap();
        WriteRequest::builder().put_request(put).build()
    });

    let written = client
        .batch_write_item()
        .request_items("records", writes.collect())
        .send()
        .await
        .unwrap();
    assert!(written.unprocessed_items().unwrap().is_empty());

    let keys = KeysAndAttributes::builder()
        .keys(item("a", "03"))
        .keys(item("a", "99"))
        .build()
        .unwrap();
    let batch = client
        .batch_get_item()
        .request_items("records", keys)
        .send()
        .await
        .unwrap();
    assert_eq!(batch.responses().unwrap()["records"], [item("a", "03")]);
    let count = client
        .scan()
        .table_name("records")
        .send()
        .await
        .unwrap()
        .count();
    assert_eq!(count, 25);
}

#[tokio::test]
async fn an_update_returns_the_new_attributes() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;

    let updated = client
        .update_item()
        .table_name("records")
        .set_key(Some(item("a", "1")))
        .update_expression("SET version = if_not_exists(version, :zero) + :one")
        .expression_attribute_values(":zero", number_value(0))
        .expression_attribute_values(":one", number_value(1))
        .return_values(ReturnValue::AllNew)
        .send()
        .await
        .unwrap();

    assert_eq!(updated.attributes().unwrap()["version"], number_value(1));
}

#[tokio::test]
async fn a_sweep_deletes_only_what_is_past_its_time_to_live() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    let ttl = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name("expires")
        .build()
        .unwrap();
    client
        .update_time_to_live()
        .table_name("records")
        .time_to_live_specification(ttl)
        .send()
        .await
        .unwrap();
    // The times are in seconds since 1970: one hour after it, and the year 2100.
    for (sk, expires) in [("old", 3600), ("new", 4_102_444_800)] {
        let put = client
            .put_item()
            .table_name("records")
            .set_item(Some(item("a", sk)));
        put.item("expires", number_value(expires))
            .send()
            .await
            .unwrap();
    }

    client
        .put_item()
        .table_name("records")
        .set_item(Some(item("a", "without")))
        .send()
        .await
        .unwrap();

    fixture.services.sweep_expired().unwrap();

    let remaining = client.scan().table_name("records").send().await.unwrap();
    let mut remaining: Vec<_> = remaining
        .items()
        .iter()
        .map(|item| item["sk"].as_s().unwrap().clone())
        .collect();
    remaining.sort();
    assert_eq!(remaining, ["new", "without"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_conditional_updates_lose_nothing() {
    let fixture = Fixture::new();
    let client = fixture.dynamodb();
    create_table(&client).await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let update = client
                        .update_item()
                        .table_name("records")
                        .set_key(Some(item("a", "1")));
                    let update = update.update_expression("ADD visits :one");
                    update
                        .expression_attribute_values(":one", number_value(1))
                        .send()
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }

    let got = client
        .get_item()
        .table_name("records")
        .set_key(Some(item("a", "1")))
        .send()
        .await
        .unwrap();
    assert_eq!(got.item().unwrap()["visits"], number_value(80));
}
