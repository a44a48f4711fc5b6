//! `?wait=true`: answers when the content is processed, for scripts that go on with it at once.

use std::time::Duration;

use axum::extract::FromRequestParts;
use domain::{DocumentStatus, Error, Result, Tenant};
use edge::{ApiError, deserialize_bool};
use http::request::Parts;
use schemars::JsonSchema;
use serde::Deserialize;
use service::{AcceptedDocument, Ctx};

/// The longest time that a request waits. A function answers within 29 seconds.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// The pauses between two looks at the documents. A short text takes a few milliseconds on one
/// machine.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The parameter of a request that adds content. Other parameters are left to the check of the
/// body's fields, which says where a scope belongs.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct WaitQuery {
    /// With `true`, the answer comes when the content is processed, at most 20 seconds later, with
    /// the status of that moment.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    wait: bool,
}

impl WaitQuery {
    /// Waits until these documents are `done` or `failed` if the request asks for that, and sets
    /// their statuses. After the longest time they have the status of that moment.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn wait_for(
        self,
        ctx: &Ctx,
        tenant: &Tenant,
        documents: &mut [&mut AcceptedDocument],
    ) -> Result<()> {
        if !self.wait {
            return Ok(());
        }

        let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
        while waited < MAX_WAIT && documents.iter().any(|document| !document.status.is_final()) {
            ctx.clock.sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
            update_statuses(ctx, tenant, documents).await?;
        }

        Ok(())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WaitQuery {
    type Rejection = ApiError;

    #[expect(
        clippy::disallowed_types,
        reason = "the rejection is replaced by an error in the usual shape"
    )]
    async fn from_request_parts(
        parts: &mut Parts,
        _: &S,
    ) -> std::result::Result<Self, Self::Rejection> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(query) => Ok(query.0),
            Err(_) => Err(Error::invalid_field("wait", "true or false").into()),
        }
    }
}

/// Reads the statuses of the documents that are not finished. A document that is gone counts as
/// failed, so that nobody waits for it.
async fn update_statuses(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &mut [&mut AcceptedDocument],
) -> Result<()> {
    let unfinished = documents
        .iter_mut()
        .filter(|document| !document.status.is_final());
    let unfinished: Vec<&mut &mut AcceptedDocument> = unfinished.collect();
    let ids: Vec<_> = unfinished
        .iter()
        .map(|document| document.id.clone())
        .collect();
    let records = ctx.documents.get(tenant, &ids).await?;
    for (document, record) in unfinished.into_iter().zip(records) {
        document.status = record.map_or(DocumentStatus::Failed, |record| record.status);
    }

    Ok(())
}
