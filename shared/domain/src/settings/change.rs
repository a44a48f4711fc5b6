//! Changes of settings that callers send.

use std::collections::BTreeMap;

use super::{
    AppChange, AppProvider, ItemRules, LogContentMode, NewSecret, PickerSettings, ProfileBucket,
    Settings, TrustedSources, redirects,
};
use crate::error::{Error, Result};
use crate::patch::Patch;

/// The largest number of characters in the filter prompt. This limit is part of the API.
pub const MAX_FILTER_PROMPT: usize = 750;
/// The largest number of characters in the workspace prompt. This limit is part of the API.
pub const MAX_WORKSPACE_PROMPT: usize = 1500;

/// A caller's change to settings.
#[derive(Debug, Clone, Default)]
pub struct SettingsChange {
    /// The size of a chunk in characters, or -1 for the default of the service.
    pub chunk_size: Patch<i64>,
    /// The topics of profiles.
    pub profile_buckets: Patch<Vec<ProfileBucket>>,
    /// `true` if incoming content is to be filtered.
    pub should_llm_filter: Patch<bool>,
    /// The prompt by which it is filtered.
    pub filter_prompt: Patch<String>,
    /// The rules for items that connections include.
    pub include_items: Patch<ItemRules>,
    /// The rules for items that connections exclude.
    pub exclude_items: Patch<ItemRules>,
    /// A description of the organization's work.
    pub workspace_prompt: Patch<String>,
    /// The sources whose words count as the user's own.
    pub trusted_sources: Patch<TrustedSources>,
    /// The content that the request log keeps.
    pub log_content: Patch<LogContentMode>,
    /// The origins to which connections may send browsers.
    pub allowed_redirect_urls: Patch<Vec<String>>,
    /// The look of the picker, and the pages that may show it in a frame.
    pub picker: Patch<PickerSettings>,
    /// The organization's own OAuth apps.
    pub apps: BTreeMap<AppProvider, AppChange>,
}

impl SettingsChange {
    /// Applies the change to settings. After an error they are partly changed and must not be used.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] about the invalid field.
    pub fn apply_to(&self, settings: &mut Settings) -> Result<()> {
        match self.chunk_size {
            Patch::Keep => {}
            Patch::Clear => settings.chunk_size = None,
            Patch::Set(size) => settings.set_chunk_size(size)?,
        }

        if let Patch::Set(buckets) = &self.profile_buckets {
            ProfileBucket::check_buckets("profileBuckets", buckets)?;
        }
        self.profile_buckets.apply(&mut settings.profile_buckets);

        let workspace = check_prompt(
            "workspacePrompt",
            &self.workspace_prompt,
            MAX_WORKSPACE_PROMPT,
        )?;
        workspace.apply(&mut settings.workspace_prompt);

        if let Patch::Set(sources) = &self.trusted_sources {
            sources.check_sources()?;
        }
        self.trusted_sources.apply(&mut settings.trusted_sources);

        match self.log_content {
            Patch::Keep => {}
            Patch::Clear => settings.log_content = LogContentMode::default(),
            Patch::Set(content) => settings.log_content = content,
        }

        let redirects = match &self.allowed_redirect_urls {
            Patch::Set(origins) => Patch::Set(redirects::check_origins(origins)?),
            unchanged => unchanged.clone(),
        };
        redirects.apply(&mut settings.allowed_redirect_urls);

        let picker = match &self.picker {
            Patch::Set(picker) => Patch::Set(picker.checked()?),
            unchanged => unchanged.clone(),
        };
        picker.apply(&mut settings.picker);

        self.apply_filter(settings)?;
        for (provider, change) in &self.apps {
            change.apply_to(*provider, settings.apps.entry(*provider).or_default())?;
        }
        settings
            .apps
            .retain(|_, app| *app != super::OAuthApp::default());

        Ok(())
    }

    /// Applies the changes of the filters. Filters can be set only while filtering is on; turning
    /// it off keeps them for later.
    fn apply_filter(&self, settings: &mut Settings) -> Result<()> {
        self.should_llm_filter
            .apply(&mut settings.should_llm_filter);
        let filter = check_prompt("filterPrompt", &self.filter_prompt, MAX_FILTER_PROMPT)?;
        let items = [
            ("includeItems", &self.include_items),
            ("excludeItems", &self.exclude_items),
        ];

        let set_fields = [("filterPrompt", matches!(filter, Patch::Set(_)))];
        let set_fields = set_fields
            .into_iter()
            .chain(items.map(|(name, rules)| (name, matches!(rules, Patch::Set(_)))));
        if let Some((name, _)) = set_fields.into_iter().find(|(_, is_set)| *is_set)
            && settings.should_llm_filter != Some(true)
        {
            return Err(Error::invalid_field(
                name,
                "needs shouldLLMFilter to be true, in this request or before",
            ));
        }

        for (name, rules) in items {
            if let Patch::Set(rules) = rules {
                rules.check_rules(name)?;
            }
        }

        filter.apply(&mut settings.filter_prompt);
        self.include_items.apply(&mut settings.include_items);
        self.exclude_items.apply(&mut settings.exclude_items);

        Ok(())
    }

    /// Returns the new secrets of the change.
    pub fn new_secrets(&self) -> impl Iterator<Item = &NewSecret> {
        self.apps
            .values()
            .filter_map(|change| match &change.client_secret {
                Patch::Set(new) => Some(new),
                Patch::Keep | Patch::Clear => None,
            })
    }
}

/// Validates a prompt and returns it as it is stored. A blank prompt clears the setting.
fn check_prompt(field: &str, patch: &Patch<String>, max_chars: usize) -> Result<Patch<String>> {
    match patch {
        Patch::Set(text) if text.trim().is_empty() => Ok(Patch::Clear),
        Patch::Set(text) if text.chars().count() > max_chars => Err(Error::invalid_field(
            field,
            format!("at most {max_chars} characters"),
        )),
        patch => Ok(patch.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Secret;

    fn change(change: SettingsChange, settings: &Settings) -> Result<Settings, String> {
        let mut settings = settings.clone();
        change
            .apply_to(&mut settings)
            .map(|()| settings)
            .map_err(|error| error.to_string())
    }

    fn text(text: &str) -> Patch<String> {
        Patch::Set(text.into())
    }

    #[test]
    fn what_filters_needs_filtering() {
        let off = Settings::default();
        let sent = |on: Patch<bool>, prompt: Patch<String>| SettingsChange {
            should_llm_filter: on,
            filter_prompt: prompt,
            ..SettingsChange::default()
        };
        assert!(
            change(sent(Patch::Keep, text("Birds.")), &off)
                .unwrap_err()
                .contains("shouldLLMFilter")
        );
        assert!(change(sent(Patch::Set(false), text("Birds.")), &off).is_err());

        let on = change(sent(Patch::Set(true), text("Birds.")), &off).unwrap();
        assert_eq!(
            on.extraction_guidance(Some("Herons.")).as_deref(),
            Some("Herons.\nBirds.")
        );

        let again_off = change(sent(Patch::Set(false), Patch::Keep), &on).unwrap();
        assert_eq!(again_off.filter_prompt.as_deref(), Some("Birds."));
        assert_eq!(
            again_off.extraction_guidance(None),
            None,
            "what filters has no effect while filtering is off"
        );

        assert!(change(sent(Patch::Keep, text("Boats.")), &again_off).is_err());
        assert_eq!(
            change(sent(Patch::Keep, Patch::Clear), &again_off)
                .unwrap()
                .filter_prompt,
            None
        );
        assert_eq!(
            change(sent(Patch::Keep, text("  ")), &on)
                .unwrap()
                .filter_prompt,
            None
        );

        for (length, fits) in [(750, true), (751, false)] {
            assert_eq!(
                change(sent(Patch::Keep, text(&"ü".repeat(length))), &on).is_ok(),
                fits
            );
        }
    }

    #[test]
    fn an_app_is_used_with_id_and_secret() {
        let sent = |id: Patch<String>, secret: Patch<&str>, enabled: Patch<bool>| {
            let client_secret =
                secret.map(|text| NewSecret::for_app(AppProvider::Github, Secret::new(text)));
            let app = AppChange {
                client_id: id,
                client_secret,
                enabled,
            };
            SettingsChange {
                apps: [(AppProvider::Github, app)].into(),
                ..SettingsChange::default()
            }
        };

        let none = Settings::default();
        for (id, secret) in [
            (Patch::Keep, Patch::Keep),
            (text("i"), Patch::Keep),
            (Patch::Keep, Patch::Set("s")),
        ] {
            let refused = change(sent(id, secret, Patch::Set(true)), &none).unwrap_err();
            assert!(refused.starts_with("githubCustomKeyEnabled"), "{refused}");
        }

        let on = change(sent(text("i"), Patch::Set("s"), Patch::Set(true)), &none).unwrap();
        for broken in [
            sent(Patch::Clear, Patch::Keep, Patch::Keep),
            sent(Patch::Keep, Patch::Clear, Patch::Keep),
        ] {
            assert!(change(broken, &on).is_err());
        }

        let gone = change(sent(Patch::Clear, Patch::Clear, Patch::Clear), &on).unwrap();
        assert_eq!(gone, none);
    }
}
