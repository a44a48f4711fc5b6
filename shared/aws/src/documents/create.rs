//! The transaction that creates a document, with the checks that decide whether it may.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem,
};
use domain::ports::{CreationConditions, PortResult};
use domain::{Document, DocumentId, PortError, Tenant};

use super::DynamoDocuments;
use super::expressions::superseded;
use crate::error::{Cancellation, build_error, classify_cancellation, port_error};
use crate::idempotency::record_made_document;
use crate::records::documents::{DocumentRecord, new_document_item};
use crate::records::{item_absent, key_item, optional_text};
use crate::table::Table;
use crate::table_keys;

/// Returns the check that no document has this id, or that a merge has superseded the one that has.
pub(crate) fn check_id_free(
    table: &Table,
    tenant: &Tenant,
    id: &DocumentId,
) -> PortResult<TransactWriteItem> {
    let check = ConditionCheck::builder().table_name(&table.name);
    let check = check.set_key(Some(key_item(&table_keys::document_key(tenant, id))));
    let check = check.condition_expression(format!("{} OR {}", item_absent(), superseded()));
    let check = check.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().condition_check(check).build())
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
        let put = put.build().map_err(build_error)?;
        let mut writes = vec![TransactWriteItem::builder().put(put).build()];
        for id in &creation_conditions.alternative_ids {
            writes.push(check_id_free(&self.0, tenant, id)?);
        }

        if let Some(key) = &creation_conditions.request_key {
            let request_update = record_made_document(&self.1, tenant, key, &document.id)?;
            writes.push(TransactWriteItem::builder().update(request_update).build());
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
            Cancellation::Condition => {
                // The SDK repeats a request whose answer was lost, so the record in the way may be
                // our own.
                let record = reasons.first().and_then(|reason| reason.item());
                let revision = record
                    .and_then(|record| optional_text(record, DocumentRecord::ATTRIBUTES.revision));
                let is_ours = revision == Some(document.revision.as_str());
                if is_ours {
                    Ok(())
                } else {
                    Err(PortError::Conflict)
                }
            }
            Cancellation::Conflict => Err(PortError::Conflict),
            Cancellation::Temporary => Err(PortError::Unavailable(Box::new(error))),
            Cancellation::Other => Err(port_error(error)),
        }
    }
}
