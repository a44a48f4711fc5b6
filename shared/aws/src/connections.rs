//! Connections and their grants on DynamoDB, in the partition of their organization. A connection
//! that has work to do is in the sparse index `due`, in shards of its own.

mod shape;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::connection::{DocumentClaim, Grant};
use domain::ports::{Connections, PortResult};
use domain::{Connection, ConnectionId, DocumentId, GrantId, OrgId, Revision, Tenant, Timestamp};
use futures::future::try_join_all;
use tracing::error;

use crate::error::port_error;
use crate::item::{Item, ReadItem, Table, key_item, number_value, string_value};
use crate::keys::{self, Key};
use crate::layout::DUE_INDEX;

pub(crate) struct DynamoConnections(pub(crate) Table);

/// The attribute with a random token that identifies a write. Of two writers with equal records,
/// only one has its token stored.
pub(crate) const WRITE_TOKEN: &str = "w";

/// Puts an item on condition that the stored one has the count `before` in its attribute `rev`, or
/// that none is stored if `before` is `None`. Returns `false` if the condition does not hold. Our
/// own first attempt whose answer was lost counts as success.
pub(crate) async fn put_if_revision(
    table: &Table,
    mut item: Item,
    previous_revision: Option<u64>,
) -> PortResult<bool> {
    let write_token = string_value(Revision::random().as_str());
    item.insert(WRITE_TOKEN.into(), write_token.clone());
    let put = table
        .client
        .put_item()
        .table_name(&table.name)
        .set_item(Some(item));
    let put = match previous_revision {
        None => put.condition_expression("attribute_not_exists(pk)"),
        Some(before) => put
            .condition_expression("rev = :before")
            .expression_attribute_values(":before", number_value(before)),
    };

    let put =
        put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    let Err(error) = put.send().await else {
        return Ok(true);
    };

    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(old)) => {
            Ok(old.item().and_then(|old| old.get(WRITE_TOKEN)) == Some(&write_token))
        }
        _ => Err(port_error(error)),
    }
}

/// Deletes an item on condition that its attribute `rev` equals `rev`, or that it is gone. Returns
/// `false` if the condition does not hold.
async fn delete_if_revision(table: &Table, key: &Key, rev: u64) -> PortResult<bool> {
    let delete = table
        .client
        .delete_item()
        .table_name(&table.name)
        .set_key(Some(key_item(key)));
    let delete = delete.condition_expression("attribute_not_exists(pk) OR rev = :rev");

    match delete
        .expression_attribute_values(":rev", number_value(rev))
        .send()
        .await
    {
        Ok(_) => Ok(true),
        Err(error) => match error.as_service_error() {
            Some(error) if error.is_conditional_check_failed_exception() => Ok(false),
            _ => Err(port_error(error)),
        },
    }
}

impl DynamoConnections {
    async fn list_due_in_shard(
        &self,
        shard: u32,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<Item>> {
        let query = self
            .0
            .client
            .query()
            .table_name(&self.0.name)
            .index_name(DUE_INDEX.name);
        let query = query.key_condition_expression("qs = :qs AND qd < :before");
        let query = query.expression_attribute_values(
            ":qs",
            string_value(keys::due_connections_partition(shard)),
        );
        let query =
            query.expression_attribute_values(":before", string_value(keys::due_sort_key(before)));
        let limit = i32::try_from(limit).unwrap_or(i32::MAX).max(1);

        Ok(query
            .limit(limit)
            .send()
            .await
            .map_err(port_error)?
            .items
            .unwrap_or_default())
    }
}

#[async_trait]
impl Connections for DynamoConnections {
    async fn get(&self, tenant: &Tenant, id: &ConnectionId) -> PortResult<Option<Connection>> {
        self.0
            .get(&keys::connection_key(tenant, id))
            .await?
            .map(|item| item.get_json("conn"))
            .transpose()
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Connection>> {
        let end = format!("{}~", keys::CONNECTION_PREFIX);
        let items = self
            .0
            .get_range(
                &keys::organization_partition(tenant),
                keys::CONNECTION_PREFIX,
                &end,
            )
            .await?;
        let mut found: Vec<Connection> = items
            .iter()
            .map(|item| item.get_json("conn"))
            .collect::<PortResult<_>>()?;
        found.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(found)
    }

    async fn save(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool> {
        put_if_revision(
            &self.0,
            shape::connection_item(tenant, connection),
            connection.rev.checked_sub(1),
        )
        .await
    }

    async fn delete(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool> {
        delete_if_revision(
            &self.0,
            &keys::connection_key(tenant, &connection.id),
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
        let mut items = try_join_all((0..keys::DUE_SHARDS).map(list_shard))
            .await?
            .concat();
        items.sort_by(|a, b| a.get_optional_text("qd").cmp(&b.get_optional_text("qd")));
        let mut found = Vec::new();
        for item in items.iter().take(limit) {
            match keys::parse_connection(item.get_text("pk")?, item.get_text("sk")?) {
                Some(connection) => found.push(connection),
                // One record that cannot be read must not stop all others.
                None => error!("the index of due connections has a key that is none of ours"),
            }
        }

        Ok(found)
    }

    async fn get_grant(&self, tenant: &Tenant, id: &GrantId) -> PortResult<Option<Grant>> {
        self.0
            .get(&keys::grant_key(tenant, id))
            .await?
            .map(|item| item.get_json("grant"))
            .transpose()
    }

    async fn save_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool> {
        put_if_revision(
            &self.0,
            shape::grant_item(tenant, grant),
            grant.rev.checked_sub(1),
        )
        .await
    }

    async fn delete_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool> {
        delete_if_revision(&self.0, &keys::grant_key(tenant, &grant.id), grant.rev).await
    }

    async fn claim_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        let put = self.0.client.put_item().table_name(&self.0.name);
        let put = put.set_item(Some(shape::claim_item(tenant, document, claim)));
        put.send().await.map(|_| ()).map_err(port_error)
    }

    async fn release_claim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        let delete = self.0.client.delete_item().table_name(&self.0.name);
        let delete = delete.set_key(Some(key_item(&shape::claim_key(tenant, document, claim))));
        delete.send().await.map(|_| ()).map_err(port_error)
    }

    async fn list_claims(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
    ) -> PortResult<Vec<DocumentClaim>> {
        let items = self
            .0
            .get_range(&keys::claims_partition(tenant, document), "0", "~")
            .await?;
        items.iter().map(|item| item.get_json("claim")).collect()
    }
}
