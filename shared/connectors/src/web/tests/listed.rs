//! Tests of which pages are listed, and how often.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ports::Connector;
use remote::{FetchError, Page, PageFetcher};
use serde_json::json;

use super::server::FakeWeb;
use super::{START, access_for, crawl_site, crawled_ids};
use crate::web::WebCrawler;

#[tokio::test]
async fn a_page_whose_canonical_address_redirects_back_is_listed_once() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/",
        "<a href='/a'>a</a><a href='/b'>b</a><a href='/c'>c</a>",
    );
    web.put_page("tides.example/a", "<link rel=canonical href='/a/'>a");
    web.put_redirect("tides.example/a/", "/a");
    web.put_page("tides.example/b", "<link rel=canonical href='/b/'>b");
    web.put_redirect("tides.example/b/", "/c");
    web.put_page("tides.example/c", "c");

    assert_eq!(
        crawled_ids(&web, &json!({"startUrl": START})).await,
        [START, "http://tides.example/c", "http://tides.example/a"]
    );
}

/// A site with a sitemap whose only page redirects to the same address by https.
#[derive(Debug)]
struct SecureSite;

#[async_trait]
impl PageFetcher for SecureSite {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        let (bytes, url) = match url.rsplit('/').next() {
            Some("map.txt") => ("http://tides.example/a", url.to_owned()),
            Some("robots.txt") => ("User-agent: *", url.to_owned()),
            _ => ("words", url.replace("http://", "https://")),
        };
        Ok(Page {
            bytes: bytes.into(),
            media_type: Some("text/plain".into()),
            url,
            robots_tag: String::new(),
        })
    }
}

#[tokio::test]
async fn a_page_that_redirects_to_https_is_found_again() {
    let crawler = WebCrawler {
        fetcher: Arc::new(SecureSite),
        ..FakeWeb::default().new_crawler().await
    };
    let metadata = json!({"sitemapUrl": "http://tides.example/map.txt"});
    let (items, _) = crawl_site(&crawler, &metadata).await.expect("a crawl");
    let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["http://tides.example/a"]);

    let access = access_for(&metadata);
    let found = crawler.get_item(&access, ids[0]).await.expect("an answer");
    assert_eq!(found.map(|item| item.id).as_deref(), Some(ids[0]));
    // The first content is that of the lookup, and the second one is requested.
    for _ in 0..2 {
        let fetched = crawler.fetch_content(&access, &items[0], 100).await;
        assert_eq!(fetched.expect("a page").bytes, "words");
    }
}

#[tokio::test]
async fn files_that_are_not_read_do_not_count_as_pages() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/",
        "<a href='/feed/1'>1</a><a href='/feed/2'>2</a><a href='/a'>a</a><a href='/b'>b</a>",
    );
    for feed in ["tides.example/feed/1", "tides.example/feed/2"] {
        web.put_answer(
            feed,
            200,
            &[("content-type", "application/rss+xml")],
            "<rss/>",
        );
    }
    web.put_page("tides.example/a", "a");
    web.put_page("tides.example/b", "b");

    assert_eq!(
        crawled_ids(&web, &json!({"startUrl": START, "maxPages": 2})).await,
        [START, "http://tides.example/a"]
    );
}
