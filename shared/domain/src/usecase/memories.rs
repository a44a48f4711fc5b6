//! Operations of callers on memories: writing new ones, and editing existing ones.

use bytes::Bytes;

use crate::container::{Change, Container};
use crate::ctx::Ctx;
use crate::document::{BodyForm, Document, Dreaming, Indexed, Learned, Status, TaskType};
use crate::error::{Error, PortError, Result};
use crate::ids::ContainerId;
use crate::memory::{MemoryAction, Statement, Statements, Trust};
use crate::pack::Pack;
use crate::ports::Committed;
use crate::provenance::Authorship;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::usecase::describe::Description;
use crate::usecase::find::read_document;
use crate::usecase::place::{Target, repeated};
use crate::usecase::remove::after_commit;
use crate::usecase::revise::{Identity, NewBody, Said, compose};
use crate::usecase::submit::{Content, NewDocument};

/// The number of attempts at a commit against other commits of the container.
const ATTEMPTS: usize = 50;
/// The largest number of edits in one commit. With the longest texts and metadata, their log record
/// stays below the 400 KB of an item.
const ACTIONS_AT_ONCE: usize = 8;
/// The extractor name of memories that a client has written.
pub const CLIENT: &str = "client";

/// Returns the container of a tag that must exist.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, and [`Error::NotFound`] when nothing was
/// ever written to it.
pub async fn existing_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    tenant.check_reach(tag)?;
    let container = ctx
        .containers
        .get(tenant, tag)
        .await?
        .ok_or(Error::NotFound("Container tag"))?;
    tenant.record_access(&container.ids);
    Ok(container)
}

/// Returns the container of an existing tag, for a change of its memories.
///
/// # Errors
/// Returns the errors of [`existing_container`], and [`Error::Conflict`] while the container is
/// merged.
pub async fn writable_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    let container = existing_container(ctx, tenant, tag).await?;
    container.check_writable()?;
    Ok(container)
}

/// Stores memories that a client wrote as a document of their own. The document is `done` at once:
/// it has the text of the memories, no chunks, and these statements. The same request by the same
/// key within two minutes returns the same document.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn write_memories(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    statements: Vec<Statement>,
) -> Result<Document> {
    let text = statements
        .iter()
        .map(|statement| statement.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let bytes = Statements::new(statements.clone()).encode();

    let content = Content::Whole {
        bytes: bytes.clone().into(),
        form: BodyForm::Text,
    };
    let new = NewDocument {
        tag: Some(container.tag.clone()),
        ..NewDocument::new(content)
    };
    let body = NewBody::sent(Bytes::from(text.clone()), BodyForm::Text);
    let Target { place, old } = repeated(ctx, tenant, container, &new, &body).await?;
    if let Some(known) = old {
        return Ok(known);
    }

    let id = place.id.clone();
    let said = Said {
        description: Description::default(),
        task_type: TaskType::Memory,
        dreaming: Dreaming::Instant,
        document_date: None,
        provenance: None,
    };
    let mut document = compose(
        ctx,
        tenant,
        Identity::new(container, place, None),
        &said,
        body,
        None,
    )
    .await?;
    let pack = Pack {
        v: Pack::VERSION,
        model: String::new(),
        text,
        chunks: Vec::new(),
    };
    let learned = Learned {
        statements: Some(
            ctx.blobs
                .put(tenant, &document.statements_path(), bytes.into())
                .await?,
        ),
        count: u32::try_from(statements.len()).unwrap_or(u32::MAX),
        extractor: CLIENT.into(),
        fallback_reason: None,
    };
    document.status = Status::Done;
    document.indexed = Some(Indexed {
        revision: document.revision.clone(),
        pack: ctx
            .blobs
            .put(tenant, &document.pack_path(), pack.encode().into())
            .await?,
        body: document.body.blob.clone(),
        chunks: 0,
        kind: document.kind,
        title: None,
        learned: Some(learned),
        authorship: Some(Authorship::own(Trust::Client)),
    });

    let change = Change::Create(Box::new(document.clone()));
    if commit(ctx, tenant, &document.container, &[change]).await? {
        return Ok(document);
    }

    // The same request came twice at once, and the other was first. The blobs of this one are not
    // needed.
    let unused: Vec<_> = document
        .indexed
        .iter()
        .flat_map(Indexed::blobs)
        .cloned()
        .collect();
    ctx.blobs.delete(tenant, &unused).await.ok();

    read_document(ctx, tenant, &id)
        .await?
        .ok_or_else(|| PortError::Conflict.into())
}

/// Applies edits to memories of a container, in the order given. Applying them again changes
/// nothing.
///
/// # Errors
/// Returns the errors of the ports. Some edits may have been applied then.
pub async fn act_on_memories(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    actions: &[MemoryAction],
) -> Result<()> {
    for batch in actions.chunks(ACTIONS_AT_ONCE) {
        let changes: Vec<Change> = batch.iter().cloned().map(Change::Act).collect();
        commit(ctx, tenant, container, &changes).await?;
    }
    Ok(())
}

/// Commits changes. Returns `false` when a document that they are about has changed.
async fn commit(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    changes: &[Change],
) -> Result<bool> {
    for _ in 0..ATTEMPTS {
        let head = ctx.index.head(tenant, container).await?;
        match ctx
            .index
            .commit(tenant, container, &head, changes, ctx.clock.now())
            .await?
        {
            Committed::Done(purges) => {
                after_commit(ctx, tenant, container, &head, changes, purges).await;
                return Ok(true);
            }
            Committed::Stale(_) => return Ok(false),
            Committed::Moved => {}
        }
    }

    Err(PortError::Conflict.into())
}
