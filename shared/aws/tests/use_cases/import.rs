//! Imports that run while the container changes.

use domain::{Container, ContainerId, Error};
use service::{Ctx, create_container, delete_container, import_documents, merge_containers};

use crate::world::{NOW, World, tag, tenant};

async fn create(ctx: &Ctx, name: &str) -> Container {
    create_container(ctx, &tenant(), &tag(name), ContainerId::random(), NOW)
        .await
        .expect("a tag")
}

/// Imports nothing, and returns the message of the refusal.
async fn refusal(ctx: &Ctx, container: &Container) -> Option<String> {
    match import_documents(ctx, &tenant(), container, Vec::new()).await {
        Ok(_) => None,
        Err(Error::Conflict(message)) => Some(message),
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn an_import_writes_nothing_into_a_deleted_container() {
    let World { ctx, .. } = &World::open().await;
    let container = create(ctx, "box").await;
    assert_eq!(refusal(ctx, &container).await, None);

    delete_container(ctx, &tenant(), &container)
        .await
        .expect("a deletion");
    let message = refusal(ctx, &container).await.expect("a refusal");
    assert!(message.contains("was deleted"), "{message}");

    // The tag is used again, for another container.
    let present = create(ctx, "box").await;
    let message = refusal(ctx, &container).await.expect("a refusal");
    assert!(message.contains("was deleted"), "{message}");
    assert_eq!(refusal(ctx, &present).await, None);
}

#[tokio::test]
async fn an_import_writes_nothing_into_a_container_that_is_being_merged() {
    let World { ctx, .. } = &World::open().await;
    let (source, target) = (create(ctx, "from").await, create(ctx, "to").await);
    merge_containers(ctx, &tenant(), &[tag("from")], &tag("to"))
        .await
        .expect("a merge");
    for container in [source, target] {
        let message = refusal(ctx, &container).await.expect("a refusal");
        assert!(message.contains("merge"), "{message}");
    }
}
