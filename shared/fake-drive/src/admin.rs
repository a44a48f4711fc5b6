//! Control of the drive by tests and demonstrations, outside its protocol.

mod steer;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::state::State;
use crate::world::{Body, Refused, Restrictions, Slide, Table};

/// A handle of a drive. A clone controls the same drive.
#[derive(Clone)]
pub struct Admin {
    state: Arc<Mutex<State>>,
    url: String,
    client: (String, String),
}

impl Admin {
    pub(crate) fn new(state: Arc<Mutex<State>>, url: String, client: (String, String)) -> Self {
        Self { state, url, client }
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut state);
        state.spread_news();
        done
    }

    /// Returns the base URL of the drive, `http://127.0.0.1:port`. The endpoints
    /// `/o/oauth2/v2/auth`, `/token`, `/revoke` and `/drive/v3/` are below it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the client id and the secret of the app that is registered from the start.
    pub fn client(&self) -> (&str, &str) {
        (&self.client.0, &self.client.1)
    }

    /// Registers another app.
    pub fn add_client(&self, id: &str, secret: &str, redirects: &[&str]) {
        let redirects = redirects
            .iter()
            .map(|redirect| (*redirect).to_owned())
            .collect();
        self.with(|state| state.oauth.add_app(id, secret, redirects));
    }

    /// Removes an app. Its requests fail with `invalid_client` from now on.
    pub fn remove_client(&self, id: &str) {
        self.with(|state| state.oauth.remove_app(id));
    }

    /// Returns the account with this email address and creates it if there is none.
    pub fn account(&self, email: &str) -> Account {
        let root = self.with(|state| state.world.account(email).root);
        Account {
            admin: self.clone(),
            email: email.to_owned(),
            root,
        }
    }

    /// Creates a shared drive with these members. Its id is also the id of its root folder.
    pub fn add_drive(&self, name: &str, members: &[&str]) -> String {
        self.with(|state| state.world.add_drive(name, members))
    }

    /// Makes an account a member of a shared drive.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn join(&self, drive: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.join(drive, email, true))
    }

    /// Ends an account's membership.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn leave(&self, drive: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.join(drive, email, false))
    }

    /// Renames a shared drive.
    ///
    /// # Errors
    /// Fails if the shared drive does not exist.
    pub fn rename_drive(&self, drive: &str, name: &str) -> Result<(), Refused> {
        self.with(|state| state.world.rename_drive(drive, name))
    }

    /// Creates an item in a folder.
    ///
    /// # Errors
    /// Fails if the parent is not a folder.
    pub fn add(&self, parent: &str, name: &str, body: Body) -> Result<String, Refused> {
        self.with(|state| state.world.add(parent, name, body))
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does, like every function that creates an item.
    pub fn add_folder(&self, parent: &str, name: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Folder)
    }

    /// Creates a text document.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does.
    pub fn add_doc(&self, parent: &str, name: &str, markdown: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Doc(markdown.to_owned()))
    }

    /// Creates a spreadsheet.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does.
    pub fn add_sheet(
        &self,
        parent: &str,
        name: &str,
        tables: Vec<Table>,
    ) -> Result<String, Refused> {
        self.add(parent, name, Body::Sheet(tables))
    }

    /// Creates a presentation.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does.
    pub fn add_slides(
        &self,
        parent: &str,
        name: &str,
        slides: Vec<Slide>,
    ) -> Result<String, Refused> {
        self.add(parent, name, Body::Slides(slides))
    }

    /// Uploads a file.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does.
    pub fn add_file(
        &self,
        parent: &str,
        name: &str,
        media_type: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<String, Refused> {
        self.add(
            parent,
            name,
            Body::Bytes {
                media_type: media_type.to_owned(),
                bytes: bytes.into(),
            },
        )
    }

    /// Creates a shortcut.
    ///
    /// # Errors
    /// Fails as [`Self::add`] does.
    pub fn add_shortcut(&self, parent: &str, name: &str, target: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Shortcut(target.to_owned()))
    }

    /// Replaces the content of an item. The time of modification is the drive's current time.
    ///
    /// # Errors
    /// Fails if the item does not exist, like every function below that takes an item.
    pub fn edit(&self, id: &str, body: Body) -> Result<(), Refused> {
        self.with(|state| state.world.edit(id, body))
    }

    /// Renames an item.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn rename(&self, id: &str, name: &str) -> Result<(), Refused> {
        self.with(|state| state.world.rename(id, name))
    }

    /// Moves an item into another folder, which may belong to another drive or account.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does, and if the parent is not a folder or lies inside the item.
    pub fn move_to(&self, id: &str, parent: &str) -> Result<(), Refused> {
        self.with(|state| state.world.move_to(id, parent))
    }

    /// Moves an item to the trash.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn trash(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.bin(id, true))
    }

    /// Restores an item from the trash.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn untrash(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.bin(id, false))
    }

    /// Deletes an item permanently, with everything in it.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn remove(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.remove(id))
    }

    /// Shares an item, and everything in it, with an account.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn share(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| {
            state.world.account(email);
            state.world.share(id, email)
        })
    }

    /// Reverts [`Self::share`].
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn unshare(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.unshare(id, email))
    }

    /// Shares an item with everybody who knows its resource key.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn share_by_link(&self, id: &str, key: &str) -> Result<(), Refused> {
        self.with(|state| state.world.share_by_link(id, key))
    }

    /// Hides an item and everything in it from an account, even if something else gives the account
    /// access.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn withhold(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.withhold(id, email, true))
    }

    /// Reverts [`Self::withhold`].
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn give_back(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.withhold(id, email, false))
    }

    /// Sets the restrictions of an item.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn restrict(&self, id: &str, restrictions: Restrictions) -> Result<(), Refused> {
        self.with(|state| state.world.restrict(id, restrictions))
    }

    /// Sets the time of modification of an item in milliseconds, as an upload of an old file does.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn date(&self, id: &str, modified: i64) -> Result<(), Refused> {
        self.with(|state| state.world.date(id, modified))
    }

    /// Records that an account viewed an item. The view is logged like a change.
    ///
    /// # Errors
    /// Fails as [`Self::edit`] does.
    pub fn view(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.view(email, id))
    }
}

/// An account of the drive.
#[derive(Clone)]
pub struct Account {
    admin: Admin,
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

    /// Returns an access token, see [`Admin::access_token`].
    pub fn access_token(&self) -> String {
        self.admin.access_token(&self.email)
    }

    /// Returns the spent quota units, see [`Admin::quota_units`].
    pub fn quota_units(&self) -> u64 {
        self.admin.quota_units(&self.email)
    }
}
