//! Control of the drive by tests and demonstrations, outside its protocol.

mod steer;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::drive_contents::{EditRefused, FakeContent, Restrictions, SheetTable, Slide};
use crate::state::DriveState;

/// A handle of a drive. A clone controls the same drive.
#[derive(Clone)]
pub struct DriveAdmin {
    state: Arc<Mutex<DriveState>>,
    url: String,
    client: (String, String),
}

impl DriveAdmin {
    pub(crate) fn new(
        state: Arc<Mutex<DriveState>>,
        url: String,
        client: (String, String),
    ) -> Self {
        Self { state, url, client }
    }

    pub(crate) fn with_state<T>(&self, operation: impl FnOnce(&mut DriveState) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = operation(&mut state);
        state.notify_channels();
        result
    }

    /// Returns the base URL of the drive, `http://127.0.0.1:port`. The endpoints
    /// `/o/oauth2/v2/auth`, `/token`, `/revoke` and `/drive/v3/` are below it.
    pub fn base_url(&self) -> &str {
        &self.url
    }

    /// Returns the client id and the secret of the app that is registered from the start.
    pub fn client_credentials(&self) -> (&str, &str) {
        (&self.client.0, &self.client.1)
    }

    /// Registers another app.
    pub fn add_client(&self, id: &str, secret: &str, redirects: &[&str]) {
        let redirects = redirects
            .iter()
            .map(|redirect| (*redirect).to_owned())
            .collect();
        self.with_state(|state| state.oauth.add_app(id, secret, redirects));
    }

    /// Removes an app. Its requests fail with `invalid_client` from now on.
    pub fn remove_client(&self, id: &str) {
        self.with_state(|state| state.oauth.remove_app(id));
    }

    /// Returns the account with this email address and creates it if there is none.
    pub fn get_or_create_account(&self, email: &str) -> Account {
        let root = self.with_state(|state| state.contents.get_or_create_account(email).root);
        Account {
            admin: self.clone(),
            email: email.to_owned(),
            root,
        }
    }

    /// Creates a shared drive with these members. Its id is also the id of its root folder.
    pub fn create_shared_drive(&self, name: &str, members: &[&str]) -> String {
        self.with_state(|state| state.contents.add_drive(name, members))
    }

    /// Makes an account a member of a shared drive.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn add_member(&self, drive: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.set_member(drive, email, true))
    }

    /// Ends an account's membership.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn remove_member(&self, drive: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.set_member(drive, email, false))
    }

    /// Renames a shared drive.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn rename_drive(&self, drive: &str, name: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.rename_drive(drive, name))
    }

    /// Creates an item in a folder.
    ///
    /// # Errors
    /// Fails if the parent is not a folder.
    pub fn add_item(
        &self,
        parent: &str,
        name: &str,
        body: FakeContent,
    ) -> Result<String, EditRefused> {
        self.with_state(|state| state.contents.add_item(parent, name, body))
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does, like every function that creates an item.
    pub fn add_folder(&self, parent: &str, name: &str) -> Result<String, EditRefused> {
        self.add_item(parent, name, FakeContent::Folder)
    }

    /// Creates a text document.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does.
    pub fn add_doc(&self, parent: &str, name: &str, markdown: &str) -> Result<String, EditRefused> {
        self.add_item(parent, name, FakeContent::Doc(markdown.to_owned()))
    }

    /// Creates a spreadsheet.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does.
    pub fn add_sheet(
        &self,
        parent: &str,
        name: &str,
        tables: Vec<SheetTable>,
    ) -> Result<String, EditRefused> {
        self.add_item(parent, name, FakeContent::Sheet(tables))
    }

    /// Creates a presentation.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does.
    pub fn add_slides(
        &self,
        parent: &str,
        name: &str,
        slides: Vec<Slide>,
    ) -> Result<String, EditRefused> {
        self.add_item(parent, name, FakeContent::Slides(slides))
    }

    /// Uploads a file.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does.
    pub fn add_file(
        &self,
        parent: &str,
        name: &str,
        media_type: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<String, EditRefused> {
        self.add_item(
            parent,
            name,
            FakeContent::Bytes {
                media_type: media_type.to_owned(),
                bytes: bytes.into(),
            },
        )
    }

    /// Creates a shortcut.
    ///
    /// # Errors
    /// Fails as [`Self::add_item`] does.
    pub fn add_shortcut(
        &self,
        parent: &str,
        name: &str,
        target: &str,
    ) -> Result<String, EditRefused> {
        self.add_item(parent, name, FakeContent::Shortcut(target.to_owned()))
    }

    /// Replaces the content of an item. The time of modification is the drive's current time.
    ///
    /// # Errors
    /// Fails if the item does not exist, like every function below that takes an item.
    pub fn replace_content(&self, id: &str, body: FakeContent) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.replace_content(id, body))
    }

    /// Renames an item.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn rename_item(&self, id: &str, name: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.rename(id, name))
    }

    /// Moves an item into another folder, which may belong to another drive or account.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does, and if the parent is not a folder or lies inside
    /// the item.
    pub fn move_item(&self, id: &str, parent: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.move_to(id, parent))
    }

    /// Moves an item to the trash.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn trash_item(&self, id: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.bin(id, true))
    }

    /// Restores an item from the trash.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn restore_item(&self, id: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.bin(id, false))
    }

    /// Deletes an item permanently, with everything in it.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn delete_item(&self, id: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.remove(id))
    }

    /// Shares an item, and everything in it, with an account.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn share_item(&self, id: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| {
            state.contents.get_or_create_account(email);
            state.contents.share(id, email)
        })
    }

    /// Reverts [`Self::share_item`].
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn unshare_item(&self, id: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.unshare(id, email))
    }

    /// Shares an item with everybody who knows its resource key.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn share_by_link(&self, id: &str, key: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.share_by_link(id, key))
    }

    /// Hides an item and everything in it from an account, even if something else gives the account
    /// access.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn hide_item(&self, id: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.withhold(id, email, true))
    }

    /// Reverts [`Self::hide_item`].
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn unhide_item(&self, id: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.withhold(id, email, false))
    }

    /// Sets the restrictions of an item.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn set_restrictions(
        &self,
        id: &str,
        restrictions: Restrictions,
    ) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.restrict(id, restrictions))
    }

    /// Sets the time of modification of an item in milliseconds, as an upload of an old file does.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn set_modified_time(&self, id: &str, modified: i64) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.set_modified_time(id, modified))
    }

    /// Records that an account viewed an item. The view is logged like a change.
    ///
    /// # Errors
    /// Fails as [`Self::replace_content`] does.
    pub fn record_view(&self, id: &str, email: &str) -> Result<(), EditRefused> {
        self.with_state(|state| state.contents.view(email, id))
    }
}

/// An account of the drive.
#[derive(Clone)]
pub struct Account {
    admin: DriveAdmin,
    email: String,
    root: String,
}

impl Account {
    /// Returns the email address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Returns the id of the account's root folder. Clients may write `root` instead.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns an access token, see [`DriveAdmin::access_token`].
    pub fn access_token(&self) -> String {
        self.admin.access_token(&self.email)
    }

    /// Returns the spent quota units, see [`DriveAdmin::quota_units`].
    pub fn quota_units(&self) -> u64 {
        self.admin.quota_units(&self.email)
    }
}
