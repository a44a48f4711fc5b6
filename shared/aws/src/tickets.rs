//! Tickets on DynamoDB, in the table of secrets. Readers compare the time themselves, because
//! DynamoDB deletes expired items only within days.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::ReturnValue;
use domain::Timestamp;
use domain::ports::{PortResult, Tickets};

use crate::error::port_error;
use crate::records::secrets::{TicketRecord, ticket_item};
use crate::records::{Item, key_item, read_record};
use crate::table::Table;
use crate::table_keys;

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
        let item = ticket_item(kind, digest, value, until)?;
        self.0.put(item).await
    }

    async fn look_up_ticket(
        &self,
        kind: &str,
        digest: &str,
        now: Timestamp,
    ) -> PortResult<Option<String>> {
        let item = self.0.get(&table_keys::ticket_key(kind, digest)).await?;
        ticket_value(item, now)
    }

    async fn redeem(&self, kind: &str, digest: &str, now: Timestamp) -> PortResult<Option<String>> {
        let delete = self.0.client.delete_item().table_name(&self.0.name);
        let delete = delete.set_key(Some(key_item(&table_keys::ticket_key(kind, digest))));
        let delete = delete.return_values(ReturnValue::AllOld);
        let response = delete.send().await.map_err(port_error)?;
        ticket_value(response.attributes, now)
    }
}

/// Returns the value for which a ticket stands, unless there is none or it has expired.
fn ticket_value(item: Option<Item>, now: Timestamp) -> PortResult<Option<String>> {
    let Some(item) = item else {
        return Ok(None);
    };

    let ticket: TicketRecord = read_record(item)?;
    let is_valid = Timestamp::from(ticket.valid_until) > now;
    Ok(is_valid.then_some(ticket.value))
}
