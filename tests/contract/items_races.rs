//! Two connections with the same item. One of them is paused before every one of its calls in turn.

use domain::{ConnectionId, DocumentId};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::json;

use crate::client::Client;
use crate::items::{CONTENT, Seen, read};
use crate::pauses::{meanwhile, two};

/// An action of a connection.
type Act = for<'a> fn(&'a Seen, &'a Client) -> LocalBoxFuture<'a, ()>;

fn release<'a>(seen: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    seen.release(client).map(|_| ()).boxed_local()
}

fn sync<'a>(seen: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    seen.sync(client).map(|_| ()).boxed_local()
}

fn file<'a>(seen: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    seen.file(client).map(|_| ()).boxed_local()
}

fn edit<'a>(seen: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    async {
        drop(
            seen.edited("two", "The lighthouse was sold.")
                .file(client)
                .await,
        )
    }
    .boxed_local()
}

fn rename<'a>(seen: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    async { drop(seen.renamed("Beacon").sync(client).await) }.boxed_local()
}

fn patch<'a>(_: &'a Seen, client: &'a Client) -> LocalBoxFuture<'a, ()> {
    async {
        let id = client.listed(json!({})).await.remove(0);
        client
            .update(&id, json!({"metadata": {"team": "coast"}}))
            .await;
    }
    .boxed_local()
}

/// Returns the connections that claim a document.
async fn claims(client: &Client, id: &DocumentId) -> Vec<ConnectionId> {
    let ctx = &client.app.system.ctx;
    let claims = ctx
        .connections
        .claims(&client.tenant, id)
        .await
        .expect("claims");
    claims.into_iter().map(|claim| claim.connection).collect()
}

#[tokio::test]
async fn a_document_that_one_connection_gives_up_while_another_needs_it_stays() {
    let by: [Act; 3] = [sync, file, edit];
    for (what, needs) in by.into_iter().enumerate() {
        for (settled, release_first) in [(true, false), (true, true), (false, false), (false, true)]
        {
            if what == 1 && !settled {
                // This case makes the same writes as the first one and differs only in its reads.
                continue;
            }

            for call in 0.. {
                let (slow, quick) = two().await;
                let (old, new) = (Seen::by(&quick).await, Seen::by(&quick).await);
                let id = old.sync(&quick).await;
                if settled {
                    quick.settle().await;
                }
                let stood_still = if release_first {
                    meanwhile(&slow, call, release(&old, &slow), needs(&new, &quick))
                        .await
                        .1
                } else {
                    meanwhile(&slow, call, needs(&new, &slow), release(&old, &quick))
                        .await
                        .1
                };
                let case = format!(
                    "{what}, settled {settled}, released first {release_first}, call {call}"
                );
                assert!(
                    quick.record(id.as_str()).await.is_some(),
                    "the document is gone: {case}"
                );
                assert_eq!(
                    claims(&quick, &id).await,
                    std::slice::from_ref(&new.item.claim.connection),
                    "{case}"
                );

                quick.settle().await;
                assert_eq!(quick.found("lighthouse").await.len(), 1, "{case}");
                assert!(new.release(&quick).await, "{case}");

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
        let (slow, quick) = two().await;
        let (one, two) = (Seen::by(&quick).await, Seen::by(&quick).await);
        let id = one.sync(&quick).await;
        two.sync(&quick).await;
        quick.settle().await;
        let stood_still = meanwhile(&slow, call, release(&one, &slow), release(&two, &quick))
            .await
            .1;
        assert!(quick.record(id.as_str()).await.is_none(), "call {call}");
        assert!(quick.found("lighthouse").await.is_empty(), "call {call}");

        if !stood_still {
            break;
        }
    }
}

#[tokio::test]
async fn what_a_caller_and_a_connection_change_at_the_same_time_is_all_there() {
    let by: [Act; 2] = [rename, edit];
    for (what, changes) in by.into_iter().enumerate() {
        for patch_first in [false, true] {
            for call in 0.. {
                let (slow, quick) = two().await;
                let seen = Seen::by(&quick).await;
                let id = seen.sync(&quick).await;
                quick.settle().await;
                let stood_still = if patch_first {
                    meanwhile(&slow, call, patch(&seen, &slow), changes(&seen, &quick))
                        .await
                        .1
                } else {
                    meanwhile(&slow, call, changes(&seen, &slow), patch(&seen, &quick))
                        .await
                        .1
                };
                quick.settle().await;
                let (document, case) = (
                    read(&quick, id.as_str()).await,
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
