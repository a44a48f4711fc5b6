//! What tests and demonstrations do with the drive from outside its protocol.

mod steer;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::state::State;
use crate::world::{Body, Refused, Restrictions, Slide, Table};

/// A handle of a drive. A clone is a handle of the same.
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

    /// Where it is reached: `http://127.0.0.1:port`, below which are `/o/oauth2/v2/auth`, `/token`, `/revoke` and
    /// `/drive/v3/`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The client id and the secret of the app that it knows from the beginning.
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

    /// Removes an app: from now on it is `invalid_client`.
    pub fn remove_client(&self, id: &str) {
        self.with(|state| state.oauth.remove_app(id));
    }

    /// The account of an email address, made if there is none.
    pub fn account(&self, email: &str) -> Account {
        let root = self.with(|state| state.world.account(email).root);
        Account {
            admin: self.clone(),
            email: email.to_owned(),
            root,
        }
    }

    /// Makes a shared drive with these members; its id is also that of its root folder.
    pub fn add_drive(&self, name: &str, members: &[&str]) -> String {
        self.with(|state| state.world.add_drive(name, members))
    }

    /// Makes an account a member of a shared drive.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn join(&self, drive: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.join(drive, email, true))
    }

    /// Ends an account's membership.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn leave(&self, drive: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.join(drive, email, false))
    }

    /// Gives a shared drive another name.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn rename_drive(&self, drive: &str, name: &str) -> Result<(), Refused> {
        self.with(|state| state.world.rename_drive(drive, name))
    }

    /// Makes an item in a folder.
    ///
    /// # Errors
    /// The parent is no folder.
    pub fn add(&self, parent: &str, name: &str, body: Body) -> Result<String, Refused> {
        self.with(|state| state.world.add(parent, name, body))
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// As [`Self::add`], like all that make items.
    pub fn add_folder(&self, parent: &str, name: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Folder)
    }

    /// Makes a text document.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_doc(&self, parent: &str, name: &str, markdown: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Doc(markdown.to_owned()))
    }

    /// Makes a spreadsheet.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_sheet(
        &self,
        parent: &str,
        name: &str,
        tables: Vec<Table>,
    ) -> Result<String, Refused> {
        self.add(parent, name, Body::Sheet(tables))
    }

    /// Makes a presentation.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_slides(
        &self,
        parent: &str,
        name: &str,
        slides: Vec<Slide>,
    ) -> Result<String, Refused> {
        self.add(parent, name, Body::Slides(slides))
    }

    /// Uploads bytes.
    ///
    /// # Errors
    /// As [`Self::add`].
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

    /// Makes a shortcut.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_shortcut(&self, parent: &str, name: &str, target: &str) -> Result<String, Refused> {
        self.add(parent, name, Body::Shortcut(target.to_owned()))
    }

    /// Gives an item another content, now.
    ///
    /// # Errors
    /// There is no such item, as with all that follow.
    pub fn edit(&self, id: &str, body: Body) -> Result<(), Refused> {
        self.with(|state| state.world.edit(id, body))
    }

    /// Gives an item another name.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn rename(&self, id: &str, name: &str) -> Result<(), Refused> {
        self.with(|state| state.world.rename(id, name))
    }

    /// Moves an item into another folder, also of another drive or account.
    ///
    /// # Errors
    /// As [`Self::edit`]; the parent is no folder, or lies in the item.
    pub fn move_to(&self, id: &str, parent: &str) -> Result<(), Refused> {
        self.with(|state| state.world.move_to(id, parent))
    }

    /// Puts an item into the bin.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn trash(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.bin(id, true))
    }

    /// Takes an item out of the bin.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn untrash(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.bin(id, false))
    }

    /// Removes an item for good, with all that lies in it.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn remove(&self, id: &str) -> Result<(), Refused> {
        self.with(|state| state.world.remove(id))
    }

    /// Shares an item, and all that lies in it, with an account.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn share(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| {
            state.world.account(email);
            state.world.share(id, email)
        })
    }

    /// Ends what [`Self::share`] did.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn unshare(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.unshare(id, email))
    }

    /// Shares an item with all who know its resource key.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn share_by_link(&self, id: &str, key: &str) -> Result<(), Refused> {
        self.with(|state| state.world.share_by_link(id, key))
    }

    /// Takes an account's sight of an item and all in it, whatever else would give it.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn withhold(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.withhold(id, email, true))
    }

    /// Ends what [`Self::withhold`] did.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn give_back(&self, id: &str, email: &str) -> Result<(), Refused> {
        self.with(|state| state.world.withhold(id, email, false))
    }

    /// Says what may not be done with an item.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn restrict(&self, id: &str, restrictions: Restrictions) -> Result<(), Refused> {
        self.with(|state| state.world.restrict(id, restrictions))
    }

    /// Sets when an item was modified, in milliseconds, as uploads of old files do.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn date(&self, id: &str, modified: i64) -> Result<(), Refused> {
        self.with(|state| state.world.date(id, modified))
    }

    /// Has an account look at an item, which is logged as if it were a change.
    ///
    /// # Errors
    /// As [`Self::edit`].
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
    /// Its email address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The id of its own folder, which callers may call `root`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// As [`Admin::access_token`].
    pub fn access_token(&self) -> String {
        self.admin.access_token(&self.email)
    }

    /// As [`Admin::quota_units`].
    pub fn quota_units(&self) -> u64 {
        self.admin.quota_units(&self.email)
    }
}
