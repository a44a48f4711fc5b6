//! Document records on DynamoDB: one item a document, alone in its partition.
//!
//! The item appears in two sparse indexes: `by-container` for listings, and `due` while the
//! document is unfinished.

mod begin;
mod edit;
mod scan;
mod shape;

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, Put, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure,
    TransactWriteItem,
};
use domain::BlobRef;
use domain::ports::{Beginning, Claim, Documents, Overdue, PortResult};
use domain::{
    ContainerId, Document, DocumentId, Failure, PortError, Revision, Status, Tenant, Timestamp,
};

use crate::error::{Cancellation, build_error, cancellation, port_error};
use crate::item::{Read, Table, json, key_item, n, s};
use crate::keys;
use crate::purge::purge_put;

pub(crate) use begin::check_free;
pub(crate) use edit::{EDIT, EDITED_AS_OFTEN, edit_values};
use shape::write_sent;
pub(crate) use shape::{new_record, read_document};

/// The tables of documents and of repeated requests.
pub(crate) struct DynamoDocuments(pub(crate) Table, pub(crate) Table);

/// The condition that no merge has superseded the document. A superseded document is no longer
/// served, and stays unchanged.
pub(crate) const NOT_SUPERSEDED: &str = "attribute_not_exists(sup)";
/// The condition that the revision is the newest and has not reached a final status.
const UNFINISHED: &str = "rev = :rev AND NOT st IN (:done, :failed)";

impl DynamoDocuments {
    /// Returns an update of one document on condition that `revision` is current and unfinished.
    fn update(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        set: &str,
    ) -> UpdateItemFluentBuilder {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update
            .set_key(Some(key_item(&keys::document(tenant, id))))
            .update_expression(set);

        update
            .condition_expression(UNFINISHED)
            .expression_attribute_values(":rev", s(revision.as_str()))
            .expression_attribute_values(":done", s(Status::Done.as_str()))
            .expression_attribute_values(":failed", s(Status::Failed.as_str()))
    }
}

/// Returns the condition for a record that replaces `expected`, and its values.
///
/// The condition includes the indexed content: a commit since the record was read keeps the
/// revision, but removes the blobs that the new record would name as served. It also includes the
/// description, which the new record takes over.
fn replacement_condition(
    expected: Option<&Revision>,
    document: &Document,
) -> (String, Option<HashMap<String, AttributeValue>>) {
    let Some(expected) = expected else {
        return ("attribute_not_exists(pk)".to_owned(), None);
    };

    let mut values = HashMap::from([
        (":expected".to_owned(), s(expected.as_str())),
        (":ed".to_owned(), n(document.edits)),
    ]);
    let indexed = match &document.indexed {
        None => "attribute_not_exists(idx)",
        Some(indexed) => {
            values.insert(":idx".to_owned(), json(indexed));
            "idx = :idx"
        }
    };

    (
        format!("rev = :expected AND {indexed} AND {EDITED_AS_OFTEN} AND {NOT_SUPERSEDED}"),
        Some(values),
    )
}

/// Sends an update. Returns `false` if its condition did not hold.
async fn applied(update: UpdateItemFluentBuilder) -> PortResult<bool> {
    match update.send().await {
        Ok(_) => Ok(true),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
        {
            Ok(false)
        }
        Err(error) => Err(port_error(error)),
    }
}

#[async_trait]
impl Documents for DynamoDocuments {
    async fn get(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<Vec<Option<Document>>> {
        let keys: Vec<_> = ids.iter().map(|id| keys::document(tenant, id)).collect();
        let items = match keys.as_slice() {
            [key] => vec![self.0.get(key).await?],
            keys => self.0.get_many(keys).await?,
        };
        items
            .iter()
            .map(|item| item.as_ref().map(read_document).transpose())
            .collect()
    }

    async fn accept(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
        garbage: &[BlobRef],
    ) -> PortResult<()> {
        let overdue_at = shape::overdue_at(document);
        let item = new_record(tenant, document);
        let (condition, values) = replacement_condition(expected, document);
        let old = if garbage.is_empty() {
            let put = self
                .0
                .client
                .put_item()
                .table_name(&self.0.name)
                .set_item(Some(item));
            let put = put
                .condition_expression(condition)
                .set_expression_attribute_values(values);
            match put
                .return_values_on_condition_check_failure(OnFailure::AllOld)
                .send()
                .await
            {
                Ok(_) => return Ok(()),
                Err(error) => match error.as_service_error() {
                    Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                        failed.item().cloned()
                    }
                    _ => return Err(port_error(error)),
                },
            }
        } else {
            let put = Put::builder()
                .table_name(&self.0.name)
                .set_item(Some(item))
                .condition_expression(condition);
            let put = put.set_expression_attribute_values(values);
            let put = put
                .return_values_on_condition_check_failure(OnFailure::AllOld)
                .build()
                .map_err(build_error)?;
            let purge = purge_put(
                &self.0,
                tenant,
                &document.container,
                document.revision.as_str(),
                garbage,
                overdue_at,
            )?;
            let transaction = self.0.client.transact_write_items();
            let transaction =
                transaction.transact_items(TransactWriteItem::builder().put(put).build());
            match transaction
                .transact_items(TransactWriteItem::builder().put(purge).build())
                .send()
                .await
            {
                Ok(_) => return Ok(()),
                Err(error) => match error.as_service_error() {
                    Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
                        let reason = canceled.cancellation_reasons().first();
                        match cancellation(canceled.cancellation_reasons()) {
                            Cancellation::Condition => {}
                            Cancellation::Conflict => return Err(PortError::Conflict),
                            Cancellation::Passing => {
                                return Err(PortError::Unavailable(Box::new(error)));
                            }
                            Cancellation::Other => return Err(port_error(error)),
                        }
                        reason.and_then(|reason| reason.item().cloned())
                    }
                    _ => return Err(port_error(error)),
                },
            }
        };

        // The SDK repeats a request whose answer was lost, so the record in the way may be our own.
        let ours =
            old.is_some_and(|old| old.optional_text("rev") == Some(document.revision.as_str()));
        if ours {
            Ok(())
        } else {
            Err(PortError::Conflict)
        }
    }

    async fn begin(
        &self,
        tenant: &Tenant,
        document: &Document,
        beginning: &Beginning,
    ) -> PortResult<()> {
        if *beginning == Beginning::default() {
            return self.accept(tenant, document, None, &[]).await;
        }
        self.begin_checked(tenant, document, beginning).await
    }

    async fn describe(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::document(tenant, &document.id))));
        let update = update
            .update_expression(EDIT)
            .condition_expression(format!(
                "rev = :rev AND attribute_not_exists(idx) AND {EDITED_AS_OFTEN} AND {NOT_SUPERSEDED}"
            ))
            .set_expression_attribute_values(Some(edit_values(document, now)))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let Err(error) = update.send().await else {
            return Ok(true);
        };

        let Some(UpdateItemError::ConditionalCheckFailedException(failed)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        // Our own edit whose answer was lost has written exactly these values. The count is
        // compared too, because an edit may change nothing else.
        let written = [("sent", write_sent(document)), ("ed", n(document.edits))];
        let is_there = |item: &HashMap<_, _>| {
            written
                .iter()
                .all(|(name, value)| item.get(*name) == Some(value))
        };

        Ok(failed.item().is_some_and(is_there))
    }

    async fn claim(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> PortResult<Claim> {
        let set = "SET st = :st, lease = :until, qd = :due, att = att + :one, up = :now";
        let update = self.update(tenant, id, revision, set);
        let update = update.condition_expression(format!("{UNFINISHED} AND lease < :now"));
        let update = update
            .expression_attribute_values(":st", s(Status::Extracting.as_str()))
            .expression_attribute_values(":until", n(lease_until.as_millis()))
            .expression_attribute_values(":due", s(keys::due_sort(lease_until)))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", n(now.as_millis()))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        let error = match update.send().await {
            Ok(answer) => {
                let item = answer
                    .attributes
                    .ok_or_else(|| PortError::Corrupt("claimed document".into()))?;
                return Ok(Claim::Mine(Box::new(read_document(&item)?)));
            }
            Err(error) => error,
        };

        let Some(UpdateItemError::ConditionalCheckFailedException(failed)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        let Some(document) = failed.item().map(read_document).transpose()? else {
            return Ok(Claim::Gone);
        };

        if !document.is_current(revision) || document.status.is_final() {
            return Ok(Claim::Gone);
        }

        // Our own claim whose answer was lost has our lease. Two workers that claim within one
        // millisecond would both continue. That costs work and does no harm, because the commit is
        // conditional.
        if document.lease_until == lease_until {
            Ok(Claim::Mine(Box::new(document)))
        } else {
            Ok(Claim::Busy)
        }
    }

    async fn wait_on(
        &self,
        tenant: &Tenant,
        claimed: &Document,
        overdue_at: Timestamp,
    ) -> PortResult<bool> {
        let set = "SET st = :queued, lease = :zero, qd = :due, att = :att";
        let update = self.update(tenant, &claimed.id, &claimed.revision, set);
        let update = update
            .condition_expression(format!("{UNFINISHED} AND lease = :lease"))
            .expression_attribute_values(":lease", n(claimed.lease_until.as_millis()))
            .expression_attribute_values(":queued", s(Status::Queued.as_str()))
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":due", s(keys::due_sort(overdue_at)))
            .expression_attribute_values(":att", n(claimed.attempts.saturating_sub(1)));

        applied(update).await
    }

    async fn keep_body(&self, tenant: &Tenant, document: &Document) -> PortResult<bool> {
        let update = self.update(
            tenant,
            &document.id,
            &document.revision,
            "SET body = :body, att = :one",
        );
        let update = update.expression_attribute_values(":one", n(1));
        applied(update.expression_attribute_values(":body", json(&document.body))).await
    }

    async fn advance(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        status: Status,
        now: Timestamp,
    ) -> PortResult<bool> {
        let update = self.update(tenant, id, revision, "SET st = :st, up = :now");
        let update = update.expression_attribute_values(":st", s(status.as_str()));
        applied(update.expression_attribute_values(":now", n(now.as_millis()))).await
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

        let mut set =
            "SET st = :st, up = :now, ext = :ext, kind = :kind, props = :props".to_owned();
        set += if document.title.is_some() {
            ", title = :title"
        } else {
            " REMOVE title"
        };

        let update = self.update(tenant, &document.id, &document.revision, &set);
        let mut update = update
            .expression_attribute_values(":st", s(Status::Indexing.as_str()))
            .expression_attribute_values(":now", n(now.as_millis()))
            .expression_attribute_values(":ext", json(extracted))
            .expression_attribute_values(":kind", json(&document.kind))
            .expression_attribute_values(":props", json(&document.properties));
        if let Some(title) = &document.title {
            update = update.expression_attribute_values(":title", s(title));
        }

        applied(update).await
    }

    async fn fail(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        failure: &Failure,
        lease: Option<Timestamp>,
        now: Timestamp,
    ) -> PortResult<bool> {
        let set = "SET st = :failed, err = :err, up = :now, lease = :zero REMOVE qs, qd";
        let update = self.update(tenant, id, revision, set);
        let update = update
            .expression_attribute_values(":err", json(failure))
            .expression_attribute_values(":now", n(now.as_millis()))
            .expression_attribute_values(":zero", n(0));
        let update = match lease {
            None => update,
            Some(lease) => update
                .condition_expression(format!("{UNFINISHED} AND lease = :lease"))
                .expression_attribute_values(":lease", n(lease.as_millis())),
        };
        applied(update).await
    }

    async fn fail_damaged(
        &self,
        tenant: &Tenant,
        document: &Document,
        failure: &Failure,
        now: Timestamp,
    ) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::document(tenant, &document.id))));
        let update = update
            .update_expression("SET st = :failed, err = :err, up = :now")
            .condition_expression("rev = :rev AND st = :done AND idx = :idx")
            .expression_attribute_values(":failed", s(Status::Failed.as_str()))
            .expression_attribute_values(":done", s(Status::Done.as_str()))
            .expression_attribute_values(":rev", s(document.revision.as_str()))
            .expression_attribute_values(":idx", json(&document.indexed))
            .expression_attribute_values(":err", json(failure))
            .expression_attribute_values(":now", n(now.as_millis()));
        applied(update).await
    }

    async fn postpone(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        overdue_at: Timestamp,
    ) -> PortResult<bool> {
        let update = self.update(tenant, id, revision, "SET lease = :zero, qd = :due");
        let update = update.expression_attribute_values(":zero", n(0));
        applied(update.expression_attribute_values(":due", s(keys::due_sort(overdue_at)))).await
    }

    async fn list(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<Vec<Document>> {
        self.listed(tenant, container).await
    }

    async fn page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        superseded: bool,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)> {
        self.listed_page(tenant, container, superseded, after, limit)
            .await
    }

    async fn count(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        enough: usize,
    ) -> PortResult<Option<usize>> {
        self.listed_count(tenant, container, enough).await
    }

    async fn count_unfinished(&self, tenant: &Tenant, enough: usize) -> PortResult<usize> {
        self.due_count(tenant, enough).await
    }

    async fn erase(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<()> {
        let keys: Vec<_> = ids.iter().map(|id| keys::document(tenant, id)).collect();
        self.0.delete_many(&keys).await
    }

    async fn overdue(&self, before: Timestamp, limit: usize) -> PortResult<Vec<Overdue>> {
        self.due(before, limit).await
    }
}
