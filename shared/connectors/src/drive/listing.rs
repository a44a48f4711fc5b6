//! Listings of files, page by page.

use domain::ports::{ConnectorError, ConnectorResult, ItemPage, ProviderAccess};
use serde::Deserialize;

use super::DriveConnector;
use super::api::ApiRequest;
use super::failure::ApiFailure;
use super::file::{ApiFile, FILE_FIELDS};

/// The items that a listing searches.
#[derive(Debug, Clone, Copy)]
pub(super) enum SearchCorpus<'a> {
    /// The items that the account owns, has opened, or was given access to.
    Own,
    /// The items of a shared drive.
    Drive(&'a str),
    /// All items. The provider may report that the answer is incomplete.
    Everywhere,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilePage {
    next_page_token: Option<String>,
    #[serde(default)]
    incomplete_search: bool,
    #[serde(default)]
    files: Vec<ApiFile>,
}

/// The parameters of a listing.
pub(super) struct FileSearch<'a> {
    pub(super) query: &'a str,
    pub(super) corpus: SearchCorpus<'a>,
    pub(super) order: Option<&'a str>,
    pub(super) size: &'a str,
    pub(super) page: Option<&'a str>,
}

/// The size of a full page, which costs as much as a short one.
pub(super) const FULL_PAGE_SIZE: &str = "1000";

impl DriveConnector {
    /// Returns a page of files as items.
    pub(super) async fn list_items(
        &self,
        access: &ProviderAccess,
        search: FileSearch<'_>,
    ) -> Result<ItemPage, ApiFailure> {
        let file_page = self.list_files(access, &search).await?;
        Ok(ItemPage {
            items: file_page
                .files
                .into_iter()
                .map(ApiFile::into_item)
                .collect(),
            next: file_page.next_page_token,
            is_incomplete: file_page.incomplete_search,
        })
    }

    /// Finds the resource key of a file that was shared only by its link, in a shortcut to the
    /// file.
    pub(super) async fn find_resource_key(
        &self,
        access: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<String>> {
        let query = format!(
            "shortcutDetails.targetId='{}' and trashed=false",
            escape_query(id)
        );
        let search = FileSearch {
            query: &query,
            corpus: SearchCorpus::Own,
            order: None,
            size: "100",
            page: None,
        };

        let file_page = match self.list_files(access, &search).await {
            Ok(file_page) => file_page,
            Err(ApiFailure::NotFound | ApiFailure::Refused(_)) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };

        for file in file_page.files {
            if let Some(shortcut) = file.shortcut_details
                && shortcut.target_id == id
                && let Some(key) = shortcut.target_resource_key
            {
                return Ok(Some(format!("{id}/{key}")));
            }
        }

        Ok(None)
    }

    async fn list_files(
        &self,
        access: &ProviderAccess,
        search: &FileSearch<'_>,
    ) -> Result<FilePage, ApiFailure> {
        let fields = format!("nextPageToken,incompleteSearch,files({FILE_FIELDS})");
        let (corpora, drive) = match search.corpus {
            SearchCorpus::Own => ("user", None),
            SearchCorpus::Drive(id) => ("drive", Some(id)),
            SearchCorpus::Everywhere => ("allDrives", None),
        };

        let request = ApiRequest::get(&["files"])
            .with_query("q", search.query)
            .with_query("corpora", corpora)
            .with_optional_query("driveId", drive)
            .all_drives()
            .with_query("includeItemsFromAllDrives", "true")
            .with_query("pageSize", search.size)
            .with_query("fields", &fields)
            .with_optional_query("orderBy", search.order)
            .with_optional_query("pageToken", search.page);

        match self.request_json(access, request).await {
            // Our query is valid, so the page token must be the part that was rejected.
            Err(ApiFailure::Refused(_)) if search.page.is_some() => {
                Err(ConnectorError::PageLost.into())
            }
            result => result,
        }
    }
}

/// Escapes a text for use inside the quotes of a query.
pub(super) fn escape_query(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_never_leaves_its_quotes() {
        assert_eq!(escape_query(r"Ida's \plan"), r"Ida\'s \\plan");
        assert_eq!(
            escape_query(r"\' or name contains '"),
            r"\\\' or name contains \'"
        );
    }
}
