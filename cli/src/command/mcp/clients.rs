//! The assistants: where each keeps its configuration, and in which form.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::arguments::{McpClient, McpTarget};

/// The name of the entry.
pub(super) const ENTRY_NAME: &str = "recollect";
/// The variable with the key of the process that an assistant starts.
pub(super) const KEY_VARIABLE: &str = "RECOLLECT_KEY";
/// The text in place of a key that is not shown.
pub(super) const KEY_PLACEHOLDER: &str = "YOUR_API_KEY";

/// The form of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigForm {
    /// JSON with the entries in the object of this name.
    Json { section: &'static str },
    /// TOML with a table for each entry in the table of this name.
    Toml { section: &'static str },
}

impl McpClient {
    /// Returns the name that people know.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Windsurf => "Windsurf",
        }
    }

    pub(super) fn form(self) -> ConfigForm {
        match self {
            Self::Codex => ConfigForm::Toml {
                section: "mcp_servers",
            },
            Self::Vscode => ConfigForm::Json { section: "servers" },
            Self::Claude | Self::ClaudeCode | Self::Cursor | Self::Windsurf => ConfigForm::Json {
                section: "mcpServers",
            },
        }
    }

    /// Returns the file with the configuration of the user.
    ///
    /// # Errors
    /// Fails if the home folder is unknown.
    pub(super) fn config_file(self) -> Result<PathBuf> {
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.context("the home folder is unknown; name the file with --file")?;
        let path = match self {
            Self::Claude => application_folder(&home).join("Claude/claude_desktop_config.json"),
            Self::ClaudeCode => home.join(".claude.json"),
            Self::Codex => home.join(".codex/config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => application_folder(&home).join("Code/User/mcp.json"),
            Self::Windsurf => home.join(".codeium/windsurf/mcp_config.json"),
        };
        Ok(path)
    }

    /// Returns the entry that starts `program` for this assistant. The data folder is named by its
    /// whole path, because assistants start programs in any folder.
    ///
    /// # Errors
    /// Fails if a path is not text, or if the current folder is unknown.
    pub(super) fn entry(
        self,
        program: &Path,
        target: &McpTarget,
        key: Option<&str>,
    ) -> Result<Value> {
        let mut arguments = vec![json!("mcp")];
        match target.server_url() {
            Some(url) => arguments.extend([json!("--url"), json!(url)]),
            None => {
                let folder = std::path::absolute(target.data_folder())?;
                arguments.extend([json!("--data"), json!(path_text(&folder)?)]);
            }
        }

        let mut entry = Map::new();
        if matches!(self, Self::ClaudeCode | Self::Vscode) {
            entry.insert("type".to_owned(), json!("stdio"));
        }
        entry.insert("command".to_owned(), json!(path_text(program)?));
        entry.insert("args".to_owned(), arguments.into());
        if let Some(key) = key {
            entry.insert("env".to_owned(), json!({KEY_VARIABLE: key}));
        }
        Ok(entry.into())
    }
}

/// Returns the folder in which applications keep the settings of a user.
fn application_folder(home: &Path) -> PathBuf {
    if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else {
        home.join(".config")
    }
}

fn path_text(path: &Path) -> Result<&str> {
    let text = path.to_str();
    text.with_context(|| format!("the path {} is not text", path.display()))
}
