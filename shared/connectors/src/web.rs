//! The connector of websites: the pages of one host, crawled from a start address or a sitemap. All
//! requests go through the guarded client, so that no address from a caller leads into an internal
//! network.

mod crawl;
mod frontier;
mod markup;
mod page;
mod site;
mod sitemap;
#[cfg(test)]
mod tests;
mod visit;

use std::time::Duration;

use async_trait::async_trait;
use domain::Metadata;
use domain::connection::{Provider, SkipReason};
use domain::document::BodyForm;
use domain::ports::{
    Access, Changes, Connector, ConnectorError, ConnectorResult, Fetched, Item, Listing, OAuth,
    View, Watched,
};
use remote::Fetcher;
use url::Url;

use crate::bounds;
use crawl::Crawl;
use site::{Plan, named};
use visit::{Visit, essence, is_html, is_read};

/// The name by which the rules of a site address this crawler.
const AGENT: &str = "recollect";
/// The name of the only feed.
const FEED: &str = "site";
/// The pause between two requests to a site whose rules state none.
const PACE: Duration = Duration::from_millis(250);
/// The pause before a missing page is requested again to confirm that it is gone, and after a page
/// that could not be fetched.
const DOUBT: Duration = Duration::from_secs(2);

/// The connector of websites.
#[derive(Debug, Clone)]
pub(crate) struct Crawler {
    fetcher: Fetcher,
    pace: Duration,
    doubt: Duration,
}

impl Crawler {
    pub(crate) fn new(fetcher: Fetcher) -> Self {
        Self {
            fetcher,
            pace: PACE,
            doubt: DOUBT,
        }
    }
}

fn plan(access: &Access) -> ConnectorResult<Plan> {
    Plan::read(&access.metadata).map_err(ConnectorError::Fault)
}

fn not_here() -> ConnectorError {
    ConnectorError::Fault("a website has neither folders nor changes to ask for".into())
}

#[async_trait]
impl Connector for Crawler {
    fn provider(&self) -> Provider {
        Provider::WebCrawler
    }

    fn oauth(&self) -> Option<&dyn OAuth> {
        None
    }

    fn has_changes(&self) -> bool {
        false
    }

    fn check(&self, metadata: &Metadata) -> Result<(), String> {
        Plan::read(metadata).map(drop)
    }

    async fn feeds(&self, _: &Access) -> ConnectorResult<Vec<String>> {
        Ok(vec![FEED.to_owned()])
    }

    async fn head(&self, _: &Access, _: &str) -> ConnectorResult<String> {
        Err(not_here())
    }

    async fn everything(
        &self,
        access: &Access,
        _: &str,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        let plan = plan(access)?;
        Crawl::open(self, &plan, page).await?.run().await
    }

    async fn children(
        &self,
        _: &Access,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<Listing> {
        Err(not_here())
    }

    async fn changes(&self, _: &Access, _: &str, _: &str) -> ConnectorResult<Changes> {
        Err(not_here())
    }

    async fn stat(&self, _: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        crawl::stat(self, id).await
    }

    async fn fetch(&self, _: &Access, item: &Item, limit: usize) -> ConnectorResult<Fetched> {
        let moved =
            || ConnectorError::Unavailable("the page cannot be had as it was a moment ago".into());
        let url =
            Url::parse(&item.id).map_err(|_| ConnectorError::Item(SkipReason::NotDownloadable))?;
        let page = match self.get(&url).await? {
            Visit::Page(page) => page,
            // The site may be temporarily unwilling: it has listed the page, so the old content
            // stays.
            Visit::Gone | Visit::NoPage(SkipReason::NotDownloadable) => return Err(moved()),
            Visit::NoPage(reason) => return Err(ConnectorError::Item(reason)),
        };

        if page.bytes.len() > limit {
            return Err(ConnectorError::Item(SkipReason::TooLarge));
        }

        if Url::parse(&page.url)
            .ok()
            .and_then(|there| named(&there, &page.url))
            != Some(url)
        {
            return Err(moved());
        }

        let essence = essence(&page);
        let name = match essence.as_str() {
            _ if is_html(&page) => "page.html",
            "application/pdf" => "file.pdf",
            "text/plain" => "file.txt",
            _ if is_read(&essence) => "file.md",
            _ => return Err(ConnectorError::Item(SkipReason::UnsupportedType)),
        };

        let form = BodyForm::File {
            name: Some(name.into()),
            declared: Some(bounds::media_type(page.media_type.unwrap_or(essence))),
        };

        Ok(Fetched {
            bytes: page.bytes,
            form,
        })
    }

    async fn browse(
        &self,
        _: &Access,
        _: &View,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<Listing> {
        Err(not_here())
    }

    async fn watch(
        &self,
        _: &Access,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
    ) -> ConnectorResult<Option<Watched>> {
        Ok(None)
    }

    async fn unwatch(&self, _: &Access, _: &str, _: &str) -> ConnectorResult<()> {
        Ok(())
    }
}
