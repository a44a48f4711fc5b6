//! Each of the settings: accepted values, refused values, and the guarantee that a refusal changes
//! nothing.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::settings::empty_settings;
use crate::shape::ErrorMismatches;

const PATH: &str = "/v3/settings";

async fn get_settings(client: &OrgClient) -> Value {
    client.get(PATH).await.body
}

/// Changes settings. Checks that both forms of the answer show the stored values.
async fn change_settings(client: &OrgClient, body: Value) -> Value {
    let answer = client.send_patch(PATH, body.clone()).await;
    assert!(answer.status.is_success(), "{body}: {}", answer.body);
    let (answer, stored) = (answer.body, get_settings(client).await);
    assert_eq!(
        (&answer["orgId"], &answer["orgSlug"]),
        (&json!("acme"), &json!("acme"))
    );
    let updated = answer["updated"].as_object().expect("an object");
    for (name, value) in updated {
        assert_eq!((value, value), (&answer[name], &stored[name]), "{name}");
    }

    // The answer has both names of a setting of the cloud drive.
    let is_counted = |name: &&String| !name.starts_with("googleDrive");
    let sent = body.as_object().expect("an object").keys();
    let secrets = updated.keys().filter(is_counted);
    let secrets = secrets.filter(|name| name.ends_with("SecretSet")).count();
    let shown = updated.keys().filter(is_counted).count();
    assert_eq!(shown, sent.filter(is_counted).count() + secrets, "{answer}");

    stored
}

#[tokio::test]
async fn every_setting_is_set_kept_and_cleared_by_itself() {
    let client = OrgClient::new().await;
    assert_eq!(get_settings(&client).await, empty_settings());
    change_settings(&client, json!({"shouldLLMFilter": true})).await;
    let rules = |n: usize| json!({"patterns": vec!["*.md"; n], "folders": ["/ä b"]});
    for (name, values) in [
        (
            "filterPrompt",
            [json!("Keep birds."), json!("ü".repeat(750))],
        ),
        ("includeItems", [rules(100), rules(0)]),
        (
            "excludeItems",
            [
                rules(1),
                json!({"patterns": [], "folders": ["x".repeat(1000)]}),
            ],
        ),
        (
            "workspacePrompt",
            [json!("A ringing station."), json!("日".repeat(1500))],
        ),
        (
            "trustedSources",
            [
                json!({
                    "providers": ["cloud-drive"], "connections": ["c"], "senders": ["ann@a.example"],
                    "hosts": ["docs.example.com"],
                }),
                json!({"providers": [], "connections": [], "senders": [], "hosts": []}),
            ],
        ),
        ("logContent", [json!("full"), json!("off")]),
        (
            "allowedRedirectUrls",
            [
                json!(["https://*.example.com", "http://localhost:3000"]),
                json!([]),
            ],
        ),
        (
            "picker",
            [
                json!({
                    "origins": ["https://app.example.com", "http://localhost:3000"], "name": "Harbour Bikes",
                    "color": "#1f5fc4", "logo": "data:image/png;base64,iVBORw0KGgo=",
                }),
                json!({"origins": [], "name": null, "color": null, "logo": null}),
            ],
        ),
        (
            "cloudDriveClientId",
            [json!("app-1"), json!("x".repeat(500))],
        ),
        ("notionClientId", [json!("app-2"), json!("app-3")]),
        ("githubCustomKeyEnabled", [json!(false), json!(false)]),
    ] {
        for value in values {
            let before = get_settings(&client).await;
            let after = change_settings(&client, json!({name: value})).await;
            let mut wanted = before;
            if let Some(rest) = name.strip_prefix("cloudDrive") {
                wanted[format!("googleDrive{rest}")] = value.clone();
            }
            wanted[name] = value;
            assert_eq!(after, wanted, "{name}");
        }
    }

    let all = empty_settings();
    let names = all
        .as_object()
        .expect("settings")
        .keys()
        .filter(|name| !name.ends_with("SecretSet"));
    let nulls: Value = names
        .map(|name| (name.clone(), Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(change_settings(&client, nulls).await, empty_settings());

    change_settings(
        &client,
        json!({"shouldLLMFilter": true, "filterPrompt": "Birds.", "includeItems": {"folders": ["/a"]}}),
    )
    .await;
    let blank = change_settings(&client, json!({"filterPrompt": "  "})).await;
    assert_eq!(blank["filterPrompt"], Value::Null);
    assert_eq!(
        blank["includeItems"],
        json!({"patterns": [], "folders": ["/a"]})
    );
}

#[tokio::test]
async fn what_is_wrong_is_named_and_nothing_of_the_request_is_set() {
    let client = OrgClient::new().await;
    let before = change_settings(
        &client,
        json!({"shouldLLMFilter": true, "filterPrompt": "Birds.", "chunkSize": 500}),
    )
    .await;
    let mut faults = ErrorMismatches::default();
    let patterns = |patterns: Value| json!({"patterns": patterns, "folders": []});

    for (name, bad) in [
        ("shouldLLMFilter", vec![json!("true"), json!(1), json!([])]),
        (
            "filterPrompt",
            vec![json!("x".repeat(751)), json!(1), json!(["x"])],
        ),
        ("workspacePrompt", vec![json!("x".repeat(1501)), json!({})]),
        (
            "logContent",
            vec![json!("none"), json!("FULL"), json!(true)],
        ),
        (
            "allowedRedirectUrls",
            vec![
                json!("https://a.example"),
                json!([7]),
                json!(["http://a.example"]),
                json!(["https://a.example/path"]),
                json!(["https://*.com"]),
                json!(vec!["https://a.example"; 51]),
            ],
        ),
        (
            "picker",
            vec![
                json!("https://a.example"),
                json!({"origin": ["https://a.example"]}),
                json!({"origins": "https://a.example"}),
                json!({"origins": ["https://*.example.com"]}),
                json!({"origins": ["http://a.example"]}),
                json!({"origins": ["http://[::1]:3000"]}),
                json!({"origins": vec!["https://a.example"; 21]}),
                json!({"name": ""}),
                json!({"name": "x".repeat(61)}),
                json!({"color": "red"}),
                json!({"logo": "https://a.example/logo.png"}),
                json!({"logo": "data:text/html;base64,AAAA"}),
                json!({"logo": 7}),
            ],
        ),
        (
            "includeItems",
            vec![
                patterns(json!([""])),
                patterns(json!(["a["])),
                json!(["x".repeat(1001)]),
                patterns(json!(vec!["a"; 101])),
                patterns(json!(["x".repeat(1001)])),
            ],
        ),
        (
            "excludeItems",
            vec![
                json!({"other": "x".repeat(65 * 1024)}),
                json!({"folders": vec!["日".repeat(1000); 60]}),
            ],
        ),
        (
            "cloudDriveClientId",
            vec![json!(""), json!("x".repeat(501)), json!(7)],
        ),
        (
            "notionClientSecret",
            vec![json!(" "), json!("x".repeat(1001)), json!(7)],
        ),
        ("onedriveCustomKeyEnabled", vec![json!(true), json!("yes")]),
        ("googleDriveCustomKeyEnabled", vec![json!("yes")]),
        ("notionClientSecretSet", vec![json!(true)]),
        ("gitlabClientId", vec![json!("x")]),
    ] {
        for value in bad {
            let body = json!({"chunkSize": 600, name: value, "githubClientId": "app"});
            let answer = client.send_patch(PATH, body).await;
            faults.check_error(
                &format!("{name} {value}"),
                &answer,
                400,
                "ValidationError",
                name,
            );
        }
    }

    let twice = json!({"cloudDriveClientId": "a", "googleDriveClientId": "b"});
    faults.check_error(
        "twice",
        &client.send_patch(PATH, twice).await,
        400,
        "ValidationError",
        "googleDriveClientId",
    );

    let unknown = client.send_patch(PATH, json!({"colour": "red"})).await;
    faults.check_error(
        "unknown",
        &unknown,
        400,
        "ValidationError",
        "workspacePrompt, trustedSources, logContent, allowedRedirectUrls, picker, cloudDriveClientId",
    );
    faults.assert_none();
    assert_eq!(get_settings(&client).await, before);
}

#[tokio::test]
async fn what_filters_is_set_while_filtering_is_on_and_kept_when_it_is_off() {
    let client = OrgClient::new().await;
    let filters = [
        ("filterPrompt", json!("Birds.")),
        ("includeItems", json!({"patterns": ["*.md"], "folders": []})),
        ("excludeItems", json!({"patterns": [], "folders": ["/old"]})),
    ];
    let mut faults = ErrorMismatches::default();

    for (name, value) in &filters {
        for on in [None, Some(Value::Null), Some(json!(false))] {
            let mut body = json!({*name: value});
            body.as_object_mut()
                .expect("an object")
                .extend(on.map(|on| ("shouldLLMFilter".to_owned(), on)));
            let answer = client.send_patch(PATH, body.clone()).await;
            faults.check_error(
                &body.to_string(),
                &answer,
                400,
                "ValidationError",
                "shouldLLMFilter",
            );
        }

        change_settings(&client, json!({*name: null})).await;
    }

    assert_eq!(get_settings(&client).await["filterPrompt"], Value::Null);
    let all: serde_json::Map<String, Value> = filters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let mut body = all.clone();
    body.insert("shouldLLMFilter".into(), json!(true));
    change_settings(&client, body.into()).await;
    let off = change_settings(&client, json!({"shouldLLMFilter": false})).await;
    assert!(all.iter().all(|(name, value)| off[name] == *value), "{off}");

    let answer = client
        .send_patch(PATH, json!({"filterPrompt": "Boats."}))
        .await;
    faults.check_error(
        "off again",
        &answer,
        400,
        "ValidationError",
        "shouldLLMFilter",
    );
    faults.assert_none();

    let on = change_settings(&client, json!({"shouldLLMFilter": true})).await;
    assert_eq!(on["filterPrompt"], "Birds.");
}

#[tokio::test]
async fn an_app_is_used_when_it_has_its_id_and_its_secret() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let name = "githubCustomKeyEnabled";
    for body in [
        json!({name: true}),
        json!({name: true, "githubClientId": "app"}),
        json!({name: true, "githubClientSecret": "shh"}),
        json!({name: true, "notionClientId": "app", "notionClientSecret": "shh"}),
    ] {
        faults.check_error(
            &body.to_string(),
            &client.send_patch(PATH, body.clone()).await,
            400,
            "ValidationError",
            name,
        );
    }

    assert_eq!(get_settings(&client).await, empty_settings());
    change_settings(&client, json!({"githubClientId": "app"})).await;
    let on = change_settings(&client, json!({name: true, "githubClientSecret": "shh"})).await;
    let of_app = (
        &on["githubClientId"],
        &on["githubClientSecret"],
        &on["githubClientSecretSet"],
        &on[name],
    );
    assert_eq!(
        of_app,
        (&json!("app"), &Value::Null, &json!(true), &json!(true))
    );

    for body in [
        json!({"githubClientId": null}),
        json!({"githubClientSecret": null}),
    ] {
        faults.check_error(
            &body.to_string(),
            &client.send_patch(PATH, body.clone()).await,
            400,
            "ValidationError",
            name,
        );
    }
    faults.assert_none();

    assert_eq!(get_settings(&client).await, on);
    let off = change_settings(&client, json!({name: null, "githubClientSecret": null})).await;
    assert_eq!(
        (&off["githubClientSecretSet"], &off["githubClientId"]),
        (&json!(false), &json!("app"))
    );
}

/// compat: the hosted service stores any JSON as the rules for items.
#[tokio::test]
async fn rules_for_items_are_given_back_as_sent_and_those_without_effect_are_named() {
    let client = OrgClient::new().await;
    change_settings(&client, json!({"shouldLLMFilter": true})).await;
    for (rules, ignored) in [
        (json!(["drafts"]), json!(null)),
        (json!({"extensions": ["pdf"]}), json!(null)),
        (json!({"titlePatterns": "Draft*"}), json!(null)),
        (
            json!({"owners": ["me"], "extensions": ["pdf"]}),
            json!(["excludeItems.owners"]),
        ),
        (json!(["drafts", {"size": 1}]), json!(["excludeItems.1"])),
        (json!(true), json!(["excludeItems.value"])),
    ] {
        let body = json!({"excludeItems": rules});
        let answer = client.send_patch(PATH, body).await;
        assert_eq!(answer.status, 200, "{rules}: {}", answer.body);
        assert_eq!(answer.body["updated"]["excludeItems"], rules);
        assert_eq!(answer.body["ignored"], ignored, "{rules}");
        assert_eq!(get_settings(&client).await["excludeItems"], rules);
    }
}

#[tokio::test]
async fn a_filter_prompt_without_a_model_is_answered_with_a_hint() {
    let client = OrgClient::new().await;
    let body = json!({"shouldLLMFilter": true, "filterPrompt": "Birds."});
    let answer = client.send_patch(PATH, body).await.body;
    let hint = answer["hint"].as_str().expect("a hint");
    assert!(hint.contains("RECOLLECT_MEMORY_MODEL"), "{hint}");

    let answer = client.send_patch(PATH, json!({"chunkSize": 600})).await;
    assert_eq!(answer.body["hint"], json!(null));
}

/// compat: clients of the hosted service use the vendor's name for the cloud drive.
#[tokio::test]
async fn settings_of_the_drive_have_both_names() {
    let client = OrgClient::new().await;
    let sent = json!({
        "googleDriveClientId": "app", "googleDriveClientSecret": "shh", "googleDriveCustomKeyEnabled": true,
    });
    let answer = client.send_patch(PATH, sent).await.body;
    for name in ["googleDrive", "cloudDrive"] {
        let updated = |field: &str| &answer["updated"][format!("{name}{field}")];
        assert_eq!(updated("ClientId"), "app", "{name}");
        assert_eq!(updated("ClientSecret"), &Value::Null, "{name}");
        assert_eq!(updated("ClientSecretSet"), true, "{name}");
        assert_eq!(updated("CustomKeyEnabled"), true, "{name}");
    }

    // What was read may be sent back.
    let read = get_settings(&client).await;
    assert_eq!(read["googleDriveClientId"], read["cloudDriveClientId"]);
    let both = json!({"googleDriveClientId": "app", "cloudDriveClientId": "app"});
    assert_eq!(client.send_patch(PATH, both).await.status, 200);
}
