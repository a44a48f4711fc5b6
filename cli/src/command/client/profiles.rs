//! `recollect profiles`: manages the servers and keys that `--profile` names.

use std::io::{BufRead, IsTerminal};

use anyhow::{Result, bail};
use api_client::ApiClient;
use console::Term;
use domain::Secret;

use super::config_file::{ConfigFile, ServerProfile};
use super::output::{Outcome, Output};
use super::table::{Column, format_table};
use crate::arguments::{ConfigOptions, ProfileAction};

const COLUMNS: [Column; 4] = [
    Column::fixed("NAME"),
    Column::flexible("URL"),
    Column::fixed("KEY"),
    Column::fixed("USED BY DEFAULT"),
];

pub(super) fn run_profiles(action: &ProfileAction) -> Result<Outcome> {
    match action {
        ProfileAction::List { config } => list_profiles(config),
        ProfileAction::Add { name, url, config } => add_profile(name, url, config),
        ProfileAction::Remove { name, config } => remove_profile(name, config),
        ProfileAction::Use { name, config } => use_profile(name, config),
    }
}

fn list_profiles(options: &ConfigOptions) -> Result<Outcome> {
    let output = Output::stdout(false);
    let path = ConfigFile::path(options)?;
    let config = ConfigFile::read(&path)?;
    if config.profiles.is_empty() {
        output.print(&format!("There are no profiles in {}.\n", path.display()))?;
        return Ok(Outcome::NothingFound);
    }

    let yes_or_no = |is_so| if is_so { "yes" } else { "no" }.to_owned();
    let mut rows = Vec::with_capacity(config.profiles.len());
    for (name, profile) in &config.profiles {
        let is_default = config.default_profile.as_ref() == Some(name);
        rows.push(vec![
            name.clone(),
            profile.url.clone(),
            yes_or_no(profile.key.is_some()),
            yes_or_no(is_default),
        ]);
    }
    output.print(&format_table(&output, &COLUMNS, &rows))?;
    Ok(Outcome::Done)
}

fn add_profile(name: &str, url: &str, options: &ConfigOptions) -> Result<Outcome> {
    // The address is checked before the key is asked for.
    let url = ApiClient::over_http(url)?.address().to_owned();
    let path = ConfigFile::path(options)?;
    let mut config = ConfigFile::read(&path)?;
    let key = read_key(name)?;
    let note = match key.is_some() {
        true => "with its key",
        false => "without a key",
    };
    let profile = ServerProfile { url, key };
    config.profiles.insert(name.to_owned(), profile);
    config.write(&path)?;
    let text = format!("Saved the profile {name} {note} in {}.\n", path.display());
    Output::stdout(false).print(&text)?;
    Ok(Outcome::Done)
}

/// Reads a key without showing it. An empty one means none.
fn read_key(name: &str) -> Result<Option<Secret>> {
    let key = if std::io::stdin().is_terminal() {
        let terminal = Term::stderr();
        terminal.write_str(&format!("Key for {name} (not shown; empty for none): "))?;
        terminal.read_secure_line()?
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        line
    };
    let key = key.trim();
    Ok((!key.is_empty()).then(|| Secret::new(key)))
}

fn remove_profile(name: &str, options: &ConfigOptions) -> Result<Outcome> {
    let path = ConfigFile::path(options)?;
    let mut config = ConfigFile::read(&path)?;
    if config.profiles.remove(name).is_none() {
        bail!("there is no profile {name}");
    }
    if config.default_profile.as_deref() == Some(name) {
        config.default_profile = None;
    }
    config.write(&path)?;
    Output::stdout(false).print(&format!("Removed the profile {name}.\n"))?;
    Ok(Outcome::Done)
}

fn use_profile(name: &str, options: &ConfigOptions) -> Result<Outcome> {
    let path = ConfigFile::path(options)?;
    let mut config = ConfigFile::read(&path)?;
    let url = config.find(name)?.url.clone();
    config.default_profile = Some(name.to_owned());
    config.write(&path)?;
    let text = format!("Commands that name no server use {url} now.\n");
    Output::stdout(false).print(&text)?;
    Ok(Outcome::Done)
}
