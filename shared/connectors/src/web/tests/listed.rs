//! Tests of which pages are listed, and how often.

use serde_json::json;

use super::server::FakeWeb;
use super::{START, crawled_ids};

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
