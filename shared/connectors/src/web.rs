//! The connector of websites: the pages of one host, crawled from a start address or a sitemap. All
//! requests go through the guarded client, so that no address from a caller leads into an internal
//! network.

mod crawl;
mod frontier;
mod page;
mod robots;
mod site;
mod sitemap;
#[cfg(test)]
mod tests;
mod visit;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::Metadata;
use domain::connection::{Provider, SkipReason};
use domain::document::BodyForm;
use domain::ports::{
    ChangePage, Connector, ConnectorError, ConnectorResult, ItemContent, ItemPage,
    NotificationSubscription, OAuthFlow, PickerView, ProviderAccess, ProviderItem,
};
use remote::{Page, PageFetcher};
use tokio::time::sleep;
use url::Url;

use crate::bounds;
use crawl::CrawlCall;
use robots::RecentRobots;
use site::CrawlPlan;
use visit::{VisitResult, has_address, is_html, is_readable_type, media_type_of};

/// The name by which the rules of a site address this crawler.
const CRAWLER_NAME: &str = "recollect";
/// The name of the only feed.
const FEED_NAME: &str = "site";
/// The pause between two requests to a site whose rules state none.
const REQUEST_PAUSE: Duration = Duration::from_millis(250);
/// The pause before a missing page is requested again to confirm that it is gone, and after a page
/// that could not be fetched.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// The connector of websites.
#[derive(Debug, Clone)]
pub(crate) struct WebCrawler {
    fetcher: Arc<dyn PageFetcher>,
    default_pause: Duration,
    retry_pause: Duration,
    robots: RecentRobots,
    /// The page that was looked up last, so that its content need not be requested again.
    last_page: Arc<Mutex<Option<Page>>>,
}

impl WebCrawler {
    pub(crate) fn new(fetcher: Arc<dyn PageFetcher>) -> Self {
        Self {
            fetcher,
            default_pause: REQUEST_PAUSE,
            retry_pause: RETRY_PAUSE,
            robots: RecentRobots::default(),
            last_page: Arc::default(),
        }
    }
}

fn read_plan(access: &ProviderAccess) -> ConnectorResult<CrawlPlan> {
    CrawlPlan::from_metadata(&access.metadata).map_err(ConnectorError::Fault)
}

fn unsupported_error() -> ConnectorError {
    ConnectorError::Fault("a website has neither folders nor changes to ask for".into())
}

#[async_trait]
impl Connector for WebCrawler {
    fn provider(&self) -> Provider {
        Provider::WebCrawler
    }

    fn oauth_flow(&self) -> Option<&dyn OAuthFlow> {
        None
    }

    fn reports_changes(&self) -> bool {
        false
    }

    fn parallel_requests(&self) -> usize {
        1
    }

    fn check_metadata(&self, metadata: &Metadata) -> Result<(), String> {
        CrawlPlan::from_metadata(metadata).map(drop)
    }

    async fn list_feeds(&self, _: &ProviderAccess) -> ConnectorResult<Vec<String>> {
        Ok(vec![FEED_NAME.to_owned()])
    }

    async fn current_cursor(&self, _: &ProviderAccess, _: &str) -> ConnectorResult<String> {
        Err(unsupported_error())
    }

    async fn list_feed(
        &self,
        access: &ProviderAccess,
        _: &str,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        let plan = read_plan(access)?;
        CrawlCall::open_crawl(self, &plan, page)
            .await?
            .visit_pages()
            .await
    }

    async fn list_children(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        Err(unsupported_error())
    }

    async fn list_changes(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: &str,
    ) -> ConnectorResult<ChangePage> {
        Err(unsupported_error())
    }

    async fn get_item(
        &self,
        _: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>> {
        crawl::stat_page(self, id).await
    }

    async fn fetch_content(
        &self,
        _: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent> {
        let changed_error =
            || ConnectorError::Unavailable("the page cannot be had as it was a moment ago".into());
        let Ok(url) = Url::parse(&item.id) else {
            return Err(ConnectorError::Item(SkipReason::NotDownloadable));
        };

        let visited = match self.take_last_page(&url) {
            Some(page) => VisitResult::Page(page),
            None => {
                let robots = self.request_robots(&url).await?;
                sleep(self.request_pause(&robots)).await;
                self.request_page(&url).await?
            }
        };
        let page = match visited {
            VisitResult::Page(page) => page,
            // The site may be temporarily unwilling: it has listed the page, so the old content
            // stays.
            VisitResult::NotFound | VisitResult::Unreadable(SkipReason::NotDownloadable) => {
                return Err(changed_error());
            }
            VisitResult::Unreadable(reason) => return Err(ConnectorError::Item(reason)),
        };

        if page.bytes.len() > limit {
            return Err(ConnectorError::Item(SkipReason::TooLarge));
        }

        if !has_address(&page, &url) {
            return Err(changed_error());
        }

        let essence = media_type_of(&page);
        let name = match essence.as_str() {
            _ if is_html(&page) => "page.html",
            "application/pdf" => "file.pdf",
            "text/plain" => "file.txt",
            _ if is_readable_type(&essence) => "file.md",
            _ => return Err(ConnectorError::Item(SkipReason::UnsupportedType)),
        };

        let form = BodyForm::File {
            name: Some(name.into()),
            declared: Some(bounds::limit_media_type(page.media_type.unwrap_or(essence))),
        };

        Ok(ItemContent {
            bytes: page.bytes,
            form,
        })
    }

    async fn list_selectable(
        &self,
        _: &ProviderAccess,
        _: &PickerView,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        Err(unsupported_error())
    }

    async fn watch_feed(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
    ) -> ConnectorResult<Option<NotificationSubscription>> {
        Ok(None)
    }

    async fn stop_watching(&self, _: &ProviderAccess, _: &str, _: &str) -> ConnectorResult<()> {
        Ok(())
    }
}
