//! The content that a request yields for a document.

use bytes::Bytes;

use super::{Content, NewDocument, Upsert};
use crate::Ctx;
use crate::damage::{StoredBody, read_stored_body, read_turns};
use crate::place::LookupScope;
use domain::conversation::{self, ConversationTurn};
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

    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Complete { bytes, .. } => bytes.iter().all(u8::is_ascii_whitespace),
            Self::Turns(turns) => turns.is_empty(),
        }
    }
}

impl NewDocument {
    /// Returns the scope in which the document with the customId is looked for. What is added to a
    /// document, such as the turns of a chat, is added in its own container only.
    pub(super) fn lookup_scope(&self) -> LookupScope<'_> {
        let is_added = match &self.content {
            _ if self.upsert == Upsert::Append => true,
            Content::Turns(_) => true,
            Content::Complete {
                bytes,
                form: BodyForm::Text,
            } => Transcript::parse(&String::from_utf8_lossy(bytes)).is_some(),
            Content::Complete { .. } => false,
        };
        if is_added {
            LookupScope::Container
        } else {
            LookupScope::Organization
        }
    }

    /// Returns the bytes of the document after the content is applied to `old`, or `None` when the
    /// present bytes are just being replaced.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] when text is to be appended to something else, and
    /// [`Error::TooLarge`] when the document has grown too large.
    pub(super) async fn apply_content(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        old: Option<&Document>,
    ) -> Result<Option<Bytes>> {
        match &self.content {
            Content::Turns(turns) => add_turns(ctx, tenant, turns, old).await,
            Content::Complete { bytes, form } => {
                let Some(old) = old else {
                    return Ok(Some(bytes.clone()));
                };
                if *form == BodyForm::Text && old.body.form == BodyForm::Text {
                    return join_text(ctx, tenant, bytes, old, self.upsert).await;
                }
                if self.upsert == Upsert::Append {
                    check_is_same_page(bytes, form, old)?;
                }
                Ok(Some(bytes.clone()))
            }
        }
    }
}

/// Returns the turns of a conversation after `sent` has been added to those of `old`.
async fn add_turns(
    ctx: &Ctx,
    tenant: &Tenant,
    sent: &[ConversationTurn],
    old: Option<&Document>,
) -> Result<Option<Bytes>> {
    let stored = match old.filter(|old| old.body.form == BodyForm::Conversation) {
        None => Vec::new(),
        Some(old) => match read_turns(ctx, tenant, old).await? {
            Some(stored) => stored,
            None => return Ok(None),
        },
    };

    let merged = conversation::merge_turns(stored, sent.to_vec());
    let bytes = conversation::serialize_turns(&merged);
    check_joined_size(bytes.len(), "conversation", "conversationId")?;
    Ok(Some(bytes.into()))
}

/// Refuses content that cannot be appended: only texts are joined. The address of the page that the
/// document has is fetched again.
fn check_is_same_page(bytes: &Bytes, form: &BodyForm, old: &Document) -> Result<()> {
    let is_same_page = *form == BodyForm::Url
        && old.body.form == BodyForm::Url
        && old.url.as_deref().map(str::as_bytes) == Some(bytes.trim_ascii());
    if is_same_page {
        return Ok(());
    }
    let message = "only text is appended to text; give the content another id, or replace the \
                   document";
    Err(Error::Conflict(message.to_owned()))
}

/// Returns the text of a document after `sent` has arrived under the `customId` of `old`.
///
/// If the stored text is a transcript, and the sent text is a transcript or a next turn, its new
/// turns are added to the stored ones, as those of a conversation are. A transcript that begins with
/// all stored turns replaces them. Any other text is appended or replaces, as `upsert` says.
async fn join_text(
    ctx: &Ctx,
    tenant: &Tenant,
    sent: &Bytes,
    old: &Document,
    upsert: Upsert,
) -> Result<Option<Bytes>> {
    let sent_text = String::from_utf8_lossy(sent);
    let sent_transcript = Transcript::parse_continuation(&sent_text);
    if sent_transcript.is_none() && upsert == Upsert::Replace {
        return Ok(Some(sent.clone()));
    }

    let stored = match read_stored_body(ctx, tenant, old).await? {
        StoredBody::Intact(bytes) => bytes,
        StoredBody::Lost => return Ok(Some(sent.clone())),
        StoredBody::BeingReplaced => return Ok(None),
    };
    let stored_text = String::from_utf8_lossy(&stored);
    let joined = match (Transcript::parse(&stored_text), sent_transcript) {
        (Some(stored), Some(sent)) => stored.join(sent),
        _ => None,
    };

    if let Some(joined) = joined {
        check_joined_size(joined.len(), "conversation", "customId")?;
        return Ok(Some(joined.into()));
    }
    match upsert {
        Upsert::Replace => Ok(Some(sent.clone())),
        Upsert::Append => {
            let text = append_text(&stored_text, &sent_text);
            check_joined_size(text.len(), "document", "id")?;
            Ok(Some(text.into()))
        }
    }
}

/// Returns `stored` with `sent` as its next paragraph. A text that goes on from all of `stored`
/// replaces it, and a text that is the end of `stored` is a repetition.
fn append_text(stored: &str, sent: &str) -> String {
    let (before, after) = (stored.trim_end(), sent.trim_end());
    let is_repetition = match before.strip_suffix(after) {
        Some(rest) => rest.is_empty() || rest.ends_with("\n\n"),
        None => false,
    };
    if is_repetition {
        return stored.to_owned();
    }

    match after.strip_prefix(before) {
        Some(rest) if before.is_empty() || rest.starts_with('\n') => sent.to_owned(),
        _ => format!("{before}\n\n{sent}"),
    }
}

fn check_joined_size(bytes: usize, kind: &str, id_field: &str) -> Result<()> {
    let limit = conversation::MAX_CONVERSATION_BYTES;
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the {kind} has grown too large; go on under another {id_field} (at most {limit} bytes)"
    )))
}

#[cfg(test)]
mod tests {
    use super::append_text;

    #[test]
    fn texts_are_appended_once() {
        let table = [
            ("One.", "Two.", "One.\n\nTwo."),
            ("One.\n", "Two.\n", "One.\n\nTwo.\n"),
            // A repetition of what came last, or of everything.
            ("One.\n\nTwo.\n", "Two.", "One.\n\nTwo.\n"),
            ("One.", "One.", "One."),
            // The end of a sentence is no repetition of a paragraph.
            ("I saw two.", "two.", "I saw two.\n\ntwo."),
            // The whole text with more at its end.
            ("One.", "One.\nTwo.", "One.\nTwo."),
            ("One", "One more", "One\n\nOne more"),
            ("", "One.", "One."),
        ];
        for (stored, sent, expected) in table {
            assert_eq!(append_text(stored, sent), expected, "{stored:?} {sent:?}");
        }
    }
}
