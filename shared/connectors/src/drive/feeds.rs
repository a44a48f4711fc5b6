//! The feeds of an account: its own and one for each shared drive, each with a listing and with its
//! changes.

use domain::ports::{
    ChangePage, ConnectorError, ConnectorResult, ItemChange, ItemKind, ItemPage, ProviderAccess,
    ProviderItem,
};
use domain::time::Timestamp;
use serde::Deserialize;

use super::api::ApiRequest;
use super::exchange::unavailable_error;
use super::failure::ApiFailure;
use super::file::{ApiFile, FILE_FIELDS};
use super::kinds::FOLDER_TYPE;
use super::listing::{FULL_PAGE_SIZE, FileSearch, SearchCorpus, escape_query};
use super::{DriveConnector, OWN_FEED};
use crate::bounds;

/// The most pages of shared drives to request. That is more than an account can be a member of.
const MAX_DRIVE_PAGES: usize = 200;

/// A page of shared drives.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DrivePage {
    next_page_token: Option<String>,
    #[serde(default)]
    drives: Vec<SharedDrive>,
}

/// A shared drive.
#[derive(Deserialize)]
pub(super) struct SharedDrive {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartPage {
    start_page_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeLogPage {
    next_page_token: Option<String>,
    new_start_page_token: Option<String>,
    #[serde(default)]
    changes: Vec<ChangeEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeEntry {
    #[serde(default)]
    change_type: String,
    #[serde(default)]
    removed: bool,
    file_id: Option<String>,
    file: Option<ApiFile>,
}

impl SharedDrive {
    /// Returns the top folder of the shared drive.
    fn into_item(self) -> ProviderItem {
        ProviderItem {
            parent: None,
            name: bounds::limit_name(self.name),
            kind: ItemKind::Folder,
            drive: Some(self.id.clone()),
            media_type: FOLDER_TYPE.to_owned(),
            version: String::new(),
            content_version: String::new(),
            size: None,
            modified_at: Timestamp::from_millis(0),
            url: None,
            owner: None,
            is_trashed: false,
            id: self.id,
        }
    }
}

impl DriveConnector {
    pub(super) async fn list_feeds(&self, access: &ProviderAccess) -> ConnectorResult<Vec<String>> {
        let mut feeds = vec![OWN_FEED.to_owned()];
        let mut page: Option<String> = None;
        for _ in 0..MAX_DRIVE_PAGES {
            let drive_page = self.list_drives(access, page.as_deref()).await?;
            for drive in drive_page.drives {
                if !feeds.contains(&drive.id) {
                    feeds.push(drive.id);
                }
            }
            page = drive_page.next_page_token;
            if page.is_none() {
                return Ok(feeds);
            }
        }

        Err(ConnectorError::Fault(
            "the list of shared drives does not end".into(),
        ))
    }

    /// Returns a page of the shared drives as folders.
    pub(super) async fn list_drives_as_items(
        &self,
        access: &ProviderAccess,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let drive_page = self.list_drives(access, page).await?;
        let items = drive_page
            .drives
            .into_iter()
            .map(SharedDrive::into_item)
            .collect();

        Ok(ItemPage {
            items,
            next: drive_page.next_page_token,
            is_incomplete: false,
        })
    }

    async fn list_drives(
        &self,
        access: &ProviderAccess,
        page: Option<&str>,
    ) -> ConnectorResult<DrivePage> {
        let request = ApiRequest::get(&["drives"])
            .with_query("pageSize", "100")
            .with_query("fields", "nextPageToken,drives(id,name)")
            .with_optional_query("pageToken", page);
        match self.request_json(access, request).await {
            Ok(drive_page) => Ok(drive_page),
            Err(ApiFailure::Refused(_)) if page.is_some() => Err(ConnectorError::PageLost),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn start_cursor(
        &self,
        access: &ProviderAccess,
        feed: &str,
    ) -> ConnectorResult<String> {
        let request = ApiRequest::get(&["changes", "startPageToken"])
            .with_optional_query("driveId", shared_drive_of(feed))
            .all_drives();
        match self.request_json::<StartPage>(access, request).await {
            Ok(start_page) => Ok(start_page.start_page_token),
            // The drive was listed a moment ago. The next list of feeds will not have it.
            Err(ApiFailure::NotFound) => Err(unavailable_error("the shared drive is gone")),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn list_feed(
        &self,
        access: &ProviderAccess,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let corpus = shared_drive_of(feed).map_or(SearchCorpus::Own, SearchCorpus::Drive);
        let search = FileSearch {
            query: "trashed=false",
            corpus,
            order: None,
            size: FULL_PAGE_SIZE,
            page,
        };

        match self.list_items(access, search).await {
            Ok(listing) => Ok(listing),
            // A drive that the account has lost access to is empty.
            Err(ApiFailure::NotFound) => Ok(ItemPage::default()),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn list_folder(
        &self,
        access: &ProviderAccess,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let query = format!("'{}' in parents and trashed=false", escape_query(folder));
        let search = |corpus| FileSearch {
            query: &query,
            corpus,
            order: None,
            size: FULL_PAGE_SIZE,
            page,
        };

        let corpus = match drive {
            Some(drive) => SearchCorpus::Drive(drive),
            None => SearchCorpus::Own,
        };
        let mut result = self.list_items(access, search(corpus)).await;
        // A folder may be shared from a drive of which the account is not a member. The same holds
        // for its later pages.
        if drive.is_some() && matches!(result, Err(ApiFailure::NotFound)) {
            result = self.list_items(access, search(SearchCorpus::Own)).await;
        }

        match result {
            Ok(listing) => Ok(listing),
            Err(ApiFailure::NotFound) => Ok(ItemPage::default()),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn list_changes(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
    ) -> ConnectorResult<ChangePage> {
        let fields = format!(
            "nextPageToken,newStartPageToken,\
             changes(changeType,removed,fileId,driveId,time,file({FILE_FIELDS}),drive(id,name,hidden))"
        );
        let request = ApiRequest::get(&["changes"])
            .with_query("pageToken", cursor)
            .with_optional_query("driveId", shared_drive_of(feed))
            .with_query("pageSize", FULL_PAGE_SIZE)
            .with_query("includeRemoved", "true")
            .with_query("includeItemsFromAllDrives", "true")
            .all_drives()
            .with_query("fields", &fields);
        let log_page: ChangeLogPage = match self.request_json(access, request).await {
            Ok(log_page) => log_page,
            Err(ApiFailure::NotFound | ApiFailure::Refused(_)) => {
                return Err(ConnectorError::CursorLost);
            }
            Err(failure) => return Err(failure.into()),
        };

        let has_more = log_page.next_page_token.is_some();
        let Some(cursor) = log_page.next_page_token.or(log_page.new_start_page_token) else {
            return Err(ConnectorError::Fault(
                "a page of changes without a next token".into(),
            ));
        };

        let mut changes = ChangePage {
            cursor,
            has_more,
            ..ChangePage::default()
        };

        for entry in log_page.changes {
            self.add_change(access, entry, &mut changes).await?;
        }

        Ok(changes)
    }

    async fn add_change(
        &self,
        access: &ProviderAccess,
        entry: ChangeEntry,
        changes: &mut ChangePage,
    ) -> ConnectorResult<()> {
        if entry.change_type == "drive" {
            changes.feeds_changed = true;
        }

        let Some(id) = entry
            .file_id
            .or_else(|| entry.file.as_ref().map(|file| file.id.clone()))
        else {
            return Ok(());
        };

        let item = match entry.file {
            _ if entry.removed => None,
            Some(file) if file.is_top_of_drive() => self.look_up_item(access, &id).await?,
            Some(file) => Some(file.into_item()),
            // The change neither reports the item as gone nor shows it, which is not enough to
            // remove anything.
            None => self.look_up_item(access, &id).await?,
        };

        changes.changes.push(ItemChange { id, item });
        Ok(())
    }
}

/// Returns the shared drive of a feed, or `None` for the account's own feed.
pub(super) fn shared_drive_of(feed: &str) -> Option<&str> {
    (feed != OWN_FEED).then_some(feed)
}
