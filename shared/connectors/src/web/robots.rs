//! The crawling rules of sites, which are kept for some minutes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ports::{ConnectorError, ConnectorResult};
use robotxt::Robots;
use tokio::time::Instant;
use url::Url;

use super::visit::convert_error;
use super::{CRAWLER_NAME, WebCrawler};

/// The time for which rules are kept. Crawlers commonly keep them for up to a day.
const KEPT_TIME: Duration = Duration::from_secs(600);
/// The most sites whose rules are kept.
const MAX_SITES: usize = 64;
/// The most bytes of rules that are kept. Longer ones are requested each time.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// The rules of the sites that were visited lately. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentRobots(Arc<Mutex<HashMap<String, KeptRobots>>>);

/// The rules of one site.
#[derive(Debug)]
struct KeptRobots {
    robots: Arc<Robots>,
    kept_at: Instant,
}

impl RecentRobots {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, KeptRobots>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, url: &Url) -> Option<Arc<Robots>> {
        let sites = self.lock();
        let kept = sites.get(&site_of(url))?;
        (kept.kept_at.elapsed() < KEPT_TIME).then(|| Arc::clone(&kept.robots))
    }

    /// Keeps rules in place of the oldest ones if there are too many.
    fn insert(&self, url: &Url, robots: &Arc<Robots>) {
        let mut sites = self.lock();
        let oldest = sites.iter().min_by_key(|(_, kept)| kept.kept_at);
        if sites.len() >= MAX_SITES
            && let Some(site) = oldest.map(|(site, _)| site.clone())
        {
            sites.remove(&site);
        }

        let kept = KeptRobots {
            robots: Arc::clone(robots),
            kept_at: Instant::now(),
        };
        sites.insert(site_of(url), kept);
    }

    fn remove(&self, url: &Url) {
        self.lock().remove(&site_of(url));
    }
}

/// Returns the scheme, host and port of an address, for all of which one file has the rules.
fn site_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

impl WebCrawler {
    /// Returns the crawling rules for the site of an address, which may be some minutes old. A site
    /// without rules permits everything. If the rules are temporarily unavailable, nothing is
    /// permitted, and the crawl waits.
    pub(super) async fn request_robots(&self, url: &Url) -> ConnectorResult<Arc<Robots>> {
        match self.robots.get(url) {
            Some(robots) => Ok(robots),
            None => self.refresh_robots(url).await,
        }
    }

    /// Acts as [`Self::request_robots`], but always asks the site. A site that asks to slow down
    /// here means all requests, not those for one page.
    pub(super) async fn refresh_robots(&self, url: &Url) -> ConnectorResult<Arc<Robots>> {
        self.robots.remove(url);
        let rules = url
            .join("/robots.txt")
            .map_err(|error| ConnectorError::Fault(error.to_string()))?;

        let robots = match self.fetcher.fetch_page(rules.as_str()).await {
            Ok(page) if page.bytes.len() > MAX_KEPT_BYTES => {
                return Ok(Arc::new(Robots::parse(&page.bytes, CRAWLER_NAME)));
            }
            Ok(page) => Robots::parse(&page.bytes, CRAWLER_NAME),
            Err(error) if error.status == Some(429) => {
                return Err(ConnectorError::Throttled { retry_after: None });
            }
            Err(error) => {
                convert_error(error)?;
                Robots::allow_all()
            }
        };

        let robots = Arc::new(robots);
        self.robots.insert(url, &robots);
        Ok(robots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_rules_are_kept() {
        let sites = RecentRobots::default();
        let site = |number: usize| {
            Url::parse(&format!("https://site{number}.example/a")).expect("an address")
        };
        let robots = Arc::new(Robots::allow_all());
        for number in 0..=MAX_SITES {
            sites.insert(&site(number), &robots);
        }

        assert_eq!(sites.lock().len(), MAX_SITES);
        assert!(sites.get(&site(0)).is_none());
        assert!(sites.get(&site(MAX_SITES)).is_some());
        sites.remove(&site(MAX_SITES));
        assert!(sites.get(&site(MAX_SITES)).is_none());
    }
}
