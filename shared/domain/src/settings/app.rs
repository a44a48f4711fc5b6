//! OAuth apps of an organization's own, which connections may use in place of the service's.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ids::Revision;
use crate::patch::Patch;
use crate::vault::Secret;

/// The most characters of a client id.
const MAX_ID: usize = 500;
/// The most characters of a client secret: in any script they are few enough bytes to be sealed at once.
const MAX_SECRET: usize = 1000;

/// Who an organization may have an app with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// The cloud drive.
    CloudDrive,
    /// Notion.
    Notion,
    /// `OneDrive`.
    Onedrive,
    /// GitHub.
    Github,
}

/// An organization's own app with a provider. Its secret lies in the vault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OAuthApp {
    /// Its client id.
    pub client_id: Option<String>,
    /// The name under which the vault has its secret. Each secret has its own, so an app never meets another's.
    pub secret: Option<String>,
    /// Whether connections use it.
    pub enabled: Option<bool>,
}

/// A secret that is handed over, and the name that the vault is to have it under: one that nothing else has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSecret {
    /// Its name in the vault.
    pub name: String,
    /// The secret itself.
    pub secret: Secret,
}

/// What a caller changes about an app.
#[derive(Debug, Clone, Default)]
pub struct AppChange {
    /// Its client id.
    pub client_id: Patch<String>,
    /// Its secret.
    pub client_secret: Patch<NewSecret>,
    /// Whether connections use it.
    pub enabled: Patch<bool>,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::CloudDrive, Self::Notion, Self::Onedrive, Self::Github];

    /// What the names of its settings begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::CloudDrive => "cloudDrive",
            Self::Notion => "notion",
            Self::Onedrive => "onedrive",
            Self::Github => "github",
        }
    }

    /// What the vault's names of its secrets begin with.
    const fn secret_prefix(self) -> &'static str {
        match self {
            Self::CloudDrive => "oauth-app/cloud-drive",
            Self::Notion => "oauth-app/notion",
            Self::Onedrive => "oauth-app/onedrive",
            Self::Github => "oauth-app/github",
        }
    }
}

impl NewSecret {
    /// A secret of an organization's app with `provider`, under a fresh name.
    pub fn of(provider: Provider, secret: Secret) -> Self {
        let name = format!(
            "{}/{}",
            provider.secret_prefix(),
            Revision::random().as_str()
        );
        Self { name, secret }
    }
}

impl AppChange {
    /// Changes the app of `provider`.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the field.
    pub(super) fn apply(&self, provider: Provider, app: &mut OAuthApp) -> Result<()> {
        let name = |field: &str| format!("{}{field}", provider.prefix());
        let fits =
            |text: &str, most: usize| !text.trim().is_empty() && text.chars().count() <= most;
        if let Patch::Set(id) = &self.client_id
            && !fits(id, MAX_ID)
        {
            return Err(Error::invalid_field(
                &name("ClientId"),
                format!("1 to {MAX_ID} characters"),
            ));
        }

        if let Patch::Set(new) = &self.client_secret
            && !fits(new.secret.expose(), MAX_SECRET)
        {
            return Err(Error::invalid_field(
                &name("ClientSecret"),
                format!("1 to {MAX_SECRET} characters"),
            ));
        }

        self.client_id.apply(&mut app.client_id);
        self.enabled.apply(&mut app.enabled);
        self.client_secret
            .clone()
            .map(|new| new.name)
            .apply(&mut app.secret);
        if app.enabled == Some(true) && (app.client_id.is_none() || app.secret.is_none()) {
            let rule = format!(
                "to be on it needs {} and {}",
                name("ClientId"),
                name("ClientSecret")
            );
            return Err(Error::invalid_field(&name("CustomKeyEnabled"), rule));
        }

        Ok(())
    }
}
