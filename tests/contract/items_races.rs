//! Two connections with the same item. One of them is paused before every one of its calls in turn.

use domain::{ConnectionId, DocumentId};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::json;

use crate::client::OrgClient;
use crate::items::{CONTENT, ConnectedItem, get_item_document};
use crate::pauses::{pause_and_run, two_processes};

/// An action of a connection.
type ConnectionAction = for<'a> fn(&'a ConnectedItem, &'a OrgClient) -> LocalBoxFuture<'a, ()>;

fn release<'a>(seen: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    seen.release_claim(client).map(|_| ()).boxed_local()
}

fn sync<'a>(seen: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    seen.sync_item(client).map(|_| ()).boxed_local()
}

fn file<'a>(seen: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    seen.file_item(client).map(|_| ()).boxed_local()
}

fn edit<'a>(seen: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    async {
        drop(
            seen.with_content("two", "The lighthouse was sold.")
                .file_item(client)
                .await,
        )
    }
    .boxed_local()
}

fn rename<'a>(seen: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    async { drop(seen.with_title("Beacon").sync_item(client).await) }.boxed_local()
}

fn patch<'a>(_: &'a ConnectedItem, client: &'a OrgClient) -> LocalBoxFuture<'a, ()> {
    async {
        let id = client.listed_ids(json!({})).await.remove(0);
        client
            .update_document(&id, json!({"metadata": {"team": "coast"}}))
            .await;
    }
    .boxed_local()
}

/// Returns the connections that claim a document.
async fn claiming_connections(client: &OrgClient, id: &DocumentId) -> Vec<ConnectionId> {
    let ctx = &client.app.system.ctx;
    let claims = ctx
        .connections
        .list_claims(&client.tenant, id)
        .await
        .expect("claims");
    claims.into_iter().map(|claim| claim.connection).collect()
}

#[tokio::test]
async fn a_document_that_one_connection_gives_up_while_another_needs_it_stays() {
    let by: [ConnectionAction; 3] = [sync, file, edit];
    for (what, needs) in by.into_iter().enumerate() {
        for (settled, release_first) in [(true, false), (true, true), (false, false), (false, true)]
        {
            if what == 1 && !settled {
                // This case makes the same writes as the first one and differs only in its reads.
                continue;
            }

            for call in 0.. {
                let (slow, quick) = two_processes().await;
                let (old, new) = (
                    ConnectedItem::new_item(&quick).await,
                    ConnectedItem::new_item(&quick).await,
                );
                let id = old.sync_item(&quick).await;
                if settled {
                    quick.run_until_settled().await;
                }
                let stood_still = if release_first {
                    pause_and_run(&slow, call, release(&old, &slow), needs(&new, &quick))
                        .await
                        .1
                } else {
                    pause_and_run(&slow, call, needs(&new, &slow), release(&old, &quick))
                        .await
                        .1
                };
                let case = format!(
                    "{what}, settled {settled}, released first {release_first}, call {call}"
                );
                assert!(
                    quick.stored_record(id.as_str()).await.is_some(),
                    "the document is gone: {case}"
                );
                assert_eq!(
                    claiming_connections(&quick, &id).await,
                    std::slice::from_ref(&new.item.claim.connection),
                    "{case}"
                );

                quick.run_until_settled().await;
                assert_eq!(quick.search_texts("lighthouse").await.len(), 1, "{case}");
                assert!(new.release_claim(&quick).await, "{case}");

                if !stood_still {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_document_that_both_give_up_goes() {
    for call in 0.. {
        let (slow, quick) = two_processes().await;
        let (one, two) = (
            ConnectedItem::new_item(&quick).await,
            ConnectedItem::new_item(&quick).await,
        );
        let id = one.sync_item(&quick).await;
        two.sync_item(&quick).await;
        quick.run_until_settled().await;
        let stood_still = pause_and_run(&slow, call, release(&one, &slow), release(&two, &quick))
            .await
            .1;
        assert!(
            quick.stored_record(id.as_str()).await.is_none(),
            "call {call}"
        );
        assert!(
            quick.search_texts("lighthouse").await.is_empty(),
            "call {call}"
        );

        if !stood_still {
            break;
        }
    }
}

#[tokio::test]
async fn what_a_caller_and_a_connection_change_at_the_same_time_is_all_there() {
    let by: [ConnectionAction; 2] = [rename, edit];
    for (what, changes) in by.into_iter().enumerate() {
        for patch_first in [false, true] {
            for call in 0.. {
                let (slow, quick) = two_processes().await;
                let seen = ConnectedItem::new_item(&quick).await;
                let id = seen.sync_item(&quick).await;
                quick.run_until_settled().await;
                let stood_still = if patch_first {
                    pause_and_run(&slow, call, patch(&seen, &slow), changes(&seen, &quick))
                        .await
                        .1
                } else {
                    pause_and_run(&slow, call, changes(&seen, &slow), patch(&seen, &quick))
                        .await
                        .1
                };
                quick.run_until_settled().await;
                let (document, case) = (
                    get_item_document(&quick, id.as_str()).await,
                    format!("{what} {patch_first} {call}"),
                );
                assert_eq!(document["metadata"], json!({"team": "coast"}), "{case}");

                let wanted = if what == 0 {
                    ("Beacon", CONTENT)
                } else {
                    ("Lighthouse", "The lighthouse was sold.")
                };
                assert_eq!(
                    (&document["title"], &document["content"]),
                    (&json!(wanted.0), &json!(wanted.1)),
                    "{case}"
                );

                if !stood_still {
                    break;
                }
            }
        }
    }
}
