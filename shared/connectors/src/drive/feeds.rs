//! The feeds of an account: its own and one for each shared drive, each with a listing and with its
//! changes.

use domain::ports::{
    Access, Changed, Changes, ConnectorError, ConnectorResult, Item, ItemKind, Listing,
};
use domain::time::Timestamp;
use serde::Deserialize;

use super::api::Call;
use super::failure::Failure;
use super::file::{FIELDS, File};
use super::http::unavailable;
use super::kinds::FOLDER;
use super::listing::{Corpus, FULL_PAGE, Search, escaped};
use super::{Drive, OWN};
use crate::bounds;

/// The most pages of shared drives to request. That is more than an account can be a member of.
const MAX_DRIVE_PAGES: usize = 200;

/// A page of shared drives.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Drives {
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
struct Start {
    start_page_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    next_page_token: Option<String>,
    new_start_page_token: Option<String>,
    #[serde(default)]
    changes: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    change_type: String,
    #[serde(default)]
    removed: bool,
    file_id: Option<String>,
    file: Option<File>,
}

impl SharedDrive {
    /// Returns the top folder of the shared drive.
    fn into_item(self) -> Item {
        Item {
            parent: None,
            name: bounds::name(self.name),
            kind: ItemKind::Folder,
            drive: Some(self.id.clone()),
            media_type: FOLDER.to_owned(),
            version: String::new(),
            mark: String::new(),
            size: None,
            modified_at: Timestamp::from_millis(0),
            url: None,
            owner: None,
            trashed: false,
            id: self.id,
        }
    }
}

impl Drive {
    pub(super) async fn all_feeds(&self, access: &Access) -> ConnectorResult<Vec<String>> {
        let mut feeds = vec![OWN.to_owned()];
        let mut page: Option<String> = None;
        for _ in 0..MAX_DRIVE_PAGES {
            let listed = self.drives(access, page.as_deref()).await?;
            for drive in listed.drives {
                if !feeds.contains(&drive.id) {
                    feeds.push(drive.id);
                }
            }
            page = listed.next_page_token;
            if page.is_none() {
                return Ok(feeds);
            }
        }

        Err(ConnectorError::Fault(
            "a list of shared drives without end".into(),
        ))
    }

    /// Returns a page of the shared drives as folders.
    pub(super) async fn drive_items(
        &self,
        access: &Access,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let listed = self.drives(access, page).await?;
        let items = listed
            .drives
            .into_iter()
            .map(SharedDrive::into_item)
            .collect();

        Ok(Listing {
            items,
            next: listed.next_page_token,
            incomplete: false,
        })
    }

    async fn drives(&self, access: &Access, page: Option<&str>) -> ConnectorResult<Drives> {
        let call = Call::get(&["drives"])
            .with("pageSize", "100")
            .with("fields", "nextPageToken,drives(id,name)")
            .maybe("pageToken", page);
        self.json(access, call)
            .await
            .map_err(|failure| match failure {
                Failure::Refused(_) if page.is_some() => ConnectorError::PageLost,
                failure => failure.into(),
            })
    }

    pub(super) async fn start(&self, access: &Access, feed: &str) -> ConnectorResult<String> {
        let call = Call::get(&["changes", "startPageToken"])
            .maybe("driveId", shared(feed))
            .all_drives();
        match self.json::<Start>(access, call).await {
            Ok(start) => Ok(start.start_page_token),
            // The drive was listed a moment ago. The next list of feeds will not have it.
            Err(Failure::Gone) => Err(unavailable("the shared drive is gone")),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn whole_feed(
        &self,
        access: &Access,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let corpus = shared(feed).map_or(Corpus::Own, Corpus::Drive);
        let search = Search {
            query: "trashed=false",
            corpus,
            order: None,
            size: FULL_PAGE,
            page,
        };

        match self.list(access, search).await {
            Ok(listing) => Ok(listing),
            // A drive that the account has lost access to is empty.
            Err(Failure::Gone) => Ok(Listing::default()),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn folder(
        &self,
        access: &Access,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let query = format!("'{}' in parents and trashed=false", escaped(folder));
        let search = |corpus| Search {
            query: &query,
            corpus,
            order: None,
            size: FULL_PAGE,
            page,
        };

        let mut listed = self
            .list(access, search(drive.map_or(Corpus::Own, Corpus::Drive)))
            .await;
        // A folder may be shared from a drive of which the account is not a member. The same holds
        // for its later pages.
        if drive.is_some() && matches!(listed, Err(Failure::Gone)) {
            listed = self.list(access, search(Corpus::Own)).await;
        }

        match listed {
            Ok(listing) => Ok(listing),
            Err(Failure::Gone) => Ok(Listing::default()),
            Err(failure) => Err(failure.into()),
        }
    }

    pub(super) async fn log(
        &self,
        access: &Access,
        feed: &str,
        cursor: &str,
    ) -> ConnectorResult<Changes> {
        let fields = format!(
            "nextPageToken,newStartPageToken,\
             changes(changeType,removed,fileId,driveId,time,file({FIELDS}),drive(id,name,hidden))"
        );
        let call = Call::get(&["changes"])
            .with("pageToken", cursor)
            .maybe("driveId", shared(feed))
            .with("pageSize", FULL_PAGE)
            .with("includeRemoved", "true")
            .with("includeItemsFromAllDrives", "true")
            .all_drives()
            .with("fields", &fields);
        let log: Log = self
            .json(access, call)
            .await
            .map_err(|failure| match failure {
                Failure::Gone | Failure::Refused(_) => ConnectorError::CursorLost,
                failure => failure.into(),
            })?;

        let more = log.next_page_token.is_some();
        let Some(cursor) = log.next_page_token.or(log.new_start_page_token) else {
            return Err(ConnectorError::Fault("changes that lead nowhere".into()));
        };

        let mut changes = Changes {
            cursor,
            more,
            ..Changes::default()
        };

        for entry in log.changes {
            self.note(access, entry, &mut changes).await?;
        }

        Ok(changes)
    }

    async fn note(
        &self,
        access: &Access,
        entry: Entry,
        changes: &mut Changes,
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
            Some(file) if file.is_top_of_drive() => self.look(access, &id).await?,
            Some(file) => Some(file.into_item()),
            // The change neither reports the item as gone nor shows it, which is not enough to
            // remove anything.
            None => self.look(access, &id).await?,
        };

        changes.changes.push(Changed { id, item });
        Ok(())
    }
}

/// Returns the shared drive of a feed, or `None` for the account's own feed.
pub(super) fn shared(feed: &str) -> Option<&str> {
    (feed != OWN).then_some(feed)
}
