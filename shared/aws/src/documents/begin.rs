//! The transaction that creates a document, with the checks that decide whether it may.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem,
};
use domain::ports::{Beginning, PortResult};
use domain::{Document, DocumentId, PortError, Tenant};

use super::{DynamoDocuments, new_record};
use crate::error::{Cancellation, build_error, cancellation, port_error};
use crate::item::{Read, Table, key_item};
use crate::keys;
use crate::repeats::made_by;

/// Returns the check that no document has this id, or that a merge has superseded the one that has.
pub(crate) fn check_free(
    table: &Table,
    tenant: &Tenant,
    id: &DocumentId,
) -> PortResult<TransactWriteItem> {
    let check = ConditionCheck::builder().table_name(&table.name);
    let check = check.set_key(Some(key_item(&keys::document(tenant, id))));
    let check = check.condition_expression("attribute_not_exists(pk) OR attribute_exists(sup)");
    let check = check.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().condition_check(check).build())
}

impl DynamoDocuments {
    pub(super) async fn begin_checked(
        &self,
        tenant: &Tenant,
        document: &Document,
        beginning: &Beginning,
    ) -> PortResult<()> {
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(new_record(tenant, document)));
        let put = put.condition_expression("attribute_not_exists(pk)");
        let put = put.return_values_on_condition_check_failure(OnFailure::AllOld);
        let put = put.build().map_err(build_error)?;
        let mut writes = vec![TransactWriteItem::builder().put(put).build()];
        for rival in &beginning.rivals {
            writes.push(check_free(&self.0, tenant, rival)?);
        }

        if let Some(key) = &beginning.request {
            let made = made_by(&self.1, tenant, key, &document.id)?;
            writes.push(TransactWriteItem::builder().update(made).build());
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
        match cancellation(reasons) {
            Cancellation::Condition => {
                // The SDK repeats a request whose answer was lost, so the record in the way may be
                // our own.
                let record = reasons.first().and_then(|reason| reason.item());
                let revision = record.and_then(|record| record.optional_text("rev"));
                let is_ours = revision == Some(document.revision.as_str());
                if is_ours {
                    Ok(())
                } else {
                    Err(PortError::Conflict)
                }
            }
            Cancellation::Conflict => Err(PortError::Conflict),
            Cancellation::Passing => Err(PortError::Unavailable(Box::new(error))),
            Cancellation::Other => Err(port_error(error)),
        }
    }
}
