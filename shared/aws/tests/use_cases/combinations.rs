//! Documents with a customId under tags that are part of many combinations.

use domain::{CustomId, Error};
use service::{NewDocument, submit_document};

use crate::world::{World, document, tenant};

fn named_document(tags: &[&str]) -> NewDocument {
    NewDocument {
        custom_id: Some(CustomId::parse_conversation_id("plan").expect("a customId")),
        ..document(tags)
    }
}

#[tokio::test]
async fn a_custom_id_that_cannot_be_checked_in_every_combination_is_refused() {
    let World { ctx, .. } = &World::open().await;
    for number in 0..48 {
        let other = format!("t{number}");
        for tag in ["user", "team"] {
            submit_document(ctx, &tenant(), document(&[tag, &other]))
                .await
                .expect("an accepted document");
        }
    }

    // While nothing has the customId, there is nothing to check.
    submit_document(ctx, &tenant(), named_document(&["elsewhere"]))
        .await
        .expect("an accepted document");
    let refused = submit_document(ctx, &tenant(), named_document(&["user", "team"])).await;
    let Err(Error::Invalid { message, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(message.contains("combined with others"), "{message}");

    submit_document(ctx, &tenant(), document(&["user", "team"]))
        .await
        .expect("an accepted document");
    submit_document(ctx, &tenant(), named_document(&["user"]))
        .await
        .expect("an accepted document");
}
