//! Single requests to a site, and the meaning of their answers.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use domain::connection::SkipReason;
use domain::ports::{ConnectorError, ConnectorResult};
use remote::{FetchError, FetchErrorKind, Page};
use robotxt::Robots;
use url::Url;

use super::WebCrawler;
use super::site::{address_on_site, normalize_address};
use crate::bounds;

/// The longest accepted pause between two requests that a site states.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The result of a request.
pub(super) enum VisitResult {
    /// A page, which may have another address after redirects.
    Page(Page),
    /// The page does not exist.
    NotFound,
    /// The page exists, but cannot be read.
    Unreadable(SkipReason),
}

impl WebCrawler {
    /// Requests an address.
    pub(super) async fn request_page(&self, url: &Url) -> ConnectorResult<VisitResult> {
        match self.fetcher.fetch_page(url.as_str()).await {
            Ok(page) => Ok(VisitResult::Page(page)),
            Err(error) => convert_error(error),
        }
    }

    /// Keeps the page that a lookup has seen for [`Self::take_last_page`].
    pub(super) fn keep_last_page(&self, page: Page) {
        *self.lock_last_page() = Some(page);
    }

    /// Returns the page that was looked up last, if it has this address.
    pub(super) fn take_last_page(&self, url: &Url) -> Option<Page> {
        self.lock_last_page().take_if(|page| has_address(page, url))
    }

    fn lock_last_page(&self) -> MutexGuard<'_, Option<Page>> {
        self.last_page
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pause between two requests.
    pub(super) fn request_pause(&self, robots: &Robots) -> Duration {
        match robots.crawl_delay() {
            Some(delay) => delay.clamp(self.default_pause, MAX_PAUSE),
            None => self.default_pause,
        }
    }
}

/// Converts a failed request into its meaning for the page alone.
pub(super) fn convert_error(error: FetchError) -> ConnectorResult<VisitResult> {
    match (error.kind, error.status) {
        (FetchErrorKind::Blocked, _) => Ok(VisitResult::Unreadable(SkipReason::NotDownloadable)),
        (FetchErrorKind::TooLarge, _) => Ok(VisitResult::Unreadable(SkipReason::TooLarge)),
        (FetchErrorKind::Failed, Some(404 | 410)) => Ok(VisitResult::NotFound),
        // The server permits another attempt after a timeout, or a request that came too early or
        // too often. Some pages alone ask to slow down, each time.
        (FetchErrorKind::Failed, Some(408 | 425 | 429)) => {
            Err(ConnectorError::Unavailable(Box::new(error)))
        }
        (FetchErrorKind::Failed, Some(400..500)) => {
            Ok(VisitResult::Unreadable(SkipReason::NotDownloadable))
        }
        (FetchErrorKind::Failed | FetchErrorKind::Unavailable, _) => {
            Err(ConnectorError::Unavailable(Box::new(error)))
        }
    }
}

/// Returns the normalized address of a page after redirects, or `None` if it is not a page of the
/// web.
pub(super) fn final_address(page: &Page) -> Option<Url> {
    let url = Url::parse(&page.url).ok()?;
    normalize_address(&url, &page.url)
}

/// Checks whether a page has this address after redirects, be it by http or https. A listing has one
/// scheme for all pages of a site.
pub(super) fn has_address(page: &Page, url: &Url) -> bool {
    let page_url = final_address(page).and_then(|page_url| address_on_site(url, page_url));
    page_url.as_ref() == Some(url)
}

/// Returns the media type of a page without parameters, or a guess if the server names none.
pub(super) fn media_type_of(page: &Page) -> String {
    let declared = page.media_type.as_deref().unwrap_or_default();
    let essence = declared
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if !essence.is_empty() {
        return bounds::limit_media_type(essence);
    }

    let content_start = page.bytes.trim_ascii_start();
    let guessed = if content_start.starts_with(b"%PDF-") {
        "application/pdf"
    } else if content_start.starts_with(b"<") {
        "text/html"
    } else {
        "application/octet-stream"
    };

    guessed.to_owned()
}

pub(super) fn is_html(page: &Page) -> bool {
    matches!(
        media_type_of(page).as_str(),
        "text/html" | "application/xhtml+xml"
    )
}

/// Checks whether files of this type are read in addition to web pages.
pub(super) fn is_readable_type(essence: &str) -> bool {
    matches!(
        essence,
        "application/pdf" | "text/plain" | "text/markdown" | "text/x-markdown"
    )
}
