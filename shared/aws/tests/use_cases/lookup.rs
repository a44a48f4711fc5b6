//! Looking up documents by their names in an organization with many containers.

use domain::{ContainerId, CustomId, Error};
use service::{
    ContainerScope, DocumentNameKind, MAX_CONTAINERS_WITHOUT_TAG, find_document, find_documents,
    submit_document,
};

use crate::world::{NOW, World, document, tag, tenant};

async fn create_tags(world: &World, count: usize) {
    for number in 0..count {
        let created = world
            .ctx
            .containers
            .create_tag(
                &tenant(),
                &tag(&format!("t{number}")),
                ContainerId::random(),
                NOW,
            )
            .await;
        created.expect("a tag");
    }
}

#[tokio::test]
async fn a_missing_document_is_not_looked_for_in_more_than_a_thousand_containers() {
    let world = World::open().await;
    create_tags(&world, MAX_CONTAINERS_WITHOUT_TAG + 1).await;
    let known = service::NewDocument {
        custom_id: Some(CustomId::parse_conversation_id("known").expect("a customId")),
        ..document(&["t7"])
    };
    submit_document(&world.ctx, &tenant(), known)
        .await
        .expect("an accepted document");

    let names = ["known", "unknown", "Vt3mE9xq6mVb2P8hZc1KRe"].map(str::to_owned);
    let anywhere = ContainerScope::default();
    let before = world.transport.call_count();
    let kind = DocumentNameKind::Either;
    let found = find_documents(&world.ctx, &tenant(), &names, kind, &anywhere)
        .await
        .expect("answers");
    let calls = world.transport.call_count() - before;

    assert!(matches!(&found[0], Ok(document) if document.tag == tag("t7")));
    let Err(Error::Invalid { message, .. }) = &found[1] else {
        panic!("{found:?}");
    };
    assert!(message.contains("add containerTag"), "{message}");
    assert!(matches!(found[2], Err(Error::NotFound(_))), "{found:?}");
    assert!(calls <= 12, "{calls} calls");

    let named = ContainerScope {
        tags: vec![tag("t7")],
    };
    let missing = find_document(&world.ctx, &tenant(), "unknown", &named).await;
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
}

#[tokio::test]
async fn containers_are_listed_only_for_a_name_that_leads_nowhere() {
    let world = World::open().await;
    create_tags(&world, 20).await;
    let accepted = submit_document(&world.ctx, &tenant(), document(&["t7"]))
        .await
        .expect("an accepted document");

    // The request log keeps the content of a request that concerns few containers.
    let (anywhere, kind) = (ContainerScope::default(), DocumentNameKind::Either);
    let names = [accepted.id.to_string()];
    let reader = tenant();
    let found = find_documents(&world.ctx, &reader, &names, kind, &anywhere).await;
    assert!(found.expect("answers")[0].is_ok());
    assert_eq!(reader.accessed_containers().len(), 1);

    let names = ["one", "two", "one"].map(str::to_owned);
    let before = world.transport.call_count();
    let found = find_documents(&world.ctx, &reader, &names, kind, &anywhere).await;
    for result in found.expect("answers") {
        assert!(matches!(result, Err(Error::NotFound(_))), "{result:?}");
    }
    // Each name is looked up in the organization, and all together in the containers.
    assert_eq!(world.transport.call_count() - before, 5);
}
