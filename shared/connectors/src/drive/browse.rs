//! Browsing for items to select.

use domain::ports::{
    ConnectorResult, ItemKind, ItemPage, PickerView, ProviderAccess, ProviderItem,
};
use serde::Deserialize;

use super::DriveConnector;
use super::failure::ApiFailure;
use super::listing::{FileSearch, SearchCorpus, escape_query};

/// The number of items of a page: as many as a person looks through.
const PAGE_SIZE: &str = "100";
/// The order: folders first, then by name in natural order.
const SORT_ORDER: &str = "folder,name_natural";

/// The query for items that may be offered. Images and recordings do not become documents, and a
/// folder may contain thousands of them before the first file that does.
const OFFERED_QUERY: &str = "trashed=false and not mimeType contains 'image/' and not mimeType contains 'video/' and not \
                       mimeType contains 'audio/'";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilePlace {
    drive_id: Option<String>,
}

impl DriveConnector {
    pub(super) async fn browse_items(
        &self,
        access: &ProviderAccess,
        view: &PickerView,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let query = query.map(str::trim).filter(|query| !query.is_empty());
        if *view == PickerView::Drives && parent.is_none() && query.is_none() {
            return self.list_drives_as_items(access, page).await;
        }

        let drive = match (view, parent) {
            (PickerView::Drives, Some(parent)) => self.drive_of(access, parent).await?,
            _ => None,
        };

        let corpus = match (&drive, view) {
            (Some(drive), _) => SearchCorpus::Drive(drive),
            (None, PickerView::Drives) => SearchCorpus::Everywhere,
            (None, PickerView::My | PickerView::Shared) => SearchCorpus::Own,
        };

        let terms = search_query(view, parent, query);
        let search = FileSearch {
            query: &terms,
            corpus,
            order: Some(SORT_ORDER),
            size: PAGE_SIZE,
            page,
        };

        let mut listing = match self.list_items(access, search).await {
            Err(ApiFailure::NotFound) => ItemPage::default(),
            result => result?,
        };

        let is_drives_view = *view == PickerView::Drives;
        listing
            .items
            .retain(|item| is_offered(item) && (!is_drives_view || item.drive.is_some()));

        Ok(listing)
    }

    /// Returns the shared drive that contains a folder.
    async fn drive_of(
        &self,
        access: &ProviderAccess,
        folder: &str,
    ) -> ConnectorResult<Option<String>> {
        match self
            .request_file::<FilePlace>(access, folder, "id,driveId", None)
            .await
        {
            Ok(file) => Ok(file.drive_id),
            Err(ApiFailure::NotFound) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// Returns the search query. A name is searched for in the whole view, no matter which folder is
/// open.
fn search_query(view: &PickerView, parent: Option<&str>, query: Option<&str>) -> String {
    let condition = match (query, parent, view) {
        (Some(query), _, PickerView::Shared) => {
            format!(
                "name contains '{}' and sharedWithMe=true",
                escape_query(query)
            )
        }
        (Some(query), _, _) => format!("name contains '{}'", escape_query(query)),
        (None, Some(parent), _) => format!("'{}' in parents", escape_query(parent)),
        (None, None, PickerView::Shared) => "sharedWithMe=true".to_owned(),
        (None, None, _) => "'root' in parents".to_owned(),
    };
    format!("{condition} and {OFFERED_QUERY}")
}

/// Checks whether an item is offered: folders, and files that can become documents. Shortcuts are
/// not offered, because their targets are found elsewhere.
fn is_offered(item: &ProviderItem) -> bool {
    matches!(item.kind, ItemKind::Folder | ItemKind::File { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_asks_for_its_own() {
        let cases = [
            (PickerView::My, None, None, "'root' in parents"),
            (PickerView::My, Some("f'1"), None, r"'f\'1' in parents"),
            (
                PickerView::My,
                Some("f1"),
                Some("o'hara"),
                r"name contains 'o\'hara'",
            ),
            (PickerView::Shared, None, None, "sharedWithMe=true"),
            (PickerView::Shared, Some("f1"), None, "'f1' in parents"),
            (
                PickerView::Shared,
                None,
                Some("x"),
                "name contains 'x' and sharedWithMe=true",
            ),
            (PickerView::Drives, Some("d1"), None, "'d1' in parents"),
        ];
        let readable = "trashed=false and not mimeType contains 'image/' and not mimeType contains 'video/' \
                        and not mimeType contains 'audio/'";

        for (view, parent, query, expected) in cases {
            assert_eq!(
                search_query(&view, parent, query),
                format!("{expected} and {readable}")
            );
        }
    }
}
