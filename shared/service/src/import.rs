//! Writing copies of documents into a container, with the same ids, times and memories.

use std::collections::HashSet;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::Ctx;
use crate::describe::DocumentDescription;
use crate::export::{ContainerCopy, DocumentCopy, ServedCopy};
use crate::find::{find_existing_container, read_document};
use crate::jobs::send_jobs;
use crate::open::create_container;
use crate::orphans::{delete_unused_blobs, named_blobs};
use crate::place::{DocumentLocation, LookupScope, locate_document};
use crate::revise::{DeclaredProperties, Identity, NewBody, build_revision};
use crate::{Committed, ConflictRetry, commit_changes};
use domain::blob::BlobRef;
use domain::container::{
    Container, ContainerChange, ContainerOwner, DocumentChange, SharedContainer,
};
use domain::document::{Document, DocumentStatus, IndexedRevision, StatementsRef, fits_summary};
use domain::error::{Error, PortError, Result};
use domain::ids::{ContainerId, DocumentId, Revision};
use domain::job::JobMessage;
use domain::memory::StatementSet;
use domain::patch::Patch;
use domain::ports::{CreationConditions, CustomIdReference, MAX_CHANGES_PER_COMMIT};
use domain::settings::ProfileBucket;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The message for a container whose removal is under way.
const DELETED_CONTAINER_MESSAGE: &str =
    "this container was deleted and is being removed; import it when that has ended";
/// The number of documents whose bytes are stored in parallel.
const PARALLEL_WRITES: usize = 8;
/// The number of records that one read fetches.
const RECORD_BATCH_SIZE: usize = 100;

/// Counts of imported copies by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Documents that are searchable as they were.
    pub written: usize,
    /// Documents that were not done and are processed (again).
    pub queued: usize,
    /// Documents that already existed and were left unchanged.
    pub already_present: usize,
    /// Documents left out because the file that was announced for them never arrived.
    pub without_content: usize,
}

impl std::ops::AddAssign for ImportCounts {
    fn add_assign(&mut self, other: Self) {
        self.written += other.written;
        self.queued += other.queued;
        self.already_present += other.already_present;
        self.without_content += other.without_content;
    }
}

/// Creates a tag for the copied container, or checks that the tag has it, and gives it all physical
/// containers of the copy. The present description of the tag is kept; missing parts are filled in
/// from the copy, also after an import that was interrupted.
///
/// # Errors
/// Returns [`Error::Conflict`] when the tag has another container, or the container another tag,
/// and [`Error::Invalid`] for copies that cannot be imported.
pub async fn import_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    copy: &ContainerCopy,
) -> Result<Container> {
    let Some(primary_id) = copy.container_ids.first() else {
        return Err(Error::invalid_field("containerIds", "there is none"));
    };
    for id in &copy.container_ids {
        if ContainerId::parse(id.as_str()).is_none() {
            return Err(Error::invalid_field(
                "containerIds",
                "this is not the id of a container",
            ));
        }
    }
    ProfileBucket::check_buckets("profileBuckets", &copy.profile_buckets)?;

    let containers = ctx.containers.list(tenant).await?;
    for other in containers.iter().filter(|other| other.tag != *tag) {
        let is_own = |id: &ContainerId| other.ids.contains(id) && copy.tags_of(id).is_none();
        if copy.container_ids.iter().any(is_own) {
            let message = format!(
                "this container exists already, under the tag {}; a copy would share its ids",
                other.tag
            );
            return Err(Error::Conflict(message));
        }
    }

    let container = match containers.into_iter().find(|existing| existing.tag == *tag) {
        Some(existing) => existing,
        None => {
            check_owner(ctx, tenant, tag, primary_id).await?;
            create_container(ctx, tenant, tag, primary_id.clone(), copy.created_at).await?
        }
    };
    if container.primary_id() != primary_id {
        let message =
            format!("the container tag {tag} exists already, with other content; name another tag");
        return Err(Error::Conflict(message));
    }
    let container = add_further_containers(ctx, tenant, container, copy).await?;

    let change = missing_in(&container, copy);
    let is_new = container.updated_at == container.created_at && copy.updated_at != copy.created_at;
    if change == ContainerChange::default() && !is_new {
        return Ok(container);
    }

    Ok(ctx
        .containers
        .update_settings(tenant, tag, &change, primary_id.clone(), copy.updated_at)
        .await?)
}

/// Gives the tag the further physical containers of the copy. Those that it shares keep the tags of
/// the copy that exist by now, in their order.
async fn add_further_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    mut container: Container,
    copy: &ContainerCopy,
) -> Result<Container> {
    for id in &copy.container_ids {
        let mut retry = ConflictRetry::new(ctx.clock.as_ref());
        while !container.ids.contains(id) {
            if add_further_container(ctx, tenant, &container, id, copy).await? {
                container.ids.push(id.clone());
                break;
            }

            // The tag or the owner of the physical container was changed meanwhile.
            retry.wait().await?;
            let present = find_existing_container(ctx, tenant, &container.tag).await?;
            if present.primary_id() != container.primary_id() {
                return Err(PortError::Conflict.into());
            }
            container = present;
        }
    }

    Ok(container)
}

/// Gives the tag one further physical container of the copy. Returns `false` if the tag or the owner
/// of the physical container has changed since it was read.
async fn add_further_container(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    id: &ContainerId,
    copy: &ContainerCopy,
) -> Result<bool> {
    let former_tags = match ctx.containers.get_owner(tenant, id).await? {
        ContainerOwner::Deleted => {
            return Err(Error::Conflict(DELETED_CONTAINER_MESSAGE.into()));
        }
        ContainerOwner::Tags(tags) => tags,
        ContainerOwner::Original => Vec::new(),
    };
    let mut tags = former_tags.clone();
    tags.push(container.tag.clone());
    let order = copy.tags_of(id).unwrap_or_default();
    tags.sort_by_key(|tag| order.iter().position(|other| other == tag));

    let shared = SharedContainer {
        id: id.clone(),
        tags,
    };
    let containers = std::slice::from_ref(container);
    Ok(ctx
        .containers
        .share(tenant, containers, &shared, &former_tags)
        .await?)
}

/// Checks whether the tag may have this physical container. The removal of a deleted container
/// would remove the copy too.
async fn check_owner(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: &ContainerId,
) -> Result<()> {
    match ctx.containers.get_owner(tenant, id).await? {
        ContainerOwner::Deleted => Err(Error::Conflict(DELETED_CONTAINER_MESSAGE.into())),
        ContainerOwner::Tags(tags) if !tags.contains(tag) => {
            let tags: Vec<&str> = tags.iter().map(ContainerTag::as_str).collect();
            Err(Error::Conflict(format!(
                "this container belongs to other tags now: {}",
                tags.join(", ")
            )))
        }
        ContainerOwner::Tags(_) | ContainerOwner::Original => Ok(()),
    }
}

fn missing_in(container: &Container, copy: &ContainerCopy) -> ContainerChange {
    fn missing<T: Clone>(is_set: bool, copy: Option<&T>) -> Patch<T> {
        if is_set {
            Patch::Keep
        } else {
            copy.cloned().into()
        }
    }

    let buckets = if copy.profile_buckets.is_empty() {
        None
    } else {
        Some(&copy.profile_buckets)
    };
    ContainerChange {
        name: missing(container.name.is_some(), copy.name.as_ref()),
        entity_context: missing(
            container.entity_context.is_some(),
            copy.entity_context.as_ref(),
        ),
        profile_buckets: missing(!container.profile_buckets.is_empty(), buckets),
        memory_paths: missing(container.memory_paths.is_some(), copy.memory_paths.as_ref()),
    }
}

/// Checks whether the tag of a container still has its primary physical container. What an import
/// that runs for long writes after the deletion would exist again after the purge.
///
/// # Errors
/// Returns [`Error::Conflict`] when the container was deleted or is being merged, and the errors of
/// the ports.
pub async fn check_still_importable(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
) -> Result<()> {
    let present = ctx.containers.get(tenant, &container.tag).await?;
    match present.filter(|present| present.ids.contains(container.primary_id())) {
        Some(present) => present.check_writable(),
        None => Err(Error::Conflict(DELETED_CONTAINER_MESSAGE.into())),
    }
}

/// Writes copies of documents. Documents that were done are searchable at once, with the chunks and
/// statements they had; the others are sent to be processed. A document that already exists is left
/// alone, so calling it again resumes an interrupted import.
///
/// # Errors
/// Returns [`Error::Invalid`] for a copy that cannot be read, the errors of
/// [`check_still_importable`], and those of the ports. After an error, some documents are written.
pub async fn import_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    copies: Vec<DocumentCopy>,
) -> Result<ImportCounts> {
    check_still_importable(ctx, tenant, container).await?;

    let mut imported = ImportCounts::default();
    let mut together = Vec::new();
    for copy in copies {
        if !copy.keeps_id {
            together.push(copy);
            continue;
        }
        // Its id may be derived from the customId of another document, so it is written before that one is
        // located.
        let before = std::mem::take(&mut together);
        imported += import_together(ctx, tenant, container, before).await?;
        imported += import_together(ctx, tenant, container, vec![copy]).await?;
    }
    imported += import_together(ctx, tenant, container, together).await?;
    Ok(imported)
}

/// Writes copies that do not depend on each other.
async fn import_together(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    copies: Vec<DocumentCopy>,
) -> Result<ImportCounts> {
    let mut imported = ImportCounts::default();
    let mut copies_with_content = Vec::new();
    for new in select_new_copies(ctx, tenant, container, copies, &mut imported).await? {
        match new.copy.body {
            Some(_) => copies_with_content.push(new),
            None => imported.without_content += 1,
        }
    }

    let prepare = |new: NewCopy| async move { prepare(ctx, tenant, container, new).await };
    let stored = stream::iter(copies_with_content)
        .map(prepare)
        .buffered(PARALLEL_WRITES);
    let stored: Vec<PreparedCopy> = stored.try_collect().await?;
    let (indexed, unindexed): (Vec<_>, Vec<_>) = stored
        .into_iter()
        .partition(|prepared| prepared.document.indexed.is_some());
    let mut written: Vec<Document> = Vec::new();

    // Search shows the time of a commit as the last change of its documents.
    for same_time in indexed.chunk_by(|a, b| a.indexed_at == b.indexed_at) {
        for batch in same_time.chunks(MAX_CHANGES_PER_COMMIT) {
            let committed = commit_documents(ctx, tenant, batch).await?;
            imported.already_present += batch.len() - committed.len();
            written.extend(committed);
        }
    }

    for PreparedCopy {
        document,
        creation_conditions,
        ..
    } in unindexed
    {
        match ctx
            .documents
            .create(tenant, &document, &creation_conditions)
            .await
        {
            Ok(()) => written.push(document),
            Err(PortError::Conflict) => {
                discard(ctx, tenant, &document).await?;
                imported.already_present += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }

    let mut messages = Vec::new();
    for document in &written {
        if document.status == DocumentStatus::Queued {
            messages.push(JobMessage::process_document(tenant.org(), document));
        }
    }
    for batch in messages.chunks(MAX_CHANGES_PER_COMMIT) {
        send_jobs(ctx, batch).await;
    }

    imported.queued += messages.len();
    imported.written += written.len() - messages.len();

    Ok(imported)
}

/// A copy of a document that does not exist yet, with its id in this organization.
struct NewCopy {
    copy: DocumentCopy,
    creation_conditions: CreationConditions,
}

/// The record of a copy, whose bytes are stored.
struct PreparedCopy {
    document: Document,
    /// The time from which search serves the document.
    indexed_at: Timestamp,
    creation_conditions: CreationConditions,
}

/// Returns the copies that do not exist yet, each once.
async fn select_new_copies(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    copies: Vec<DocumentCopy>,
    imported: &mut ImportCounts,
) -> Result<Vec<NewCopy>> {
    let mut new_copies = Vec::with_capacity(copies.len());
    for copy in copies {
        copy.check_importable()?;
        new_copies.push(locate_copy(ctx, tenant, container, copy).await?);
    }

    let ids: Vec<DocumentId> = new_copies.iter().map(|new| new.copy.id.clone()).collect();
    let mut known_ids = HashSet::new();
    for batch in ids.chunks(RECORD_BATCH_SIZE) {
        for document in ctx
            .documents
            .get(tenant, batch)
            .await?
            .into_iter()
            .flatten()
        {
            if document.container != *container.primary_id() {
                let message = format!(
                    "the document {} exists already, under the tag {}",
                    document.id, document.tag
                );
                return Err(Error::Conflict(message));
            }
            known_ids.insert(document.id);
        }
    }

    let total = new_copies.len();
    new_copies.retain(|new| known_ids.insert(new.copy.id.clone()));
    imported.already_present += total - new_copies.len();

    Ok(new_copies)
}

/// Finds the id of a copy in this organization.
async fn locate_copy(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    mut copy: DocumentCopy,
) -> Result<NewCopy> {
    let Some(custom_id) = &copy.custom_id else {
        let creation_conditions = CreationConditions::default();
        return Ok(NewCopy {
            copy,
            creation_conditions,
        });
    };

    let found = locate_document(ctx, tenant, container, custom_id, LookupScope::Container).await?;
    let DocumentLocation {
        id,
        mut creation_conditions,
        ..
    } = found.location;
    let keeps_id = copy.keeps_id && copy.id != id && found.document.is_none();
    if keeps_id && is_free(ctx, tenant, &copy.id).await? {
        let replaces = creation_conditions.replaces.take();
        creation_conditions.reference = Some(CustomIdReference { id, replaces });
        let alternatives = &mut creation_conditions.alternatives;
        alternatives.retain(|alternative| alternative.id != copy.id);
    } else {
        copy.id = id;
    }
    Ok(NewCopy {
        copy,
        creation_conditions,
    })
}

/// Checks that nothing is stored under an id, not even a reference.
async fn is_free(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<bool> {
    let found = ctx.documents.find(tenant, std::slice::from_ref(id)).await?;
    Ok(found.iter().all(Option::is_none))
}

/// Stores the bytes of a copy.
async fn prepare(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: NewCopy,
) -> Result<PreparedCopy> {
    let NewCopy {
        copy,
        creation_conditions,
    } = new;
    let Some(body) = &copy.body else {
        return Err(Error::invalid_field("body", "is missing"));
    };
    let body = NewBody::sent(body.decode_bytes()?, body.form.clone());
    let declared_properties = DeclaredProperties {
        description: DocumentDescription::default(),
        task_type: Some(copy.task_type),
        dreaming: copy.dreaming,
        document_date: copy.document_date,
        provenance: copy.provenance,
    };

    let location = DocumentLocation {
        container: container.primary_id().clone(),
        id: copy.id.clone(),
        creation_conditions: creation_conditions.clone(),
    };

    let identity = Identity::new(container, location, copy.custom_id.clone());
    let (metadata, filter) = copy.metadata()?;
    let mut document =
        build_revision(ctx, tenant, identity, &declared_properties, body, None).await?;
    document.revision_number = copy.revision_number.max(1);
    (document.created_at, document.updated_at) = (copy.created_at, copy.updated_at);
    (document.kind, document.title) = (copy.kind, copy.title);
    (document.properties, document.url) = (copy.properties, copy.url);
    (document.metadata, document.filter_by_metadata) = (metadata, filter);
    document.filepath = copy.filepath;
    if let Some(served_copy) = &copy.served {
        if copy.status == DocumentStatus::Done && served_copy.is_current {
            document.status = DocumentStatus::Done;
        }
        document.indexed = Some(store_served_revision(ctx, tenant, &document, served_copy).await?);
    }

    Ok(PreparedCopy {
        document,
        indexed_at: copy.indexed_at.unwrap_or(copy.updated_at),
        creation_conditions,
    })
}

/// Stores the content of a document that search serves.
async fn store_served_revision(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    served_copy: &ServedCopy,
) -> Result<IndexedRevision> {
    let mut stored_document = document.clone();
    if document.status != DocumentStatus::Done {
        // The newest revision will have its own pack at its own path.
        stored_document.revision = Revision::random();
    }

    let mut statements_ref = None;
    if let Some(copy) = &served_copy.learned {
        let bytes = StatementSet::new(copy.statements.clone()).encode();
        let has_statements = !copy.statements.is_empty();
        let path = stored_document.statements_path();
        let statements = if has_statements {
            Some(ctx.blobs.put(tenant, &path, bytes.into()).await?)
        } else {
            None
        };
        statements_ref = Some(StatementsRef {
            statements,
            ..StatementsRef::new(
                &copy.statements,
                &copy.extractor,
                copy.fallback_reason.clone(),
            )
        });
    }

    Ok(IndexedRevision {
        pack: ctx
            .blobs
            .put(
                tenant,
                &stored_document.pack_path(),
                served_copy.pack.encode().into(),
            )
            .await?,
        revision: stored_document.revision,
        body: document.body.blob.clone(),
        chunks: u32::try_from(served_copy.pack.chunks.len()).unwrap_or(u32::MAX),
        kind: served_copy.kind,
        title: served_copy.title.clone(),
        statements_ref,
        authorship: served_copy.authorship.clone(),
        summary: served_copy
            .summary
            .clone()
            .filter(|summary| fits_summary(summary)),
    })
}

/// Commits documents that search serves from the same time on. Returns those that no other writer
/// has created meanwhile.
async fn commit_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    batch: &[PreparedCopy],
) -> Result<Vec<Document>> {
    let mut remaining: Vec<&PreparedCopy> = batch.iter().collect();
    while let Some(first) = remaining.first() {
        let container = first.document.container.clone();
        let changes: Vec<DocumentChange> = remaining
            .iter()
            .map(|prepared| DocumentChange::Create {
                document: Box::new(prepared.document.clone()),
                reference: prepared.creation_conditions.reference.clone(),
            })
            .collect();
        match commit_changes(ctx, tenant, &container, &changes, Some(batch[0].indexed_at)).await? {
            Committed::Done => break,
            Committed::Stale(ids) => {
                let conflicting: Vec<&PreparedCopy> = remaining
                    .extract_if(.., |prepared| ids.contains(&prepared.document.id))
                    .collect();
                if conflicting.is_empty() {
                    return Err(PortError::Conflict.into());
                }
                for prepared in conflicting {
                    discard(ctx, tenant, &prepared.document).await?;
                }
            }
        }
    }

    let committed = remaining.into_iter();
    Ok(committed
        .map(|prepared| prepared.document.clone())
        .collect())
}

/// Deletes the stored bytes of a document that another writer created first. The writer may be an earlier attempt of
/// this import, so bytes that the present record names stay.
async fn discard(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<()> {
    let present = read_document(ctx, tenant, &document.id).await?;
    let named: HashSet<&BlobRef> = present.iter().flat_map(named_blobs).collect();
    let unused: Vec<BlobRef> = named_blobs(document)
        .filter(|blob| !named.contains(blob))
        .cloned()
        .collect();
    delete_unused_blobs(ctx, tenant, &unused).await;
    Ok(())
}
