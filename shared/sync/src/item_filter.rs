//! The organization's rules about items: patterns of names and folders to include or exclude, and a
//! filter prompt for a model.

#[cfg(test)]
mod tests;

use domain::connection::{ExcludedItem, ItemRecord, SkipReason};
use domain::document::DocumentType;
use domain::settings::{ItemRules, Settings, compile_patterns};
use globset::GlobSet;
use sha2::{Digest, Sha256};

use crate::item_paths::path_segment;
use crate::limits::MAX_FILE_BYTES;

/// The rules in the settings of an organization, compiled.
#[derive(Debug, Default)]
pub(crate) struct ItemFilter {
    exclude: RuleMatcher,
    include: Option<RuleMatcher>,
    /// The filter prompt for the model.
    pub(crate) prompt: Option<String>,
    /// `true` if a model is configured.
    pub(crate) has_model: bool,
    /// `true` if a rule names items by their ids.
    pub(crate) names_ids: bool,
    /// A digest that changes whenever any of these rules changes.
    pub(crate) digest: String,
}

impl ItemFilter {
    /// Creates the filter of an organization. Invalid rules match nothing; they were stored before
    /// rules were validated.
    pub(crate) fn of(settings: &Settings, judges: bool) -> Self {
        if settings.should_llm_filter != Some(true) {
            return Self {
                has_model: judges,
                digest: "none".into(),
                ..Self::default()
            };
        }

        let (include, exclude) = (
            settings.include_items.as_ref(),
            settings.exclude_items.as_ref(),
        );
        let matcher = |rules: &ItemRules| RuleMatcher::of(rules).unwrap_or_default();
        let include =
            include.filter(|rules| !rules.patterns.is_empty() || !rules.folders.is_empty());
        let prompt = settings
            .filter_prompt
            .clone()
            .filter(|prompt| !prompt.trim().is_empty());
        let said = serde_json::json!([include, exclude, prompt, judges && prompt.is_some()]);
        let (include, exclude) = (
            include.map(matcher),
            exclude.map(matcher).unwrap_or_default(),
        );

        Self {
            names_ids: !exclude.ids.is_empty()
                || include.as_ref().is_some_and(|rules| !rules.ids.is_empty()),
            exclude,
            include,
            prompt,
            has_model: judges,
            digest: short_digest(&said.to_string()),
        }
    }

    /// Adds items that users have left out of the folders that they selected.
    pub(crate) fn without(mut self, excluded: &[ExcludedItem]) -> Self {
        if excluded.is_empty() {
            return self;
        }
        let ids: Vec<&str> = excluded.iter().map(|item| item.id.as_str()).collect();
        self.digest = short_digest(&serde_json::json!([self.digest, ids]).to_string());
        self.exclude.ids.extend(ids.into_iter().map(str::to_owned));
        self.names_ids = true;
        self
    }

    /// Returns the reason for which a file is skipped, as far as it follows without the content. If
    /// [`Self::names_ids`] is set, `above` has the ids of the record and of the folders above it.
    pub(crate) fn skip_reason(&self, record: &ItemRecord, above: &[String]) -> Option<SkipReason> {
        if record.folder {
            return None;
        }

        let names = FileNames::of(record);
        if self.exclude.matches_file(&names, above) {
            return Some(SkipReason::Excluded);
        }

        if self
            .include
            .as_ref()
            .is_some_and(|include| !include.matches_file(&names, above))
        {
            return Some(SkipReason::NotIncluded);
        }

        let too_large = record.size.is_some_and(|size| size > MAX_FILE_BYTES as u64);
        too_large.then_some(SkipReason::TooLarge)
    }

    /// Returns whether the model accepts the content of a record, or `None` if it has not been asked.
    /// Always `Some(true)` without a prompt.
    pub(crate) fn model_verdict(&self, record: &ItemRecord) -> Option<bool> {
        let Some(prompt) = &self.prompt else {
            return Some(true);
        };
        let (word, about) = record.verdict.as_deref()?.split_once(':')?;
        let about = about.split_once(':').map_or(about, |(digest, _)| digest);
        (about == subject_digest(&record.content_version, prompt)).then_some(word == "keep")
    }

    /// Formats a model's verdict for storage in a record.
    pub(crate) fn format_verdict(
        &self,
        content_version: &str,
        keep: bool,
        reason: &str,
    ) -> Option<String> {
        let about = subject_digest(content_version, self.prompt.as_deref()?);
        let word = if keep { "keep" } else { "drop" };
        Some(format!("{word}:{about}:{reason}"))
    }
}

fn subject_digest(content_version: &str, prompt: &str) -> String {
    short_digest(&format!(
        "{} {content_version}{prompt}",
        content_version.len()
    ))
}

/// Returns the first 64 bits of the SHA-256 digest in hexadecimal.
pub(crate) fn short_digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text)[..8])
}

/// The names and paths of a file that patterns may match, in lower case. A slash in a name does not
/// separate segments.
struct FileNames {
    /// The name of the file, also with the extension that it has when the provider's own file types
    /// are synchronized to a disk.
    base: Vec<String>,
    /// The paths of the file, with and without the name of the drive.
    paths: Vec<String>,
    /// The names of the folders above it.
    folders: Vec<String>,
}

impl FileNames {
    fn of(record: &ItemRecord) -> Self {
        let ending = match record.kind {
            Some(DocumentType::CloudDoc) => Some("gdoc"),
            Some(DocumentType::CloudSheet) => Some("gsheet"),
            Some(DocumentType::CloudSlide) => Some("gslides"),
            _ => None,
        };

        let (path, name) = (
            record.path.to_lowercase(),
            path_segment(&record.name).to_lowercase(),
        );
        let above = path
            .strip_suffix(name.as_str())
            .unwrap_or(&path)
            .trim_matches('/')
            .to_owned();
        let in_drive = above
            .split_once('/')
            .map_or("", |(_, rest)| rest)
            .to_owned();
        let mut base = vec![name.clone()];
        base.extend(ending.map(|ending| format!("{name}.{ending}")));
        let join = |folder: &str, name: &str| {
            format!("{folder}/{name}")
                .trim_start_matches('/')
                .to_owned()
        };

        let paths = base
            .iter()
            .flat_map(|name| [join(&above, name), join(&in_drive, name)])
            .collect();
        Self {
            base,
            paths,
            folders: above.split('/').map(str::to_owned).collect(),
        }
    }
}

/// A compiled set of rules.
#[derive(Debug, Default)]
struct RuleMatcher {
    /// The patterns of names.
    names: GlobSet,
    /// The patterns of paths.
    paths: GlobSet,
    /// The names of folders.
    folders: Vec<String>,
    /// The paths of folders.
    below: Vec<String>,
    /// The ids of items. A folder stands for everything below it.
    ids: Vec<String>,
}

impl RuleMatcher {
    fn of(rules: &ItemRules) -> Result<Self, String> {
        let (paths, names): (Vec<&String>, Vec<&String>) = rules
            .patterns
            .iter()
            .partition(|pattern| pattern.contains('/'));
        let mut matcher = Self {
            names: compile_patterns(names)?,
            paths: compile_patterns(paths)?,
            ..Self::default()
        };

        for folder in rules.folders.iter().map(|folder| folder.trim()) {
            if let Some(id) = folder.strip_prefix("id:") {
                matcher.ids.push(id.to_owned());
            } else if folder.contains('/') {
                matcher
                    .below
                    .push(format!("{}/", folder.trim_matches('/').to_lowercase()));
            } else {
                matcher.folders.push(folder.to_lowercase());
            }
        }

        Ok(matcher)
    }

    fn matches_file(&self, names: &FileNames, above: &[String]) -> bool {
        names.base.iter().any(|name| self.names.is_match(name))
            || names.paths.iter().any(|path| self.paths.is_match(path))
            || self
                .folders
                .iter()
                .any(|folder| names.folders.contains(folder))
            || self
                .below
                .iter()
                .any(|below| names.paths.iter().any(|path| path.starts_with(below)))
            || self.ids.iter().any(|id| above.contains(id))
    }
}
