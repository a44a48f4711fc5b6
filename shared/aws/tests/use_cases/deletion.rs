//! Deletions of containers while DynamoDB refuses some of the writes.

use domain::{ContainerId, PortError};
use service::{create_container, delete_container};

use crate::world::{NOW, World, tag, tenant};

/// The answer of a service that is too busy.
const THROTTLED: &str = r#"{
    "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "message": "slow down"
}"#;

#[tokio::test]
async fn a_deletion_is_answered_although_the_tags_cannot_be_counted() {
    let World { ctx, transport, .. } = &World::open().await;
    let container = create_container(ctx, &tenant(), &tag("box"), ContainerId::random(), NOW)
        .await
        .expect("a tag");

    // More attempts than the SDK makes.
    transport.refuse("UpdateItem", 10, THROTTLED);
    let released = ctx.containers.release_tag(&tenant()).await;
    assert!(matches!(released, Err(PortError::Unavailable(_))));

    let task = delete_container(ctx, &tenant(), &container)
        .await
        .expect("a deletion");
    let stored = ctx.tasks.get(&tenant(), &task.id).await;
    assert_eq!(stored.expect("an answer"), Some(task));
    let gone = ctx.containers.get(&tenant(), &tag("box")).await;
    assert_eq!(gone.expect("an answer"), None);
}
