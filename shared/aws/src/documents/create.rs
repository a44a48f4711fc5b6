//! The transaction that creates a document, with the checks that decide whether it may.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem,
};
use domain::ports::{CreationConditions, PortResult};
use domain::{Document, DocumentId, PortError, Tenant};

use super::expressions::superseded;
use super::{DynamoDocuments, is_own_first_write};
use crate::error::{Cancellation, classify_cancellation, port_error};
use crate::idempotency::record_made_document;
use crate::records::documents::new_document_item;
use crate::records::{item_absent, key_item};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{condition_check, put_write};

/// Returns the check that no document has this id, or that a merge has superseded the one that has.
pub(crate) fn check_id_free(
    table: &Table,
    tenant: &Tenant,
    id: &DocumentId,
) -> PortResult<TransactWriteItem> {
    let check = ConditionCheck::builder().table_name(&table.name);
    let check = check.set_key(Some(key_item(&table_keys::document_key(tenant, id))));
    condition_check(check.condition_expression(format!("{} OR {}", item_absent(), superseded())))
}

impl DynamoDocuments {
    pub(super) async fn create_with_checks(
        &self,
        tenant: &Tenant,
        document: &Document,
        creation_conditions: &CreationConditions,
    ) -> PortResult<()> {
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(new_document_item(tenant, document)?));
        let put = put.condition_expression(item_absent());
        let put = put.return_values_on_condition_check_failure(OnFailure::AllOld);
        let mut writes = vec![put_write(put)?];
        for id in &creation_conditions.alternative_ids {
            writes.push(check_id_free(&self.0, tenant, id)?);
        }

        if let Some(key) = &creation_conditions.request_key {
            writes.push(record_made_document(&self.1, tenant, key, &document.id)?);
        }

        let transaction = self
            .0
            .client
            .transact_write_items()
            .set_transact_items(Some(writes));
        let Err(error) = transaction.send().await else {
            return Ok(());
        };

        let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        let reasons = cancelled.cancellation_reasons();
        match classify_cancellation(reasons) {
            Cancellation::Condition if is_own_first_write(reasons, document) => Ok(()),
            Cancellation::Condition | Cancellation::Conflict => Err(PortError::Conflict),
            Cancellation::Temporary => Err(PortError::Unavailable(Box::new(error))),
            Cancellation::Other => Err(port_error(error)),
        }
    }
}
