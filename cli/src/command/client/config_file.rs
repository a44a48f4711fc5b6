//! The file of profiles: the servers that `--profile` names, with their keys.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use domain::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arguments::ConfigOptions;

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The profile that is used when a command names no server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) default_profile: Option<String>,
    /// The profiles by their names.
    #[serde(default)]
    pub(super) profiles: BTreeMap<String, ServerProfile>,
}

/// A server and its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerProfile {
    /// The address of the server.
    pub(super) url: String,
    /// The key.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_key",
        deserialize_with = "hide_key"
    )]
    pub(super) key: Option<Secret>,
}

impl ConfigFile {
    /// Returns the path of the file.
    ///
    /// # Errors
    /// Fails if there is no home folder, and no option names the file.
    pub(super) fn path(options: &ConfigOptions) -> Result<PathBuf> {
        if let Some(path) = &options.config {
            return Ok(path.clone());
        }
        let own = |folder: PathBuf| folder.join("recollect/config.toml");
        // The standard says that a relative path counts as absent.
        let home = options.config_home.clone();
        if let Some(folder) = home.filter(|folder| folder.is_absolute()) {
            return Ok(own(folder));
        }
        match std::env::home_dir() {
            Some(home) => Ok(own(home.join(".config"))),
            None => bail!("there is no home folder; name the file of profiles with --config"),
        }
    }

    /// Reads the file. One that does not exist is empty.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not of this form.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        };
        // The error of the parser would repeat a line, which may be that of a key.
        toml::from_str(&text).map_err(|error| {
            anyhow::anyhow!("{} is not valid: {}", path.display(), error.message())
        })
    }

    /// Replaces the file by one that only its owner can read.
    ///
    /// # Errors
    /// Fails if the file cannot be written. The old one is kept then.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let written = self.write_beside(path);
        written.with_context(|| format!("write {}", path.display()))
    }

    fn write_beside(&self, path: &Path) -> Result<()> {
        let text = toml::to_string(self)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }

        let partial = path.with_extension("toml.part");
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&partial)?;
        // A file that was left behind keeps its mode when it is opened.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        Ok(())
    }

    /// Returns the profile with this name.
    ///
    /// # Errors
    /// Fails if there is none, and names those that exist.
    pub(super) fn find(&self, name: &str) -> Result<&ServerProfile> {
        if let Some(profile) = self.profiles.get(name) {
            return Ok(profile);
        }
        let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        if names.is_empty() {
            bail!(
                "there is no profile {name}; add it with: recollect profiles add {name} --url URL"
            );
        }
        bail!("there is no profile {name}, only {}", names.join(", "));
    }
}

fn expose_key<S: Serializer>(key: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = key.as_ref().map(Secret::expose);
    text.serialize(serializer)
}

fn hide_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(Secret::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(config: Option<&str>, home: Option<&str>) -> ConfigOptions {
        ConfigOptions {
            config: config.map(PathBuf::from),
            config_home: home.map(PathBuf::from),
        }
    }

    #[test]
    fn the_file_lies_where_the_options_say() {
        let path = |config, home| ConfigFile::path(&options(config, home)).unwrap();
        assert_eq!(path(Some("a.toml"), Some("/b")), Path::new("a.toml"));
        assert_eq!(
            path(None, Some("/b")),
            Path::new("/b/recollect/config.toml")
        );
        let default = path(None, Some("relative"));
        assert!(default.ends_with(".config/recollect/config.toml"));
    }

    #[test]
    fn a_written_file_is_read_back_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.toml");
        assert!(ConfigFile::read(&path).unwrap().profiles.is_empty());

        let mut config = ConfigFile::default();
        let profile = ServerProfile {
            url: "https://memory.example.com".to_owned(),
            key: Some(Secret::new("rk_1_2")),
        };
        config.profiles.insert("work".to_owned(), profile);
        config.default_profile = Some("work".to_owned());
        config.write(&path).unwrap();

        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = ConfigFile::read(&path).unwrap();
        let profile = read.find("work").unwrap();
        assert_eq!(profile.key.as_ref().unwrap().expose(), "rk_1_2");
        assert_eq!(read.default_profile.as_deref(), Some("work"));
        assert!(!format!("{read:?}").contains("rk_1_2"));
        let error = read.find("home").unwrap_err().to_string();
        assert!(error.contains("only work"), "{error}");
    }

    #[test]
    fn an_invalid_file_is_refused_without_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        for text in [
            "[profiles.a]\nkey = \"rk_1_2",
            "[profiles.a]\nurl = \"http://a\"\nkeey = \"rk_1_2\"",
            "[profiles.a]\nkey = \"rk_1_2\"",
        ] {
            fs::write(&path, text).unwrap();
            let error = format!("{:#}", ConfigFile::read(&path).unwrap_err());
            assert!(
                error.contains("config.toml") && !error.contains("rk_1_2"),
                "{error}"
            );
        }
    }
}
