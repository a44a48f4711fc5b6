//! `recollect mcp install` and `uninstall`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::clients::{ConfigForm, ENTRY_NAME, KEY_PLACEHOLDER, KEY_VARIABLE};
use super::edit::TextEdit;
use super::{json_text, toml_text};
use crate::arguments::{ConfigChange, McpClient, McpInstall, McpUninstall};
use crate::command::confirm::ask;
use crate::command::print_text;

/// The ending of the name of a copy.
const BACKUP_SUFFIX: &str = ".recollect-backup";

/// A configuration as it is.
struct ConfigFile {
    path: PathBuf,
    /// The text, or `None` if there is no file.
    text: Option<String>,
    form: ConfigForm,
}

/// Enters this program into the configuration of an assistant.
pub(super) fn install(options: &McpInstall) -> Result<()> {
    let client = options.client;
    let file = ConfigFile::read(client, &options.change)?;
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let key = options.target.api_key();
    if options.print {
        let shown_key = key.map(|_| KEY_PLACEHOLDER);
        let entry = client.entry(&program, &options.target, shown_key)?;
        print_line!("{}: {}\n", client.title(), file.path.display());
        print_line!("{}", file.render_alone(&entry)?);
        return Ok(());
    }

    let entry = client.entry(&program, &options.target, key)?;
    let edit = file.explain(file.set_entry(&entry))?;
    if edit.apply(file.content()) == file.content() {
        print_line!("{} has this entry already.", file.path.display());
        return Ok(());
    }
    if !file.confirm(&edit, &options.change)? {
        return Ok(());
    }
    file.write(&edit)?;
    print_line!("Restart {} to use it.", client.title());
    Ok(())
}

/// Takes this program out of the configuration of an assistant.
pub(super) fn uninstall(options: &McpUninstall) -> Result<()> {
    let file = ConfigFile::read(options.client, &options.change)?;
    let edit = match &file.text {
        Some(_) => file.explain(file.remove_entry())?,
        None => None,
    };
    let Some(edit) = edit else {
        print_line!("{} has no entry `{ENTRY_NAME}`.", file.path.display());
        return Ok(());
    };

    if file.confirm(&edit, &options.change)? {
        file.write(&edit)?;
    }
    Ok(())
}

impl ConfigFile {
    fn read(client: McpClient, change: &ConfigChange) -> Result<Self> {
        let path = match &change.file {
            Some(path) => path.clone(),
            None => client.config_file()?,
        };
        // A link stays, and the file that it leads to is changed.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("read {}", path.display()));
            }
        };

        Ok(Self {
            path,
            text,
            form: client.form(),
        })
    }

    /// Returns the text that a change begins with.
    fn content(&self) -> &str {
        let empty = match self.form {
            ConfigForm::Json { .. } => "{}\n",
            ConfigForm::Toml { .. } => "",
        };
        match &self.text {
            Some(text) if !text.trim().is_empty() => text,
            _ => empty,
        }
    }

    fn set_entry(&self, entry: &Value) -> Result<TextEdit> {
        match self.form {
            ConfigForm::Json { section } => {
                json_text::set_entry(self.content(), section, ENTRY_NAME, entry)
            }
            ConfigForm::Toml { section } => {
                toml_text::set_entry(self.content(), section, ENTRY_NAME, entry)
            }
        }
    }

    fn remove_entry(&self) -> Result<Option<TextEdit>> {
        match self.form {
            ConfigForm::Json { section } => {
                json_text::remove_entry(self.content(), section, ENTRY_NAME)
            }
            ConfigForm::Toml { section } => {
                toml_text::remove_entry(self.content(), section, ENTRY_NAME)
            }
        }
    }

    /// Returns the entry as the only one of a configuration.
    fn render_alone(&self, entry: &Value) -> Result<String> {
        match self.form {
            ConfigForm::Json { section } => {
                let whole = json!({section: {ENTRY_NAME: entry}});
                Ok(serde_json::to_string_pretty(&whole)?)
            }
            ConfigForm::Toml { section } => {
                let edit = toml_text::set_entry("", section, ENTRY_NAME, entry)?;
                Ok(edit.replacement)
            }
        }
    }

    /// Adds the file and what to do to an error.
    fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.with_context(|| {
            format!(
                "{} is left as it is; `recollect mcp install CLIENT --print` prints what belongs \
                 into it",
                self.path.display()
            )
        })
    }

    /// Shows a change, and asks whether to make it.
    fn confirm(&self, edit: &TextEdit, change: &ConfigChange) -> Result<bool> {
        print_line!("{}", self.path.display());
        print_text(&edit.to_diff(self.content()));
        if change.yes {
            return Ok(true);
        }

        let is_confirmed = ask("Write this change?")?;
        if !is_confirmed {
            print_line!("Nothing was changed.");
        }
        Ok(is_confirmed)
    }

    /// Writes a change. The file is whole at any moment, and its old text is kept beside it.
    fn write(&self, edit: &TextEdit) -> Result<()> {
        let text = edit.apply(self.content());
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        if self.text.is_some() {
            let backup = with_suffix(&self.path, BACKUP_SUFFIX);
            fs::copy(&self.path, &backup).with_context(|| format!("write {}", backup.display()))?;
            print_line!("The file as it was: {}", backup.display());
        }

        let new = with_suffix(&self.path, ".recollect-new");
        write_private(&new, &text).with_context(|| format!("write {}", new.display()))?;
        // With a key in it, the file stays private, whoever could read it before.
        let has_key = edit.replacement.contains(KEY_VARIABLE);
        if let Ok(metadata) = fs::metadata(&self.path)
            && !has_key
        {
            fs::set_permissions(&new, metadata.permissions())?;
        }
        fs::rename(&new, &self.path).with_context(|| format!("write {}", self.path.display()))?;
        print_line!("Written: {}", self.path.display());
        Ok(())
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Writes a file that only its owner may read, because it may have a key.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    // A file that was left behind keeps its mode when it is opened.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
