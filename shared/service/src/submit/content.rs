//! The content that a request yields for a document.

use bytes::Bytes;

use super::Content;
use crate::Ctx;
use crate::damage::read_turns;
use domain::conversation;
use domain::document::{BodyForm, Document};
use domain::error::{Error, Result};
use domain::tenant::Tenant;

impl Content {
    pub(super) fn form(&self) -> BodyForm {
        match self {
            Self::Complete { form, .. } => form.clone(),
            Self::Turns(_) => BodyForm::Conversation,
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Complete { bytes, .. } => bytes.iter().all(u8::is_ascii_whitespace),
            Self::Turns(turns) => turns.is_empty(),
        }
    }

    /// Returns the bytes of the document after this content is applied, or `None` when its present
    /// bytes are just being replaced.
    pub(super) async fn over(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        old: Option<&Document>,
    ) -> Result<Option<Bytes>> {
        let turns = match self {
            Self::Complete { bytes, .. } => return Ok(Some(bytes.clone())),
            Self::Turns(turns) => turns.clone(),
        };

        let stored = match old.filter(|old| old.body.form == BodyForm::Conversation) {
            None => Vec::new(),
            Some(old) => match read_turns(ctx, tenant, old).await? {
                Some(stored) => stored,
                None => return Ok(None),
            },
        };

        let bytes = conversation::serialize_turns(&conversation::merge_turns(stored, turns));
        if bytes.len() > conversation::MAX_CONVERSATION_BYTES {
            let message =
                "the conversation has grown too large; go on under another conversationId";
            return Err(Error::TooLarge(format!(
                "{message} (at most {} bytes)",
                conversation::MAX_CONVERSATION_BYTES
            )));
        }

        Ok(Some(bytes.into()))
    }
}
