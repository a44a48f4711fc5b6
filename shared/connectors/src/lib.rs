//! The connectors of the providers: Google Drive, and the pages of a website.

mod bounds;
mod drive;
mod settings;
mod web;

use std::sync::Arc;

use domain::ports::Connectors;
use remote::Fetcher;

pub use settings::{Settings, SettingsError};

/// Creates the connectors of all providers.
///
/// # Errors
/// Returns a [`SettingsError`] that names the invalid setting.
pub fn all(settings: &Settings, fetcher: Fetcher) -> Result<Connectors, SettingsError> {
    let drive = drive::Drive::new(settings)?;
    Ok(Connectors::new(vec![
        Arc::new(drive),
        Arc::new(web::Crawler::new(fetcher)),
    ]))
}
