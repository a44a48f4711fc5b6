//! The content that a request yields for a document.

use bytes::Bytes;

use super::Content;
use crate::Ctx;
use crate::damage::{StoredBody, read_stored_body, read_turns};
use crate::place::Reach;
use domain::conversation;
use domain::document::{BodyForm, Document};
use domain::error::{Error, Result};
use domain::tenant::Tenant;
use domain::transcript::Transcript;

impl Content {
    pub(crate) fn form(&self) -> BodyForm {
        match self {
            Self::Complete { form, .. } => form.clone(),
            Self::Turns(_) => BodyForm::Conversation,
        }
    }

    /// Returns where the document with the customId is looked for. The turns of a chat are added to
    /// those of its own container only.
    pub(super) fn reach(&self) -> Reach<'_> {
        let is_transcript = match self {
            Self::Turns(_) => true,
            Self::Complete {
                bytes,
                form: BodyForm::Text,
            } => Transcript::parse(&String::from_utf8_lossy(bytes)).is_some(),
            Self::Complete { .. } => false,
        };
        if is_transcript {
            Reach::Container
        } else {
            Reach::Organization
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
            Self::Complete {
                bytes,
                form: BodyForm::Text,
            } => return join_text(ctx, tenant, bytes, old).await,
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
        check_conversation_size(bytes.len(), "conversationId")?;
        Ok(Some(bytes.into()))
    }
}

/// Returns the text of a document after `sent` has arrived under the `customId` of `old`.
///
/// If the stored text is a transcript, and the sent text is a transcript or a next turn, its new
/// turns are added to the stored ones, as those of a conversation are. A transcript that begins with
/// all stored turns replaces them, and so does any other text.
async fn join_text(
    ctx: &Ctx,
    tenant: &Tenant,
    sent: &Bytes,
    old: Option<&Document>,
) -> Result<Option<Bytes>> {
    let Some(old) = old.filter(|old| old.body.form == BodyForm::Text) else {
        return Ok(Some(sent.clone()));
    };
    let sent_text = String::from_utf8_lossy(sent);
    let Some(sent_transcript) = Transcript::parse_continuation(&sent_text) else {
        return Ok(Some(sent.clone()));
    };

    let stored = match read_stored_body(ctx, tenant, old).await? {
        StoredBody::Intact(bytes) => bytes,
        StoredBody::Lost => return Ok(Some(sent.clone())),
        StoredBody::BeingReplaced => return Ok(None),
    };
    let stored_text = String::from_utf8_lossy(&stored);
    let stored_transcript = Transcript::parse(&stored_text);
    let Some(joined) = stored_transcript.and_then(|stored| stored.join(sent_transcript)) else {
        return Ok(Some(sent.clone()));
    };

    check_conversation_size(joined.len(), "customId")?;
    Ok(Some(joined.into()))
}

fn check_conversation_size(bytes: usize, name: &str) -> Result<()> {
    let limit = conversation::MAX_CONVERSATION_BYTES;
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the conversation has grown too large; go on under another {name} (at most {limit} bytes)"
    )))
}
