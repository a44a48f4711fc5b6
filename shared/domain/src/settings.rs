//! What an organization has set for itself.

mod app;
mod bucket;
mod change;
mod items;
mod redirects;
mod trusted;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use app::{AppChange, NewSecret, OAuthApp, Provider};
pub use bucket::{Bucket, MAX_BUCKETS, PREFERENCES};
pub use change::SettingsChange;
pub use items::{ItemRules, globs};
pub use trusted::TrustedSources;

/// The settings of an organization. Every field has a default that means "not set".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Counts changes; the fence of concurrent ones.
    #[serde(skip)]
    pub version: u64,
    /// The size of a chunk to aim at, in characters; `None` leaves it to the service.
    pub chunk_size: Option<u32>,
    /// The topics that profiles are sorted into; `None` leaves them to the service.
    pub profile_buckets: Option<Vec<Bucket>>,
    /// Whether what comes in is filtered by the prompt and the rules that follow.
    pub should_llm_filter: Option<bool>,
    /// What matters to the organization, in its words.
    pub filter_prompt: Option<String>,
    /// The items that connections take.
    pub include_items: Option<ItemRules>,
    /// The items that connections leave.
    pub exclude_items: Option<ItemRules>,
    /// What the organization's work is about, in its words.
    pub workspace_prompt: Option<String>,
    /// The sources whose words count as the user's own.
    pub trusted_sources: Option<TrustedSources>,
    /// What the request log keeps of requests and answers.
    pub log_content: LogContent,
    /// The origins that connections may send browsers to; all where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_redirect_urls: Option<Vec<String>>,
    /// The organization's own OAuth apps.
    pub apps: BTreeMap<Provider, OAuthApp>,
}

/// What the request log keeps of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogContent {
    /// Their texts, shortened, without what looks like a secret.
    Full,
    /// Their shape: ids, numbers and states, no texts.
    #[default]
    Redacted,
    /// Nothing.
    Off,
}

impl LogContent {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Redacted => "redacted",
            Self::Off => "off",
        }
    }

    /// Reads a name of the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Redacted, Self::Off]
            .into_iter()
            .find(|content| content.as_str() == text)
    }
}

/// The sizes of chunks that make sense: below, a chunk is no thought; above, it is several.
pub const CHUNK_SIZES: std::ops::RangeInclusive<i64> = 64..=16_000;

impl Settings {
    /// Sets `chunkSize` as the contract sends it: -1 is the default.
    ///
    /// # Errors
    /// [`Error::Invalid`] outside [`CHUNK_SIZES`].
    pub fn set_chunk_size(&mut self, size: i64) -> Result<()> {
        self.chunk_size = match size {
            -1 => None,
            size if CHUNK_SIZES.contains(&size) => u32::try_from(size).ok(),
            _ => {
                let (least, most) = (CHUNK_SIZES.start(), CHUNK_SIZES.end());
                let rule = format!("{least} to {most} characters, or -1 for the default");
                return Err(Error::invalid_field("chunkSize", rule));
            }
        };
        Ok(())
    }

    /// The buckets of a container whose own ones are `own`: the organization's, then what the container adds to them.
    pub fn buckets_with(&self, own: &[Bucket]) -> Vec<Bucket> {
        let mut buckets = self
            .profile_buckets
            .clone()
            .unwrap_or_else(|| vec![Bucket::preferences()]);
        for bucket in own {
            if buckets.iter().all(|known| known.key != bucket.key) {
                buckets.push(bucket.clone());
            }
        }
        buckets
    }

    /// What helps a reader of content to choose what matters, the nearest first: what the container is about, what the
    /// organization filters by, and what its work is about. It is no source of facts.
    pub fn guidance(&self, container: Option<&str>) -> Option<String> {
        let filter = self
            .filter_prompt
            .as_deref()
            .filter(|_| self.should_llm_filter == Some(true));
        let parts = [container, filter, self.workspace_prompt.as_deref()];
        let parts: Vec<&str> = parts
            .into_iter()
            .flatten()
            .filter(|part| !part.trim().is_empty())
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Whether connections may send browsers to an origin, as browsers write it.
    pub fn allows_redirect_to(&self, origin: &str) -> bool {
        redirects::allows(
            self.allowed_redirect_urls.as_deref().unwrap_or_default(),
            origin,
        )
    }

    /// The names of the secrets that the vault has for these settings.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.apps.values().filter_map(|app| app.secret.as_deref())
    }

    /// These settings, from elsewhere, for an organization whose present ones are `present`: secrets do not come along,
    /// so an app stays as far as it works with the secret that is there.
    #[must_use]
    pub fn taken_over(mut self, present: &Self) -> Self {
        self.version = present.version;
        for (provider, app) in &mut self.apps {
            app.secret = present
                .apps
                .get(provider)
                .and_then(|present| present.secret.clone());
            if app.secret.is_none() || app.client_id.is_none() {
                app.enabled = app.enabled.map(|_| false);
            }
        }

        for (provider, app) in present.apps.iter().filter(|(_, app)| app.secret.is_some()) {
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

    fn bucket(key: &str, description: &str) -> Bucket {
        Bucket {
            key: key.into(),
            description: description.into(),
        }
    }

    fn keys(buckets: &[Bucket]) -> Vec<&str> {
        buckets.iter().map(|bucket| bucket.key.as_str()).collect()
    }

    #[test]
    fn a_container_adds_to_the_buckets_of_its_organization() {
        let mut settings = Settings::default();
        let own = [bucket("food", "theirs"), bucket("preferences", "theirs")];
        assert_eq!(keys(&settings.buckets_with(&own)), ["preferences", "food"]);
        settings.profile_buckets = Some(vec![bucket("work", "ours"), bucket("food", "ours")]);
        let all = settings.buckets_with(&own);
        assert_eq!(keys(&all), ["work", "food", "preferences"]);
        assert_eq!(all[1].description, "ours");
        settings.profile_buckets = Some(Vec::new());
        assert_eq!(keys(&settings.buckets_with(&[])), [""; 0]);
    }

    #[test]
    fn settings_stored_before_there_were_others_stay_readable() {
        let old: Settings = serde_json::from_str(r#"{"chunk_size":500}"#).unwrap();
        assert_eq!(
            old,
            Settings {
                chunk_size: Some(500),
                ..Settings::default()
            }
        );
        assert_eq!(old.log_content, LogContent::Redacted);
        let app = OAuthApp {
            client_id: Some("i".into()),
            secret: Some("s".into()),
            enabled: Some(true),
        };
        let settings = Settings {
            apps: [(Provider::CloudDrive, app)].into(),
            ..old
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

        let with = |provider, secret| Settings {
            apps: [(provider, app(Some(secret)))].into(),
            ..Settings::default()
        };

        let (here, there) = (
            with(Provider::Notion, "here"),
            with(Provider::Github, "there"),
        );
        let taken = there.clone().taken_over(&here);
        assert_eq!(
            taken.apps[&Provider::Github],
            OAuthApp {
                enabled: Some(false),
                ..app(None)
            }
        );
        assert_eq!(
            taken.apps[&Provider::Notion],
            OAuthApp {
                enabled: None,
                ..app(Some("here"))
            }
        );
        let other = with(Provider::Notion, "there").taken_over(&here);
        assert_eq!(other, here, "the secret is the one that is here");
        assert_eq!(there.clone().taken_over(&there), there);
    }
}
