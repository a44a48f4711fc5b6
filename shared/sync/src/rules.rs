//! The organization's rules about items: names and folders that are taken or left, and the prompt for a model.

#[cfg(test)]
mod tests;

use domain::connection::{Node, SkipReason};
use domain::document::DocumentType;
use domain::settings::{ItemRules, Settings, globs};
use globset::GlobSet;
use sha2::{Digest, Sha256};

use crate::limits::FILE_BYTES;
use crate::scope::segment;

/// What the settings say about items.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    exclude: Matcher,
    include: Option<Matcher>,
    /// What a model is asked.
    pub(crate) prompt: Option<String>,
    /// Whether there is a model.
    pub(crate) judges: bool,
    /// Whether a rule names folders by their ids.
    pub(crate) names_ids: bool,
    /// Differs when any of this does.
    pub(crate) digest: String,
}

impl Filter {
    /// The filter of an organization. Rules that cannot be understood were stored before they were checked, and match
    /// nothing.
    pub(crate) fn of(settings: &Settings, judges: bool) -> Self {
        if settings.should_llm_filter != Some(true) {
            return Self {
                judges,
                digest: "none".into(),
                ..Self::default()
            };
        }

        let (include, exclude) = (
            settings.include_items.as_ref(),
            settings.exclude_items.as_ref(),
        );
        let matcher = |rules: &ItemRules| Matcher::of(rules).unwrap_or_default();
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
            judges,
            digest: short_digest(&said.to_string()),
        }
    }

    /// Why a file is left out, as far as that can be said without its content. `above` are the ids of the node and of the
    /// folders above it, where [`Self::names_ids`].
    pub(crate) fn leaves_out(&self, node: &Node, above: &[String]) -> Option<SkipReason> {
        if node.folder {
            return None;
        }

        let names = Names::of(node);
        if self.exclude.matches(&names, above) {
            return Some(SkipReason::Excluded);
        }

        if self
            .include
            .as_ref()
            .is_some_and(|include| !include.matches(&names, above))
        {
            return Some(SkipReason::NotIncluded);
        }

        let too_large = node.size.is_some_and(|size| size > FILE_BYTES as u64);
        too_large.then_some(SkipReason::TooLarge)
    }

    /// Whether a model, if there is one to ask, takes the content of a node; `None` when it has not been asked.
    pub(crate) fn verdict(&self, node: &Node) -> Option<bool> {
        let Some(prompt) = &self.prompt else {
            return Some(true);
        };
        let (word, about) = node.verdict.as_deref()?.split_once(':')?;
        let about = about.split_once(':').map_or(about, |(digest, _)| digest);
        (about == about_what(&node.mark, prompt)).then_some(word == "keep")
    }

    /// A model's verdict, as a node keeps it.
    pub(crate) fn remember(&self, mark: &str, keep: bool, reason: &str) -> Option<String> {
        let about = about_what(mark, self.prompt.as_deref()?);
        let word = if keep { "keep" } else { "drop" };
        Some(format!("{word}:{about}:{reason}"))
    }
}

fn about_what(mark: &str, prompt: &str) -> String {
    short_digest(&format!("{} {mark}{prompt}", mark.len()))
}

/// 64 bits of a digest, in hex.
pub(crate) fn short_digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// How patterns may call a file, in lower case; a slash in a name is none of a path.
struct Names {
    /// Its name, and the one with which the drive's own kinds of files are synchronized to a disk.
    base: Vec<String>,
    /// The same with where it lies: in the drive, and with the drive's name.
    paths: Vec<String>,
    /// The folders above it.
    folders: Vec<String>,
}

impl Names {
    fn of(node: &Node) -> Self {
        let ending = match node.kind {
            Some(DocumentType::CloudDoc) => Some("gdoc"),
            Some(DocumentType::CloudSheet) => Some("gsheet"),
            Some(DocumentType::CloudSlide) => Some("gslides"),
            _ => None,
        };

        let (path, name) = (node.path.to_lowercase(), segment(&node.name).to_lowercase());
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

/// Compiled rules.
#[derive(Debug, Default)]
struct Matcher {
    /// Patterns of names.
    names: GlobSet,
    /// Patterns of paths.
    paths: GlobSet,
    /// Names of folders.
    folders: Vec<String>,
    /// Paths of folders.
    below: Vec<String>,
    /// Ids of folders.
    ids: Vec<String>,
}

impl Matcher {
    fn of(rules: &ItemRules) -> Result<Self, String> {
        let (paths, names): (Vec<&String>, Vec<&String>) = rules
            .patterns
            .iter()
            .partition(|pattern| pattern.contains('/'));
        let mut matcher = Self {
            names: globs(names)?,
            paths: globs(paths)?,
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

    fn matches(&self, names: &Names, above: &[String]) -> bool {
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
