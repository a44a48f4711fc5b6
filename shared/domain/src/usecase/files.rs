//! Files beside the API: uploads by a pre-signed form, and addresses to download what was stored.

use bytes::Bytes;

use crate::blob::BlobRef;
use crate::container::Container;
use crate::ctx::Ctx;
use crate::document::{BodyForm, Document, FailureCode, Status, UPLOAD};
use crate::error::{Error, PortError, Result};
use crate::ids::DocumentId;
use crate::job::Envelope;
use crate::ports::{Arrival, Beginning, UploadForm};
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::usecase::find::{read_document, visible_document};
use crate::usecase::place::{Place, Target, place_of, repeated};
use crate::usecase::revise::{Identity, NewBody, announce, compose, record};
use crate::usecase::submit::{Accepted, Content, NewDocument, open_container};
use crate::usecase::update::retry_document;

/// How long a form may be used. An upload of 50 MB over a slow line takes minutes.
const UPLOAD_SECONDS: i64 = 15 * 60;
/// How long an address works. Contract: 24 hours.
const DOWNLOAD_SECONDS: u32 = 24 * 3600;
/// How often an upload is begun against concurrent changes of the same document.
const ATTEMPTS: usize = 12;

/// A document whose file is still to come.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The document.
    pub accepted: Accepted,
    /// Where its file goes.
    pub form: UploadForm,
    /// Until when.
    pub until: Timestamp,
}

/// Makes a document whose file the client stores by a pre-signed form, of at most `max_bytes`. It is `queued` until the
/// file has arrived, and `failed` with `upload_missing` when it does not come in time. What `new` has as its content are
/// no bytes, only the form.
///
/// # Errors
/// [`Error::Forbidden`], [`Error::Conflict`] when an idempotency key comes with another request or again after its file
/// or when its document is gone, or while other content of the same customId is being processed, and those of the ports.
pub async fn begin_upload(
    ctx: &Ctx,
    tenant: &Tenant,
    new: NewDocument,
    max_bytes: u64,
) -> Result<Upload> {
    ctx.backlog.admit(ctx, tenant, 1).await?;
    for _ in 0..ATTEMPTS {
        let container =
            open_container(ctx, tenant, new.tag.clone(), new.entity_context.as_deref()).await?;
        if let Some(upload) = try_upload(ctx, tenant, &container, &new, max_bytes).await? {
            return Ok(upload);
        }
    }

    Err(PortError::Conflict.into())
}

/// One attempt; `None` when somebody was first.
async fn try_upload(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    max_bytes: u64,
) -> Result<Option<Upload>> {
    let Content::Whole { form, .. } = &new.content else {
        return Err(Error::internal("a conversation is no file"));
    };

    let now = ctx.clock.now();
    let until = now.plus_seconds(UPLOAD_SECONDS);
    let body = NewBody::Awaited {
        form: form.clone(),
        until,
    };

    let Target { place, old } = target(ctx, tenant, container, new, &body).await?;
    if let Some(old) = old.as_ref().filter(|old| has_arrived(old)) {
        check_replaceable(old, new.custom_id.is_none())?;
    }

    let beginning = place.beginning.clone();
    let identity = Identity::new(container, place, new.custom_id.clone());
    let document = compose(ctx, tenant, identity, &new.said(), body, old.as_ref()).await?;
    let path = document.body.blob.path();
    let form = ctx
        .blobs
        .upload_form(tenant, path, max_bytes, now, until)
        .await?;
    if !record(ctx, tenant, &document, old.as_ref(), &beginning).await? {
        return Ok(None);
    }

    Ok(Some(Upload {
        accepted: Accepted {
            id: document.id,
            status: Status::Queued,
        },
        form,
        until,
    }))
}

/// Which document the file is for.
async fn target(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    body: &NewBody,
) -> Result<Target> {
    if let Some(custom_id) = &new.custom_id {
        let place = place_of(ctx, tenant, container, custom_id).await?;
        let old = read_document(ctx, tenant, &place.id).await?;
        return Ok(Target { place, old });
    }

    if new.idempotency_key.is_some() {
        return repeated(ctx, tenant, container, new, body).await;
    }

    // Without a name for the request, two requests are two files: nobody knows yet whether they are the same.
    let (container, id) = (container.primary().clone(), DocumentId::random());
    Ok(Target {
        place: Place {
            container,
            id,
            beginning: Beginning::default(),
        },
        old: None,
    })
}

/// Whether a file that may never come may take the place of what a document has. What is accepted and not yet searchable
/// would be lost; and the file of a repeated request is here already.
fn check_replaceable(old: &Document, is_repeat: bool) -> Result<()> {
    if is_repeat {
        return Err(Error::Conflict(
            "the file of this Idempotency-Key has arrived".into(),
        ));
    }
    if !old.status.is_final() {
        return Err(Error::Conflict(
            "this document is being processed; begin the upload when it is done".into(),
        ));
    }
    Ok(())
}

/// The document in the path of an awaited body.
fn parse_upload_path(path: &str) -> Option<DocumentId> {
    let mut parts = path.split('/').skip(1);
    let (id, _revision, name) = (parts.next()?, parts.next()?, parts.next()?);
    if name == UPLOAD && parts.next().is_none() {
        DocumentId::parse(id)
    } else {
        None
    }
}

/// Sends a document whose file has arrived to be processed; a file that no document has, or one of a deleted container,
/// is deleted. Safe to repeat: a document that is processed already is left alone.
///
/// # Errors
/// Those of the ports.
pub async fn file_arrived(ctx: &Ctx, arrival: &Arrival) -> Result<()> {
    let tenant = Tenant::of_work(arrival.org.clone());
    let Some(id) = parse_upload_path(&arrival.path) else {
        return Ok(());
    };

    let blob = BlobRef::Object(arrival.path.clone());
    match visible_document(ctx, &tenant, &id).await? {
        // It is kept as it was when a merge put another in its place.
        Some(document) if document.body.blob == blob && document.superseded_by.is_some() => Ok(()),
        // Perhaps of a later revision than the form: what the client says beside the file may have changed.
        Some(document) if document.body.blob == blob => {
            if is_missing(&document) {
                // It began in time and took longer than anybody waited.
                retry_document(ctx, &tenant, document).await?;
            } else if !document.status.is_final() {
                announce(ctx, &[Envelope::to_process(&arrival.org, &document)]).await;
            }
            Ok(())
        }
        // A second use of a form whose file is served.
        Some(document)
            if document
                .indexed
                .as_ref()
                .is_some_and(|served| served.body == blob) =>
        {
            Ok(())
        }
        _ => Ok(ctx.blobs.delete(&tenant, &[blob]).await?),
    }
}

/// Keeps a file that has arrived where no form reaches it, so that a second use of the form changes nothing of what is
/// processed, served and downloaded; the bytes that are kept. `None` when the revision is no longer wanted. Of several
/// workers the first decides which bytes these are.
///
/// # Errors
/// Those of the ports.
pub async fn keep_file(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &mut Document,
    arrived: Bytes,
) -> Result<Option<Bytes>> {
    let (sent, twin) = (document.body.blob.clone(), document.body.twin());
    let Some(kept) = twin.filter(|_| document.body.awaited_until.is_some()) else {
        return Ok(Some(arrived));
    };

    let bytes = ctx.blobs.put_first(tenant, kept.path(), arrived).await?;
    document.body.hash = NewBody::hash(&bytes, &document.body.form);
    document.body.size = bytes.len() as u64;
    document.body.awaited_until = None;
    document.body.blob = kept.clone();
    if ctx.documents.keep_body(tenant, document).await? {
        // Another use of the form is told by the bucket, and deleted then.
        ctx.blobs.delete(tenant, &[sent]).await.ok();
        return Ok(Some(bytes));
    }

    // A later revision may wait for the same file, or have it.
    let now = read_document(ctx, tenant, &document.id).await?;
    let served = now.as_ref().and_then(|now| now.indexed.as_ref());
    let is_used = now.as_ref().is_some_and(|now| now.uses(&kept))
        || served.is_some_and(|old| old.body == kept);
    if !is_used {
        ctx.blobs.delete(tenant, &[kept]).await?;
    }

    Ok(None)
}

/// An address from which anybody can read the document's file for 24 hours, or until the credentials that signed it
/// expire if that is sooner.
///
/// # Errors
/// [`Error::NotFound`] when it was no file or none has arrived, and those of the ports.
pub async fn file_url(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<String> {
    let missing = Error::NotFound("File");
    let BodyForm::File { name, .. } = &document.body.form else {
        return Err(missing);
    };

    if !has_arrived(document) {
        return Err(missing);
    }

    let (blob, now) = (&document.body.blob, ctx.clock.now());
    let name = download_name(document, name.as_deref());
    let url = ctx
        .blobs
        .download_url(tenant, blob, name.as_deref(), now, DOWNLOAD_SECONDS)
        .await?;

    url.ok_or(missing)
}

/// What a downloaded file is called: an item as it is there, with the extension of what was fetched of it.
fn download_name(document: &Document, name: Option<&str>) -> Option<String> {
    let Some(origin) = &document.origin else {
        return name.map(str::to_owned);
    };
    let extension = name
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, end)| format!(".{end}"));
    let missing = extension.filter(|extension| !origin.title.ends_with(extension.as_str()));
    Some(format!("{}{}", origin.title, missing.unwrap_or_default()))
}

/// Whether the newest bytes are there: a document waits for its file as `queued`.
fn has_arrived(document: &Document) -> bool {
    document.body.awaited_until.is_none()
        || !(document.status == Status::Queued || is_missing(document))
}

fn is_missing(document: &Document) -> bool {
    document
        .failure
        .as_ref()
        .is_some_and(|failure| failure.code == FailureCode::UploadMissing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Revision;

    #[test]
    fn only_paths_of_uploads_name_a_document() {
        let (id, revision) = (DocumentId::random(), Revision::random());
        let parsed = parse_upload_path(&format!("container/{id}/{revision}/upload"));
        assert_eq!(parsed, Some(id.clone()));
        for other in ["body", "upload/x", "uploads", ""] {
            assert_eq!(
                parse_upload_path(&format!("container/{id}/{revision}/{other}")),
                None,
                "{other}"
            );
        }
        assert_eq!(parse_upload_path("upload"), None);
    }
}
