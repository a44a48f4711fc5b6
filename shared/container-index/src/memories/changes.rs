//! The changes of memories in the log.

use std::iter::zip;

use domain::container::LogEntry;
use domain::ports::{BlobContent, PortResult};
use domain::{BlobRef, DocumentId, IndexedDocument, LogRecord, MemoryEdit, StatementSet, Tenant};
use service::Ctx;

use crate::chunks::last_of_each;
use crate::view::FetchedBlobs;

/// The number of documents whose statements one read fetches.
const BLOB_BATCH_SIZE: usize = 100;

/// The changes of memories in records of the log.
pub(super) struct LogChanges<'a> {
    /// Documents that no longer state anything.
    pub(super) removed: Vec<&'a DocumentId>,
    /// Documents with their statements, or `None` if these cannot be read.
    pub(super) inserted: Vec<(&'a IndexedDocument, Option<StatementSet>)>,
    pub(super) edits: Vec<&'a MemoryEdit>,
}

impl<'a> LogChanges<'a> {
    /// Reads the changes of these records.
    pub(super) async fn load(
        ctx: &Ctx,
        tenant: &Tenant,
        records: &'a [LogRecord],
        fetched: FetchedBlobs,
    ) -> PortResult<Self> {
        let (mut puts, mut removed) = (Vec::new(), Vec::new());
        for entry in last_of_each(records) {
            match entry {
                LogEntry::Put {
                    statements: Some(statements),
                    document,
                    ..
                } => puts.push((statements, document.as_ref())),
                LogEntry::Put { document, .. } => removed.push(&document.id),
                LogEntry::Remove { id } => removed.push(id),
                LogEntry::Edit { .. } => {}
            }
        }

        let entries = records.iter().flat_map(|record| &record.entries);
        let edits = entries.filter_map(|entry| match entry {
            LogEntry::Edit { edit } => Some(edit),
            LogEntry::Put { .. } | LogEntry::Remove { .. } => None,
        });
        Ok(Self {
            removed,
            inserted: load_statements(ctx, tenant, &puts, fetched).await?,
            edits: edits.collect(),
        })
    }
}

/// Reads the statements of documents, `None` for those that cannot be read.
pub(super) async fn load_statements<'a>(
    ctx: &Ctx,
    tenant: &Tenant,
    puts: &[(&BlobRef, &'a IndexedDocument)],
    mut fetched: FetchedBlobs,
) -> PortResult<Vec<(&'a IndexedDocument, Option<StatementSet>)>> {
    let mut loaded = Vec::with_capacity(puts.len());
    for batch in puts.chunks(BLOB_BATCH_SIZE) {
        let blobs: Vec<BlobRef> = batch.iter().map(|(blob, _)| (*blob).clone()).collect();
        let contents = fetched.take(ctx, tenant, &blobs).await?;
        for ((_, document), stored) in zip(batch, contents) {
            loaded.push((*document, decode_statements(stored)));
        }
    }
    Ok(loaded)
}

/// Decodes stored statements, unless their blob is missing or damaged.
fn decode_statements(stored: BlobContent) -> Option<StatementSet> {
    let bytes = stored.into_intact_bytes()?;
    StatementSet::decode(&bytes).ok()
}
