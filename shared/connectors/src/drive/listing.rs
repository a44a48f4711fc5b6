//! Listings of files, page by page.

use domain::ports::{Access, ConnectorError, ConnectorResult, Listing};
use serde::Deserialize;

use super::Drive;
use super::api::Call;
use super::failure::Failure;
use super::file::{FIELDS, File};

/// The items that a listing searches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Corpus<'a> {
    /// The items that the account owns, has opened, or was given access to.
    Own,
    /// The items of a shared drive.
    Drive(&'a str),
    /// All items. The provider may report that the answer is incomplete.
    Everywhere,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Files {
    next_page_token: Option<String>,
    #[serde(default)]
    incomplete_search: bool,
    #[serde(default)]
    files: Vec<File>,
}

/// The parameters of a listing.
pub(super) struct Search<'a> {
    pub(super) query: &'a str,
    pub(super) corpus: Corpus<'a>,
    pub(super) order: Option<&'a str>,
    pub(super) size: &'a str,
    pub(super) page: Option<&'a str>,
}

/// The size of a full page, which costs as much as a short one.
pub(super) const FULL_PAGE: &str = "1000";

impl Drive {
    /// Returns a page of files as items.
    pub(super) async fn list(
        &self,
        access: &Access,
        search: Search<'_>,
    ) -> Result<Listing, Failure> {
        let listed = self.files(access, &search).await?;
        Ok(Listing {
            items: listed.files.into_iter().map(File::into_item).collect(),
            next: listed.next_page_token,
            incomplete: listed.incomplete_search,
        })
    }

    /// Finds the resource key of a file that was shared only by its link, in a shortcut to the
    /// file.
    pub(super) async fn key_of(
        &self,
        access: &Access,
        id: &str,
    ) -> ConnectorResult<Option<String>> {
        let query = format!(
            "shortcutDetails.targetId='{}' and trashed=false",
            escaped(id)
        );
        let search = Search {
            query: &query,
            corpus: Corpus::Own,
            order: None,
            size: "100",
            page: None,
        };

        let listed = match self.files(access, &search).await {
            Ok(listed) => listed,
            Err(Failure::Gone | Failure::Refused(_)) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };

        let keys = listed
            .files
            .into_iter()
            .filter_map(|file| file.shortcut_details);
        let mut keys = keys
            .filter(|to| to.target_id == id)
            .filter_map(|to| to.target_resource_key);

        Ok(keys.next().map(|key| format!("{id}/{key}")))
    }

    async fn files(&self, access: &Access, search: &Search<'_>) -> Result<Files, Failure> {
        let fields = format!("nextPageToken,incompleteSearch,files({FIELDS})");
        let (corpora, drive) = match search.corpus {
            Corpus::Own => ("user", None),
            Corpus::Drive(id) => ("drive", Some(id)),
            Corpus::Everywhere => ("allDrives", None),
        };

        let call = Call::get(&["files"])
            .with("q", search.query)
            .with("corpora", corpora)
            .maybe("driveId", drive)
            .all_drives()
            .with("includeItemsFromAllDrives", "true")
            .with("pageSize", search.size)
            .with("fields", &fields)
            .maybe("orderBy", search.order)
            .maybe("pageToken", search.page);

        self.json(access, call)
            .await
            .map_err(|failure| match failure {
                // Our query is valid, so the page token must be the part that was rejected.
                Failure::Refused(_) if search.page.is_some() => {
                    Failure::Other(ConnectorError::PageLost)
                }
                failure => failure,
            })
    }
}

/// Escapes a text for use inside the quotes of a query.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_never_leaves_its_quotes() {
        assert_eq!(escaped(r"Ida's \plan"), r"Ida\'s \\plan");
        assert_eq!(
            escaped(r"\' or name contains '"),
            r"\\\' or name contains \'"
        );
    }
}
