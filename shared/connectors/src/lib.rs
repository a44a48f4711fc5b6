//! The connectors of the providers: Google Drive, and the pages of a website.

mod bounds;
mod drive;
mod settings;
mod web;

use std::sync::Arc;

use domain::ports::Connectors;
use remote::PageFetcher;

pub use settings::{DriveSettings, DriveSettingsError};

/// Creates the connectors of all providers. Websites are read through `fetcher`.
///
/// # Errors
/// Returns a [`DriveSettingsError`] that names the invalid setting.
pub fn all_connectors(
    settings: &DriveSettings,
    fetcher: Arc<dyn PageFetcher>,
) -> Result<Connectors, DriveSettingsError> {
    let drive = drive::DriveConnector::new(settings)?;
    Ok(Connectors::new(vec![
        Arc::new(drive),
        Arc::new(web::WebCrawler::new(fetcher)),
    ]))
}
