//! Tickets on DynamoDB, in the table of secrets. Readers compare the time themselves, because
//! DynamoDB deletes expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::ReturnValue;
use domain::Timestamp;
use domain::ports::{PortResult, Tickets};

use crate::error::port_error;
use crate::item::{Item, ReadItem, Table, key_item, number_value, string_value};
use crate::keys;

pub(crate) struct DynamoTickets(pub(crate) Table);

#[async_trait]
impl Tickets for DynamoTickets {
    async fn issue(
        &self,
        kind: &str,
        digest: &str,
        value: &str,
        until: Timestamp,
    ) -> PortResult<()> {
        let mut item = key_item(&keys::ticket_key(kind, digest));
        item.insert("v".into(), number_value(1));
        item.insert("for".into(), string_value(value));
        item.insert("until".into(), number_value(until.as_millis()));
        item.insert(
            "ttl".into(),
            number_value(until.as_millis().div_euclid(1000) + 1),
        );
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        put.send().await.map(|_| ()).map_err(port_error)
    }

    async fn look_up_ticket(
        &self,
        kind: &str,
        digest: &str,
        now: Timestamp,
    ) -> PortResult<Option<String>> {
        let item = self.0.get(&keys::ticket_key(kind, digest)).await?;
        Ok(item
            .map(|item| ticket_value(&item, now))
            .transpose()?
            .flatten())
    }

    async fn redeem(&self, kind: &str, digest: &str, now: Timestamp) -> PortResult<Option<String>> {
        let delete = self.0.client.delete_item().table_name(&self.0.name);
        let delete = delete.set_key(Some(key_item(&keys::ticket_key(kind, digest))));
        let response = delete
            .return_values(ReturnValue::AllOld)
            .send()
            .await
            .map_err(port_error)?;
        Ok(response
            .attributes
            .map(|item| ticket_value(&item, now))
            .transpose()?
            .flatten())
    }
}

/// Returns the value for which a ticket stands, unless the ticket has expired.
fn ticket_value(item: &Item, now: Timestamp) -> PortResult<Option<String>> {
    let until = Timestamp::from_millis(item.get_number("until")?);
    Ok(if until > now {
        Some(item.get_text("for")?.to_owned())
    } else {
        None
    })
}
