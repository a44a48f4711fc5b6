//! The bounds of answers: texts are cut, and long lists come in pages.

use api_client::{ApiClient, Method};
use serde_json::{Value, json};

use crate::arguments::check_range;
use crate::failure::ToolFailure;

/// The most characters of a memory or a passage in a list of results.
pub(crate) const MAX_RESULT_CHARS: usize = 1_500;
/// The most characters of a title or a summary in a list.
pub(crate) const MAX_LABEL_CHARS: usize = 300;
/// The most characters of a document in one answer: about 5,000 tokens.
pub(crate) const MAX_DOCUMENT_CHARS: usize = 20_000;

/// The most entries of a page.
pub(crate) const MAX_PAGE_LENGTH: u32 = 50;

/// Returns a text with at most `most` characters. A cut is marked by an ellipsis.
pub(crate) fn cut_text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A page of a list, as a cursor for the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageCursor {
    /// The number of the page, from 1.
    pub(crate) page: u32,
    /// The number of entries on each page.
    pub(crate) limit: u32,
}

impl PageCursor {
    /// Returns the page that a cursor names, or the first one with `limit` entries. A page has the
    /// length of the pages before it, so that no entry is skipped.
    ///
    /// # Errors
    /// A failure if `cursor` is not one of this tool.
    pub(crate) fn resolve(cursor: Option<&str>, limit: u32) -> Result<Self, ToolFailure> {
        let Some(cursor) = cursor else {
            return Ok(Self { page: 1, limit });
        };
        Self::parse(cursor).ok_or_else(|| refuse_cursor(cursor))
    }

    fn parse(cursor: &str) -> Option<Self> {
        let numbers = cursor.strip_prefix("page-")?;
        let (page, limit) = numbers.split_once("-of-")?;
        let (page, limit) = (page.parse().ok()?, limit.parse().ok()?);
        let is_valid = page > 0 && (1..=MAX_PAGE_LENGTH).contains(&limit);
        is_valid.then_some(Self { page, limit })
    }

    /// Returns the cursor of the next page.
    pub(crate) fn next(self) -> String {
        format!("page-{}-of-{}", self.page.saturating_add(1), self.limit)
    }
}

/// A page of a list of the API.
#[derive(Debug)]
pub(crate) struct ListPage {
    /// The answer of the API.
    pub(crate) answer: Value,
    /// The cursor of the next page, if there is one.
    pub(crate) next_cursor: Option<String>,
}

impl ListPage {
    /// Gets a page of the list at `path`, of one container or of all.
    ///
    /// # Errors
    /// A failure for a limit or a cursor that is not allowed, and those of the API.
    pub(crate) async fn get(
        api: &ApiClient,
        path: &str,
        container: Option<&str>,
        (cursor, limit): (Option<&str>, u32),
    ) -> Result<Self, ToolFailure> {
        check_range("limit", limit, 1, MAX_PAGE_LENGTH)?;
        let position = PageCursor::resolve(cursor, limit)?;
        let mut body = json!({"page": position.page, "limit": position.limit});
        if let Some(container) = container {
            body["containerTag"] = container.into();
        }

        let answer = api.send(Method::POST, path, Some(&body)).await?;
        let pages = answer["pagination"]["totalPages"].as_u64().unwrap_or(0);
        let has_next = u64::from(position.page) < pages;
        Ok(Self {
            answer,
            next_cursor: has_next.then(|| position.next()),
        })
    }
}

/// Returns the position in a list or a text at which a call continues, from the cursor of the call
/// before it.
///
/// # Errors
/// A failure if `cursor` is not one of this tool.
pub(crate) fn parse_offset(cursor: Option<&str>) -> Result<usize, ToolFailure> {
    let Some(cursor) = cursor else {
        return Ok(0);
    };
    let offset = cursor
        .strip_prefix("from-")
        .and_then(|offset| offset.parse().ok());
    offset.ok_or_else(|| refuse_cursor(cursor))
}

/// Returns the cursor of a call that continues at a position.
pub(crate) fn offset_cursor(offset: usize) -> String {
    format!("from-{offset}")
}

fn refuse_cursor(cursor: &str) -> ToolFailure {
    let cursor = cut_text(cursor, 40);
    ToolFailure::new(format!(
        "The cursor `{cursor}` is not one of this tool. Use the `nextCursor` of its last answer, or \
         leave `cursor` out to begin at the start."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_counts_characters_and_is_marked() {
        assert_eq!(cut_text("Ährenfeld", 9), "Ährenfeld");
        assert_eq!(cut_text("Ährenfeld", 3), "Ähr…");
    }

    #[test]
    fn a_cursor_keeps_the_length_of_a_page() {
        let first = PageCursor::resolve(None, 20).unwrap();
        let next = first.next();
        let second = PageCursor::resolve(Some(&next), 5).unwrap();
        assert_eq!(second, PageCursor { page: 2, limit: 20 });
    }

    #[test]
    fn a_cursor_of_another_tool_is_refused() {
        for cursor in ["", "2", "page-0-of-5", "page-1-of-5000", "from-3"] {
            assert!(PageCursor::resolve(Some(cursor), 5).is_err(), "{cursor}");
        }
        assert!(parse_offset(Some("page-1-of-5")).is_err());
        assert_eq!(parse_offset(Some(&offset_cursor(7))).unwrap(), 7);
    }
}
