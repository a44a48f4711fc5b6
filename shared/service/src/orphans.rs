//! Orphans: blobs that nothing names, left by a process that was killed between storing bytes and
//! recording them.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::Ctx;
use crate::purge::blobs_to_purge;
use domain::blob::BlobRef;
use domain::document::{Document, IndexedRevision, ProcessingResult};
use domain::error::Result;
use domain::ids::{ContainerId, DocumentId, OrgId};
use domain::ports::{BlobStore, StoredBlob};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The age in seconds from which a blob may count as an orphan. It is far longer than any request,
/// lease or upload form lasts, so whoever stored the blob has recorded it by then, or never will.
const ORPHAN_AGE_SECONDS: i64 = 24 * 3600;
/// The number of records that one read fetches.
const RECORD_BATCH_SIZE: usize = 100;
/// The path component that segments have in place of a document id.
const SEGMENT_FOLDER: &str = "segments";

/// Returns the orphans among stored blobs: those that are old enough at `now` and that neither a
/// document nor an index names. Blobs that a worker may still store for a revision that is not final
/// are never orphans, however old.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn find_orphans(
    ctx: &Ctx,
    blobs: &[StoredBlob],
    now: Timestamp,
) -> Result<Vec<StoredBlob>> {
    let mut by_org: BTreeMap<&OrgId, Vec<(&StoredBlob, Maker)>> = BTreeMap::new();
    for stored in blobs {
        if let Some(stored_at) = stored.stored_at
            && stored_at.plus_seconds(ORPHAN_AGE_SECONDS) >= now
        {
            continue;
        }
        // A foreign path does not tell who stored the blob.
        if let Some(maker) = Maker::of(stored.blob.path()) {
            by_org.entry(&stored.org).or_default().push((stored, maker));
        }
    }

    let mut orphans = Vec::new();
    for (org, blobs) in by_org {
        let tenant = Tenant::for_work(org.clone());
        let documents = read_documents(ctx, &tenant, &blobs).await?;
        let segments = read_segments(ctx, &tenant, &blobs).await?;
        for (stored, maker) in blobs {
            let is_referenced = match maker {
                Maker::Document(id) => match documents.get(&id) {
                    Some(document) => may_name_blob(document, &stored.blob),
                    None => false,
                },
                Maker::Index(_) => segments.contains(&stored.blob),
            };
            if !is_referenced {
                orphans.push(stored.clone());
            }
        }
    }

    Ok(orphans)
}

/// Deletes the orphans on one page of the bucket. Returns their number and the position of the next
/// page.
///
/// # Errors
/// Returns the errors of the ports. It is safe to repeat.
pub async fn collect_orphans(
    ctx: &Ctx,
    store: BlobStore,
    after: Option<&str>,
    limit: usize,
) -> Result<(usize, Option<String>)> {
    let page = ctx.blobs.list_inventory(store, after, limit).await?;
    let orphans = find_orphans(ctx, &page.blobs, ctx.clock.now()).await?;
    delete_orphans(ctx, &orphans).await?;
    Ok((orphans.len(), page.next))
}

/// Deletes blobs that [`find_orphans`] returned.
///
/// # Errors
/// Returns the errors of the ports. It is safe to repeat.
pub async fn delete_orphans(ctx: &Ctx, orphans: &[StoredBlob]) -> Result<()> {
    for org_orphans in orphans.chunk_by(|a, b| a.org == b.org) {
        let blobs: Vec<BlobRef> = org_orphans
            .iter()
            .map(|orphan| orphan.blob.clone())
            .collect();
        ctx.blobs
            .delete(&Tenant::for_work(org_orphans[0].org.clone()), &blobs)
            .await?;
    }
    Ok(())
}

/// Deletes blobs that no record names. An error is ignored: the search for orphans deletes what is
/// left, except for small blobs on AWS.
pub(crate) async fn delete_unused_blobs(ctx: &Ctx, tenant: &Tenant, blobs: &[BlobRef]) {
    ctx.blobs.delete(tenant, blobs).await.ok();
}

/// The owner of a blob, as its path tells.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Maker {
    Document(DocumentId),
    Index(ContainerId),
}

impl Maker {
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.split('/');
        let container = ContainerId::parse(parts.next()?)?;
        match (parts.next()?, parts.next()?, parts.next()) {
            (SEGMENT_FOLDER, _, None) => Some(Self::Index(container)),
            (document, _, Some(_)) => DocumentId::parse(document).map(Self::Document),
            _ => None,
        }
    }
}

/// Reads the documents that stored the blobs, by id.
async fn read_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    blobs: &[(&StoredBlob, Maker)],
) -> Result<HashMap<DocumentId, Document>> {
    let mut ids = HashSet::new();
    for (_, maker) in blobs {
        if let Maker::Document(id) = maker {
            ids.insert(id);
        }
    }
    let ids: Vec<DocumentId> = ids.into_iter().cloned().collect();

    let mut found = HashMap::new();
    for batch in ids.chunks(RECORD_BATCH_SIZE) {
        let records = ctx.documents.get(tenant, batch).await?;
        for document in records.into_iter().flatten() {
            found.insert(document.id.clone(), document);
        }
    }

    Ok(found)
}

/// Reads the blobs of the segments of the containers whose index stored the blobs, and those of replaced segments
/// that wait for their purge, because readers may read them until then.
async fn read_segments(
    ctx: &Ctx,
    tenant: &Tenant,
    blobs: &[(&StoredBlob, Maker)],
) -> Result<HashSet<BlobRef>> {
    let mut by_container: HashMap<&ContainerId, Vec<&BlobRef>> = HashMap::new();
    for (stored, maker) in blobs {
        if let Maker::Index(container) = maker {
            let blobs = by_container.entry(container).or_default();
            blobs.push(&stored.blob);
        }
    }

    let mut found: HashSet<BlobRef> = HashSet::new();
    for (container, blobs) in by_container {
        let head = ctx.index.get_head(tenant, container).await?;
        for segment in &head.segments {
            found.extend(segment.blobs().cloned());
        }
        if !blobs.iter().all(|blob| found.contains(*blob)) {
            found.extend(blobs_to_purge(ctx, tenant, container).await?);
        }
    }

    Ok(found)
}

/// Checks whether the record names the blob, or a worker may still record it.
fn may_name_blob(document: &Document, blob: &BlobRef) -> bool {
    let is_referenced = named_blobs(document).any(|referenced| referenced == blob);
    is_referenced || (!document.status.is_final() && document.unserved_blobs().contains(blob))
}

/// Returns the blobs that a record names. A worker may have stored more
/// ([`Document::unserved_blobs`]).
pub(crate) fn named_blobs(document: &Document) -> impl Iterator<Item = &BlobRef> {
    let indexed_blobs = document.indexed.iter().flat_map(IndexedRevision::all_blobs);
    let extracted_blobs = document.extracted.iter().flat_map(ProcessingResult::blobs);
    indexed_blobs
        .chain(extracted_blobs)
        .chain([&document.body.blob])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_ours_tell_who_made_them() {
        let (container, document) = (ContainerId::random(), DocumentId::random());
        let of_document = Maker::of(&format!("{container}/{document}/revision/pack"));
        assert_eq!(of_document, Some(Maker::Document(document.clone())));
        let of_index = Maker::of(&format!("{container}/segments/revision-index"));
        assert_eq!(of_index, Some(Maker::Index(container.clone())));

        for foreign in [
            String::new(),
            "x/y/z".into(),
            format!("{container}/{document}"),
            "a/segments/b".into(),
        ] {
            assert_eq!(Maker::of(&foreign), None, "{foreign}");
        }
    }
}
