//! The choice of items: the selection, the rules and the limit.

use serde_json::json;
use testkit::Browser;

use crate::client::{DriveClient, TAG};

#[tokio::test]
async fn another_selection_takes_and_leaves_at_once() {
    let client = DriveClient::new().await;
    let (a, b) = (
        client.add_folder(&client.root_folder(), "A"),
        client.add_folder(&client.root_folder(), "B"),
    );
    client.add_doc(&a, "One", "First.");
    client.add_doc(&b, "Two", "Second.");
    let id = client.connect_selected(&[&a]).await;
    assert_eq!(client.list_paths().await, ["/My Drive/A/One"]);
    client.app.select_items(&client.key, &id, &[&b]).await;
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    assert_eq!(client.list_paths().await, ["/My Drive/B/Two"]);
}

#[tokio::test]
async fn the_newest_files_fill_the_limit_and_room_is_filled_up() {
    let client = DriveClient::new().await;
    let folder = client.add_folder(&client.root_folder(), "Many");
    let files: Vec<String> = (0..5)
        .map(|n| client.add_doc(&folder, &format!("Note {n}"), &format!("Number {n}.")))
        .collect();
    for (n, file) in files.iter().enumerate() {
        client
            .drive
            .set_modified_time(file, 1_700_000_000_000 + n as i64 * 1000)
            .expect("a file");
    }

    let body = json!({"containerTag": TAG, "documentLimit": 2});
    let (id, ..) = client
        .app
        .connect_drive(&client.key, &body)
        .await
        .expect("permission");
    client.app.select_items(&client.key, &id, &[&folder]).await;
    let told = client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    assert_eq!(
        client.list_paths().await,
        ["/My Drive/Many/Note 3", "/My Drive/Many/Note 4"]
    );
    assert_eq!(
        (&told["documentCount"], &told["skippedByLimit"]),
        (&json!(2), &json!(3)),
        "{told}"
    );
    client.drive.trash_item(&files[4]).expect("a file");
    client.run_import_twice(&id).await;
    client.run_import(&id).await;
    assert_eq!(
        client.list_paths().await,
        ["/My Drive/Many/Note 2", "/My Drive/Many/Note 3"]
    );
    let change = client
        .app
        .call_json(
            "PATCH",
            &format!("/v3/connections/{id}"),
            &client.key,
            &json!({"documentLimit": 4}),
        )
        .await;
    assert_eq!(change.status, 200, "{}", change.body);
    client.run_import(&id).await;
    assert_eq!(client.list_documents().await.len(), 4);
}

#[tokio::test]
async fn rules_leave_out_and_take_back() {
    let client = DriveClient::new().await;
    let folder = client.add_folder(&client.root_folder(), "Plans");
    let archive = client.add_folder(&folder, "Archive");
    client.add_doc(&folder, "Ferry", "Quay seven.");
    client.add_doc(&archive, "Crane", "Yellow.");
    let rules = json!({"shouldLLMFilter": true, "excludeItems": {"folders": ["Archive"]}});
    let set = client
        .app
        .call_json("PATCH", "/v3/settings", &client.key, &rules)
        .await;
    assert_eq!(set.status, 200, "{}", set.body);

    let id = client.connect_selected(&[&folder]).await;
    assert_eq!(client.list_paths().await, ["/My Drive/Plans/Ferry"]);
    let left = client
        .get(&format!("/v3/connections/{id}/items?state=skipped"))
        .await
        .body;
    assert_eq!(left["items"][0]["reason"], "excluded", "{left}");

    let none = json!({"excludeItems": null, "shouldLLMFilter": false});
    client
        .app
        .call_json("PATCH", "/v3/settings", &client.key, &none)
        .await;
    client.run_import(&id).await;
    assert_eq!(client.list_documents().await.len(), 2);
}

#[tokio::test]
async fn excluded_items_are_left_out_of_a_selected_folder_until_they_are_taken_back() {
    let client = DriveClient::new().await;
    let plans = client.add_folder(&client.root_folder(), "Plans");
    let archive = client.add_folder(&plans, "Archive");
    let old = client.add_folder(&archive, "Old");
    let draft = client.add_doc(&plans, "Draft", "Not yet.");
    client.add_doc(&plans, "Ferry", "Quay seven.");
    client.add_doc(&old, "Crane", "Yellow.");
    let id = client.connect_selected(&[&plans]).await;
    assert_eq!(client.list_documents().await.len(), 3);

    let configure = format!("/v3/connections/{id}/configure");
    let select = async |excluded: serde_json::Value| {
        let body = json!({"resources": [{"id": plans}], "excluded": excluded});
        let call = client.app.call_json("POST", &configure, &client.key, &body);
        call.await
    };
    let answer = select(json!([{"id": archive}, {"id": draft}])).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    assert_eq!(client.list_paths().await, ["/My Drive/Plans/Ferry"]);

    // A file that is added to an excluded folder later is left out as well.
    client.add_doc(&archive, "Mast", "Tall.");
    client.add_doc(&plans, "Quay", "Eight.");
    client.run_import(&id).await;
    let paths = ["/My Drive/Plans/Ferry", "/My Drive/Plans/Quay"];
    assert_eq!(client.list_paths().await, paths);
    let listed = client
        .get(&format!("/v3/connections/{id}/resources?parent_id={plans}"))
        .await;
    let resources = listed.body["resources"].as_array().expect("resources");
    let mut left_out: Vec<&str> = resources
        .iter()
        .filter(|resource| resource["excluded"] == true)
        .map(|resource| resource["name"].as_str().expect("a name"))
        .collect();
    left_out.sort_unstable();
    assert_eq!(left_out, ["Archive", "Draft"]);

    for wrong in [json!([{"id": "nowhere"}]), json!([{"id": plans}])] {
        let answer = select(wrong.clone()).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert_eq!(answer.body["issues"][0]["path"], json!(["excluded"]));
    }

    select(json!([])).await;
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    assert_eq!(client.list_documents().await.len(), 5);
}

#[tokio::test]
async fn rules_that_cannot_be_understood_are_refused() {
    let client = DriveClient::new().await;
    let rules = json!({"shouldLLMFilter": true, "includeItems": {"patterns": ["*.md", "[abc"]}});
    let set = client
        .app
        .call_json("PATCH", "/v3/settings", &client.key, &rules)
        .await;
    assert_eq!(set.status, 400, "{}", set.body);
    assert!(
        set.body["error"]
            .as_str()
            .is_some_and(|error| error.contains("[abc")),
        "{}",
        set.body
    );
}

#[tokio::test]
async fn without_a_selection_nothing_is_synchronized() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let (id, ..) = client
        .app
        .connect_drive(&client.key, &json!({"containerTag": TAG}))
        .await
        .expect("permission");
    let told = client.get(&format!("/v3/connections/{id}")).await.body;
    assert_eq!(told["status"], "awaiting_selection", "{told}");

    let import = client
        .post("/v3/connections/cloud-drive/import", json!({}))
        .await;
    assert_eq!(import.status, 202, "{}", import.body);
    assert!(
        import.body["message"]
            .as_str()
            .is_some_and(|text| text.contains("select")),
        "{}",
        import.body
    );

    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert_eq!(client.list_paths().await, [""; 0]);
}

#[tokio::test]
async fn browsers_are_sent_only_where_the_organization_permits_it() {
    let client = DriveClient::new().await;
    let create = async |address: &str| {
        client
            .post(
                "/v3/connections/cloud-drive",
                json!({"containerTag": TAG, "redirectUrl": address}),
            )
            .await
    };
    let connection = create("https://anywhere.example/done").await;
    assert_eq!(connection.status, 200, "{}", connection.body);

    let id = connection.body["id"].as_str().expect("an id").to_owned();
    let allowed =
        json!({"allowedRedirectUrls": ["https://*.example.com", "https://app.example.org"]});
    assert_eq!(
        client
            .app
            .call_json("PATCH", "/v3/settings", &client.key, &allowed)
            .await
            .status,
        200
    );

    for good in [
        "https://app.example.com/done?x=1",
        "https://app.example.org:443/",
    ] {
        let answer = create(good).await;
        assert_eq!(answer.status, 200, "{good}: {}", answer.body);
    }

    for bad in [
        "https://anywhere.example/done",
        "https://example.com",
        "https://app.example.com.evil.example",
        "https://app.example.org:8443",
        "http://localhost:3000",
    ] {
        let reconnect = format!("/v3/connections/{id}/reconnect");
        let picker = format!("/v3/connections/{id}/cloud-drive/hosted-picker");
        let answers = [
            ("redirectUrl", create(bad).await),
            (
                "redirectUrl",
                client.post(&reconnect, json!({"redirectUrl": bad})).await,
            ),
            (
                "returnUrl",
                client.post(&picker, json!({"returnUrl": bad})).await,
            ),
        ];

        for (field, answer) in answers {
            assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
            let error = answer.body["error"].as_str().unwrap_or_default();
            assert!(
                error.starts_with(field) && error.contains("allowedRedirectUrls"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn the_picker_is_shown_by_pages_that_the_organization_names() {
    let client = DriveClient::new().await;
    let plans = client.add_folder(&client.root_folder(), "Plans");
    let id = client.connect_selected(&[&plans]).await;
    let shown = async || {
        let path = format!("/v3/connections/{id}/cloud-drive/hosted-picker");
        let link = client.post(&path, json!({})).await.body;
        let mut browser = Browser::default();
        let page = browser
            .follow(&client.app, link["url"].as_str().expect("a link"))
            .await
            .expect("a page");
        let policy = page.headers["content-security-policy"]
            .to_str()
            .expect("text");
        let (_, ancestors) = policy.split_once("frame-ancestors ").expect("a policy");
        (
            ancestors.to_owned(),
            page.headers.contains_key("x-frame-options"),
        )
    };
    assert_eq!(shown().await, ("'none'".to_owned(), true));

    let picker = json!({"origins": ["https://App.example.com:443/", "http://127.0.0.1:3000"]});
    let set = client
        .app
        .call_json(
            "PATCH",
            "/v3/settings",
            &client.key,
            &json!({"picker": picker}),
        )
        .await;
    assert_eq!(set.status, 200, "{}", set.body);
    let origins = "https://app.example.com http://127.0.0.1:3000";
    assert_eq!(shown().await, (origins.to_owned(), false));

    let none = json!({"picker": null});
    client
        .app
        .call_json("PATCH", "/v3/settings", &client.key, &none)
        .await;
    assert_eq!(shown().await, ("'none'".to_owned(), true));
}
