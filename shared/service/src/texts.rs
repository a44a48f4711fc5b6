//! The texts of the documents of one answer.

use domain::{Document, Error, Result, Tenant};
use futures::stream::{self, Stream, StreamExt};

use crate::{Ctx, read_document_text};

/// The number of texts that are read at the same time.
const PARALLEL_READS: usize = 16;
/// The most bytes of the texts of one answer. Part of the API.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// Returns the texts of documents in their order, as [`read_document_text`] returns each; also `None` for
/// a document that is being replaced.
///
/// # Errors
/// [`Error::Invalid`] if they have more than [`MAX_TEXT_BYTES`] together, and those of the ports.
pub async fn read_document_texts(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<Vec<Option<String>>> {
    let mut reads = Vec::with_capacity(documents.len());
    for document in documents {
        reads.push(read_document_text(ctx, tenant, document));
    }
    collect_texts(stream::iter(reads).buffered(PARALLEL_READS), MAX_TEXT_BYTES).await
}

/// Collects texts with at most `max_bytes` together. One that is being replaced is `None`.
async fn collect_texts(
    mut reads: impl Stream<Item = Result<Option<String>>> + Unpin,
    max_bytes: usize,
) -> Result<Vec<Option<String>>> {
    let mut texts = Vec::new();
    let mut bytes = 0;
    while let Some(text) = reads.next().await {
        let text = match text {
            Err(Error::Unavailable(_)) => None,
            text => text?,
        };
        bytes += text.as_ref().map_or(0, String::len);
        if bytes > max_bytes {
            return Err(Error::invalid(format!(
                "the texts of these documents have more than {} MB together; use a smaller limit",
                MAX_TEXT_BYTES / 1024 / 1024
            )));
        }
        texts.push(text);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use domain::PortError;
    use futures::executor::block_on;

    use super::*;

    fn collect(
        reads: impl IntoIterator<Item = Result<Option<String>>>,
    ) -> Result<Vec<Option<String>>> {
        block_on(collect_texts(stream::iter(reads), 10))
    }

    #[test]
    fn a_text_that_is_being_replaced_fails_no_other() {
        let text = |text: &str| Ok(Some(text.to_owned()));
        let replaced = || Err(PortError::Unavailable("the pack is being replaced".into()).into());
        let texts = collect([text("12345"), replaced(), Ok(None), text("67890")]).unwrap();
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some("12345"), None, None, Some("67890")]);

        let damaged = Err(PortError::Corrupt("a record".into()).into());
        assert!(collect([text("12345"), damaged]).is_err());
    }

    #[test]
    fn texts_have_a_limit_together() {
        let text = |text: &str| Ok(Some(text.to_owned()));
        let refused = collect([text("12345"), text("67890"), text("1")]);
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    }
}
