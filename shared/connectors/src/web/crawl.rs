//! The crawl of a site, a few pages in each call.

use std::time::Duration;

use domain::connection::SkipReason;
use domain::ports::{ConnectorError, ConnectorResult, Item, ItemKind, Listing};
use domain::{DocumentType, Timestamp};
use remote::Page;
use robotxt::Robots;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};
use url::Url;

use super::frontier::{Frontier, Waiting};
use super::page::{self, Seen};
use super::site::{Plan, named, on_site};
use super::visit::{Visit, essence, is_html, is_read};
use super::{AGENT, Crawler, sitemap};
use crate::bounds;

/// The most pages and sitemaps in one call. Together with [`CALL`], this limits the work that has
/// to be repeated after a crash.
const PAGES_A_CALL: usize = 20;
/// The time after which a call begins no further page. A page may take half a minute, and a step
/// has less than two minutes.
const CALL: Duration = Duration::from_secs(20);
/// The deepest nesting of lists of sitemaps. The protocol permits one level.
const MAP_DEPTH: u64 = 2;
/// The number of visits beyond the pages that are wanted, for addresses that turn out not to be
/// pages.
const SPARE_VISITS: usize = 50;

/// The part of a crawl that one call executes.
pub(super) struct Crawl<'a> {
    crawler: &'a Crawler,
    plan: &'a Plan,
    site: Url,
    robots: Robots,
    frontier: Frontier,
    items: Vec<Item>,
}

impl<'a> Crawl<'a> {
    /// Continues at a page of the listing, or begins a new crawl.
    pub(super) async fn open(
        crawler: &'a Crawler,
        plan: &'a Plan,
        page: Option<&str>,
    ) -> ConnectorResult<Self> {
        let frontier = match page {
            None => begin(crawler, plan).await?,
            Some(page) => Frontier::read(page).ok_or(ConnectorError::PageLost)?,
        };

        let site = frontier.site.clone().ok_or(ConnectorError::PageLost)?;
        let robots = crawler.robots(&site).await?;
        // The start may have redirected to another host, which has its own rules.
        if page.is_none() && plan.start.is_some() && !robots.is_url_allowed(&site) {
            return Err(forbidden(&site));
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
    pub(super) async fn run(mut self) -> ConnectorResult<Listing> {
        let end = Instant::now() + CALL;
        for request in 0..PAGES_A_CALL {
            if self.is_over() || Instant::now() >= end {
                break;
            }
            if request > 0 {
                sleep(self.crawler.pause(&self.robots)).await;
            }
            if let Some(map) = self.frontier.next_map() {
                self.read_map(map).await;
            } else if let Some(next) = self.frontier.next() {
                self.visit(next).await;
            }
        }

        if self.is_over() {
            let incomplete = self.frontier.incomplete || !self.frontier.is_empty();
            return Ok(Listing {
                items: self.items,
                next: None,
                incomplete,
            });
        }

        let next = self.frontier.to_page();
        Ok(Listing {
            items: self.items,
            next,
            incomplete: self.frontier.incomplete,
        })
    }

    fn is_over(&self) -> bool {
        let most = self.plan.max_pages;
        let all = self.frontier.listed >= most || self.frontier.visited >= 2 * most + SPARE_VISITS;
        all || self.frontier.is_empty()
    }

    /// Returns how many pages may wait. More than the pages still wanted would never be visited,
    /// but some turn out not to be pages.
    fn room(&self) -> usize {
        self.plan.max_pages.saturating_sub(self.frontier.listed) + SPARE_VISITS
    }

    async fn read_map(&mut self, map: Waiting) {
        let Ok(Visit::Page(found)) = self.crawler.get(&map.url).await else {
            self.frontier.incomplete = true;
            return;
        };

        let Some(listed) = sitemap::read(&found.bytes) else {
            self.frontier.incomplete = true;
            return;
        };

        for address in listed.maps.iter().filter(|_| map.depth < MAP_DEPTH) {
            if let Some(url) = self.here(&map.url, address) {
                self.frontier.add_map(Waiting::new(url, map.depth + 1));
            }
        }

        for (address, changed) in &listed.pages {
            if let Some(url) = self
                .here(&map.url, address)
                .filter(|url| self.plan.wants(url))
            {
                self.frontier.add(
                    Waiting {
                        changed: *changed,
                        ..Waiting::new(url, 0)
                    },
                    self.room(),
                );
            }
        }
    }

    /// Returns the address on this site that `href` refers to on a page at `base`.
    fn here(&self, base: &Url, href: &str) -> Option<Url> {
        on_site(&self.site, named(base, href)?)
    }

    /// Visits a page. A page that cannot be fetched does not end the crawl, because the site has
    /// just answered the request for its rules.
    async fn visit(&mut self, waiting: Waiting) {
        if !self.robots.is_url_allowed(&waiting.url) {
            return;
        }
        self.frontier.visited += 1;
        match self.crawler.get(&waiting.url).await {
            Ok(Visit::Page(found)) => self.take(waiting, &found),
            Ok(Visit::Gone | Visit::NoPage(_)) => {}
            Err(_) => {
                self.frontier.again(waiting);
                sleep(self.crawler.doubt).await;
            }
        }
    }

    /// Lists a page unless it is a copy of another one, and enqueues its links.
    fn take(&mut self, waiting: Waiting, found: &Page) {
        let Some(url) = Url::parse(&found.url)
            .ok()
            .and_then(|base| self.here(&base, &found.url))
        else {
            // The address redirects to another site.
            return;
        };

        // The target of the redirect may have been visited under its own address.
        if url != waiting.url && !self.frontier.see(&url) {
            return;
        }

        let media_type = found.media_type.as_deref().unwrap_or_default();
        let html = is_html(found).then(|| page::read(&found.bytes, media_type));
        let better = html.as_ref().and_then(|seen| self.better(&url, seen));
        let (no_index, no_follow) = page::directives(&found.robots_tag);
        if let Some(seen) = html.as_ref().filter(|seen| !no_follow && !seen.no_follow) {
            self.follow(&url, seen, waiting.depth);
        }

        if let Some(better) = better.filter(|_| !waiting.named) {
            self.frontier.add(
                Waiting {
                    named: true,
                    ..Waiting::new(better, waiting.depth)
                },
                self.room(),
            );
        } else if !no_index
            && !html.as_ref().is_some_and(|seen| seen.no_index)
            && self.plan.wants(&url)
        {
            self.frontier.listed += 1;
            self.items
                .extend(item(&url, found, html.as_ref(), waiting.changed));
        }
    }

    /// Returns the canonical address of a page if that is another address of the site.
    fn better(&self, url: &Url, seen: &Seen) -> Option<Url> {
        let canonical = self.here(url, seen.canonical.as_deref()?)?;
        Some(canonical)
            .filter(|canonical| canonical != url && self.robots.is_url_allowed(canonical))
    }

    fn follow(&mut self, url: &Url, seen: &Seen, depth: u64) {
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
                .here(&base, link)
                .filter(|there| self.plan.wants(there));
            if let Some(there) = there.filter(|there| self.robots.is_url_allowed(there)) {
                self.frontier
                    .add(Waiting::new(there, depth + 1), self.room());
            }
        }
    }
}

/// Finds the site, which is the host that the first address leads to.
async fn begin(crawler: &Crawler, plan: &Plan) -> ConnectorResult<Frontier> {
    let mut frontier = Frontier::default();
    if let Some(start) = &plan.start {
        let robots = crawler.robots(start).await?;
        if !robots.is_url_allowed(start) {
            return Err(forbidden(start));
        }
        let first = first(crawler, start).await?;
        frontier.site = Some(first.clone());
        frontier.add(Waiting::new(first, 0), 1);
    }

    if let Some(map) = &plan.sitemap {
        let first = first(crawler, map).await?;
        frontier.site.get_or_insert_with(|| first.clone());
        frontier.add_map(Waiting::new(first, 0));
    }

    Ok(frontier)
}

/// Returns the error that stops the connection until somebody makes a decision. Continuing as if
/// the site were empty would remove all of its documents.
fn forbidden(start: &Url) -> ConnectorError {
    let host = start.host_str().unwrap_or_default();
    ConnectorError::Policy(format!(
        "The robots.txt of {host} does not let crawlers read metadata.startUrl. Allow the user agent {AGENT} there, which \
         is looked at once a day, or connect the site anew with another start address. Documents stay as they are."
    ))
}

/// Returns the page that an address from the caller leads to.
async fn first(crawler: &Crawler, url: &Url) -> ConnectorResult<Url> {
    let nothing = |what: &str| ConnectorError::Unavailable(format!("{url} {what}").into());
    match crawler.get(url).await? {
        Visit::Page(found) => {
            let there = Url::parse(&found.url)
                .ok()
                .and_then(|there| named(&there, &found.url));
            there.ok_or_else(|| nothing("leads to no page"))
        }
        Visit::Gone => Err(nothing("is not there")),
        Visit::NoPage(_) => Err(nothing("cannot be read")),
    }
}

/// Converts a page into an item, or returns `None` for a type that is not read.
fn item(url: &Url, found: &Page, html: Option<&Seen>, changed: Option<Timestamp>) -> Option<Item> {
    let media_type = essence(found);
    if html.is_none() && !is_read(&media_type) {
        return None;
    }

    let digest = |bytes: &[u8]| -> String {
        Sha256::digest(bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    };

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
        .map_or_else(|| name_of(url), bounds::name);
    let mark = mark.unwrap_or_default();

    Some(Item {
        version: digest(format!("{mark}\n{media_type}\n{name}").as_bytes()),
        name,
        kind,
        media_type,
        mark,
        size: Some(found.bytes.len() as u64),
        modified_at: changed.unwrap_or(Timestamp::from_millis(0)),
        ..unreadable(url, SkipReason::Empty)
    })
}

/// Returns the item of a page whose content is not known.
fn unreadable(url: &Url, reason: SkipReason) -> Item {
    Item {
        id: url.to_string(),
        parent: None,
        name: name_of(url),
        kind: ItemKind::Unreadable(reason),
        drive: None,
        media_type: String::new(),
        version: reason.as_str().to_owned(),
        mark: String::new(),
        size: None,
        modified_at: Timestamp::from_millis(0),
        url: Some(url.to_string()),
        owner: None,
        trashed: false,
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
    bounds::name(format!("{name}{}", query.unwrap_or_default()))
}

/// Returns an item in its current state, or `None` if it is no longer a page of the site. A page
/// that exists but cannot be fetched is an error of this item alone.
pub(super) async fn stat(crawler: &Crawler, id: &str) -> ConnectorResult<Option<Item>> {
    let Ok(url) = Url::parse(id) else {
        return Ok(None);
    };

    let robots = crawler.robots(&url).await?;
    if !robots.is_url_allowed(&url) {
        return Ok(None);
    }

    sleep(crawler.pause(&robots)).await;
    match crawler.get(&url).await? {
        Visit::Page(found) => Ok(as_it_is(&url, &found)),
        // A firewall may have refused this one request, so the old content stays.
        Visit::NoPage(reason) => Err(ConnectorError::Item(reason)),
        Visit::Gone => {
            // Sites lose pages for a moment while they are redeployed.
            sleep(crawler.pause(&robots) + crawler.doubt).await;
            match crawler.get(&url).await? {
                Visit::Page(found) => Ok(as_it_is(&url, &found)),
                Visit::NoPage(reason) => Err(ConnectorError::Item(reason)),
                Visit::Gone => Ok(None),
            }
        }
    }
}

/// Converts the page now at an address into an item. Returns `None` if the address redirects
/// elsewhere or the page asks not to be indexed.
fn as_it_is(url: &Url, found: &Page) -> Option<Item> {
    let there = Url::parse(&found.url)
        .ok()
        .and_then(|there| named(&there, &found.url));
    let media_type = found.media_type.as_deref().unwrap_or_default();
    let html = is_html(found).then(|| page::read(&found.bytes, media_type));
    let hides =
        page::directives(&found.robots_tag).0 || html.as_ref().is_some_and(|seen| seen.no_index);
    if hides || there.as_ref() != Some(url) {
        None
    } else {
        item(url, found, html.as_ref(), None)
    }
}
