//! Files outside the API: uploads by a pre-signed form, and addresses to download stored files.

use bytes::Bytes;

use crate::ConflictRetry;
use crate::Ctx;
use crate::find::visible_document;
use crate::jobs::send_jobs;
use crate::open::open_shared_container;
use crate::place::{DocumentLocation, LookupScope, locate_document};
use crate::repeated::{Target, locate_repeated_request};
use crate::revise::{
    AcceptedDocument, Identity, NewBody, build_revision, is_blob_used, write_revision,
};
use crate::sharing::check_reaches_all_tags;
use crate::submit::{Content, NewDocument};
use crate::update::retry_document;
use domain::blob::BlobRef;
use domain::container::Container;
use domain::document::{BodyForm, Document, DocumentStatus, FailureCode, UPLOAD_NAME};
use domain::error::{Error, Result};
use domain::ids::DocumentId;
use domain::job::JobMessage;
use domain::ports::{CreationConditions, UploadArrival, UploadForm};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of seconds for which a form may be used. An upload of 50 MB over a slow line takes
/// minutes.
const UPLOAD_SECONDS: i64 = 15 * 60;
/// The number of seconds for which a download address works: 24 hours. This number is part of the
/// API.
const DOWNLOAD_SECONDS: u32 = 24 * 3600;
/// A document whose file has yet to arrive.
#[derive(Debug, Clone)]
pub struct PendingUpload {
    /// The document.
    pub accepted: AcceptedDocument,
    /// The form to which the client sends the file.
    pub form: UploadForm,
    /// The time until which the form works.
    pub until: Timestamp,
}

/// Creates a document whose file of at most `max_bytes` the client uploads by a pre-signed form.
/// The document is `queued` until the file has arrived, and `failed` with `upload_missing` if it
/// does not arrive in time. The content of `new` gives only the form; its bytes are not used.
///
/// # Errors
/// Returns [`Error::Forbidden`]; [`Error::Conflict`] when an idempotency key is sent with another
/// request, again after its file has arrived, or after its document was deleted, or while other
/// content of the same customId is being processed; and the errors of the ports.
pub async fn begin_upload(
    ctx: &Ctx,
    tenant: &Tenant,
    new: NewDocument,
    max_bytes: u64,
) -> Result<PendingUpload> {
    ctx.backlog.admit_documents(ctx, tenant, 1).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let container =
            open_shared_container(ctx, tenant, &new.tags, new.entity_context.as_deref()).await?;
        if let Some(upload) = try_upload(ctx, tenant, &container, &new, max_bytes).await? {
            return Ok(upload);
        }

        retry.wait().await?;
    }
}

/// Makes one attempt. Returns `None` when another writer was first.
async fn try_upload(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    max_bytes: u64,
) -> Result<Option<PendingUpload>> {
    let Content::Complete { form, .. } = &new.content else {
        return Err(Error::internal("a conversation is no file"));
    };

    let now = ctx.clock.now();
    let until = now.plus_seconds(UPLOAD_SECONDS);
    let body = NewBody::Awaited {
        form: form.clone(),
        until,
    };
    let Target { location, old } = target(ctx, tenant, container, new, &body).await?;
    if let Some(old) = &old {
        check_reaches_all_tags(ctx, tenant, [&old.container]).await?;
        if has_arrived(old) {
            check_replaceable(old, new.custom_id.is_none())?;
        }
    }

    let creation_conditions = location.creation_conditions.clone();
    let identity = Identity::new(container, location, new.custom_id.clone());
    let document = build_revision(
        ctx,
        tenant,
        identity,
        &new.declared_properties(),
        body,
        old.as_ref(),
    )
    .await?;
    let path = document.body.blob.path();
    let form = ctx
        .blobs
        .sign_upload_form(tenant, path, max_bytes, now, until)
        .await?;
    if !write_revision(ctx, tenant, &document, old.as_ref(), &creation_conditions).await? {
        return Ok(None);
    }

    Ok(Some(PendingUpload {
        accepted: AcceptedDocument {
            id: document.id,
            status: DocumentStatus::Queued,
        },
        form,
        until,
    }))
}

/// Returns the document that the file is for.
async fn target(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    body: &NewBody,
) -> Result<Target> {
    if let Some(custom_id) = &new.custom_id {
        // A form cannot take a document over from another container: its file may never arrive.
        let scope = LookupScope::of_tags(&new.tags, LookupScope::Container);
        let found = locate_document(ctx, tenant, container, custom_id, scope).await?;
        return Ok(Target {
            location: found.location,
            old: found.document,
        });
    }

    if new.idempotency_key.is_some() {
        return locate_repeated_request(ctx, tenant, container, new, body).await;
    }

    // Without an idempotency key, two requests mean two files: nobody knows yet whether the files
    // are equal.
    let (container, id) = (container.primary_id().clone(), DocumentId::random());
    Ok(Target {
        location: DocumentLocation {
            container,
            id,
            creation_conditions: CreationConditions::default(),
        },
        old: None,
    })
}

/// Checks whether a file that may never arrive may replace the content of a document. Content that
/// is accepted but not yet searchable would be lost, and the file of a repeated request is already
/// here.
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

/// Returns the id of the document in the path of an awaited body.
fn parse_upload_path(path: &str) -> Option<DocumentId> {
    let mut parts = path.split('/').skip(1);
    let (id, _revision, name) = (parts.next()?, parts.next()?, parts.next()?);
    if name == UPLOAD_NAME && parts.next().is_none() {
        DocumentId::parse(id)
    } else {
        None
    }
}

/// Queues a document for processing once its file has arrived. A file that belongs to no document,
/// or to one of a deleted container, is deleted. It is safe to repeat: a document that is already
/// processed is left alone.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn accept_file(ctx: &Ctx, arrival: &UploadArrival) -> Result<()> {
    let tenant = Tenant::for_work(arrival.org.clone());
    let Some(id) = parse_upload_path(&arrival.path) else {
        return Ok(());
    };

    let blob = BlobRef::Object(arrival.path.clone());
    match visible_document(ctx, &tenant, &id).await? {
        // The file is kept when a merge has superseded the document.
        Some(document) if document.body.blob == blob && document.superseded_by.is_some() => Ok(()),
        // The document may have a later revision than the form, since its description may have
        // changed.
        Some(document) if document.body.blob == blob => {
            if is_missing(&document) {
                // The upload began in time but took longer than the wait.
                retry_document(ctx, &tenant, document).await?;
            } else if !document.status.is_final() {
                send_jobs(
                    ctx,
                    &[JobMessage::process_document(&arrival.org, &document)],
                )
                .await;
            }
            Ok(())
        }
        // A form was used again whose file is already served.
        Some(document) if matches!(&document.indexed, Some(served) if served.body == blob) => {
            Ok(())
        }
        _ => Ok(ctx.blobs.delete(&tenant, &[blob]).await?),
    }
}

/// Moves an arrived file to a path that no form can write, so that a second use of the form does
/// not change what is processed, served and downloaded. Returns the bytes that are kept, or `None`
/// when the revision is no longer wanted. Of several workers, the first decides which bytes these
/// are.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn protect_file(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &mut Document,
    uploaded_bytes: Bytes,
) -> Result<Option<Bytes>> {
    if document.body.awaited_until.is_none() {
        return Ok(Some(uploaded_bytes));
    }
    let Some(protected) = document.body.other_upload_location() else {
        return Ok(Some(uploaded_bytes));
    };

    let uploaded = document.body.blob.clone();
    let bytes = ctx
        .blobs
        .put_if_absent(tenant, protected.path(), uploaded_bytes)
        .await?;
    document.body.hash = NewBody::hash(&bytes, &document.body.form);
    document.body.size = bytes.len() as u64;
    document.body.awaited_until = None;
    document.body.blob = protected.clone();
    if ctx.documents.record_body(tenant, document).await? {
        // The bucket reports another use of the form, and its file is deleted then.
        ctx.blobs.delete(tenant, &[uploaded]).await.ok();
        return Ok(Some(bytes));
    }

    // A later revision may wait for the same file, or have it.
    if !is_blob_used(ctx, tenant, &document.id, &protected).await? {
        ctx.blobs.delete(tenant, &[protected]).await?;
    }

    Ok(None)
}

/// Returns an address from which anyone can read the document's file for 24 hours, or until the
/// credentials that signed it expire, if that is sooner.
///
/// # Errors
/// Returns [`Error::NotFound`] when the document has no file or it has not arrived, and the errors
/// of the ports.
pub async fn file_download_url(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<String> {
    let not_found = Error::NotFound("File");
    let BodyForm::File { name, .. } = &document.body.form else {
        return Err(not_found);
    };

    if !has_arrived(document) {
        return Err(not_found);
    }

    let (blob, now) = (&document.body.blob, ctx.clock.now());
    let name = download_name(document, name.as_deref());
    let url = ctx
        .blobs
        .sign_download_url(tenant, blob, name.as_deref(), now, DOWNLOAD_SECONDS)
        .await?;

    url.ok_or(not_found)
}

/// Returns the name of a downloaded file. An item keeps its title at the provider, with the
/// extension of the file that was fetched.
fn download_name(document: &Document, name: Option<&str>) -> Option<String> {
    let Some(origin) = &document.origin else {
        return name.map(str::to_owned);
    };

    if let Some(name) = name
        && let Some((_, extension)) = name.rsplit_once('.')
        && !origin.title.ends_with(&format!(".{extension}"))
    {
        return Some(format!("{}.{extension}", origin.title));
    }
    Some(origin.title.clone())
}

/// Checks whether the newest bytes have arrived. A document that waits for its file is `queued`.
fn has_arrived(document: &Document) -> bool {
    document.body.awaited_until.is_none()
        || !(document.status == DocumentStatus::Queued || is_missing(document))
}

fn is_missing(document: &Document) -> bool {
    matches!(&document.failure, Some(failure) if failure.code == FailureCode::UploadMissing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::Revision;

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
