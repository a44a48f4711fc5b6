//! Tests of the number of requests to a site and of the pauses between them, and of the limits of the
//! work that a site causes.

use std::time::Duration;

use domain::ports::Connector;
use serde_json::json;

use super::server::FakeWeb;
use super::{START, access_for, crawl_site};
use crate::web::WebCrawler;

#[tokio::test]
async fn a_crawl_pauses_between_all_requests() {
    let web = FakeWeb::default();
    web.put_page("tides.example/", "start <a href='/a'>a</a>");
    web.put_page("tides.example/a", "a");
    web.put_answer("tides.example/map.xml", 200, &[], "http://tides.example/b");
    web.put_page("tides.example/b", "b");
    let pause = Duration::from_millis(30);
    let crawler = WebCrawler {
        default_pause: pause,
        ..web.new_crawler().await
    };
    let metadata = json!({"startUrl": START, "sitemapUrl": "http://tides.example/map.xml"});
    let (items, _) = crawl_site(&crawler, &metadata).await.expect("a crawl");

    assert_eq!(items.len(), 3);
    assert!(web.shortest_pause() >= pause, "{:?}", web.shortest_pause());
    assert_eq!(web.request_count("tides.example/robots.txt"), 1);
    assert_eq!(crawler.parallel_requests(), 1);
}

#[tokio::test]
async fn a_page_that_was_looked_up_is_not_requested_again() {
    let web = FakeWeb::default();
    web.put_page("tides.example/a", "old words");
    web.put_page("tides.example/b", "other words");
    let crawler = web.new_crawler().await;
    let access = access_for(&json!({"startUrl": START}));
    let stat = |path: &'static str| crawler.get_item(&access, path);
    let (a, b) = ("http://tides.example/a", "http://tides.example/b");
    let item = stat(a).await.expect("an answer").expect("an item");
    web.put_page("tides.example/a", "new words");

    let fetched = crawler.fetch_content(&access, &item, 100).await;
    assert_eq!(
        fetched.expect("a page").bytes,
        "old words",
        "what the version of the item names"
    );
    assert_eq!(web.request_count("tides.example/a"), 1);
    assert_eq!(web.request_count("tides.example/robots.txt"), 1);

    // Another page was looked up meanwhile.
    stat(b).await.expect("an answer").expect("an item");
    let fetched = crawler.fetch_content(&access, &item, 100).await;
    assert_eq!(fetched.expect("a page").bytes, "new words");
}

#[tokio::test]
async fn a_page_with_many_links_and_many_rules_is_not_followed_to_its_end() {
    let web = FakeWeb::default();
    let mut rules = String::from("User-agent: *\n");
    (0..20_000).for_each(|number| rules.push_str(&format!("Disallow: /no/{number}\n")));
    web.put_answer("tides.example/robots.txt", 200, &[], rules);
    let mut links = String::from("<a href='/'>start</a>");
    (0..300).for_each(|number| links.push_str(&format!("<a href='/no/{number}'>x</a>")));
    links.push_str("<a href='/a'>a</a>");
    web.put_page("tides.example/", &links);
    web.put_page("tides.example/a", "a");

    let crawled = crawl_site(&web.new_crawler().await, &json!({"startUrl": START})).await;
    let (items, is_incomplete) = crawled.expect("a crawl");
    assert_eq!((items.len(), is_incomplete), (1, true));
}

#[tokio::test]
async fn links_that_were_seen_are_never_too_many() {
    let web = FakeWeb::default();
    let mut links = "<a href='/'>start</a>".repeat(1_000);
    links.push_str("<a href='/a'>a</a>");
    web.put_page("tides.example/", &links);
    web.put_page("tides.example/a", &links);
    let rules: String = (0..5_000).map(|n| format!("Disallow: /no/{n}\n")).collect();
    let rules = format!("User-agent: *\n{rules}");
    web.put_answer("tides.example/robots.txt", 200, &[], rules);

    let crawled = crawl_site(&web.new_crawler().await, &json!({"startUrl": START})).await;
    let (items, is_incomplete) = crawled.expect("a crawl");
    assert_eq!((items.len(), is_incomplete), (2, false));
}
