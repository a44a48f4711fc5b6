//! The items of connections on DynamoDB. Each connection has a partition of its own.
//!
//! A node is one item. Hints lead from a folder to the nodes in it, and from an item to the
//! shortcuts that point to it. A hint is an item without content whose key ends with the key of its
//! node. It is written and deleted in the transaction that changes the node. A reader that follows
//! a hint always checks the node itself.

mod place;
mod plan;
mod shape;
mod transact;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::connection::{Node, Queue, QueueEntry, Run, Selection, SyncState};
use domain::ports::{PortResult, SyncStore, SyncWrite};
use domain::{ConnectionId, PortError, Tenant};

use crate::connections::put_next;
use crate::error::port_error;
use crate::item::{Item, Read, Table, key_item, s};
use crate::keys;

pub(crate) struct DynamoSync(pub(crate) Table);

impl DynamoSync {
    /// Returns the query for the items of a partition whose sort keys begin with `prefix`.
    fn query(&self, pk: &str, prefix: &str) -> QueryFluentBuilder {
        let query = self
            .0
            .client
            .query()
            .table_name(&self.0.name)
            .consistent_read(true);
        let query = query.expression_attribute_values(":pk", s(pk));
        if prefix.is_empty() {
            return query.key_condition_expression("pk = :pk");
        }
        let query = query.key_condition_expression("pk = :pk AND begins_with(sk, :prefix)");
        query.expression_attribute_values(":prefix", s(prefix))
    }

    /// Reads at most `limit` items whose sort keys begin with `prefix` and follow `prefix` plus
    /// `after`. Also returns whether there may be more.
    async fn page_of(
        &self,
        pk: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Item>, bool)> {
        let mut items = Vec::new();
        let mut from = after.map(|after| key_item(&(pk.to_owned(), format!("{prefix}{after}"))));
        while items.len() < limit {
            let query = self.query(pk, prefix).set_exclusive_start_key(from);
            let query = query.limit(page_size(limit - items.len()));
            let answer = query.send().await.map_err(port_error)?;
            items.extend(answer.items.unwrap_or_default());
            from = answer.last_evaluated_key;
            if from.is_none() {
                return Ok((items, false));
            }
        }

        Ok((items, true))
    }

    /// Reads a page of the nodes to which the hints with `prefix` lead. Also returns the key part
    /// after which the next page begins, or `None` after the last page.
    async fn hinted(
        &self,
        pk: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Node>, Option<String>)> {
        let (hints, more) = self.page_of(pk, prefix, after, limit).await?;
        let part = |hint: &Item| {
            hint.text("sk")
                .map(|sk| sk.strip_prefix(prefix).unwrap_or(sk).to_owned())
        };

        let parts = hints.iter().map(part).collect::<PortResult<Vec<_>>>()?;
        let wanted: Vec<_> = parts
            .iter()
            .map(|part| (pk.to_owned(), place::node_of_part(part)))
            .collect();
        let found = self.0.get_many(&wanted).await?;
        let nodes = found
            .iter()
            .flatten()
            .map(shape::read_node)
            .collect::<PortResult<_>>()?;

        Ok((nodes, parts.last().filter(|_| more).cloned()))
    }
}

/// Converts a limit to the page size of a request.
fn page_size(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX).max(1)
}

#[async_trait]
impl SyncStore for DynamoSync {
    async fn state(&self, tenant: &Tenant, of: &ConnectionId) -> PortResult<SyncState> {
        let found = self
            .0
            .get(&(keys::known(tenant, of), place::STATE.into()))
            .await?;
        found
            .as_ref()
            .map_or_else(|| Ok(SyncState::default()), shape::read_state)
    }

    async fn selection(&self, tenant: &Tenant, of: &ConnectionId) -> PortResult<Selection> {
        let found = self
            .0
            .get(&(keys::known(tenant, of), place::SELECTION.into()))
            .await?;
        found.map_or_else(|| Ok(Selection::default()), |item| item.parsed("sel"))
    }

    async fn select(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool> {
        let before = selection
            .rev
            .checked_sub(1)
            .ok_or_else(|| uncounted("selection"))?;
        let item = shape::selection(&keys::known(tenant, of), selection);
        put_next(&self.0, item, (before > 0).then_some(before)).await
    }

    async fn nodes(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<Node>>> {
        let pk = keys::known(tenant, of);
        let wanted: Vec<_> = ids.iter().map(|id| (pk.clone(), place::node(id))).collect();
        let found = self.0.get_many(&wanted).await?;
        found
            .iter()
            .map(|item| item.as_ref().map(shape::read_node).transpose())
            .collect()
    }

    async fn page(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<Node>> {
        let after = after.map(place::part);
        let (items, _) = self
            .page_of(
                &keys::known(tenant, of),
                place::NODES,
                after.as_deref(),
                limit,
            )
            .await?;

        items.iter().map(shape::read_node).collect()
    }

    async fn children(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Node>, Option<String>)> {
        let (pk, prefix) = (keys::known(tenant, of), place::children(folder));
        let (mut nodes, next) = self.hinted(&pk, &prefix, after, limit).await?;
        nodes.retain(|node| node.parent.as_deref() == Some(folder));
        Ok((nodes, next))
    }

    async fn shortcuts(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        target: &str,
        limit: usize,
    ) -> PortResult<Vec<Node>> {
        let (pk, prefix) = (keys::known(tenant, of), place::shortcuts(target));
        let (mut found, mut after) = (Vec::new(), None);

        loop {
            let (nodes, next) = self.hinted(&pk, &prefix, after.as_deref(), limit).await?;
            found.extend(
                nodes
                    .into_iter()
                    .filter(|node| node.target.as_deref() == Some(target)),
            );
            if next.is_none() || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
            after = next;
        }
    }

    async fn waiting(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        queue: Queue,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<QueueEntry>> {
        let after = after.map(place::part);
        let (pk, prefix) = (keys::known(tenant, of), place::queue(queue));
        let (items, _) = self.page_of(&pk, prefix, after.as_deref(), limit).await?;
        items.iter().map(shape::read_entry).collect()
    }

    async fn waits(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        queue: Queue,
        keys: &[String],
    ) -> PortResult<Vec<Option<QueueEntry>>> {
        let pk = keys::known(tenant, of);
        let wanted: Vec<_> = keys
            .iter()
            .map(|key| (pk.clone(), place::queued(queue, key)))
            .collect();
        let found = self.0.get_many(&wanted).await?;

        found
            .iter()
            .map(|item| item.as_ref().map(shape::read_entry).transpose())
            .collect()
    }

    async fn commit(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool> {
        let before = next.step.checked_sub(1).ok_or_else(|| uncounted("step"))?;
        let pk = keys::known(tenant, of);
        let fence = transact::Fence {
            pk: &pk,
            before: (before > 0).then_some(before),
        };

        let mut parts = plan::parts(&pk, writes);
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            if !transact::part(&self.0, &fence, part).await? {
                return Ok(false);
            }
        }

        transact::last(&self.0, &fence, last, shape::state(&pk, next)?).await
    }

    async fn runs(&self, tenant: &Tenant, of: &ConnectionId, limit: usize) -> PortResult<Vec<Run>> {
        let query = self.query(&keys::known(tenant, of), place::RUNS);
        let answer = query
            .scan_index_forward(false)
            .limit(page_size(limit))
            .send()
            .await;
        let items = answer.map_err(port_error)?.items.unwrap_or_default();
        items
            .iter()
            .take(limit)
            .map(|item| item.parsed("run"))
            .collect()
    }

    async fn erase(&self, tenant: &Tenant, of: &ConnectionId, limit: usize) -> PortResult<bool> {
        let pk = keys::known(tenant, of);
        // Two items more than may be deleted show whether these are all. One of the two may be the
        // state, which is not counted because it is deleted last.
        let (items, more) = self.page_of(&pk, "", None, limit.saturating_add(2)).await?;
        let sort_keys = items
            .iter()
            .map(|item| item.text("sk"))
            .collect::<PortResult<Vec<_>>>()?;
        let key = |sk: &&str| (pk.clone(), (*sk).to_owned());

        let known: Vec<_> = sort_keys.iter().filter(|sk| **sk != place::STATE).collect();
        let going: Vec<_> = known.iter().take(limit).map(|sk| key(sk)).collect();
        self.0.delete_many(&going).await?;
        if more || known.len() > going.len() {
            return Ok(true);
        }

        self.0.delete_many(&[(pk, place::STATE.to_owned())]).await?;
        Ok(false)
    }
}

fn uncounted(what: &str) -> PortError {
    PortError::Internal(format!("a {what} that was not counted").into())
}
