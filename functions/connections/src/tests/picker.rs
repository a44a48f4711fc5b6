//! Tests of the hosted picker.

use domain::Patch;
use domain::connection::ConnectionStatus;
use domain::settings::{PickerSettings, SettingsChange};
use serde_json::{Value, json};

use super::world::{Answer, BASE, Browser, TestWorld};

/// The picker's page in a browser.
struct Page<'a> {
    world: &'a TestWorld,
    browser: Browser,
    csrf: String,
}

impl<'a> Page<'a> {
    async fn open(world: &'a TestWorld, mut browser: Browser) -> Self {
        let page = browser.get(world, "/picker").await;
        assert_eq!(page.status, 200, "{}", page.text);
        let csrf = page.text.split("name=\"csrf\" content=\"").nth(1).unwrap();
        Self {
            world,
            csrf: csrf.split('"').next().unwrap().to_owned(),
            browser,
        }
    }

    async fn call(&mut self, method: &str, path: &str, body: Value) -> Answer {
        let csrf = self.csrf.clone();
        let own_headers = [
            ("x-csrf-token", csrf.as_str()),
            ("origin", BASE),
            ("sec-fetch-site", "same-origin"),
        ];
        self.browser
            .send(self.world, method, path, &own_headers, body)
            .await
    }
}

fn names(answer: &Answer) -> Vec<String> {
    let items = answer.json();
    items["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap().into())
        .collect()
}

#[tokio::test]
async fn a_user_looks_around_selects_and_goes_back_to_the_caller() {
    let world = TestWorld::new().await;
    let (id, browser) = world
        .connected_browser(
            json!({"redirectUrl": "https://app.example.com/done", "documentLimit": 70}),
        )
        .await;
    let mut page = Page::open(&world, browser).await;
    let first_page = page
        .call("GET", "/picker/api/items?view=my", Value::Null)
        .await;
    assert_eq!(names(&first_page), ["Projects", "Plan <b>2026</b>"]);
    let token = first_page.json()["nextPageToken"]
        .as_str()
        .unwrap()
        .to_owned();
    let second_page = page
        .call(
            "GET",
            &format!("/picker/api/items?view=my&pageToken={token}"),
            Value::Null,
        )
        .await;
    assert_eq!(
        (names(&second_page), &second_page.json()["nextPageToken"]),
        (vec!["Budget".to_owned()], &Value::Null)
    );
    assert_eq!(
        names(
            &page
                .call("GET", "/picker/api/items?parent=f1", Value::Null)
                .await
        ),
        ["Deep", "Notes"]
    );
    assert_eq!(
        names(
            &page
                .call("GET", "/picker/api/items?q=Not", Value::Null)
                .await
        ),
        ["Notes"]
    );
    let selection_before = page
        .call("GET", "/picker/api/selection", Value::Null)
        .await
        .json();
    assert_eq!(
        (&selection_before["items"], &selection_before["limit"]),
        (&json!([]), &json!(500))
    );
    assert_eq!(selection_before["connection"]["documentLimit"], 70);
    assert_eq!(
        selection_before["connection"]["email"],
        "mara<i>@example.com"
    );
    let nothing_yet = json!({"run": null, "documentCount": 0, "error": null});
    assert_eq!(selection_before["sync"], nothing_yet);
    assert_eq!(selection_before["places"], json!({}));
    // Nothing of the provider's tokens reaches the page.
    assert!(
        !format!("{selection_before}{}{}", first_page.text, second_page.text).contains("access-")
    );

    assert_eq!(
        page.call("POST", "/picker/api/complete", json!({}))
            .await
            .status,
        409
    );
    let chosen = json!([{"id": "f1", "name": "Projects", "folder": true}, {"id": "d2", "name": "Budget", "folder": false}]);
    let saved = page
        .call("PUT", "/picker/api/selection", json!({"items": chosen}))
        .await
        .json();
    assert_eq!((&saved["count"], &saved["items"]), (&json!(2), &chosen));
    let connection = world.stored(&id).await;
    assert_eq!(
        (connection.status, connection.selection),
        (ConnectionStatus::Active, 1)
    );
    assert!(connection.next_run_at.is_some());
    let done = page
        .call("POST", "/picker/api/complete", json!({}))
        .await
        .json();
    let expected = format!(
        "https://app.example.com/done?connectionId={id}&provider=cloud-drive&status=success"
    );
    assert_eq!(done["redirectTo"], expected);
    assert_eq!(selection_before["redirectTo"], expected);
    assert_eq!(
        page.call("GET", "/picker/api/selection", Value::Null)
            .await
            .status,
        401
    );
    assert_eq!(page.browser.get(&world, "/picker").await.status, 401);
}

#[tokio::test]
async fn a_picker_is_opened_once_within_five_minutes_and_lasts_half_an_hour() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({})).await;
    let path = format!("/v3/connections/{id}/google-drive/hosted-picker");
    let open_picker = async || {
        world
            .call_route(
                "POST",
                &path,
                json!({"returnUrl": "https://app.example.com/back"}),
            )
            .await
            .json()
    };
    let picker = open_picker().await;
    assert_eq!(picker["expiresIn"], "5 minutes");
    let url = picker["url"].as_str().unwrap();
    let mut browser = Browser::default();
    let entered = browser.get(&world, url).await;
    assert_eq!(
        (entered.status.as_u16(), entered.location()),
        (303, format!("{BASE}/picker"))
    );
    assert_eq!(Browser::default().get(&world, url).await.status, 404);
    let mut page = Page::open(&world, browser).await;
    let now = page
        .call("GET", "/picker/api/selection", Value::Null)
        .await
        .json();
    assert_eq!(now["items"][0]["name"], "Projects");
    // Selecting the same again is no change, and the answer to an end without changes says so.
    page.call(
        "PUT",
        "/picker/api/selection",
        json!({"items": now["items"]}),
    )
    .await;
    assert_eq!(world.stored(&id).await.selection, 1);
    world.time.advance_seconds(29 * 60);
    let response = page
        .call("POST", "/picker/api/complete", json!({"cancelled": true}))
        .await
        .json();
    assert!(
        response["redirectTo"]
            .as_str()
            .unwrap()
            .ends_with("&status=error&error=selection_cancelled"),
        "{response}"
    );

    let late_picker = open_picker().await;
    world.time.advance_seconds(5 * 60);
    assert_eq!(
        Browser::default()
            .get(&world, late_picker["url"].as_str().unwrap())
            .await
            .status,
        404
    );
    let picker = open_picker().await;
    let mut browser = Browser::default();
    browser.get(&world, picker["url"].as_str().unwrap()).await;
    let mut page = Page::open(&world, browser).await;
    world.time.advance_seconds(31 * 60);
    assert_eq!(
        page.call("GET", "/picker/api/items", Value::Null)
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn only_the_pickers_own_page_may_ask() {
    let world = TestWorld::new().await;
    let (_, browser) = world.connected_browser(json!({})).await;
    let page = Page::open(&world, browser.clone()).await;
    let (_, other_browser) = world.connected_browser(json!({})).await;
    let other_csrf = Page::open(&world, other_browser).await.csrf;
    let body = json!({"items": []});
    let csrf = page.csrf.as_str();

    for (case, headers) in [
        ("no token", vec![("origin", BASE)]),
        (
            "another session's token",
            vec![("x-csrf-token", other_csrf.as_str()), ("origin", BASE)],
        ),
        (
            "another site",
            vec![("x-csrf-token", csrf), ("origin", "https://evil.example")],
        ),
        ("no origin", vec![("x-csrf-token", csrf)]),
        (
            "a sibling",
            vec![("x-csrf-token", csrf), ("sec-fetch-site", "same-site")],
        ),
    ] {
        let answer = browser
            .clone()
            .send(
                &world,
                "PUT",
                "/picker/api/selection",
                &headers,
                body.clone(),
            )
            .await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["type"]),
            (403, &json!("PermissionError")),
            "{case}"
        );
    }

    let answer = Browser::default()
        .send(
            &world,
            "PUT",
            "/picker/api/selection",
            &[("x-csrf-token", csrf)],
            body,
        )
        .await;

    assert_eq!(answer.status, 401);

    // An API key is not a session.
    assert_eq!(
        world
            .call_route("GET", "/picker/api/items", Value::Null)
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn what_cannot_be_selected_is_refused() {
    let world = TestWorld::new().await;
    let (id, browser) = world.connected_browser(json!({})).await;
    let mut page = Page::open(&world, browser).await;
    let item = |id: String| json!({"id": id, "name": "n", "folder": false});

    for items in [
        json!((0..501).map(|n| item(n.to_string())).collect::<Vec<_>>()),
        json!([item(String::new())]),
        json!([item("a\nb".into())]),
        json!([{"name": "n"}]),
        json!("all"),
    ] {
        let answer = page
            .call("PUT", "/picker/api/selection", json!({"items": items}))
            .await;
        assert_eq!(answer.status, 400, "{}", answer.text);
    }

    assert_eq!(
        world.stored(&id).await.status,
        ConnectionStatus::AwaitingSelection
    );
    assert_eq!(
        page.call("GET", "/picker/api/items?pageToken=nonsense", Value::Null)
            .await
            .status,
        400
    );
    assert_eq!(
        page.call("GET", "/picker/api/items?view=bin", Value::Null)
            .await
            .status,
        400
    );

    world
        .call_route("DELETE", &format!("/v3/connections/{id}"), Value::Null)
        .await;
    assert_eq!(
        page.call("GET", "/picker/api/items", Value::Null)
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn the_pages_files_are_there_and_name_no_other_site() {
    let world = TestWorld::new().await;
    let (_, mut browser) = world.connected_browser(json!({})).await;
    for (path, kind) in [
        ("/picker", "text/html"),
        ("/picker/app.js", "text/javascript"),
        ("/picker/finish.js", "text/javascript"),
        ("/picker/frame.js", "text/javascript"),
        ("/picker/parts.js", "text/javascript"),
        ("/picker/places.js", "text/javascript"),
        ("/picker/selection.js", "text/javascript"),
        ("/picker/app.css", "text/css"),
        ("/picker/look.css?color=1f5fc4", "text/css"),
        ("/picker/icon.svg", "image/svg+xml"),
    ] {
        let answer = browser.get(&world, path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(
            answer.headers["content-type"]
                .to_str()
                .unwrap()
                .starts_with(kind),
            "{path}"
        );
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        let elsewhere = answer
            .text
            .replace("http://www.w3.org/2000/svg", "")
            .replace(BASE, "");
        assert!(
            !elsewhere.contains("http://") && !elsewhere.contains("https://"),
            "{path}"
        );
        // Whatever the content security policy forbids would not work.
        for part in ["innerHTML", " style=\"", "<script>", "onclick=", "eval("] {
            assert!(!answer.text.contains(part), "{path}: {part}");
        }
    }
    assert_eq!(browser.get(&world, "/picker/other.js").await.status, 404);
}

#[tokio::test]
async fn a_stylesheet_is_made_for_a_color_only() {
    let world = TestWorld::new().await;
    for bad in [
        "",
        "?color=",
        "?color=red",
        "?color=%231f5fc",
        "?color=1f5fc4%7D*%7B",
    ] {
        let path = format!("/picker/look.css{bad}");
        let answer = Browser::default().get(&world, &path).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
    }
}

impl TestWorld {
    async fn set_picker(&self, picker: PickerSettings) {
        let change = SettingsChange {
            picker: Patch::Set(picker),
            ..SettingsChange::default()
        };
        service::update_settings(&self.ctx, &self.tenant, &change)
            .await
            .unwrap();
    }

    /// Opens the picker of a connection by a new link.
    async fn open_link(&self, id: &str, browser: &mut Browser) -> Answer {
        let path = format!("/v3/connections/{id}/cloud-drive/hosted-picker");
        let link = self.call_route("POST", &path, json!({})).await.json();
        browser.get(self, link["url"].as_str().unwrap()).await
    }
}

fn cookies_of(answer: &Answer) -> Vec<&str> {
    let lines = answer.headers.get_all("set-cookie").iter();
    lines.map(|line| line.to_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_that_the_organization_names_may_show_the_picker() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({})).await;

    // No page may without the setting, and the cookie is not sent in frames of other sites.
    let mut browser = Browser::default();
    let entered = world.open_link(&id, &mut browser).await;
    let cookies = cookies_of(&entered);
    assert!(
        cookies.last().unwrap().ends_with("SameSite=Lax"),
        "{cookies:?}"
    );
    let page = browser.get(&world, "/picker").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with("; frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.headers["x-frame-options"], "DENY");
    assert!(page.text.contains("data-origins=\"\""), "{}", page.text);

    let logo = "data:image/png;base64,iVBORw0KGgo=";
    world
        .set_picker(PickerSettings {
            origins: vec![
                "https://app.example.com".into(),
                "http://localhost:3000".into(),
            ],
            name: Some("Bikes <{{csrf}}>".into()),
            color: Some("#1f5fc4".into()),
            logo: Some(logo.into()),
        })
        .await;
    let mut browser = Browser::default();
    let entered = world.open_link(&id, &mut browser).await;
    let cookies = cookies_of(&entered);
    let kept = cookies.last().unwrap();
    assert!(
        kept.contains(" Secure;") && kept.ends_with("SameSite=None; Partitioned"),
        "{cookies:?}"
    );
    // A cookie of the other kind would be sent as well.
    assert!(
        cookies[0].contains("Max-Age=0;") && cookies[0].ends_with("SameSite=Lax"),
        "{cookies:?}"
    );
    let page = browser.get(&world, "/picker").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.ends_with(
            "; img-src 'self' data:; frame-ancestors https://app.example.com http://localhost:3000"
        ),
        "{policy}"
    );
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
    assert!(!page.headers.contains_key("x-frame-options"));
    for part in [
        "data-origins=\"https://app.example.com http://localhost:3000\"",
        "data-name=\"Bikes &lt;{{csrf}}&gt;\"",
        "/picker/look.css?color=1f5fc4\"",
        logo,
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    // Only the page itself may be shown.
    let file = browser.get(&world, "/picker/app.js").await;
    assert_eq!(file.headers["x-frame-options"], "DENY");

    // The end deletes the cookie of either kind.
    let mut page = Page::open(&world, browser).await;
    let ended = page
        .call("POST", "/picker/api/complete", json!({"cancelled": true}))
        .await;
    let cookies = cookies_of(&ended);
    assert_eq!(cookies.len(), 2, "{cookies:?}");
    assert!(cookies.iter().all(|cookie| cookie.contains("Max-Age=0;")));
}
