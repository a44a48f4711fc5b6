//! Connections and their grants on DynamoDB, in the partition of their organization. A connection
//! that has work to do is in the sparse index `due`, in shards of its own.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::connection::{DocumentClaim, Grant};
use domain::ports::{Connections, PortResult};
use domain::{Connection, ConnectionId, DocumentId, GrantId, OrgId, Tenant, Timestamp};
use futures::future::try_join_all;
use tracing::error;

use crate::error::{condition_held, port_error};
use crate::records::connections::{
    RevisionAttributes, RevisionRecord, claim_item, connection_item, grant_item, read_claim,
    read_connection, read_grant,
};
use crate::records::{
    DueRecord, Item, item_absent, key_item, number_value, optional_text, read_partition_key,
    read_sort_key,
};
use crate::table::{Table, page_size};
use crate::table_keys::{self, Key};

pub(crate) struct DynamoConnections(pub(crate) Table);

/// Puts an item with a [`RevisionRecord`] on condition that the stored one has the revision
/// `previous_revision`, or that none is stored if that is `None`. Returns `false` if the condition
/// does not hold. Our own first attempt whose answer was lost counts as success.
pub(crate) async fn put_if_revision(
    table: &Table,
    item: Item,
    previous_revision: Option<u64>,
) -> PortResult<bool> {
    let RevisionAttributes {
        revision,
        write_token,
    } = RevisionRecord::ATTRIBUTES;
    let own_token = item.get(write_token).cloned();

    let put = table
        .client
        .put_item()
        .table_name(&table.name)
        .set_item(Some(item));
    let put = match previous_revision {
        None => put.condition_expression(item_absent()),
        Some(previous) => put
            .condition_expression(format!("{revision} = :previous"))
            .expression_attribute_values(":previous", number_value(previous)),
    };

    let put =
        put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    let Err(error) = put.send().await else {
        return Ok(true);
    };

    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(old)) => {
            let stored_token = old.item().and_then(|old| old.get(write_token));
            Ok(stored_token.is_some() && stored_token == own_token.as_ref())
        }
        _ => Err(port_error(error)),
    }
}

/// Deletes an item on condition that it has the revision `revision`, or that it is gone. Returns
/// `false` if the condition does not hold.
async fn delete_if_revision(table: &Table, key: &Key, revision: u64) -> PortResult<bool> {
    let delete = table
        .client
        .delete_item()
        .table_name(&table.name)
        .set_key(Some(key_item(key)));
    let delete = delete.condition_expression(format!(
        "{} OR {} = :revision",
        item_absent(),
        RevisionRecord::ATTRIBUTES.revision
    ));

    let delete = delete.expression_attribute_values(":revision", number_value(revision));
    condition_held(delete.send().await)
}

impl DynamoConnections {
    async fn list_due_in_shard(
        &self,
        shard: u32,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<Item>> {
        let shard = table_keys::due_connections_partition(shard);
        let query = self.0.query_due(&shard, before).limit(page_size(limit));
        let page = query.send().await.map_err(port_error)?;
        Ok(page.items.unwrap_or_default())
    }
}

#[async_trait]
impl Connections for DynamoConnections {
    async fn get(&self, tenant: &Tenant, id: &ConnectionId) -> PortResult<Option<Connection>> {
        let key = table_keys::connection_key(tenant, id);
        self.0.get_record(&key, read_connection).await
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Connection>> {
        let end = format!("{}~", table_keys::CONNECTION_PREFIX);
        let items = self
            .0
            .get_range(
                &table_keys::organization_partition(tenant),
                table_keys::CONNECTION_PREFIX,
                &end,
            )
            .await?;
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            found.push(read_connection(item)?);
        }
        found.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(found)
    }

    async fn save(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool> {
        put_if_revision(
            &self.0,
            connection_item(tenant, connection)?,
            connection.rev.checked_sub(1),
        )
        .await
    }

    async fn delete(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool> {
        delete_if_revision(
            &self.0,
            &table_keys::connection_key(tenant, &connection.id),
            connection.rev,
        )
        .await
    }

    async fn list_due(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ConnectionId)>> {
        let list_shard = |shard| self.list_due_in_shard(shard, before, limit);
        let mut items = try_join_all((0..table_keys::DUE_SHARDS).map(list_shard))
            .await?
            .concat();
        let due_at = DueRecord::ATTRIBUTES.due_at;
        items.sort_by(|a, b| optional_text(a, due_at).cmp(&optional_text(b, due_at)));
        let mut found = Vec::new();
        for item in items.iter().take(limit) {
            let (pk, sk) = (read_partition_key(item)?, read_sort_key(item)?);
            match table_keys::parse_connection(pk, sk) {
                Some(connection) => found.push(connection),
                // One record that cannot be read must not stop all others.
                None => error!("the index of due connections has a key that is none of ours"),
            }
        }

        Ok(found)
    }

    async fn get_grant(&self, tenant: &Tenant, id: &GrantId) -> PortResult<Option<Grant>> {
        let key = table_keys::grant_key(tenant, id);
        self.0.get_record(&key, read_grant).await
    }

    async fn save_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool> {
        put_if_revision(
            &self.0,
            grant_item(tenant, grant)?,
            grant.rev.checked_sub(1),
        )
        .await
    }

    async fn delete_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool> {
        delete_if_revision(
            &self.0,
            &table_keys::grant_key(tenant, &grant.id),
            grant.rev,
        )
        .await
    }

    async fn claim_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        self.0.put(claim_item(tenant, document, claim)?).await
    }

    async fn release_claim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        let key = table_keys::claim_key(tenant, document, claim);
        self.0.delete(&key).await
    }

    async fn list_claims(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
    ) -> PortResult<Vec<DocumentClaim>> {
        let items = self
            .0
            .get_range(&table_keys::claims_partition(tenant, document), "0", "~")
            .await?;
        items.into_iter().map(read_claim).collect()
    }
}
