//! Ends a connection: releases or removes its documents, revokes its grant if no other connection
//! uses it, and deletes all its records.

use domain::connection::{Claim, Grant, Intent, Leaving, Node, Queue, Run, Trigger};
use domain::usecase::custom_id_of;
use domain::{DocumentId, Timestamp};
use futures::stream::{self, TryStreamExt};
use tracing::warn;

use crate::limits::AT_ONCE;
use crate::work::{Flow, Halt, Work};

/// The seconds for which a revocation is attempted at the provider.
const REVOKE_SECONDS: i64 = 86_400;
const REVOKE_AGAIN_SECONDS: i64 = 600;
/// The most attempts to change or delete a record despite concurrent changes.
const ATTEMPTS: usize = 20;
/// The most records that are deleted in one request.
const ERASED: usize = 1_000;

pub(crate) async fn tick(work: &mut Work<'_>) -> Result<Flow, Halt> {
    let intents: Vec<Intent> = [
        std::mem::take(&mut work.state.fetching),
        std::mem::take(&mut work.state.releasing),
    ]
    .concat();
    for intent in &intents {
        let custom_id = custom_id_of(work.connection.provider, &intent.of);
        let desk = work.tools.desk;
        if let Some(document) = desk
            .document(work.tenant, &work.connection.tag, &custom_id)
            .await?
        {
            // The document may be one that another connection has left behind.
            let claim = Claim {
                connection: work.connection.id.clone(),
                item: intent.item.clone(),
            };
            if desk.is_ours(work.tenant, &document, &claim).await? {
                give_up(work, &document, &intent.item).await?;
            }
        }
    }

    if !intents.is_empty() || nodes(work).await? || leaving(work).await? {
        return Ok(Flow::On);
    }

    unwatch(work).await;
    leave_grant(work).await?;
    let sync = work.tools.desk.sync();
    while sync.erase(work.tenant, &work.connection.id, ERASED).await? {}
    erase_record(work).await?;

    Ok(Flow::Ended)
}

/// Deletes the record of the connection. This comes last, because the deletion continues only while
/// the record exists.
async fn erase_record(work: &Work<'_>) -> Result<(), Halt> {
    let connections = work.tools.desk.connections();
    for _ in 0..ATTEMPTS {
        let Some(connection) = connections.get(work.tenant, &work.connection.id).await? else {
            return Ok(());
        };
        if connections.delete(work.tenant, &connection).await? {
            return Ok(());
        }
    }
    Err(Halt::Pause(1))
}

/// Records the time at which the deletion began, and returns it. The first recorded time is kept.
pub(crate) fn began(work: &mut Work<'_>) -> Timestamp {
    let now = work.now();
    let end = || Run::begin(0, Trigger::Manual, now);
    let run = work
        .state
        .run
        .take()
        .filter(|run| run.number == 0)
        .unwrap_or_else(end);
    let since = run.started_at;
    work.state.run = Some(run);
    since
}

/// Removes a page of nodes, and returns whether there was one.
async fn nodes(work: &mut Work<'_>) -> Result<bool, Halt> {
    let (id, rows) = (&work.connection.id, work.tools.limits.rows);
    let page = work
        .tools
        .desk
        .sync()
        .page(work.tenant, id, None, rows)
        .await?;
    work.know(&page);
    all(work, &page).await?;
    for node in &page {
        work.set(&node.id, None);
    }

    Ok(!page.is_empty())
}

async fn leaving(work: &mut Work<'_>) -> Result<bool, Halt> {
    let page = work
        .first(Queue::Leave, None, work.tools.limits.rows)
        .await?;
    let read = |text: &str| {
        serde_json::from_str::<Leaving>(text)
            .ok()
            .map(|leaving| leaving.node)
    };

    let nodes: Vec<Node> = page.iter().filter_map(|entry| read(&entry.value)).collect();
    all(work, &nodes).await?;
    for entry in &page {
        work.batch.dequeue(Queue::Leave, entry.key.clone());
    }

    work.handled += page.len();
    Ok(!page.is_empty())
}

async fn all(work: &Work<'_>, nodes: &[Node]) -> Result<(), Halt> {
    let filed: Vec<(DocumentId, String)> = nodes
        .iter()
        .filter_map(|node| Some((node.filed.as_ref()?.document.clone(), node.id.clone())))
        .collect();
    stream::iter(filed.into_iter().map(Ok::<_, Halt>))
        .try_for_each_concurrent(AT_ONCE, |(document, item)| async move {
            give_up(work, &document, &item).await
        })
        .await
}

/// Gives up a document, which stays unless the user asked to delete the documents as well.
async fn give_up(work: &Work<'_>, document: &DocumentId, item: &str) -> Result<(), Halt> {
    let claim = Claim {
        connection: work.connection.id.clone(),
        item: item.to_owned(),
    };
    let desk = work.tools.desk;
    if work.connection.delete_documents {
        desk.release(work.tenant, document, &claim).await?;
    } else {
        desk.unclaim(work.tenant, document, &claim).await?;
    }
    Ok(())
}

/// Ends the notifications if possible. Otherwise they end by themselves, and their ticket is no
/// longer valid.
async fn unwatch(work: &mut Work<'_>) {
    let access = work
        .tools
        .desk
        .access(work.connector, work.tenant, &work.connection)
        .await;
    let Ok(access) = access else {
        return;
    };

    for channel in work
        .state
        .feeds
        .values_mut()
        .filter_map(|feed| feed.channel.take())
    {
        work.connector
            .unwatch(&access, &channel.id, &channel.resource)
            .await
            .ok();
    }
}

/// Removes the connection from its grant. The last connection revokes the grant at the provider. A
/// revocation that fails for a day is abandoned, and the permission ends by itself.
async fn leave_grant(work: &mut Work<'_>) -> Result<(), Halt> {
    let Some(id) = work.connection.grant.clone() else {
        return Ok(());
    };

    let connections = work.tools.desk.connections();
    for _ in 0..ATTEMPTS {
        let Some(mut grant) = connections.grant(work.tenant, &id).await? else {
            return Ok(());
        };
        grant.connections.remove(&work.connection.id);
        if grant.connections.is_empty() {
            return end_grant(work, grant).await;
        }
        grant.rev += 1;
        if connections.save_grant(work.tenant, &grant).await? {
            return Ok(());
        }
    }

    Err(Halt::Pause(60))
}

async fn end_grant(work: &mut Work<'_>, mut grant: Grant) -> Result<(), Halt> {
    let (desk, tenant) = (work.tools.desk, work.tenant);
    // After this write, nobody else considers the grant in use. If another connection joins
    // concurrently, its write comes first and this one fails.
    grant.rev += 1;
    if !desk.connections().save_grant(tenant, &grant).await? {
        return Err(Halt::Pause(1));
    }

    if let (Some(oauth), Some(tokens)) =
        (work.connector.oauth(), desk.tokens(tenant, &grant).await?)
        && let Err(error) = oauth.revoke(&tokens).await
    {
        let since = began(work);
        if since.plus_seconds(REVOKE_SECONDS) > work.now() {
            return Err(Halt::Pause(REVOKE_AGAIN_SECONDS));
        }
        let id = &work.connection.id;
        warn!(connection.id = %id, error = &error as &dyn std::error::Error, "a permission was not ended");
    }

    // A connection that joins later stores its tokens under another name.
    desk.forget_tokens(tenant, &grant).await?;
    desk.connections().delete_grant(tenant, &grant).await?;

    Ok(())
}
