//! The summary of a document: the one that the operator's model wrote, or sentences of the text.

use content::Format;
use domain::{Authorship, Document};
use extraction::summarize;
use service::CLIENT_EXTRACTOR;

use crate::provenance::mail_sender_of;
use crate::read::ExtractedText;
use crate::statements::{ExtractedStatements, build_source};

/// Returns the summary of a document, or `None` if its text has none. The summary of a model comes
/// with its statements; without it, the text is read again, which takes no call.
///
/// Code and data have no sentences. Neither has a document that a client wrote as memories: its
/// text is the list of them.
pub(crate) fn summarize_document(
    document: &Document,
    text: &ExtractedText,
    authorship: &Authorship,
    extracted: Option<&ExtractedStatements>,
) -> Option<String> {
    if let Some(extracted) = extracted {
        if let Some(summary) = &extracted.summary {
            return Some(summary.clone());
        }
        if extracted.statements_ref.extractor == CLIENT_EXTRACTOR {
            return None;
        }
    }
    if matches!(text.format, Format::Code | Format::Data | Format::Csv) {
        return None;
    }

    let title = match &document.origin {
        Some(origin) => Some(origin.title.as_str()),
        None => text.title.as_deref(),
    };
    let mut source = build_source(document, text, authorship);
    // The user's own mails come without their headers.
    if !authorship.trust.is_own_words()
        && mail_sender_of(document, text).is_some()
        && let Some(first) = source.passages.first_mut()
        && let Some((_, words)) = first.text.split_once("\n\n")
    {
        first.text = words;
    }

    summarize(&source, title)
}
