//! Document records on DynamoDB: one item a document, alone in its partition.
//!
//! The item appears in three sparse indexes: `by-container` for listings, `pending` while the
//! document is unfinished or failed, and `due` while it is unfinished.

mod create;
mod expressions;
mod pending;
mod queries;

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, Put, ReturnValue,
    ReturnValuesOnConditionCheckFailure as OnFailure,
};
use domain::BlobRef;
use domain::document::{IndexedRevision, ProcessingResult};
use domain::ports::{
    ClaimOutcome, CreationConditions, DocumentEntry, DocumentListing, Documents, OverdueWork,
    PortResult,
};
use domain::{
    ContainerId, Document, DocumentBody, DocumentId, DocumentStatus, PortError, ProcessingFailure,
    Revision, Tenant, Timestamp,
};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::error::{Cancellation, classify_cancellation, condition_held, port_error};
use crate::purge::purge_put;
use crate::records::documents::{
    DocumentAttributes, DocumentRecord, ListingRecord, encode_sent_fields, new_document_item,
    overdue_at, read_document, read_entry,
};
use crate::records::{
    Item, Json, item_absent, key_item, number_value, optional_text, read_each, string_value,
};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::put_write;

pub(crate) use create::{check_alternative, put_reference};
use expressions::{
    body_update, claim_update, damage_update, describable_without_log, failure_update,
    listed_damage_update, postpone_update, requeue_update, results_update, served_as,
    status_update, unfinished, unfinished_with_lease, unfinished_without_lease,
    unfinished_without_other_lease,
};
pub(crate) use expressions::{
    content_assignments, content_values, description_unchanged, description_update,
    description_values, not_superseded,
};
pub(crate) use pending::has_all_pending;

/// The number of records that are deleted at the same time.
const PARALLEL_ERASURES: usize = 16;

/// The documents on DynamoDB.
pub(crate) struct DynamoDocuments {
    /// The table of their records.
    pub(crate) records: Table,
    /// The table of repeated requests.
    pub(crate) requests: Table,
}

const ATTRIBUTES: DocumentAttributes = DocumentRecord::ATTRIBUTES;

impl DynamoDocuments {
    /// Returns an update of one document on condition that `revision` is current and unfinished.
    fn update_unfinished(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        set: &str,
    ) -> UpdateItemFluentBuilder {
        let update = self
            .records
            .client
            .update_item()
            .table_name(&self.records.name);
        let update = update
            .set_key(Some(key_item(&table_keys::document_key(tenant, id))))
            .update_expression(set);

        update
            .condition_expression(unfinished())
            .expression_attribute_values(":revision", string_value(revision.as_str()))
            .expression_attribute_values(":done", string_value(DocumentStatus::Done.as_str()))
            .expression_attribute_values(":failed", string_value(DocumentStatus::Failed.as_str()))
    }

    /// Deletes the record of a document, if it is one of the container.
    async fn erase_record(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        id: &DocumentId,
    ) -> PortResult<()> {
        let listing = ListingRecord::ATTRIBUTES.listing;
        let (present, superseded) = (
            table_keys::listing_partition(tenant, container),
            table_keys::superseded_listing_partition(tenant, container),
        );
        let delete = self
            .records
            .client
            .delete_item()
            .table_name(&self.records.name)
            .set_key(Some(key_item(&table_keys::document_key(tenant, id))))
            .condition_expression(format!("{listing} IN (:present, :superseded)"))
            .expression_attribute_values(":present", string_value(present))
            .expression_attribute_values(":superseded", string_value(superseded));
        condition_held(delete.send().await)?;
        Ok(())
    }

    /// Writes a record in place of `expected`. Returns `false` if another one is stored, and `true` also if an
    /// earlier attempt has written it.
    async fn put_revision(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
    ) -> PortResult<bool> {
        let (condition, values) = replacement_condition(expected, document)?;
        let put = self
            .records
            .client
            .put_item()
            .table_name(&self.records.name);
        let put = put
            .set_item(Some(new_document_item(tenant, document)?))
            .condition_expression(condition)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(true);
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                Ok(is_own_record(failed.item(), document))
            }
            _ => Err(port_error(error)),
        }
    }

    /// Writes a record as [`Self::put_revision`] does, and a purge record for blobs in the same transaction.
    async fn put_revision_with_purge(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
        unused_blobs: &[BlobRef],
    ) -> PortResult<bool> {
        let (condition, values) = replacement_condition(expected, document)?;
        let put = Put::builder()
            .table_name(&self.records.name)
            .set_item(Some(new_document_item(tenant, document)?))
            .condition_expression(condition)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let purge = purge_put(
            &self.records,
            tenant,
            &document.container,
            document.revision.as_str(),
            unused_blobs,
            overdue_at(document),
        )?;
        let transaction = self.records.client.transact_write_items();
        let transaction = transaction
            .transact_items(put_write(put)?)
            .transact_items(purge);
        let Err(error) = transaction.send().await else {
            return Ok(true);
        };
        let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };
        let reasons = canceled.cancellation_reasons();
        match classify_cancellation(reasons) {
            Cancellation::Condition => Ok(is_own_first_write(reasons, document)),
            Cancellation::Conflict => Ok(false),
            Cancellation::Temporary => Err(PortError::Unavailable(Box::new(error))),
            Cancellation::Other => Err(port_error(error)),
        }
    }
}

/// Adds the condition that the worker still has its lease, with its values.
fn require_lease(update: UpdateItemFluentBuilder, lease: Timestamp) -> UpdateItemFluentBuilder {
    let indexing = string_value(DocumentStatus::Indexing.as_str());
    update
        .condition_expression(unfinished_with_lease())
        .expression_attribute_values(":indexing", indexing)
        .expression_attribute_values(":lease", number_value(lease.as_millis()))
}

/// Returns the condition for a record that replaces `expected`, and its values.
///
/// The condition includes the indexed content: a commit since the record was read keeps the
/// revision, but removes the blobs that the new record would name as served. It also includes the
/// description, which the new record takes over.
fn replacement_condition(
    expected: Option<&Revision>,
    document: &Document,
) -> PortResult<(String, Option<HashMap<String, AttributeValue>>)> {
    let Some(expected) = expected else {
        return Ok((item_absent(), None));
    };

    let DocumentAttributes {
        revision, indexed, ..
    } = ATTRIBUTES;
    let mut values = HashMap::from([
        (":expected".to_owned(), string_value(expected.as_str())),
        (
            ":changes".to_owned(),
            number_value(document.description_changes),
        ),
    ]);
    let served = match &document.indexed {
        None => format!("attribute_not_exists({indexed})"),
        Some(served) => {
            let served: Json<IndexedRevision> = Json::encode(served)?;
            values.insert(":indexed".to_owned(), served.into());
            format!("{indexed} = :indexed")
        }
    };

    let condition = format!(
        "{revision} = :expected AND {served} AND {} AND {}",
        description_unchanged(),
        not_superseded()
    );
    Ok((condition, Some(values)))
}

/// Sends an update. Returns `false` if its condition did not hold.
async fn send_update(update: UpdateItemFluentBuilder) -> PortResult<bool> {
    condition_held(update.send().await)
}

/// Checks whether the record in the way of a new one is that record itself: the SDK repeats a
/// request whose answer was lost.
fn is_own_record(stored: Option<&Item>, document: &Document) -> bool {
    let Some(stored) = stored else {
        return false;
    };
    optional_text(stored, ATTRIBUTES.revision) == Some(document.revision.as_str())
}

/// Checks whether the record that stopped the first write of a transaction is the written one.
fn is_own_first_write(reasons: &[CancellationReason], document: &Document) -> bool {
    match reasons {
        [first, ..] => is_own_record(first.item(), document),
        [] => false,
    }
}

#[async_trait]
impl Documents for DynamoDocuments {
    async fn get(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<Vec<Option<Document>>> {
        let mut documents = Vec::with_capacity(ids.len());
        for entry in self.find(tenant, ids).await? {
            documents.push(match entry {
                Some(DocumentEntry::Document(document)) => Some(*document),
                Some(DocumentEntry::Reference(_)) | None => None,
            });
        }
        Ok(documents)
    }

    async fn find(
        &self,
        tenant: &Tenant,
        ids: &[DocumentId],
    ) -> PortResult<Vec<Option<DocumentEntry>>> {
        let keys: Vec<_> = ids
            .iter()
            .map(|id| table_keys::document_key(tenant, id))
            .collect();
        let items = match keys.as_slice() {
            [key] => vec![self.records.get(key).await?],
            keys => self.records.get_many(keys).await?,
        };
        read_each(items, read_entry)
    }

    async fn accept_revision(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
        unused_blobs: &[BlobRef],
    ) -> PortResult<()> {
        let is_written = match unused_blobs {
            [] => self.put_revision(tenant, document, expected).await?,
            blobs => {
                self.put_revision_with_purge(tenant, document, expected, blobs)
                    .await?
            }
        };
        if is_written {
            Ok(())
        } else {
            Err(PortError::Conflict)
        }
    }

    async fn create(
        &self,
        tenant: &Tenant,
        document: &Document,
        creation_conditions: &CreationConditions,
    ) -> PortResult<()> {
        if *creation_conditions == CreationConditions::default() {
            return self.accept_revision(tenant, document, None, &[]).await;
        }
        self.create_with_checks(tenant, document, creation_conditions)
            .await
    }

    async fn update_description(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool> {
        let update = self
            .records
            .client
            .update_item()
            .table_name(&self.records.name);
        let update = update.set_key(Some(key_item(&table_keys::document_key(
            tenant,
            &document.id,
        ))));
        let update = update
            .update_expression(description_update())
            .condition_expression(describable_without_log())
            .set_expression_attribute_values(Some(description_values(document, now)?))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let Err(error) = update.send().await else {
            return Ok(true);
        };

        let Some(UpdateItemError::ConditionalCheckFailedException(failed)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        // Our own change whose answer was lost has written exactly these values. The count is
        // compared too, because a call may change nothing else.
        let expected_values = [
            (ATTRIBUTES.sent, encode_sent_fields(document)?.into()),
            (
                ATTRIBUTES.description_changes,
                number_value(document.description_changes),
            ),
        ];
        let Some(stored) = failed.item() else {
            return Ok(false);
        };

        Ok(expected_values
            .iter()
            .all(|(name, value)| stored.get(*name) == Some(value)))
    }

    async fn claim_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> PortResult<ClaimOutcome> {
        let update = self.update_unfinished(tenant, id, revision, &claim_update());
        let update = update.condition_expression(unfinished_without_lease());
        let update = update
            .expression_attribute_values(
                ":status",
                string_value(DocumentStatus::Extracting.as_str()),
            )
            .expression_attribute_values(":until", number_value(lease_until.as_millis()))
            .expression_attribute_values(
                ":due",
                string_value(table_keys::due_sort_key(lease_until)),
            )
            .expression_attribute_values(":one", number_value(1))
            .expression_attribute_values(":now", number_value(now.as_millis()))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let error = match update.send().await {
            Ok(response) => {
                let Some(item) = response.attributes else {
                    return Err(PortError::Corrupt("claimed document".into()));
                };
                return Ok(ClaimOutcome::Claimed(Box::new(read_document(item)?)));
            }
            Err(error) => error,
        };

        let Some(UpdateItemError::ConditionalCheckFailedException(failed)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        let Some(item) = failed.item() else {
            return Ok(ClaimOutcome::Outdated);
        };
        let document = read_document(item.clone())?;
        if !document.is_unfinished_revision(revision) {
            return Ok(ClaimOutcome::Outdated);
        }

        // Our own claim whose answer was lost has our lease. Two workers that claim within one
        // millisecond would both continue. That costs work and does no harm, because the commit is
        // conditional.
        if document.lease_until == lease_until {
            Ok(ClaimOutcome::Claimed(Box::new(document)))
        } else {
            Ok(ClaimOutcome::Busy)
        }
    }

    async fn requeue_until(
        &self,
        tenant: &Tenant,
        claimed: &Document,
        overdue_at: Timestamp,
    ) -> PortResult<bool> {
        let set = requeue_update();
        let update = self.update_unfinished(tenant, &claimed.id, &claimed.revision, &set);
        let update = require_lease(update, claimed.lease_until)
            .expression_attribute_values(":queued", string_value(DocumentStatus::Queued.as_str()))
            .expression_attribute_values(":zero", number_value(0))
            .expression_attribute_values(":due", string_value(table_keys::due_sort_key(overdue_at)))
            .expression_attribute_values(
                ":attempts",
                number_value(claimed.attempts.saturating_sub(1)),
            );

        send_update(update).await
    }

    async fn record_body(&self, tenant: &Tenant, document: &Document) -> PortResult<bool> {
        let update =
            self.update_unfinished(tenant, &document.id, &document.revision, &body_update());
        let update = update.expression_attribute_values(":one", number_value(1));
        let body: Json<DocumentBody> = Json::encode(&document.body)?;
        send_update(update.expression_attribute_values(":body", body.into())).await
    }

    async fn advance_status(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        status: DocumentStatus,
        now: Timestamp,
    ) -> PortResult<bool> {
        let update = self.update_unfinished(tenant, id, revision, &status_update());
        let update = update.expression_attribute_values(":status", string_value(status.as_str()));
        send_update(update.expression_attribute_values(":now", number_value(now.as_millis()))).await
    }

    async fn record_extracted(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool> {
        let Some(extracted) = &document.extracted else {
            return Err(PortError::Corrupt(
                "a document without what was found out about it".into(),
            ));
        };

        let extracted: Json<ProcessingResult> = Json::encode(extracted)?;
        let set = results_update(document);
        let mut update = self.update_unfinished(tenant, &document.id, &document.revision, &set);
        for (name, value) in content_values(document)? {
            update = update.expression_attribute_values(name, value);
        }
        let update = update
            .expression_attribute_values(":status", string_value(DocumentStatus::Indexing.as_str()))
            .expression_attribute_values(":now", number_value(now.as_millis()))
            .expression_attribute_values(":extracted", extracted.into());

        send_update(update).await
    }

    async fn fail_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        failure: &ProcessingFailure,
        lease: Option<Timestamp>,
        now: Timestamp,
    ) -> PortResult<bool> {
        let failure: Json<ProcessingFailure> = Json::encode(failure)?;
        let update = self.update_unfinished(tenant, id, revision, &failure_update());
        let update = update
            .expression_attribute_values(":failure", failure.into())
            .expression_attribute_values(":now", number_value(now.as_millis()))
            .expression_attribute_values(":zero", number_value(0));
        let update = match lease {
            None => update,
            Some(lease) => require_lease(update, lease),
        };
        send_update(update).await
    }

    async fn fail_damaged(
        &self,
        tenant: &Tenant,
        document: &Document,
        failure: &ProcessingFailure,
        now: Timestamp,
    ) -> PortResult<bool> {
        let indexed: Json<Option<IndexedRevision>> = Json::encode(&document.indexed)?;
        let failure: Json<ProcessingFailure> = Json::encode(failure)?;
        let update = self
            .records
            .client
            .update_item()
            .table_name(&self.records.name);
        let update = update.set_key(Some(key_item(&table_keys::document_key(
            tenant,
            &document.id,
        ))));
        let (container, is_listed) = (&document.container, document.superseded_by.is_none());
        let (update, listing) = if is_listed {
            let pending = table_keys::pending_partition(tenant, container);
            let update = update.update_expression(listed_damage_update());
            (
                update.expression_attribute_values(":pending", string_value(pending)),
                table_keys::listing_partition(tenant, container),
            )
        } else {
            (
                update.update_expression(damage_update()),
                table_keys::superseded_listing_partition(tenant, container),
            )
        };
        let update = update
            .condition_expression(served_as())
            .expression_attribute_values(":listing", string_value(listing))
            .expression_attribute_values(":failed", string_value(DocumentStatus::Failed.as_str()))
            .expression_attribute_values(":done", string_value(DocumentStatus::Done.as_str()))
            .expression_attribute_values(":revision", string_value(document.revision.as_str()))
            .expression_attribute_values(":indexed", indexed.into())
            .expression_attribute_values(":failure", failure.into())
            .expression_attribute_values(":now", number_value(now.as_millis()));
        send_update(update).await
    }

    async fn postpone_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        lease_until: Timestamp,
        overdue_at: Timestamp,
    ) -> PortResult<bool> {
        let update = self
            .update_unfinished(tenant, id, revision, &postpone_update())
            .condition_expression(unfinished_without_other_lease())
            .expression_attribute_values(":lease", number_value(lease_until.as_millis()));
        let update = update.expression_attribute_values(":zero", number_value(0));
        send_update(update.expression_attribute_values(
            ":due",
            string_value(table_keys::due_sort_key(overdue_at)),
        ))
        .await
    }

    async fn list(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<Vec<Document>> {
        self.list_documents(tenant, container).await
    }

    async fn list_page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        listing: DocumentListing,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)> {
        self.list_documents_page(tenant, container, listing, after, limit)
            .await
    }

    async fn list_pending(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<DocumentId>, Option<String>)> {
        self.list_pending_ids(tenant, container, after, limit).await
    }

    async fn count_unserved(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<usize> {
        self.count_unserved_documents(tenant, container).await
    }

    async fn add_missing_pending(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<()> {
        self.add_missing_to_pending(tenant, container).await
    }

    async fn count(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Option<usize>> {
        self.count_documents(tenant, container, limit).await
    }

    async fn count_unfinished(&self, tenant: &Tenant, limit: usize) -> PortResult<usize> {
        self.count_unfinished_documents(tenant, limit).await
    }

    async fn erase_records(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        ids: &[DocumentId],
    ) -> PortResult<()> {
        let mut erasures = Vec::with_capacity(ids.len());
        for id in ids {
            erasures.push(self.erase_record(tenant, container, id));
        }
        stream::iter(erasures)
            .buffer_unordered(PARALLEL_ERASURES)
            .try_collect()
            .await
    }

    async fn list_overdue(&self, before: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.list_overdue(before, limit).await
    }
}
