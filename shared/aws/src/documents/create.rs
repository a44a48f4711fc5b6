//! The transaction that creates a document, with the checks that decide whether it may.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem,
};
use domain::ports::{AlternativeId, CreationConditions, CustomIdReference, PortResult};
use domain::{Document, DocumentId, PortError, Tenant};

use super::expressions::superseded;
use super::{DynamoDocuments, is_own_first_write};
use crate::error::{Cancellation, classify_cancellation, port_error};
use crate::idempotency::record_made_document;
use crate::records::documents::{
    DocumentAttributes, DocumentRecord, new_document_item, reference_item,
};
use crate::records::{item_absent, key_item, string_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{condition_check, put_write};

/// Returns the check that an id is as it was found: the same document has it, or no document that
/// a merge has not superseded.
pub(crate) fn check_alternative(
    table: &Table,
    tenant: &Tenant,
    alternative: &AlternativeId,
) -> PortResult<TransactWriteItem> {
    let key = table_keys::document_key(tenant, &alternative.id);
    let check = ConditionCheck::builder()
        .table_name(&table.name)
        .set_key(Some(key_item(&key)));
    condition_check(match &alternative.taken_by {
        None => check.condition_expression(format!("{} OR {}", item_absent(), superseded())),
        Some(taken_by) => {
            let revision = DocumentRecord::ATTRIBUTES.revision;
            check
                .condition_expression(format!("{revision} = :taken"))
                .expression_attribute_values(":taken", string_value(taken_by.as_str()))
        }
    })
}

/// Returns the write of the reference from the id of a `customId` to a document.
pub(crate) fn put_reference(
    table: &Table,
    tenant: &Tenant,
    reference: &CustomIdReference,
    document: &DocumentId,
) -> PortResult<TransactWriteItem> {
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(reference_item(tenant, &reference.id, document)?));
    put_write(on_absence(put, reference.replaces.as_ref()))
}

/// Adds the condition that there is no item, or only the outdated reference to `outdated`.
fn on_absence(put: PutBuilder, outdated: Option<&DocumentId>) -> PutBuilder {
    let Some(outdated) = outdated else {
        return put.condition_expression(item_absent());
    };
    let DocumentAttributes {
        sent,
        superseded_by,
        ..
    } = DocumentRecord::ATTRIBUTES;
    put.condition_expression(format!(
        "{} OR (attribute_not_exists({sent}) AND {superseded_by} = :outdated)",
        item_absent()
    ))
    .expression_attribute_values(":outdated", string_value(outdated.as_str()))
}

impl DynamoDocuments {
    pub(super) async fn create_with_checks(
        &self,
        tenant: &Tenant,
        document: &Document,
        creation_conditions: &CreationConditions,
    ) -> PortResult<()> {
        let put = Put::builder()
            .table_name(&self.records.name)
            .set_item(Some(new_document_item(tenant, document)?));
        let put = on_absence(put, creation_conditions.replaces.as_ref());
        let put = put.return_values_on_condition_check_failure(OnFailure::AllOld);
        let mut writes = vec![put_write(put)?];
        for alternative in &creation_conditions.alternatives {
            writes.push(check_alternative(&self.records, tenant, alternative)?);
        }

        if let Some(reference) = &creation_conditions.reference {
            writes.push(put_reference(
                &self.records,
                tenant,
                reference,
                &document.id,
            )?);
        }
        if let Some(key) = &creation_conditions.request_key {
            writes.push(record_made_document(
                &self.requests,
                tenant,
                key,
                &document.id,
            )?);
        }

        let transaction = self
            .records
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
