//! Providers of items: a cloud drive, and the pages of a website.

mod bounds;
mod drive;
mod settings;
mod web;

use std::sync::Arc;

use domain::ports::Connectors;
use remote::Fetcher;

pub use settings::{Settings, SettingsError};

/// All providers that this process reaches.
///
/// # Errors
/// [`SettingsError`] that names the setting.
pub fn all(settings: &Settings, fetcher: Fetcher) -> Result<Connectors, SettingsError> {
    let drive = drive::Drive::new(settings)?;
    Ok(Connectors::new(vec![
        Arc::new(drive),
        Arc::new(web::Crawler::new(fetcher)),
    ]))
}
