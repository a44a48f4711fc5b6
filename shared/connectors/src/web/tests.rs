//! Tests of the crawler against a server that simulates sites of the internet.

mod listed;
mod politeness;
mod server;
mod strangers;

use domain::Metadata;
use domain::connection::SkipReason;
use domain::document::{BodyForm, DocumentType};
use domain::ports::{Connector, ConnectorError, ItemKind, ProviderAccess, ProviderItem};
use serde_json::{Value, json};

use super::WebCrawler;
use server::FakeWeb;

fn access_for(metadata: &Value) -> ProviderAccess {
    ProviderAccess {
        token: None,
        metadata: Metadata::parse(metadata.as_object().expect("an object").clone())
            .expect("metadata"),
    }
}

/// Returns all items of a crawl, and whether the crawl reports missing items.
async fn crawl_site(
    crawler: &WebCrawler,
    metadata: &Value,
) -> Result<(Vec<ProviderItem>, bool), ConnectorError> {
    let access = access_for(metadata);
    let (mut items, mut page, mut incomplete) = (Vec::new(), None, false);

    loop {
        let listing = crawler.list_feed(&access, "site", page.as_deref()).await?;
        items.extend(listing.items);
        incomplete |= listing.is_incomplete;
        assert!(
            listing
                .next
                .as_ref()
                .is_none_or(|next| next.len() <= 200 * 1024 && listing.next != page)
        );
        page = listing.next;
        if page.is_none() {
            return Ok((items, incomplete));
        }
    }
}

async fn crawled_ids(web: &FakeWeb, metadata: &Value) -> Vec<String> {
    let (items, _) = crawl_site(&web.new_crawler().await, metadata)
        .await
        .expect("a crawl");
    items.into_iter().map(|item| item.id).collect()
}

const START: &str = "http://tides.example/";

#[tokio::test]
async fn a_site_is_what_its_first_page_leads_to_within_its_host() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/",
        r##"<title>Tides</title><a href="/a#x">a</a><a href="b?y=2&amp;x=1">b</a><a href="https://tides.example/a">a</a>
        <a href="http://other.example/o">o</a><a href="/c" rel=nofollow>c</a><a href="/d.png">d</a><a href="/gone">g</a>
        <a href="mailto:x@tides.example">m</a><a href="/report">r</a><a href="/data">x</a><a href="/empty">e</a>"##,
    );
    web.put_page(
        "tides.example/a",
        "<title>A &amp; a</title><a href='/'>back</a><a href='/deep/1'>deep</a>",
    );
    web.put_page("tides.example/b?y=2&x=1", "<h1>The b</h1>");
    web.put_page("tides.example/c", "not followed");
    web.put_page("tides.example/deep/1", "one <a href='2'>2</a>");
    web.put_page("tides.example/deep/2", "two <a href='3'>3</a>");
    web.put_page("tides.example/deep/3", "three");
    web.put_page(
        "tides.example/empty",
        "<div id=app></div><script>x</script>",
    );
    web.put_answer(
        "tides.example/report",
        200,
        &[("content-type", "application/pdf")],
        "%PDF-1.7",
    );
    web.put_answer(
        "tides.example/data",
        200,
        &[("content-type", "application/octet-stream")],
        "\0\0",
    );
    let crawler = web.new_crawler().await;
    let (items, incomplete) = crawl_site(&crawler, &json!({"startUrl": START}))
        .await
        .expect("a crawl");
    assert!(!incomplete);

    let titles: Vec<(&str, &str)> = items
        .iter()
        .map(|item| (&item.id["http://tides.example".len()..], item.name.as_str()))
        .collect();
    let expected = [
        ("/", "Tides"),
        ("/a", "A & a"),
        ("/b?y=2&x=1", "The b"),
        ("/report", "report"),
        ("/empty", "empty"),
        ("/deep/1", "deep/1"),
        ("/deep/2", "deep/2"),
    ];
    assert_eq!(titles, expected, "breadth first, and three links deep");

    let kind = |at: usize| items[at].kind.clone();
    assert_eq!(
        kind(0),
        ItemKind::File {
            document: Some(DocumentType::Webpage)
        }
    );
    assert_eq!(kind(3), ItemKind::File { document: None });
    assert_eq!(kind(4), ItemKind::Unreadable(SkipReason::Empty));
    assert_eq!(
        web.request_count("other.example/o") + web.request_count("tides.example/d.png"),
        0
    );
    assert_eq!(web.request_count("tides.example/a"), 1);

    let start_only = crawled_ids(&web, &json!({"startUrl": START, "maxDepth": 0})).await;
    assert_eq!(start_only, [START]);

    let first_two = crawl_site(&crawler, &json!({"startUrl": START, "maxPages": 2}))
        .await
        .expect("a crawl");
    assert_eq!((first_two.0.len(), first_two.1), (2, true));

    let below = json!({"startUrl": "http://tides.example/deep/1", "pathPrefix": "/deep/2"});
    assert_eq!(
        crawled_ids(&web, &below).await,
        ["http://tides.example/deep/2"]
    );
}

#[tokio::test]
async fn a_large_site_is_crawled_in_several_calls() {
    let web = FakeWeb::default();
    for page in 0..70 {
        let links: String = (1..=3)
            .map(|n| format!("<a href='/{}'>x</a>", page * 3 + n))
            .collect();
        web.put_page(
            &format!("tides.example/{page}"),
            &format!("page {page} {links}"),
        );
    }

    let metadata = json!({"startUrl": "http://tides.example/0", "maxDepth": 10});
    let mut found = crawled_ids(&web, &metadata).await;
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 70);
    let page = web
        .new_crawler()
        .await
        .list_feed(&access_for(&metadata), "site", Some("damaged"))
        .await;
    assert!(matches!(page, Err(ConnectorError::PageLost)));
}

#[tokio::test]
async fn robots_txt_is_honoured() {
    let web = FakeWeb::default();
    let rules = "User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: otherbot\nDisallow: /";
    web.put_answer("tides.example/robots.txt", 200, &[], rules);
    web.put_page(
        "tides.example/",
        "start <a href='/private/1'>1</a><a href='/private/open'>2</a>",
    );
    web.put_page("tides.example/private/1", "secret");
    web.put_page("tides.example/private/open", "open");
    let crawler = web.new_crawler().await;
    assert_eq!(
        crawled_ids(&web, &json!({"startUrl": START})).await,
        [START, "http://tides.example/private/open"]
    );

    let access = access_for(&json!({"startUrl": START}));
    let known = |id: &'static str| crawler.get_item(&access, id);
    assert_eq!(
        known("http://tides.example/private/1")
            .await
            .expect("an answer"),
        None
    );
    assert_eq!(web.request_count("tides.example/private/1"), 0);

    let denied = crawl_site(
        &crawler,
        &json!({"startUrl": "http://tides.example/private/1"}),
    )
    .await;
    let Err(ConnectorError::Policy(message)) = denied else {
        panic!("{denied:?}")
    };
    for word in [
        "robots.txt",
        "tides.example",
        "metadata.startUrl",
        "recollect",
    ] {
        assert!(message.contains(word), "{message}");
    }

    web.put_redirect("other.example/", "http://tides.example/private/1");
    let redirected = crawl_site(&crawler, &json!({"startUrl": "http://other.example/"})).await;
    assert!(
        matches!(redirected, Err(ConnectorError::Policy(said)) if said.contains("tides.example"))
    );

    web.put_answer("tides.example/robots.txt", 503, &[], "");
    let later = crawl_site(&crawler, &json!({"startUrl": START})).await;
    assert!(
        matches!(later, Err(ConnectorError::Unavailable(_))),
        "rules that cannot be had allow nothing"
    );
    assert!(matches!(
        known(START).await,
        Err(ConnectorError::Unavailable(_))
    ));

    web.put_answer("tides.example/robots.txt", 429, &[], "");
    assert!(matches!(
        known(START).await,
        Err(ConnectorError::Throttled { .. })
    ));
}

#[tokio::test]
async fn a_redirect_to_a_disallowed_page_leads_nowhere() {
    let web = FakeWeb::default();
    let rules = "User-agent: *\nDisallow: /private";
    web.put_answer("tides.example/robots.txt", 200, &[], rules);
    web.put_page(
        "tides.example/",
        "start <a href='/moved'>1</a><a href='/open'>2</a>",
    );
    web.put_redirect("tides.example/moved", "/private/1");
    web.put_page("tides.example/private/1", "secret <a href='/behind'>3</a>");
    web.put_page("tides.example/open", "open");
    web.put_page("tides.example/behind", "behind");

    assert_eq!(
        crawled_ids(&web, &json!({"startUrl": START})).await,
        [START, "http://tides.example/open"]
    );
    assert_eq!(web.request_count("tides.example/behind"), 0);
}

#[tokio::test]
async fn pages_have_one_address_each() {
    let web = FakeWeb::default();
    web.put_redirect("tides.example/", "http://www.tides.example/home");
    let links = "<a href='/old'>1</a><a href='/copy'>2</a><a href='/a'>3</a><a href='/ring/1'>4</a><a href='/away'>5</a>
        <a href='/syndicated'>6</a><a href='/hidden'>7</a><a href='/tagged'>8</a>";
    web.put_page("www.tides.example/home", &format!("home {links}"));
    web.put_redirect("www.tides.example/old", "/a");
    web.put_redirect("www.tides.example/away", "http://other.example/");
    web.put_page("other.example/", "elsewhere");
    web.put_page("www.tides.example/a", "a");
    web.put_page(
        "www.tides.example/copy",
        "<link rel=canonical href='/original'>copy",
    );
    web.put_page(
        "www.tides.example/original",
        "<link rel=canonical href='/original'>original",
    );
    web.put_page(
        "www.tides.example/ring/1",
        "<link rel=canonical href='/ring/2'>one",
    );
    web.put_page(
        "www.tides.example/ring/2",
        "<link rel=canonical href='/ring/1'>two",
    );
    web.put_page(
        "www.tides.example/syndicated",
        "<link rel=canonical href='http://other.example/'>ours",
    );
    web.put_page(
        "www.tides.example/hidden",
        "<meta name=robots content=noindex>x <a href='/behind'>9</a>",
    );
    web.put_page(
        "www.tides.example/behind",
        "<meta name=robots content=nofollow>b <a href='/never'>10</a>",
    );
    web.put_page("www.tides.example/never", "never");
    web.put_answer(
        "www.tides.example/tagged",
        200,
        &[("content-type", "text/html"), ("x-robots-tag", "noindex")],
        "t",
    );

    let mut found = crawled_ids(&web, &json!({"startUrl": START})).await;
    found.sort();
    let expected = ["a", "behind", "home", "original", "ring/2", "syndicated"];
    assert_eq!(
        found,
        expected.map(|path| format!("http://www.tides.example/{path}"))
    );
}

#[tokio::test]
async fn a_sitemap_lists_what_is_crawled() {
    let web = FakeWeb::default();
    let index = "<sitemapindex><sitemap><loc>http://tides.example/1.xml</loc></sitemap>
        <sitemap><loc>http://other.example/2.xml</loc></sitemap><sitemap><loc>/gone.xml</loc></sitemap></sitemapindex>";
    web.put_answer(
        "tides.example/sitemap.xml",
        200,
        &[("content-type", "application/xml")],
        index,
    );
    let map = "<urlset><url><loc>http://tides.example/a</loc><lastmod>2026-03-01</lastmod></url>
        <url><loc>https://tides.example/b</loc></url><url><loc>http://other.example/c</loc></url></urlset>";
    web.put_answer("tides.example/1.xml", 200, &[], map);
    web.put_page("tides.example/a", "a <a href='/not-listed'>x</a>");
    web.put_page("tides.example/b", "b");
    web.put_page("tides.example/not-listed", "n");

    let metadata = json!({"sitemapUrl": "http://tides.example/sitemap.xml"});
    let (items, incomplete) = crawl_site(&web.new_crawler().await, &metadata)
        .await
        .expect("a crawl");
    let changes: Vec<(&str, i64)> = items
        .iter()
        .map(|item| (item.id.as_str(), item.modified_at.as_millis()))
        .collect();

    assert_eq!(
        changes,
        [
            ("http://tides.example/a", 1_772_323_200_000),
            ("http://tides.example/b", 0)
        ]
    );
    assert!(incomplete, "a part of the list is not there");
    assert_eq!(web.request_count("other.example/2.xml"), 0);
}

#[tokio::test]
async fn nothing_leads_inside() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/",
        "x <a href='/in'>1</a><a href='http://10.0.0.7/'>2</a><a href='http://inside.example/'>3</a>",
    );
    web.put_redirect("tides.example/in", "http://10.0.0.7/secret");
    web.put_page("10.0.0.7/secret", "secret");
    web.put_page("inside.example/", "secret");
    assert_eq!(
        crawled_ids(&web, &json!({"startUrl": START})).await,
        [START]
    );

    let crawler = web.new_crawler().await;
    let inside = crawl_site(&crawler, &json!({"startUrl": "http://inside.example/"})).await;
    assert!(matches!(inside, Err(ConnectorError::Unavailable(_))));

    let inside = crawler
        .get_item(
            &access_for(&json!({"startUrl": START})),
            "http://10.0.0.7/secret",
        )
        .await;
    assert!(matches!(
        inside,
        Err(ConnectorError::Item(SkipReason::NotDownloadable))
    ));
    assert_eq!(
        web.request_count("10.0.0.7/secret") + web.request_count("inside.example/"),
        0
    );
}

#[tokio::test]
async fn pages_that_give_trouble_do_not_end_the_crawl() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/",
        "x <a href='/broken'>1</a><a href='/denied'>2</a><a href='/fine'>3</a>",
    );
    web.put_answer("tides.example/broken", 500, &[], "");
    for (path, status) in [
        ("denied", 403),
        ("paid", 401),
        ("unlawful", 451),
        ("slow", 408),
        ("busy", 429),
    ] {
        web.put_answer(&format!("tides.example/{path}"), status, &[], "");
    }

    let huge = vec![b'x'; 52 * 1024 * 1024];
    web.put_answer(
        "tides.example/huge",
        200,
        &[("content-type", "text/plain")],
        huge,
    );
    web.put_page("tides.example/fine", "fine");
    let crawler = web.new_crawler().await;
    let metadata = json!({"startUrl": START});
    let (items, incomplete) = crawl_site(&crawler, &metadata).await.expect("a crawl");
    assert_eq!(
        items
            .iter()
            .map(|item| item.name.as_str())
            .collect::<Vec<_>>(),
        ["tides.example", "fine"]
    );
    assert!(incomplete);
    let access = access_for(&metadata);
    let stat = |path: &'static str| crawler.get_item(&access, path);
    for path in [
        "http://tides.example/broken",
        "http://tides.example/slow",
        "http://tides.example/busy",
    ] {
        assert!(
            matches!(stat(path).await, Err(ConnectorError::Unavailable(_))),
            "{path}"
        );
    }

    for (path, reason) in [
        ("http://tides.example/denied", SkipReason::NotDownloadable),
        ("http://tides.example/paid", SkipReason::NotDownloadable),
        ("http://tides.example/unlawful", SkipReason::NotDownloadable),
        ("http://tides.example/huge", SkipReason::TooLarge),
    ] {
        // This is an error of the page alone, and does not mean that the page is gone.
        let error = stat(path).await.expect_err("no page");
        assert!(
            matches!(error, ConnectorError::Item(told) if told == reason),
            "{path}: {error}"
        );
    }
}

#[tokio::test]
async fn what_a_site_says_at_length_is_cut() {
    let web = FakeWeb::default();
    let long_url = format!("tides.example/{}", "x".repeat(900));
    let media_type = format!("text/html; x={}", "x".repeat(900));
    web.put_answer(
        &long_url,
        200,
        &[("content-type", &media_type)],
        "words without a title",
    );
    let crawler = web.new_crawler().await;
    let access = access_for(&json!({"startUrl": START}));
    let item = crawler
        .get_item(&access, &format!("http://{long_url}"))
        .await
        .expect("an answer")
        .expect("an item");
    assert_eq!(
        (item.name.len(), item.id.len()),
        (500, "http://".len() + long_url.len())
    );

    let fetched = crawler
        .fetch_content(&access, &item, 100)
        .await
        .expect("a page");
    let BodyForm::File {
        declared: Some(declared),
        ..
    } = fetched.form
    else {
        panic!("{fetched:?}")
    };
    assert_eq!(declared.len(), 255);
}

#[tokio::test]
async fn a_page_is_gone_when_it_is_gone_twice() {
    let web = FakeWeb::default();
    web.put_page(
        "tides.example/a",
        "<title>A</title>words <form><input value=1></form>",
    );
    web.put_answer("tides.example/gone", 410, &[], "");
    web.put_redirect("tides.example/moved", "/a");
    web.put_page(
        "tides.example/hidden",
        "<meta name=robots content=noindex>words",
    );
    let crawler = web.new_crawler().await;
    let access = access_for(&json!({"startUrl": "http://tides.example/a"}));
    let stat = |path: &'static str| crawler.get_item(&access, path);
    let first_stat = stat("http://tides.example/a")
        .await
        .expect("an answer")
        .expect("an item");
    web.put_page(
        "tides.example/a",
        "<title>A</title>words <form><input value=2></form>",
    );
    let second_stat = stat("http://tides.example/a")
        .await
        .expect("an answer")
        .expect("an item");
    assert_eq!(
        (&first_stat.content_version, &first_stat.version),
        (&second_stat.content_version, &second_stat.version)
    );

    web.put_page(
        "tides.example/a",
        "<title>B</title>words <form><input value=2></form>",
    );
    let third_stat = stat("http://tides.example/a")
        .await
        .expect("an answer")
        .expect("an item");
    assert_ne!(first_stat.version, third_stat.version);

    for path in [
        "http://tides.example/gone",
        "http://tides.example/moved",
        "http://tides.example/hidden",
        "no address",
    ] {
        assert_eq!(stat(path).await.expect("an answer"), None, "{path}");
    }

    assert_eq!(web.request_count("tides.example/gone"), 2);
}

#[tokio::test]
async fn a_page_is_fetched_as_it_was_listed() {
    let web = FakeWeb::default();
    web.put_page("tides.example/a", "<title>A</title>words");
    web.put_answer(
        "tides.example/b",
        200,
        &[("content-type", "application/pdf")],
        "%PDF-1.7 words",
    );
    web.put_redirect("tides.example/moved", "/a");
    web.put_answer("tides.example/denied", 403, &[], "");
    let crawler = web.new_crawler().await;
    let access = access_for(&json!({"startUrl": "http://tides.example/a"}));
    let item = crawler
        .get_item(&access, "http://tides.example/a")
        .await
        .expect("an answer")
        .expect("an item");
    let fetched = crawler
        .fetch_content(&access, &item, 100)
        .await
        .expect("a page");
    assert_eq!(fetched.bytes, "<title>A</title>words");

    let body_form = |name: &str, declared: &str| BodyForm::File {
        name: Some(name.into()),
        declared: Some(declared.into()),
    };
    assert_eq!(
        fetched.form,
        body_form("page.html", "text/html; charset=utf-8")
    );

    let item_with_id = |id: &str| ProviderItem {
        id: id.into(),
        ..item.clone()
    };
    let fetched = crawler
        .fetch_content(&access, &item_with_id("http://tides.example/b"), 100)
        .await
        .expect("a file");
    assert_eq!(fetched.form, body_form("file.pdf", "application/pdf"));

    let large = crawler.fetch_content(&access, &item, 5).await;
    assert!(matches!(
        large,
        Err(ConnectorError::Item(SkipReason::TooLarge))
    ));

    for path in ["moved", "gone", "denied"] {
        let fetched = crawler
            .fetch_content(
                &access,
                &item_with_id(&format!("http://tides.example/{path}")),
                100,
            )
            .await;
        assert!(
            matches!(fetched, Err(ConnectorError::Unavailable(_))),
            "{path}"
        );
    }
}
