//! Browsing for items to select.

use domain::ports::{Access, ConnectorError, ConnectorResult, Item, ItemKind, Listing, View};
use serde::Deserialize;

use super::Drive;
use super::failure::Failure;
use super::listing::{Corpus, Search, escaped};

/// The number of items of a page: as many as a person looks through.
const PAGE: &str = "100";
/// The order: folders first, then by name in natural order.
const ORDER: &str = "folder,name_natural";

/// The query for items that may be offered. Images and recordings do not become documents, and a
/// folder may contain thousands of them before the first file that does.
const OFFERED: &str = "trashed=false and not mimeType contains 'image/' and not mimeType contains 'video/' and not \
                       mimeType contains 'audio/'";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    drive_id: Option<String>,
}

impl Drive {
    pub(super) async fn look_through(
        &self,
        access: &Access,
        view: &View,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let query = query.map(str::trim).filter(|query| !query.is_empty());
        if *view == View::Drives && parent.is_none() && query.is_none() {
            return self.drive_items(access, page).await;
        }

        let drive = match (view, parent) {
            (View::Drives, Some(parent)) => self.drive_of(access, parent).await?,
            _ => None,
        };

        let corpus = match (&drive, view) {
            (Some(drive), _) => Corpus::Drive(drive),
            (None, View::Drives) => Corpus::Everywhere,
            (None, View::My | View::Shared) => Corpus::Own,
        };

        let terms = terms(view, parent, query);
        let search = Search {
            query: &terms,
            corpus,
            order: Some(ORDER),
            size: PAGE,
            page,
        };

        let mut listing = match self.list(access, search).await {
            Err(Failure::Gone) => Listing::default(),
            listed => listed.map_err(ConnectorError::from)?,
        };

        let of_drives = *view == View::Drives;
        listing
            .items
            .retain(|item| is_offered(item) && (!of_drives || item.drive.is_some()));

        Ok(listing)
    }

    /// Returns the shared drive that contains a folder.
    async fn drive_of(&self, access: &Access, folder: &str) -> ConnectorResult<Option<String>> {
        match self.file::<Place>(access, folder, "id,driveId", None).await {
            Ok(place) => Ok(place.drive_id),
            Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}

/// Returns the search query. A name is searched for in the whole view, no matter which folder is
/// open.
fn terms(view: &View, parent: Option<&str>, query: Option<&str>) -> String {
    let place = match (query, parent, view) {
        (Some(query), _, View::Shared) => {
            format!("name contains '{}' and sharedWithMe=true", escaped(query))
        }
        (Some(query), _, _) => format!("name contains '{}'", escaped(query)),
        (None, Some(parent), _) => format!("'{}' in parents", escaped(parent)),
        (None, None, View::Shared) => "sharedWithMe=true".to_owned(),
        (None, None, _) => "'root' in parents".to_owned(),
    };
    format!("{place} and {OFFERED}")
}

/// Checks whether an item is offered: folders, and files that can become documents. Shortcuts are
/// not offered, because their targets are found elsewhere.
fn is_offered(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Folder | ItemKind::File { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_asks_for_its_own() {
        let cases = [
            (View::My, None, None, "'root' in parents"),
            (View::My, Some("f'1"), None, r"'f\'1' in parents"),
            (
                View::My,
                Some("f1"),
                Some("o'hara"),
                r"name contains 'o\'hara'",
            ),
            (View::Shared, None, None, "sharedWithMe=true"),
            (View::Shared, Some("f1"), None, "'f1' in parents"),
            (
                View::Shared,
                None,
                Some("x"),
                "name contains 'x' and sharedWithMe=true",
            ),
            (View::Drives, Some("d1"), None, "'d1' in parents"),
        ];
        let readable = "trashed=false and not mimeType contains 'image/' and not mimeType contains 'video/' \
                        and not mimeType contains 'audio/'";

        for (view, parent, query, wanted) in cases {
            assert_eq!(
                terms(&view, parent, query),
                format!("{wanted} and {readable}")
            );
        }
    }
}
