//! The settings of an organization.

mod app;
mod bucket;
mod change;
mod items;
mod picker;
mod redirects;
mod trusted;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use app::{AppChange, AppProvider, MAX_CLIENT_ID_CHARS, MAX_SECRET_CHARS, NewSecret, OAuthApp};
pub use bucket::{MAX_BUCKETS, PREFERENCES, ProfileBucket};
pub use change::{MAX_FILTER_PROMPT, MAX_WORKSPACE_PROMPT, SettingsChange};
pub use items::{ItemRules, compile_patterns};
pub use picker::{
    MAX_PICKER_LOGO_BYTES, MAX_PICKER_NAME_CHARS, MAX_PICKER_ORIGINS, PickerSettings,
};
pub use trusted::TrustedSources;

/// The settings of an organization. Every field has a default that means "not set".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The number of changes. It is the fence of concurrent changes.
    #[serde(skip)]
    pub version: u64,
    /// The desired size of a chunk in characters, or `None` for the default of the service.
    pub chunk_size: Option<u32>,
    /// The topics by which profiles are arranged, or `None` for those of the service.
    pub profile_buckets: Option<Vec<ProfileBucket>>,
    /// `true` if incoming content is filtered by the following prompt and rules.
    pub should_llm_filter: Option<bool>,
    /// A description of what matters to the organization, in its own words.
    pub filter_prompt: Option<String>,
    /// The rules for items that connections include.
    pub include_items: Option<ItemRules>,
    /// The rules for items that connections exclude.
    pub exclude_items: Option<ItemRules>,
    /// A description of the organization's work, in its own words.
    pub workspace_prompt: Option<String>,
    /// The sources whose words count as the user's own.
    pub trusted_sources: Option<TrustedSources>,
    /// The content of requests and responses that the request log keeps.
    pub log_content: LogContentMode,
    /// The origins to which connections may send browsers. All origins are allowed if there are
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_redirect_urls: Option<Vec<String>>,
    /// The look of the picker, and the pages that may show it in a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picker: Option<PickerSettings>,
    /// The organization's own OAuth apps.
    pub apps: BTreeMap<AppProvider, OAuthApp>,
}

/// The content of requests and responses that the request log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "LogContent")]
pub enum LogContentMode {
    /// Their texts, shortened and without anything that looks like a secret.
    Full,
    /// Their shape: ids, numbers and states, but no texts.
    #[default]
    Redacted,
    /// Nothing.
    Off,
}

impl LogContentMode {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Redacted => "redacted",
            Self::Off => "off",
        }
    }

    /// Parses a name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Redacted, Self::Off]
            .into_iter()
            .find(|content| content.as_str() == text)
    }
}

/// The useful range of chunk sizes. A smaller chunk does not hold a complete thought, a larger one
/// holds several.
pub const CHUNK_SIZES: std::ops::RangeInclusive<i64> = 64..=16_000;

impl Settings {
    /// Sets `chunkSize` as the API sends it, where -1 is the default.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] outside [`CHUNK_SIZES`].
    pub fn set_chunk_size(&mut self, size: i64) -> Result<()> {
        self.chunk_size = match size {
            -1 => None,
            size if CHUNK_SIZES.contains(&size) => u32::try_from(size).ok(),
            _ => {
                let (min, max) = (CHUNK_SIZES.start(), CHUNK_SIZES.end());
                let rule = format!("{min} to {max} characters, or -1 for the default");
                return Err(Error::invalid_field("chunkSize", rule));
            }
        };
        Ok(())
    }

    /// Returns the buckets of a container with its own buckets `container_buckets`: those of the
    /// organization, followed by those that the container adds.
    pub fn merge_buckets(&self, container_buckets: &[ProfileBucket]) -> Vec<ProfileBucket> {
        let mut buckets = self
            .profile_buckets
            .clone()
            .unwrap_or_else(|| vec![ProfileBucket::default_bucket()]);

        for bucket in container_buckets {
            if buckets.iter().all(|existing| existing.key != bucket.key) {
                buckets.push(bucket.clone());
            }
        }
        buckets
    }

    /// Returns the guidance for extraction, the most specific first: the description of the
    /// container, the filter prompt of the organization, and the description of its work. It is
    /// never a source of statements.
    pub fn extraction_guidance(&self, container_context: Option<&str>) -> Option<String> {
        let filter = self
            .filter_prompt
            .as_deref()
            .filter(|_| self.should_llm_filter == Some(true));
        let parts = [container_context, filter, self.workspace_prompt.as_deref()];
        let parts: Vec<&str> = parts
            .into_iter()
            .flatten()
            .filter(|part| !part.trim().is_empty())
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Checks whether connections may send browsers to an origin, given as browsers write it.
    pub fn allows_redirect_to(&self, origin: &str) -> bool {
        redirects::allows_origin(
            self.allowed_redirect_urls.as_deref().unwrap_or_default(),
            origin,
        )
    }

    /// Returns the names under which the vault stores the secrets of these settings.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.apps.values().filter_map(|app| app.secret.as_deref())
    }

    /// Converts these settings from another installation for an organization whose current settings
    /// are `present`. Secrets are not transferred, so an app remains enabled only if it works with
    /// the secret that is already there.
    #[must_use]
    pub fn imported_over(mut self, current: &Self) -> Self {
        self.version = current.version;
        for (provider, app) in &mut self.apps {
            app.secret = current
                .apps
                .get(provider)
                .and_then(|current| current.secret.clone());
            if app.secret.is_none() || app.client_id.is_none() {
                app.enabled = app.enabled.map(|_| false);
            }
        }

        for (provider, app) in current.apps.iter().filter(|(_, app)| app.secret.is_some()) {
            self.apps.entry(*provider).or_insert_with(|| OAuthApp {
                enabled: None,
                ..app.clone()
            });
        }

        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(key: &str, description: &str) -> ProfileBucket {
        ProfileBucket {
            key: key.into(),
            description: description.into(),
        }
    }

    fn keys(buckets: &[ProfileBucket]) -> Vec<&str> {
        buckets.iter().map(|bucket| bucket.key.as_str()).collect()
    }

    #[test]
    fn a_container_adds_to_the_buckets_of_its_organization() {
        let mut settings = Settings::default();
        let container_buckets = [bucket("food", "theirs"), bucket("preferences", "theirs")];
        assert_eq!(
            keys(&settings.merge_buckets(&container_buckets)),
            ["preferences", "food"]
        );

        settings.profile_buckets = Some(vec![bucket("work", "ours"), bucket("food", "ours")]);
        let merged = settings.merge_buckets(&container_buckets);
        assert_eq!(keys(&merged), ["work", "food", "preferences"]);
        assert_eq!(merged[1].description, "ours");
        settings.profile_buckets = Some(Vec::new());
        assert_eq!(keys(&settings.merge_buckets(&[])), [""; 0]);
    }

    #[test]
    fn settings_stored_before_there_were_others_stay_readable() {
        let stored: Settings = serde_json::from_str(r#"{"chunk_size":500}"#).unwrap();
        assert_eq!(
            stored,
            Settings {
                chunk_size: Some(500),
                ..Settings::default()
            }
        );
        assert_eq!(stored.log_content, LogContentMode::Redacted);

        let app = OAuthApp {
            client_id: Some("i".into()),
            secret: Some("s".into()),
            enabled: Some(true),
        };
        let settings = Settings {
            apps: [(AppProvider::CloudDrive, app)].into(),
            ..stored
        };

        let text = serde_json::to_string(&settings).unwrap();
        assert!(text.contains(r#""cloud-drive""#), "{text}");
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }

    #[test]
    fn settings_from_elsewhere_bring_no_secret() {
        let app = |secret: Option<&str>| OAuthApp {
            client_id: Some("i".into()),
            secret: secret.map(str::to_owned),
            enabled: Some(true),
        };

        let with_app = |provider, secret| Settings {
            apps: [(provider, app(Some(secret)))].into(),
            ..Settings::default()
        };

        let (present, imported) = (
            with_app(AppProvider::Notion, "here"),
            with_app(AppProvider::Github, "there"),
        );

        let merged = imported.clone().imported_over(&present);
        assert_eq!(
            merged.apps[&AppProvider::Github],
            OAuthApp {
                enabled: Some(false),
                ..app(None)
            }
        );
        assert_eq!(
            merged.apps[&AppProvider::Notion],
            OAuthApp {
                enabled: None,
                ..app(Some("here"))
            }
        );

        let other = with_app(AppProvider::Notion, "there").imported_over(&present);
        assert_eq!(other, present, "the secret is the one that is here");
        assert_eq!(imported.clone().imported_over(&imported), imported);
    }
}
