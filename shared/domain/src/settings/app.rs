//! An organization's own OAuth apps, which connections may use in place of those of the service.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ids::Revision;
use crate::patch::Patch;
use crate::vault::Secret;

/// The largest number of characters in a client id.
pub const MAX_CLIENT_ID_CHARS: usize = 500;
/// The largest number of characters in a client secret. In any script, the bytes are few enough to
/// be sealed in one operation.
pub const MAX_SECRET_CHARS: usize = 1000;

/// The providers with which an organization may have an app. Only Google Drive has a connector so
/// far; the settings of the others are stored for callers that expect them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppProvider {
    /// Google Drive.
    CloudDrive,
    /// Notion.
    Notion,
    /// `OneDrive`.
    Onedrive,
    /// GitHub.
    Github,
}

/// An organization's own OAuth app with a provider. Its secret is stored in the vault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OAuthApp {
    /// The client id.
    pub client_id: Option<String>,
    /// The name of the client secret in the vault. Each secret has its own name, so an app never
    /// gets the secret of another.
    pub secret: Option<String>,
    /// `true` if connections use the app.
    pub enabled: Option<bool>,
}

/// A new secret, with the unique name under which the vault is to store it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSecret {
    /// The name in the vault.
    pub name: String,
    /// The secret.
    pub secret: Secret,
}

/// A change to an app.
#[derive(Debug, Clone, Default)]
pub struct AppChange {
    /// The client id.
    pub client_id: Patch<String>,
    /// The client secret.
    pub client_secret: Patch<NewSecret>,
    /// `true` if connections are to use the app.
    pub enabled: Patch<bool>,
}

impl AppProvider {
    /// All providers.
    pub const ALL: [Self; 4] = [Self::CloudDrive, Self::Notion, Self::Onedrive, Self::Github];

    /// Returns the prefix of the names of its settings.
    pub const fn settings_prefix(self) -> &'static str {
        match self {
            Self::CloudDrive => "cloudDrive",
            Self::Notion => "notion",
            Self::Onedrive => "onedrive",
            Self::Github => "github",
        }
    }

    /// Returns the prefix of the names of its secrets in the vault.
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
    /// Creates a secret of an organization's app with `provider`, under a new name.
    pub fn for_app(provider: AppProvider, secret: Secret) -> Self {
        let name = format!(
            "{}/{}",
            provider.secret_prefix(),
            Revision::random().as_str()
        );
        Self { name, secret }
    }
}

impl AppChange {
    /// Applies the change to the app of `provider`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] about the invalid field.
    pub(super) fn apply_to(&self, provider: AppProvider, app: &mut OAuthApp) -> Result<()> {
        let name = |field: &str| format!("{}{field}", provider.settings_prefix());
        let fits =
            |text: &str, most: usize| !text.trim().is_empty() && text.chars().count() <= most;

        if let Patch::Set(id) = &self.client_id
            && !fits(id, MAX_CLIENT_ID_CHARS)
        {
            return Err(Error::invalid_field(
                &name("ClientId"),
                format!("1 to {MAX_CLIENT_ID_CHARS} characters"),
            ));
        }

        if let Patch::Set(new) = &self.client_secret
            && !fits(new.secret.expose(), MAX_SECRET_CHARS)
        {
            return Err(Error::invalid_field(
                &name("ClientSecret"),
                format!("1 to {MAX_SECRET_CHARS} characters"),
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
