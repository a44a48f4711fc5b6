//! The crawl of a site, a few pages in each call.

use std::time::Duration;

use domain::connection::SkipReason;
use domain::ports::{ConnectorError, ConnectorResult, ItemKind, ItemPage, ProviderItem};
use domain::{DocumentType, Timestamp};
use remote::Page;
use robotxt::Robots;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};
use url::Url;

use super::frontier::{CrawlFrontier, WaitingAddress};
use super::page::{self, PageSummary};
use super::site::{CrawlPlan, address_on_site, normalize_address};
use super::visit::{VisitResult, is_html, is_readable_type, media_type_of};
use super::{CRAWLER_NAME, WebCrawler, sitemap};
use crate::bounds;

/// The most pages and sitemaps in one call. Together with [`CALL_TIME`], this limits the work that
/// has to be repeated after a crash.
const PAGES_PER_CALL: usize = 20;
/// The time after which a call begins no further page. A page may take half a minute, and a step
/// has less than two minutes.
const CALL_TIME: Duration = Duration::from_secs(20);
/// The deepest nesting of lists of sitemaps. The protocol permits one level.
const MAX_SITEMAP_DEPTH: u64 = 2;
/// The number of visits beyond the pages that are wanted, for addresses that turn out not to be
/// pages.
const SPARE_VISITS: usize = 50;

/// The part of a crawl that one call executes.
pub(super) struct CrawlCall<'a> {
    crawler: &'a WebCrawler,
    plan: &'a CrawlPlan,
    site: Url,
    robots: Robots,
    frontier: CrawlFrontier,
    items: Vec<ProviderItem>,
}

impl<'a> CrawlCall<'a> {
    /// Continues at a page of the listing, or begins a new crawl.
    pub(super) async fn open_crawl(
        crawler: &'a WebCrawler,
        plan: &'a CrawlPlan,
        page: Option<&str>,
    ) -> ConnectorResult<Self> {
        let frontier = match page {
            None => begin_crawl(crawler, plan).await?,
            Some(page) => CrawlFrontier::from_page(page).ok_or(ConnectorError::PageLost)?,
        };

        let site = frontier.site.clone().ok_or(ConnectorError::PageLost)?;
        let robots = crawler.request_robots(&site).await?;
        // The start may have redirected to another host, which has its own rules.
        if page.is_none() && plan.start.is_some() && !robots.is_url_allowed(&site) {
            return Err(robots_error(&site));
        }

        Ok(Self {
            crawler,
            plan,
            site,
            robots,
            frontier,
            items: Vec::new(),
        })
    }

    /// Visits as many pages as one call may.
    pub(super) async fn visit_pages(mut self) -> ConnectorResult<ItemPage> {
        let end = Instant::now() + CALL_TIME;
        for request in 0..PAGES_PER_CALL {
            if self.is_over() || Instant::now() >= end {
                break;
            }
            if request > 0 {
                sleep(self.crawler.request_pause(&self.robots)).await;
            }
            if let Some(map) = self.frontier.next_map() {
                self.read_sitemap(map).await;
            } else if let Some(next) = self.frontier.next_page() {
                self.visit_page(next).await;
            }
        }

        if self.is_over() {
            let incomplete = self.frontier.incomplete || !self.frontier.is_empty();
            return Ok(ItemPage {
                items: self.items,
                next: None,
                is_incomplete: incomplete,
            });
        }

        let next = self.frontier.to_page();
        Ok(ItemPage {
            items: self.items,
            next,
            is_incomplete: self.frontier.incomplete,
        })
    }

    fn is_over(&self) -> bool {
        let most = self.plan.max_pages;
        let all = self.frontier.listed >= most || self.frontier.visited >= 2 * most + SPARE_VISITS;
        all || self.frontier.is_empty()
    }

    /// Returns how many pages may wait. More than the pages still wanted would never be visited,
    /// but some turn out not to be pages.
    fn waiting_capacity(&self) -> usize {
        self.plan.max_pages.saturating_sub(self.frontier.listed) + SPARE_VISITS
    }

    async fn read_sitemap(&mut self, map: WaitingAddress) {
        let Ok(VisitResult::Page(found)) = self.crawler.request_page(&map.url).await else {
            self.frontier.incomplete = true;
            return;
        };

        let Some(listed) = sitemap::parse_sitemap(&found.bytes) else {
            self.frontier.incomplete = true;
            return;
        };

        for address in listed.maps.iter().filter(|_| map.depth < MAX_SITEMAP_DEPTH) {
            if let Some(url) = self.site_address(&map.url, address) {
                self.frontier
                    .add_map(WaitingAddress::new(url, map.depth + 1));
            }
        }

        for (address, changed) in &listed.pages {
            if let Some(url) = self
                .site_address(&map.url, address)
                .filter(|url| self.plan.includes_page(url))
            {
                self.frontier.add_page(
                    WaitingAddress {
                        changed: *changed,
                        ..WaitingAddress::new(url, 0)
                    },
                    self.waiting_capacity(),
                );
            }
        }
    }

    /// Returns the address on this site that `href` refers to on a page at `base`.
    fn site_address(&self, base: &Url, href: &str) -> Option<Url> {
        address_on_site(&self.site, normalize_address(base, href)?)
    }

    /// Visits a page. A page that cannot be fetched does not end the crawl, because the site has
    /// just answered the request for its rules.
    async fn visit_page(&mut self, waiting: WaitingAddress) {
        if !self.robots.is_url_allowed(&waiting.url) {
            return;
        }
        self.frontier.visited += 1;
        match self.crawler.request_page(&waiting.url).await {
            Ok(VisitResult::Page(found)) => self.take_page(waiting, &found),
            Ok(VisitResult::Gone | VisitResult::NoPage(_)) => {}
            Err(_) => {
                self.frontier.retry_page(waiting);
                sleep(self.crawler.doubt).await;
            }
        }
    }

    /// Lists a page unless it is a copy of another one, and enqueues its links.
    fn take_page(&mut self, waiting: WaitingAddress, found: &Page) {
        let Some(url) = Url::parse(&found.url)
            .ok()
            .and_then(|base| self.site_address(&base, &found.url))
        else {
            // The address redirects to another site.
            return;
        };

        // The target of the redirect may have been visited under its own address.
        if url != waiting.url && !self.frontier.mark_seen(&url) {
            return;
        }

        let media_type = found.media_type.as_deref().unwrap_or_default();
        let html = is_html(found).then(|| page::read_page(&found.bytes, media_type));
        let better = html
            .as_ref()
            .and_then(|seen| self.canonical_address(&url, seen));
        let (no_index, no_follow) = page::parse_directives(&found.robots_tag);
        if let Some(seen) = html.as_ref().filter(|seen| !no_follow && !seen.no_follow) {
            self.enqueue_links(&url, seen, waiting.depth);
        }

        if let Some(better) = better.filter(|_| !waiting.named) {
            self.frontier.add_page(
                WaitingAddress {
                    named: true,
                    ..WaitingAddress::new(better, waiting.depth)
                },
                self.waiting_capacity(),
            );
        } else if !no_index
            && !html.as_ref().is_some_and(|seen| seen.no_index)
            && self.plan.includes_page(&url)
        {
            self.frontier.listed += 1;
            self.items
                .extend(page_item(&url, found, html.as_ref(), waiting.changed));
        }
    }

    /// Returns the canonical address of a page if that is another address of the site.
    fn canonical_address(&self, url: &Url, seen: &PageSummary) -> Option<Url> {
        let canonical = self.site_address(url, seen.canonical.as_deref()?)?;
        Some(canonical)
            .filter(|canonical| canonical != url && self.robots.is_url_allowed(canonical))
    }

    fn enqueue_links(&mut self, url: &Url, seen: &PageSummary, depth: u64) {
        // A crawl of a sitemap alone visits only the pages in the sitemap.
        if depth >= self.plan.max_depth || self.plan.start.is_none() {
            return;
        }

        let base = seen
            .base
            .as_deref()
            .and_then(|base| url.join(base).ok())
            .unwrap_or_else(|| url.clone());
        for link in &seen.links {
            let there = self
                .site_address(&base, link)
                .filter(|there| self.plan.includes_page(there));
            if let Some(there) = there.filter(|there| self.robots.is_url_allowed(there)) {
                self.frontier.add_page(
                    WaitingAddress::new(there, depth + 1),
                    self.waiting_capacity(),
                );
            }
        }
    }
}

/// Finds the site, which is the host that the first address leads to.
async fn begin_crawl(crawler: &WebCrawler, plan: &CrawlPlan) -> ConnectorResult<CrawlFrontier> {
    let mut frontier = CrawlFrontier::default();
    if let Some(start) = &plan.start {
        let robots = crawler.request_robots(start).await?;
        if !robots.is_url_allowed(start) {
            return Err(robots_error(start));
        }
        let first = resolve_first_page(crawler, start).await?;
        frontier.site = Some(first.clone());
        frontier.add_page(WaitingAddress::new(first, 0), 1);
    }

    if let Some(map) = &plan.sitemap {
        let first = resolve_first_page(crawler, map).await?;
        frontier.site.get_or_insert_with(|| first.clone());
        frontier.add_map(WaitingAddress::new(first, 0));
    }

    Ok(frontier)
}

/// Returns the error that stops the connection until somebody makes a decision. Continuing as if
/// the site were empty would remove all of its documents.
fn robots_error(start: &Url) -> ConnectorError {
    let host = start.host_str().unwrap_or_default();
    ConnectorError::Policy(format!(
        "The robots.txt of {host} does not let crawlers read metadata.startUrl. Allow the user agent {CRAWLER_NAME} there, which \
         is looked at once a day, or connect the site anew with another start address. Documents stay as they are."
    ))
}

/// Returns the page that an address from the caller leads to.
async fn resolve_first_page(crawler: &WebCrawler, url: &Url) -> ConnectorResult<Url> {
    let nothing = |what: &str| ConnectorError::Unavailable(format!("{url} {what}").into());
    match crawler.request_page(url).await? {
        VisitResult::Page(found) => {
            let there = Url::parse(&found.url)
                .ok()
                .and_then(|there| normalize_address(&there, &found.url));
            there.ok_or_else(|| nothing("leads to no page"))
        }
        VisitResult::Gone => Err(nothing("is not there")),
        VisitResult::NoPage(_) => Err(nothing("cannot be read")),
    }
}

/// Converts a page into an item, or returns `None` for a type that is not read.
fn page_item(
    url: &Url,
    found: &Page,
    html: Option<&PageSummary>,
    changed: Option<Timestamp>,
) -> Option<ProviderItem> {
    let media_type = media_type_of(found);
    if html.is_none() && !is_readable_type(&media_type) {
        return None;
    }

    let digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));

    let mark = match html {
        Some(seen) => seen.digest.clone(),
        None => Some(digest(&found.bytes)).filter(|_| !found.bytes.is_empty()),
    };

    let document = html.map(|_| DocumentType::Webpage);
    let kind = match mark {
        Some(_) => ItemKind::File { document },
        None => ItemKind::Unreadable(SkipReason::Empty),
    };

    let name = html
        .and_then(|seen| seen.title.clone())
        .map_or_else(|| name_of(url), bounds::limit_name);
    let mark = mark.unwrap_or_default();

    Some(ProviderItem {
        version: digest(format!("{mark}\n{media_type}\n{name}").as_bytes()),
        name,
        kind,
        media_type,
        content_version: mark,
        size: Some(found.bytes.len() as u64),
        modified_at: changed.unwrap_or(Timestamp::from_millis(0)),
        ..unreadable_item(url, SkipReason::Empty)
    })
}

/// Returns the item of a page whose content is not known.
fn unreadable_item(url: &Url, reason: SkipReason) -> ProviderItem {
    ProviderItem {
        id: url.to_string(),
        parent: None,
        name: name_of(url),
        kind: ItemKind::Unreadable(reason),
        drive: None,
        media_type: String::new(),
        version: reason.as_str().to_owned(),
        content_version: String::new(),
        size: None,
        modified_at: Timestamp::from_millis(0),
        url: Some(url.to_string()),
        owner: None,
        is_trashed: false,
    }
}

/// Returns the name of a page without a title: its address without the part that all pages of the
/// site share.
fn name_of(url: &Url) -> String {
    let path = url.path().trim_matches('/');
    let name = if path.is_empty() {
        url.host_str().unwrap_or_default()
    } else {
        path
    };
    let query = url.query().map(|query| format!("?{query}"));
    bounds::limit_name(format!("{name}{}", query.unwrap_or_default()))
}

/// Returns an item in its current state, or `None` if it is no longer a page of the site. A page
/// that exists but cannot be fetched is an error of this item alone.
pub(super) async fn stat_page(
    crawler: &WebCrawler,
    id: &str,
) -> ConnectorResult<Option<ProviderItem>> {
    let Ok(url) = Url::parse(id) else {
        return Ok(None);
    };

    let robots = crawler.request_robots(&url).await?;
    if !robots.is_url_allowed(&url) {
        return Ok(None);
    }

    sleep(crawler.request_pause(&robots)).await;
    match crawler.request_page(&url).await? {
        VisitResult::Page(found) => Ok(current_item(&url, &found)),
        // A firewall may have refused this one request, so the old content stays.
        VisitResult::NoPage(reason) => Err(ConnectorError::Item(reason)),
        VisitResult::Gone => {
            // Sites lose pages for a moment while they are redeployed.
            sleep(crawler.request_pause(&robots) + crawler.doubt).await;
            match crawler.request_page(&url).await? {
                VisitResult::Page(found) => Ok(current_item(&url, &found)),
                VisitResult::NoPage(reason) => Err(ConnectorError::Item(reason)),
                VisitResult::Gone => Ok(None),
            }
        }
    }
}

/// Converts the page now at an address into an item. Returns `None` if the address redirects
/// elsewhere or the page asks not to be indexed.
fn current_item(url: &Url, found: &Page) -> Option<ProviderItem> {
    let there = Url::parse(&found.url)
        .ok()
        .and_then(|there| normalize_address(&there, &found.url));
    let media_type = found.media_type.as_deref().unwrap_or_default();
    let html = is_html(found).then(|| page::read_page(&found.bytes, media_type));
    let hides = page::parse_directives(&found.robots_tag).0
        || html.as_ref().is_some_and(|seen| seen.no_index);
    if hides || there.as_ref() != Some(url) {
        None
    } else {
        page_item(url, found, html.as_ref(), None)
    }
}
