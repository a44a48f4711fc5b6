//! Which document a request is about. Every attempt of a write decides it anew, and the write happens only while what was
//! decided holds ([`Beginning`]): so one customId is one document, whatever else is sent, deleted or merged meanwhile.

use sha2::{Digest, Sha256};

use crate::container::Container;
use crate::ctx::Ctx;
use crate::document::{Document, Status};
use crate::error::{Error, Result};
use crate::ids::{ContainerId, CustomId, DocumentId};
use crate::ports::{Beginning, Repeat};
use crate::tenant::Tenant;
use crate::usecase::find::read_document;
use crate::usecase::revise::{NewBody, hex};
use crate::usecase::submit::NewDocument;

/// The same content from the same key within this time is a client's retry. Contract: 2 minutes.
pub(crate) const REPEAT_SECONDS: i64 = 120;
/// How long an `Idempotency-Key` is honoured. Contract: 24 hours.
const IDEMPOTENCY_SECONDS: i64 = 24 * 3600;

/// Where a document lies, or will lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) container: ContainerId,
    pub(crate) id: DocumentId,
    /// What has to hold for a document to begin here.
    pub(crate) beginning: Beginning,
}

/// The place of the document with this customId: where it is, else where a new one goes. Behind a tag that others were
/// merged into it may be in any of their containers.
pub(crate) async fn place_of(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
) -> Result<Place> {
    Ok(places_of(ctx, tenant, container, custom_id).await?.0)
}

/// As [`place_of`], and the documents with this customId behind the tag that a merge has superseded.
pub(crate) async fn places_of(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
) -> Result<(Place, Vec<DocumentId>)> {
    let derived = |container: &ContainerId| DocumentId::derived(tenant.org(), container, custom_id);
    let ids: Vec<DocumentId> = container.ids.iter().map(derived).collect();
    let place = |at: usize| {
        let rivals = ids
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, id)| id.clone());
        let beginning = Beginning {
            rivals: rivals.collect(),
            request: None,
        };
        Place {
            container: container.ids[at].clone(),
            id: ids[at].clone(),
            beginning,
        }
    };

    if ids.len() == 1 {
        return Ok((place(0), Vec::new()));
    }

    let known = ctx.documents.get(tenant, &ids).await?;
    let is_superseded = |document: &&Document| document.superseded_by.is_some();
    let superseded = known
        .iter()
        .flatten()
        .filter(is_superseded)
        .map(|document| document.id.clone())
        .collect();
    let living = known
        .iter()
        .enumerate()
        .filter_map(|(at, document)| Some((at, document.as_ref()?)));
    let living = living.filter(|(_, document)| document.superseded_by.is_none());
    if let Some((at, _)) = living.max_by_key(|(_, document)| document.newness()) {
        return Ok((place(at), superseded));
    }

    // A superseded document stays as it is. If the document that superseded it is gone, its place is free.
    let free = known.iter().position(Option::is_none);
    let free = free.ok_or_else(|| Error::internal("every place of a customId is superseded"))?;

    Ok((place(free), superseded))
}

/// A document that a request without a customId is about.
pub(crate) struct Target {
    pub(crate) place: Place,
    /// What is there.
    pub(crate) old: Option<Document>,
}

/// Which document a request without a customId is about: the one that the same request has made before, else a new one.
///
/// Without an `Idempotency-Key` it is the same request while the document still has what is sent (`body`); once it has
/// other content, what is sent now is nowhere and begins a document of its own.
///
/// # Errors
/// [`Error::Conflict`] when the `Idempotency-Key` was used for another request, or for a document that is gone by now,
/// and those of the port.
pub(crate) async fn repeated(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    body: &NewBody,
) -> Result<Target> {
    let mut stale: Option<DocumentId> = None;
    loop {
        let request = Request::of(tenant, container, new);
        let fresh = DocumentId::random();
        let first = request
            .remember(ctx, tenant, &fresh, stale.as_ref())
            .await?;
        let is_fresh = first.document == fresh;
        // A tag that was deleted and is used anew has another container: there the same request makes another document.
        let id = if request.is_named {
            first.document.moved_to(container.primary())
        } else {
            first.document
        };
        let old = if is_fresh {
            None
        } else {
            read_document(ctx, tenant, &id).await?
        };
        if old.is_none() && first.made.as_ref() == Some(&id) {
            let message = "the document of this Idempotency-Key was deleted or moved; send another key to add it again";
            return Err(Error::Conflict(message.into()));
        }
        if !request.is_named
            && let Some(other) = old.as_ref().filter(|old| !body.is_of(old))
        {
            stale = Some(other.id.clone());
            continue;
        }

        let request = request.is_named.then_some(request.name);
        let beginning = Beginning {
            rivals: Vec::new(),
            request,
        };
        let place = Place {
            container: container.primary().clone(),
            id,
            beginning,
        };
        return Ok(Target { place, old });
    }
}

impl Target {
    /// The document when the request was a repeated one and asks for nothing more. One that failed is tried again, with
    /// the content that it failed with.
    pub(crate) fn settled(&self, body: &NewBody) -> Option<&Document> {
        self.old
            .as_ref()
            .filter(|old| old.status != Status::Failed || !body.is_of(old))
    }
}

/// What is remembered of a request to recognize it when it comes again.
struct Request {
    /// The name under which it is remembered.
    name: String,
    /// Everything that was sent.
    digest: String,
    seconds: i64,
    /// Whether it came with an `Idempotency-Key`.
    is_named: bool,
}

impl Request {
    fn of(tenant: &Tenant, container: &Container, new: &NewDocument) -> Self {
        // The tag belongs to it: under one idempotency key the same content for another container is another request.
        let digest = format!("{}#{}", container.tag, new.digest());
        let key = tenant.key().map_or("local", |key| key.as_str());

        match &new.idempotency_key {
            Some(sent) => {
                let name = format!("key#{key}#{}", hex(&Sha256::digest(sent)));
                Self {
                    name,
                    digest,
                    seconds: IDEMPOTENCY_SECONDS,
                    is_named: true,
                }
            }
            None => {
                let name = format!("same#{key}#{}#{digest}", container.primary());
                Self {
                    name,
                    digest,
                    seconds: REPEAT_SECONDS,
                    is_named: false,
                }
            }
        }
    }

    /// Remembers that this request is about `document`, unless an earlier one was, about another one than `stale`.
    async fn remember(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        document: &DocumentId,
        stale: Option<&DocumentId>,
    ) -> Result<Repeat> {
        let now = ctx.clock.now();
        let mine = Repeat {
            document: document.clone(),
            digest: self.digest.clone(),
            made: None,
        };

        let until = now.plus_seconds(self.seconds);
        let first = ctx
            .repeats
            .remember(tenant, &self.name, mine, stale, now, until)
            .await?;
        if first.digest != self.digest {
            return Err(Error::Conflict(
                "this Idempotency-Key was used for another request".into(),
            ));
        }

        Ok(first)
    }
}
