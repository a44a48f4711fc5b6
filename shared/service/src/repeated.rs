//! Recognizing a repeated request without a customId, by its `Idempotency-Key` or its content.

use sha2::{Digest, Sha256};

use crate::Ctx;
use crate::authentication::LOCAL_KEY;
use crate::find::{read_document, visible_document};
use crate::place::DocumentLocation;
use crate::revise::NewBody;
use crate::submit::NewDocument;
use domain::container::Container;
use domain::document::{Document, DocumentStatus};
use domain::error::{Error, Result};
use domain::ids::DocumentId;
use domain::ports::{CreationConditions, RememberedRequest};
use domain::tenant::Tenant;

/// The number of seconds within which the same content from the same key is a client's retry. Two
/// minutes are part of the API.
pub(crate) const REPEAT_SECONDS: i64 = 120;
/// The number of seconds for which an `Idempotency-Key` is honoured. 24 hours are part of the API.
const IDEMPOTENCY_SECONDS: i64 = 24 * 3600;

/// The document that a request without a customId is about.
pub(crate) struct Target {
    pub(crate) location: DocumentLocation,
    /// The document that exists there.
    pub(crate) old: Option<Document>,
}

/// Returns the document that a request without a customId is about: the one that the same request
/// has created before, or a new one.
///
/// Without an `Idempotency-Key`, it is the same request while the document still has the sent content
/// (`body`) and is still in the container. Otherwise the request creates a new document.
///
/// # Errors
/// Returns [`Error::Conflict`] when the `Idempotency-Key` was used for another request or its
/// document is gone, and the errors of the port.
pub(crate) async fn locate_repeated_request(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    body: &NewBody,
) -> Result<Target> {
    let request = Request::of(tenant, container, new);
    let mut stale: Option<DocumentId> = None;
    loop {
        let new_id = DocumentId::random();
        let remembered = request
            .remember(ctx, tenant, &new_id, stale.as_ref())
            .await?;
        let is_new = remembered.document == new_id;

        // A tag that was deleted and is used again has another container, where the same request
        // creates another document.
        let id = if request.is_named {
            remembered.document.for_container(container.primary_id())
        } else {
            remembered.document
        };

        let old = match is_new {
            true => None,
            // The document may be under a tag that was deleted since, and about to be purged.
            false if request.is_named => visible_document(ctx, tenant, &id).await?,
            false => read_document(ctx, tenant, &id).await?,
        };

        if old.is_none() && remembered.created_document.as_ref() == Some(&id) {
            let message = "the document of this Idempotency-Key was deleted; send another key to add it again";
            return Err(Error::Conflict(message.into()));
        }

        if !request.is_named
            && let Some(old) = &old
            && !(body.is_of(old) && container.ids.contains(&old.container))
        {
            stale = Some(old.id.clone());
            continue;
        }

        let creation_conditions = CreationConditions {
            request_key: request.is_named.then_some(request.name),
            ..CreationConditions::default()
        };
        let location = DocumentLocation {
            container: container.primary_id().clone(),
            id,
            creation_conditions,
        };
        return Ok(Target { location, old });
    }
}

impl Target {
    /// Returns the document if the request was repeated and asks for nothing more. A document that
    /// failed with the same content is processed again.
    pub(crate) fn unchanged_document(&self, body: &NewBody) -> Option<&Document> {
        let old = self.old.as_ref()?;
        let is_settled = old.status != DocumentStatus::Failed || !body.is_of(old);
        is_settled.then_some(old)
    }
}

/// The record by which a repeated request is recognized.
struct Request {
    /// The name of the record.
    name: String,
    /// A digest of everything that was sent.
    digest: String,
    seconds: i64,
    /// `true` if the request has an `Idempotency-Key`.
    is_named: bool,
}

impl Request {
    fn of(tenant: &Tenant, container: &Container, new: &NewDocument) -> Self {
        // The tag is part of the digest: under one idempotency key, the same content for another
        // container is another request.
        let digest = format!("{}#{}", container.tag, new.digest());
        let key = tenant.key_id().map_or(LOCAL_KEY, |key| key.as_str());

        match &new.idempotency_key {
            Some(client_key) => {
                let name = format!("key#{key}#{}", hex::encode(Sha256::digest(client_key)));
                Self {
                    name,
                    digest,
                    seconds: IDEMPOTENCY_SECONDS,
                    is_named: true,
                }
            }
            None => {
                let name = format!("same#{key}#{}#{digest}", container.primary_id());
                Self {
                    name,
                    digest,
                    seconds: REPEAT_SECONDS,
                    is_named: false,
                }
            }
        }
    }

    /// Records that this request is about `document`, unless an earlier one is recorded with
    /// another document than `stale`. Returns the record.
    async fn remember(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        document: &DocumentId,
        stale: Option<&DocumentId>,
    ) -> Result<RememberedRequest> {
        let now = ctx.clock.now();
        let new_request = RememberedRequest {
            document: document.clone(),
            request_digest: self.digest.clone(),
            created_document: None,
        };

        let until = now.plus_seconds(self.seconds);
        let remembered = ctx
            .idempotency
            .remember(tenant, &self.name, new_request, stale, now, until)
            .await?;
        if remembered.request_digest != self.digest {
            return Err(Error::Conflict(
                "this Idempotency-Key was used for another request".into(),
            ));
        }

        Ok(remembered)
    }
}
