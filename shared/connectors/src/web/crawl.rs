//! The crawl of a site, a few pages in each call.

use std::sync::Arc;
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
use super::visit::{
    VisitResult, final_address, has_address, is_html, is_readable_type, media_type_of,
};
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

/// The most comparisons of the links of one page with the rules of the site. It suffices for 5,000
/// links and 400 rules. A site chooses both numbers, and nothing else runs meanwhile.
const MAX_COMPARISONS: usize = 2_000_000;

/// The part of a crawl that one call executes.
pub(super) struct CrawlCall<'a> {
    crawler: &'a WebCrawler,
    plan: &'a CrawlPlan,
    site: Url,
    robots: Arc<Robots>,
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
        let deadline = Instant::now() + CALL_TIME;
        for _ in 0..PAGES_PER_CALL {
            if self.is_over() || Instant::now() >= deadline {
                break;
            }
            sleep(self.crawler.request_pause(&self.robots)).await;
            if let Some(sitemap) = self.frontier.next_map() {
                self.read_sitemap(sitemap).await;
            } else if let Some(waiting) = self.frontier.next_page() {
                self.visit_page(waiting).await;
            }
        }

        if self.is_over() {
            let is_incomplete = self.frontier.incomplete || !self.frontier.is_empty();
            return Ok(ItemPage {
                items: self.items,
                next: None,
                is_incomplete,
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
        let max_pages = self.plan.max_pages;
        let is_complete = self.frontier.listed >= max_pages
            || self.frontier.visited >= 2 * max_pages + SPARE_VISITS;
        is_complete || self.frontier.is_empty()
    }

    /// Returns how many pages may wait. More than the pages still wanted would never be visited,
    /// but some turn out not to be pages.
    fn waiting_capacity(&self) -> usize {
        self.plan.max_pages.saturating_sub(self.frontier.listed) + SPARE_VISITS
    }

    async fn read_sitemap(&mut self, waiting: WaitingAddress) {
        let Ok(VisitResult::Page(page)) = self.crawler.request_page(&waiting.url).await else {
            self.frontier.incomplete = true;
            return;
        };

        let Some(sitemap) = sitemap::parse_sitemap(&page.bytes) else {
            self.frontier.incomplete = true;
            return;
        };

        if waiting.depth < MAX_SITEMAP_DEPTH {
            for address in &sitemap.sitemaps {
                if let Some(url) = self.site_address(&waiting.url, address) {
                    self.frontier
                        .add_map(WaitingAddress::new(url, waiting.depth + 1));
                }
            }
        }

        for (address, changed_at) in &sitemap.pages {
            if let Some(url) = self.site_address(&waiting.url, address)
                && self.plan.includes_page(&url)
            {
                self.frontier.add_page(
                    WaitingAddress {
                        changed_at: *changed_at,
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
            Ok(VisitResult::Page(page)) => self.take_page(waiting, &page),
            Ok(VisitResult::NotFound | VisitResult::Unreadable(_)) => {}
            Err(_) => {
                self.frontier.retry_page(waiting);
                sleep(self.crawler.retry_pause).await;
            }
        }
    }

    /// Lists a page and enqueues its links, unless it is a copy of another page or has an address
    /// that the site's rules disallow.
    fn take_page(&mut self, waiting: WaitingAddress, page: &Page) {
        let site_url = final_address(page).and_then(|url| address_on_site(&self.site, url));
        let Some(url) = site_url else {
            // The address redirects to another site.
            return;
        };

        if url != waiting.url {
            // The rules for the first address say nothing about the target of the redirect, which
            // may also have been visited under its own address.
            let is_allowed = self.robots.is_url_allowed(&url);
            let is_wanted = is_allowed
                && (self.frontier.mark_seen(&url) || self.leads_back(&waiting, &url, page));
            if !is_wanted {
                return;
            }
        }

        let (mut no_index, no_follow) = page::parse_directives(&page.robots_tag);
        let page_summary = summarize_page(page);
        let mut canonical = None;
        if let Some(summary) = &page_summary {
            no_index |= summary.no_index;
            canonical = self.canonical_address(&url, summary);
            if !no_follow && !summary.no_follow {
                self.enqueue_links(&url, summary, waiting.depth);
            }
        }

        if let Some(canonical) = canonical
            && !waiting.is_canonical
        {
            self.frontier.add_page(
                WaitingAddress {
                    is_canonical: true,
                    ..WaitingAddress::new(canonical, waiting.depth)
                },
                self.waiting_capacity(),
            );
        } else if !no_index && self.plan.includes_page(&url) {
            let item = page_item(&url, page, page_summary.as_ref(), waiting.changed_at);
            // A file of a type that is not read does not count as a page.
            self.frontier.listed += usize::from(item.is_some());
            self.items.extend(item);
        }
    }

    /// Checks whether a redirect leads back to a page that names the redirecting address as its
    /// canonical one. Such a page was not listed when it was visited.
    fn leads_back(&self, waiting: &WaitingAddress, url: &Url, page: &Page) -> bool {
        if !waiting.is_canonical {
            return false;
        }
        let summary = summarize_page(page);
        let canonical = summary.and_then(|summary| self.canonical_address(url, &summary));
        canonical.as_ref() == Some(&waiting.url)
    }

    /// Returns the canonical address of a page if that is another address of the site.
    fn canonical_address(&self, url: &Url, summary: &PageSummary) -> Option<Url> {
        let canonical = self.site_address(url, summary.canonical.as_deref()?)?;
        let is_other_page = canonical != *url && self.robots.is_url_allowed(&canonical);
        is_other_page.then_some(canonical)
    }

    fn enqueue_links(&mut self, url: &Url, summary: &PageSummary, depth: u64) {
        // A crawl of a sitemap alone visits only the pages in the sitemap.
        if depth >= self.plan.max_depth || self.plan.start.is_none() {
            return;
        }

        let base = match &summary.base {
            Some(base) => url.join(base).unwrap_or_else(|_| url.clone()),
            None => url.clone(),
        };
        let rules = self.robots.rules().len();
        let mut comparisons = 0;
        for link in &summary.links {
            let Some(target) = self.site_address(&base, link) else {
                continue;
            };
            if !self.plan.includes_page(&target) || self.frontier.has_seen(&target) {
                continue;
            }

            comparisons += rules;
            let capacity = self.waiting_capacity();
            if comparisons > MAX_COMPARISONS || !self.frontier.has_room(&target, capacity) {
                self.frontier.incomplete = true;
                break;
            }
            if self.robots.is_url_allowed(&target) {
                self.frontier
                    .add_page(WaitingAddress::new(target, depth + 1), capacity);
            }
        }
    }
}

/// Finds the site, which is the host that the first address leads to. Reads its rules anew.
async fn begin_crawl(crawler: &WebCrawler, plan: &CrawlPlan) -> ConnectorResult<CrawlFrontier> {
    let mut frontier = CrawlFrontier::default();
    if let Some(start) = &plan.start {
        let robots = crawler.refresh_robots(start).await?;
        if !robots.is_url_allowed(start) {
            return Err(robots_error(start));
        }
        let first_page = resolve_first_page(crawler, start, &robots).await?;
        frontier.site = Some(first_page.clone());
        frontier.add_page(WaitingAddress::new(first_page, 0), 1);
    }

    if let Some(sitemap_url) = &plan.sitemap {
        let robots = match &plan.start {
            Some(_) => crawler.request_robots(sitemap_url).await?,
            None => crawler.refresh_robots(sitemap_url).await?,
        };
        let first_page = resolve_first_page(crawler, sitemap_url, &robots).await?;
        frontier.site.get_or_insert_with(|| first_page.clone());
        frontier.add_map(WaitingAddress::new(first_page, 0));
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

/// Returns the page that an address from the caller leads to, after the pause that the site wants.
async fn resolve_first_page(
    crawler: &WebCrawler,
    url: &Url,
    robots: &Robots,
) -> ConnectorResult<Url> {
    sleep(crawler.request_pause(robots)).await;
    let unavailable_error =
        |problem: &str| ConnectorError::Unavailable(format!("{url} {problem}").into());
    match crawler.request_page(url).await? {
        VisitResult::Page(page) => {
            final_address(&page).ok_or_else(|| unavailable_error("leads to no page"))
        }
        VisitResult::NotFound => Err(unavailable_error("is not there")),
        VisitResult::Unreadable(_) => Err(unavailable_error("cannot be read")),
    }
}

/// Returns the summary of a web page, or `None` for a file of another type.
fn summarize_page(page: &Page) -> Option<PageSummary> {
    if !is_html(page) {
        return None;
    }
    let media_type = page.media_type.as_deref().unwrap_or_default();
    Some(page::read_page(&page.bytes, media_type))
}

/// Converts a page into an item, or returns `None` for a type that is not read.
fn page_item(
    url: &Url,
    page: &Page,
    page_summary: Option<&PageSummary>,
    changed_at: Option<Timestamp>,
) -> Option<ProviderItem> {
    let media_type = media_type_of(page);
    if page_summary.is_none() && !is_readable_type(&media_type) {
        return None;
    }

    let hex_digest = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let content_version = match page_summary {
        Some(summary) => summary.digest.clone(),
        None if page.bytes.is_empty() => None,
        None => Some(hex_digest(&page.bytes)),
    };

    let document = page_summary.map(|_| DocumentType::Webpage);
    let kind = match content_version {
        Some(_) => ItemKind::File { document },
        None => ItemKind::Unreadable(SkipReason::Empty),
    };

    let title = page_summary.and_then(|summary| summary.title.clone());
    let name = match title {
        Some(title) => bounds::limit_name(title),
        None => name_of(url),
    };
    let content_version = content_version.unwrap_or_default();

    Some(ProviderItem {
        version: hex_digest(format!("{content_version}\n{media_type}\n{name}").as_bytes()),
        name,
        kind,
        media_type,
        content_version,
        size: Some(page.bytes.len() as u64),
        modified_at: changed_at.unwrap_or(Timestamp::from_millis(0)),
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
    bounds::limit_name(match url.query() {
        Some(query) => format!("{name}?{query}"),
        None => name.to_owned(),
    })
}

/// Returns an item in its current state, or `None` if it is no longer a page of the site. A page
/// that exists but cannot be fetched is an error of this item alone. The page is kept, because its
/// content is usually requested next.
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
        VisitResult::Page(page) => Ok(keep_item(crawler, &url, page)),
        // A firewall may have refused this one request, so the old content stays.
        VisitResult::Unreadable(reason) => Err(ConnectorError::Item(reason)),
        VisitResult::NotFound => {
            // Sites lose pages for a moment while they are redeployed.
            sleep(crawler.request_pause(&robots) + crawler.retry_pause).await;
            match crawler.request_page(&url).await? {
                VisitResult::Page(page) => Ok(keep_item(crawler, &url, page)),
                VisitResult::Unreadable(reason) => Err(ConnectorError::Item(reason)),
                VisitResult::NotFound => Ok(None),
            }
        }
    }
}

/// Converts a page as [`current_item`] does, and keeps it.
fn keep_item(crawler: &WebCrawler, url: &Url, page: Page) -> Option<ProviderItem> {
    let item = current_item(url, &page);
    crawler.keep_last_page(page);
    item
}

/// Converts the page now at an address into an item. Returns `None` if the address redirects
/// elsewhere or the page asks not to be indexed.
fn current_item(url: &Url, page: &Page) -> Option<ProviderItem> {
    if !has_address(page, url) {
        return None;
    }

    let (mut no_index, _) = page::parse_directives(&page.robots_tag);
    let page_summary = summarize_page(page);
    if let Some(summary) = &page_summary {
        no_index |= summary.no_index;
    }
    if no_index {
        return None;
    }

    page_item(url, page, page_summary.as_ref(), None)
}
