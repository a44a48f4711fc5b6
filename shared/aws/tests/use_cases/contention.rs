//! Writes that DynamoDB refuses because a transaction uses the same item.

use service::submit_documents;

use crate::world::{World, document, tag, tenant};

/// The answer to a transaction of which two items are part of another one.
const CANCELLED: &str = r#"{
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
    "CancellationReasons": [
        {"Code": "None"},
        {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"},
        {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
    ]
}"#;
/// The answer to the write of one item that is part of a transaction.
const REFUSED: &str = r#"{
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
    "message": "Transaction is ongoing for the item"
}"#;

#[tokio::test]
async fn documents_whose_tags_are_shared_at_the_same_time_are_accepted() {
    let World { ctx, transport, .. } = &World::open().await;
    transport.refuse("TransactWriteItems", 5, CANCELLED);

    let users = ["u1", "u2", "u3"];
    let batch = users.map(|user| document(&[user, "team"])).to_vec();
    let results = submit_documents(ctx, &tenant(), batch).await;
    for result in results.expect("a batch") {
        result.expect("an accepted document");
    }

    assert_eq!(transport.refusals_left("TransactWriteItems"), 0);
    let team = ctx.containers.get(&tenant(), &tag("team")).await;
    assert_eq!(team.expect("an answer").expect("a tag").ids.len(), 4);
}

#[tokio::test]
async fn the_context_of_a_tag_is_set_while_the_tag_begins_to_share() {
    let World { ctx, transport, .. } = &World::open().await;
    let batch = vec![document(&["team", "u1"])];
    let results = submit_documents(ctx, &tenant(), batch).await;
    assert!(results.expect("a batch").iter().all(Result::is_ok));

    transport.refuse("UpdateItem", 2, REFUSED);
    let is_set = ctx
        .containers
        .set_context(&tenant(), &tag("team"), "what the team decides")
        .await;
    assert!(is_set.expect("an answer"));
    assert_eq!(transport.refusals_left("UpdateItem"), 0);
}
