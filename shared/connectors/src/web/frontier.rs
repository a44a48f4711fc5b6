//! The progress of a crawl: the addresses that wait to be visited, and those that were seen. It is
//! stored in the page token of the listing, because no process keeps state between calls. Its size
//! is therefore limited.

use std::collections::{HashSet, VecDeque};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

/// The most bytes of waiting addresses.
const MAX_WAITING_BYTES: usize = 80 * 1024;
/// The most waiting sitemaps.
const MAX_SITEMAPS: usize = 100;
/// The most addresses that are remembered, with 8 bytes for each.
const MAX_SEEN: usize = 5_000;
/// The most attempts to fetch a page.
const MAX_ATTEMPTS: u8 = 3;
/// The bytes of the digest of an address.
const DIGEST_BYTES: usize = 8;

/// The progress of a crawl.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CrawlFrontier {
    /// The first page of the site. All other pages have the same scheme, host and port.
    pub(super) site: Option<Url>,
    waiting: VecDeque<WaitingAddress>,
    maps: Vec<WaitingAddress>,
    /// The concatenated digests of the addresses that were seen, in base64.
    #[serde(with = "marks")]
    seen: HashSet<[u8; DIGEST_BYTES]>,
    /// The number of pages that were listed.
    pub(super) listed: usize,
    /// The number of pages that were visited.
    pub(super) visited: usize,
    /// `true` if something was skipped that may belong to the site.
    pub(super) incomplete: bool,
    /// The bytes of the waiting addresses.
    bytes: usize,
}

/// An address that waits to be visited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaitingAddress {
    #[serde(rename = "u")]
    pub(super) url: Url,
    /// The number of links between it and the start.
    #[serde(rename = "d")]
    pub(super) depth: u64,
    /// The number of attempts to fetch it.
    #[serde(rename = "t", default, skip_serializing_if = "is_default")]
    pub(super) attempts: u8,
    /// `true` if another page named it as its canonical address. It is then listed even if it names
    /// yet another one.
    #[serde(rename = "n", default, skip_serializing_if = "is_default")]
    pub(super) is_canonical: bool,
    /// The time at which it last changed, according to a sitemap.
    #[serde(rename = "m", default, skip_serializing_if = "is_default")]
    pub(super) changed_at: Option<Timestamp>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl WaitingAddress {
    pub(super) fn new(url: Url, depth: u64) -> Self {
        Self {
            url,
            depth,
            attempts: 0,
            is_canonical: false,
            changed_at: None,
        }
    }
}

impl CrawlFrontier {
    /// Parses the result of [`CrawlFrontier::to_page`].
    pub(super) fn from_page(page: &str) -> Option<Self> {
        serde_json::from_str(page).ok()
    }

    /// Serializes the progress as the page token of a listing.
    pub(super) fn to_page(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Returns the next page to visit.
    pub(super) fn next_page(&mut self) -> Option<WaitingAddress> {
        let next = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(next.url.as_str().len());
        Some(next)
    }

    /// Returns the next sitemap to read.
    pub(super) fn next_map(&mut self) -> Option<WaitingAddress> {
        let next = self.maps.pop()?;
        self.bytes = self.bytes.saturating_sub(next.url.as_str().len());
        Some(next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.maps.is_empty()
    }

    /// Enqueues a page that was not seen before, if fewer than `capacity` pages are waiting.
    /// Otherwise the crawl is incomplete.
    pub(super) fn add_page(&mut self, waiting: WaitingAddress, capacity: usize) {
        if !self.has_room(&waiting.url, capacity) {
            self.incomplete |= !self.has_seen(&waiting.url);
        } else if self.mark_seen(&waiting.url) {
            self.bytes += waiting.url.as_str().len();
            self.waiting.push_back(waiting);
        }
    }

    /// Checks whether a page may wait in addition to the others, if fewer than `capacity` may wait.
    pub(super) fn has_room(&self, url: &Url, capacity: usize) -> bool {
        self.waiting.len() < capacity
            && self.bytes + url.as_str().len() <= MAX_WAITING_BYTES
            && self.seen.len() < MAX_SEEN
    }

    /// Enqueues a sitemap that was not seen before.
    pub(super) fn add_map(&mut self, waiting: WaitingAddress) {
        let bytes = waiting.url.as_str().len();
        if self.maps.len() >= MAX_SITEMAPS || self.bytes + bytes > MAX_WAITING_BYTES {
            self.incomplete |= !self.has_seen(&waiting.url);
        } else if self.mark_seen(&waiting.url) {
            self.bytes += bytes;
            self.maps.push(waiting);
        }
    }

    /// Enqueues a page that could not be fetched once more, behind all others, until
    /// [`MAX_ATTEMPTS`] is reached.
    pub(super) fn retry_page(&mut self, mut waiting: WaitingAddress) {
        waiting.attempts += 1;
        if waiting.attempts < MAX_ATTEMPTS {
            self.bytes += waiting.url.as_str().len();
            self.waiting.push_back(waiting);
        } else {
            self.incomplete = true;
        }
    }

    /// Records an address as seen, and returns whether it is new.
    pub(super) fn mark_seen(&mut self, url: &Url) -> bool {
        self.seen.insert(address_digest(url))
    }

    /// Checks whether an address was recorded as seen.
    pub(super) fn has_seen(&self, url: &Url) -> bool {
        self.seen.contains(&address_digest(url))
    }
}

fn address_digest(url: &Url) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&Sha256::digest(url.as_str())[..DIGEST_BYTES]);
    digest
}

mod marks {
    use super::*;

    pub(super) fn serialize<S: serde::Serializer>(
        seen: &HashSet<[u8; DIGEST_BYTES]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut digests: Vec<[u8; DIGEST_BYTES]> = seen.iter().copied().collect();
        digests.sort_unstable();
        serializer.serialize_str(&BASE64.encode(digests.concat()))
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HashSet<[u8; DIGEST_BYTES]>, D::Error> {
        let bytes = BASE64
            .decode(String::deserialize(deserializer)?)
            .map_err(serde::de::Error::custom)?;
        Ok(bytes
            .as_chunks::<DIGEST_BYTES>()
            .0
            .iter()
            .copied()
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> Url {
        Url::parse("https://tides.example/")
            .and_then(|site| site.join(path))
            .expect("an address")
    }

    #[test]
    fn a_page_waits_once_and_survives_the_listing() {
        let mut frontier = CrawlFrontier::default();
        for path in ["/a", "/b", "/a"] {
            frontier.add_page(WaitingAddress::new(url(path), 1), 10);
        }

        frontier.add_map(WaitingAddress::new(url("/sitemap.xml"), 0));
        let page = frontier.to_page().expect("a page");
        let mut parsed = CrawlFrontier::from_page(&page).expect("a frontier");
        assert_eq!(parsed, frontier);
        assert_eq!(parsed.next_page().map(|next| next.url), Some(url("/a")));
        parsed.add_page(WaitingAddress::new(url("/a"), 1), 10);
        assert_eq!(parsed.next_page().map(|next| next.url), Some(url("/b")));
        assert_eq!(parsed.next_page(), None);
        assert!(
            !parsed.is_empty()
                && parsed.next_map().is_some()
                && parsed.is_empty()
                && !parsed.incomplete
        );
        assert_eq!(CrawlFrontier::from_page("{}x"), None);
    }

    #[test]
    fn trouble_ends() {
        let mut frontier = CrawlFrontier::default();
        frontier.add_page(WaitingAddress::new(url("/a"), 1), 10);
        let mut tries = 0;
        while let Some(next) = frontier.next_page() {
            tries += 1;
            frontier.retry_page(next);
        }
        assert_eq!((tries, frontier.incomplete), (3, true));
    }

    #[test]
    fn it_never_grows_beyond_its_page() {
        let mut frontier = CrawlFrontier {
            site: Some(url("/")),
            ..CrawlFrontier::default()
        };

        for number in 0..20_000 {
            frontier.add_page(
                WaitingAddress::new(
                    url(&format!("/{number}?{}", "\"<é".repeat(number % 100))),
                    9,
                ),
                1_000,
            );
            if number % 2 == 0 {
                let next = frontier.next_page().expect("a page");
                frontier.retry_page(next);
            }
        }

        for number in 0..500 {
            frontier.add_map(WaitingAddress::new(
                url(&format!("/{number}.xml?{}", "x".repeat(200))),
                9,
            ));
        }

        let bytes = frontier.to_page().expect("a page").len();
        assert!((50_000..=200_000).contains(&bytes), "{bytes}");
        assert!(frontier.incomplete);
    }
}
