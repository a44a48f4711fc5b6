//! Tests of the OAuth flow.

use domain::connection::{ConnectionErrorKind, ConnectionStatus, Grant, OAuthTokens};
use domain::ports::{ConnectorError, ConsentError};
use http::header::ACCEPT;
use serde_json::{Value, json};

use super::world::{BASE, Browser, TestWorld};

pub(super) async fn grant_of(world: &TestWorld, id: &str) -> Grant {
    let grant = world.stored(id).await.grant.unwrap();
    world
        .ctx
        .connections
        .get_grant(&world.tenant, &grant)
        .await
        .unwrap()
        .unwrap()
}

async fn tokens_of(world: &TestWorld, secret: &str) -> Option<String> {
    let sealed = world.ctx.vault.get(&world.tenant, secret).await.unwrap();
    sealed.map(|sealed| {
        OAuthTokens::from_secret(&sealed)
            .unwrap()
            .refresh
            .expose()
            .to_owned()
    })
}

#[tokio::test]
async fn a_user_sees_who_asks_gives_permission_and_comes_to_the_picker() {
    let world = TestWorld::new().await;
    let (id, link) = world.connect(json!({"containerTag": "mara_lind"})).await;
    assert!(
        link.starts_with(&format!("{BASE}/v3/connections/auth/start/")),
        "{link}"
    );
    let mut browser = Browser::default();
    let page = browser.get(&world, &link).await;
    assert!(
        page.text.contains("acme") && page.text.contains("mara_lind"),
        "{}",
        page.text
    );
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert_eq!(page.headers["cache-control"], "no-store");
    // The provider is not asked before the user continues, and nobody can be sent past the page.
    assert!(world.drive.script().consent_requests.is_empty());
    assert_eq!(
        browser
            .get(&world, &format!("{link}?seen=yes"))
            .await
            .status,
        200
    );
    assert!(world.drive.script().consent_requests.is_empty());

    let answer = browser.run_consent(&world, &link).await;
    assert_eq!(
        (answer.status.as_u16(), answer.location()),
        (303, format!("{BASE}/picker"))
    );
    let connection = world.stored(&id).await;
    assert_eq!(connection.status, ConnectionStatus::AwaitingSelection);
    assert_eq!(connection.next_run_at, None);
    let shown_connection = world
        .call_route("GET", &format!("/v3/connections/{id}"), Value::Null)
        .await
        .json();
    assert_eq!(shown_connection["email"], "mara<i>@example.com");
    assert_eq!(shown_connection["status"], "awaiting_selection");
    let grant = grant_of(&world, &id).await;
    assert_eq!(grant.connections.len(), 1);
    assert_eq!(
        tokens_of(&world, &grant.secret).await.as_deref(),
        Some("refresh-mara-1")
    );
    assert_eq!(browser.get(&world, "/picker").await.status, 200);
}

#[tokio::test]
async fn a_whole_drive_is_synced_at_once_and_the_browser_goes_where_the_caller_said() {
    let world = TestWorld::new().await;
    let done = "https://app.example.com/done?step=2";
    let full = json!({"redirectUrl": done, "metadata": {"syncScope": "full", "team": "north"}});
    let (id, link) = world.connect(full).await;
    let answer = Browser::default().run_consent(&world, &link).await;
    assert_eq!(
        answer.location(),
        format!("{done}&connectionId={id}&provider=cloud-drive&status=success")
    );
    let connection = world.stored(&id).await;
    assert_eq!(connection.status, ConnectionStatus::Active);
    assert!(connection.next_run_at.is_some() && connection.requested.is_some());

    // Without a redirect address, people get a page and programs get an object.
    let (id, link) = world
        .connect(json!({"metadata": {"syncScope": "full"}}))
        .await;
    let mut browser = Browser::default();
    let page = browser.run_consent(&world, &link).await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains(&id) && page.text.contains("mara&lt;i&gt;@example.com"),
        "{}",
        page.text
    );
    let state = browser.go_to_provider(&world, &link).await;
    let path = format!("/v3/connections/google-drive/callback?state={state}&code=code");
    let answer = browser
        .send(
            &world,
            "GET",
            &path,
            &[(ACCEPT.as_str(), "application/json")],
            Value::Null,
        )
        .await;
    assert_eq!(
        (
            answer.json()["id"].as_str(),
            answer.json()["status"].as_str()
        ),
        (Some(&*id), Some("active"))
    );
}

#[tokio::test]
async fn an_answer_counts_once_in_the_browser_that_was_asked_and_for_ten_minutes() {
    let world = TestWorld::new().await;
    let (id, link) = world.connect(json!({})).await;
    let mut browser = Browser::default();
    let state = browser.go_to_provider(&world, &link).await;
    for mut other in [Browser::default(), {
        let mut other = Browser::default();
        other.go_to_provider(&world, &link).await;
        other
    }] {
        let answer = other.come_back(&world, &state, "code=code").await;
        assert_eq!(answer.status, 403, "{}", answer.text);
    }

    assert_eq!(
        browser
            .clone()
            .come_back(&world, "nonsense", "code=code")
            .await
            .status,
        400
    );
    assert_eq!(
        world.stored(&id).await.status,
        ConnectionStatus::PendingOauth
    );
    assert_eq!(
        browser.come_back(&world, &state, "code=code").await.status,
        303
    );
    assert_eq!(
        browser.come_back(&world, &state, "code=code").await.status,
        400
    );

    let late_answer = browser.go_to_provider(&world, &link).await;
    world.time.advance_seconds(11 * 60);
    assert_eq!(
        browser
            .come_back(&world, &late_answer, "code=code")
            .await
            .status,
        400
    );
    assert_eq!(browser.get(&world, &link).await.status, 200);
    world.time.advance_seconds(3600);
    let expired_page = browser.get(&world, &link).await;
    assert_eq!(expired_page.status, 404);
    assert!(
        expired_page.text.contains("no longer works"),
        "{}",
        expired_page.text
    );
}

#[tokio::test]
async fn two_questions_may_be_open_in_one_browser() {
    let world = TestWorld::new().await;
    let (first, first_link) = world.connect(json!({"containerTag": "a"})).await;
    let (second, second_link) = world.connect(json!({"containerTag": "b"})).await;
    let mut browser = Browser::default();
    let first_state = browser.go_to_provider(&world, &first_link).await;
    let second_state = browser.go_to_provider(&world, &second_link).await;
    assert_eq!(
        browser
            .come_back(&world, &first_state, "code=code")
            .await
            .status,
        303
    );
    assert_eq!(
        browser
            .come_back(&world, &second_state, "code=code")
            .await
            .status,
        303
    );

    for id in [first, second] {
        assert_eq!(
            world.stored(&id).await.status,
            ConnectionStatus::AwaitingSelection
        );
    }
}

#[tokio::test]
async fn what_went_wrong_stands_on_the_connection_and_is_told_to_the_browser() {
    use ConnectionErrorKind::{
        AccessDenied, AdminPolicy, AppMisconfigured, MissingRefreshToken, ProviderUnavailable,
        ReauthRequired, ScopeDenied,
    };
    let world = TestWorld::new().await;
    let cases: Vec<(&str, Option<ConsentError>, ConnectionErrorKind, u16)> = vec![
        ("error=access_denied", None, AccessDenied, 403),
        ("error=admin_policy_enforced", None, AdminPolicy, 403),
        ("error=org_internal", None, AppMisconfigured, 400),
        ("error=server_error", None, ProviderUnavailable, 503),
        ("code=", None, ReauthRequired, 400),
        (
            "code=code",
            Some(ConsentError::ScopeDenied),
            ScopeDenied,
            403,
        ),
        (
            "code=code",
            Some(ConsentError::MissingRefreshToken),
            MissingRefreshToken,
            400,
        ),
        (
            "code=code",
            Some(ConsentError::Invalid("nonce".into())),
            ReauthRequired,
            400,
        ),
        (
            "code=code",
            Some(ConnectorError::App("invalid_client".into()).into()),
            AppMisconfigured,
            400,
        ),
        (
            "code=code",
            Some(ConnectorError::Unavailable("502".into()).into()),
            ProviderUnavailable,
            503,
        ),
    ];

    for (rest, failure, kind, status) in cases {
        for redirect in [None, Some("http://localhost:5000/callback")] {
            let (id, link) = world.connect(json!({"redirectUrl": redirect})).await;
            let mut browser = Browser::default();
            let state = browser.go_to_provider(&world, &link).await;
            let repeated_error = match &failure {
                None => None,
                Some(ConsentError::ScopeDenied) => Some(ConsentError::ScopeDenied),
                Some(ConsentError::MissingRefreshToken) => Some(ConsentError::MissingRefreshToken),
                Some(ConsentError::Invalid(reason)) => Some(ConsentError::Invalid(reason.clone())),
                Some(ConsentError::Provider(ConnectorError::App(reason))) => {
                    Some(ConnectorError::App(reason.clone()).into())
                }
                Some(_) => Some(ConnectorError::Unavailable("502".into()).into()),
            };
            world.drive.script().answers.extend(repeated_error.map(Err));
            let answer = browser.come_back(&world, &state, rest).await;
            if redirect.is_some() {
                let query_end = format!("status=error&error={}", kind.as_str());
                assert!(
                    answer.location().ends_with(&query_end),
                    "{rest}: {}",
                    answer.location()
                );
            } else {
                assert_eq!(answer.status, status, "{rest}: {}", answer.text);
                let can_retry = answer.text.contains("Try again");
                assert_eq!(can_retry, kind != AppMisconfigured, "{rest}");
            }
            let problem = world.stored(&id).await.problem.unwrap();
            assert_eq!(problem.kind, kind, "{rest}");
            assert!(
                problem.message.ends_with('.') && !problem.message.contains("502"),
                "{}",
                problem.message
            );
            // The same link still works after a failure.
            assert_eq!(browser.run_consent(&world, &link).await.status, 303);
            assert_eq!(world.stored(&id).await.problem, None);
        }
    }
}

#[tokio::test]
async fn a_user_who_refused_may_try_again_within_ten_minutes() {
    let world = TestWorld::new().await;
    let (id, link) = world.connect(json!({})).await;
    let mut browser = Browser::default();
    let state = browser.go_to_provider(&world, &link).await;
    let page = browser
        .come_back(&world, &state, "error=access_denied")
        .await;
    let start = format!("{BASE}/v3/connections/auth/start/");
    let retry_link = page
        .text
        .split('"')
        .find(|part| part.starts_with(&start))
        .unwrap();
    assert_ne!(retry_link, link);

    assert_eq!(browser.run_consent(&world, retry_link).await.status, 303);
    assert_eq!(world.stored(&id).await.problem, None);

    world.time.advance_seconds(11 * 60);
    assert_eq!(browser.get(&world, retry_link).await.status, 404);
}

#[tokio::test]
async fn connections_of_an_account_share_its_permission() {
    let world = TestWorld::new().await;
    let first = world.active_connection(json!({"containerTag": "a"})).await;
    let grant_before = grant_of(&world, &first).await;
    let now = world.ctx.clock.now();
    world
        .change_record(&first, |connection| {
            connection.status = ConnectionStatus::Expired;
            connection.expires_at = Some(now);
        })
        .await;
    let second = world.active_connection(json!({"containerTag": "b"})).await;
    let grant = grant_of(&world, &second).await;

    assert_eq!(grant.id, grant_before.id);
    assert_eq!(grant.connections.len(), 2);

    // The new tokens have replaced the old ones, and nothing was revoked: revoking one set would

    // end both.
    assert_eq!(
        tokens_of(&world, &grant.secret).await.as_deref(),
        Some("refresh-mara-2")
    );
    assert_eq!(tokens_of(&world, &grant_before.secret).await, None);
    assert!(world.drive.script().revoked.is_empty());

    // A connection that had lost the permission continues as well.
    let revived = world.stored(&first).await;
    assert_eq!(
        (revived.status, revived.problem, revived.expires_at),
        (ConnectionStatus::Active, None, None)
    );

    // Another account has a permission of its own.
    world.drive.script().answers.push(Ok("other"));
    let third = world.active_connection(json!({"containerTag": "c"})).await;
    assert_ne!(grant_of(&world, &third).await.id, grant.id);
}

#[tokio::test]
async fn a_connection_that_is_gone_does_not_stop_another_one_of_its_account() {
    let world = TestWorld::new().await;
    let gone = world.active_connection(json!({"containerTag": "a"})).await;
    let record = world.stored(&gone).await;
    let connections = &world.ctx.connections;
    assert!(connections.delete(&world.tenant, &record).await.unwrap());

    // The permission still names the first connection when the second one joins it.
    let second = world.active_connection(json!({"containerTag": "b"})).await;
    assert_eq!(world.stored(&second).await.status, ConnectionStatus::Active);
    let grant = grant_of(&world, &second).await;
    assert_eq!(Some(&grant.id), record.grant.as_ref());
    let users: Vec<&str> = grant.connections.iter().map(|id| id.as_str()).collect();
    assert_eq!(users, [second.as_str()]);
    assert!(world.drive.script().revoked.is_empty());
}

#[tokio::test]
async fn a_connection_is_given_permission_again_by_the_same_account_only() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({"containerTag": "a"})).await;
    world
        .change_record(&id, |connection| {
            connection.status = ConnectionStatus::Expired
        })
        .await;
    let answer = world
        .call_route(
            "POST",
            &format!("/v3/connections/{id}/reconnect"),
            Value::Null,
        )
        .await
        .json();
    assert_eq!(
        (&answer["id"], &answer["expiresIn"]),
        (&json!(id), &json!("1 hour"))
    );
    let link = answer["authLink"].as_str().unwrap();
    let mut browser = Browser::default();
    world.drive.script().answers.push(Ok("other"));
    let refusal = browser.run_consent(&world, link).await;
    assert_eq!(refusal.status, 409, "{}", refusal.text);
    // Nothing was revoked: another organization may have a permission from the same account and the
    // service's app.
    assert!(world.drive.script().revoked.is_empty());
    assert_eq!(world.stored(&id).await.status, ConnectionStatus::Expired);
    assert_eq!(browser.run_consent(&world, link).await.status, 200);
    let connection = world.stored(&id).await;
    assert_eq!(
        (connection.status, connection.account.unwrap().subject),
        (ConnectionStatus::Active, "mara".into())
    );

    // Before anything is selected, the user may still choose another account.
    let (id, mut browser) = world.connected_browser(json!({"containerTag": "b"})).await;
    let answer = world
        .call_route(
            "POST",
            &format!("/v3/connections/{id}/reconnect"),
            Value::Null,
        )
        .await
        .json();
    world.drive.script().answers.push(Ok("other"));
    assert_eq!(
        browser
            .run_consent(&world, answer["authLink"].as_str().unwrap())
            .await
            .status,
        303
    );
    assert_eq!(world.stored(&id).await.account.unwrap().subject, "other");
}

#[tokio::test]
async fn a_connection_that_was_deleted_meanwhile_keeps_no_permission() {
    let world = TestWorld::new().await;
    let (id, link) = world.connect(json!({})).await;
    let mut browser = Browser::default();
    let state = browser.go_to_provider(&world, &link).await;
    world
        .call_route("DELETE", &format!("/v3/connections/{id}"), Value::Null)
        .await;
    assert_eq!(
        browser.come_back(&world, &state, "code=code").await.status,
        404
    );
    assert_eq!(browser.get(&world, &link).await.status, 404);
    assert_eq!(world.stored(&id).await.grant, None);
}

#[tokio::test]
async fn an_app_of_the_organizations_own_speaks_for_itself() {
    let world = TestWorld::new().await;
    let secret = domain::Secret::new("own-secret");
    world
        .ctx
        .vault
        .put(&world.tenant, "oauth-app/x", &secret)
        .await
        .unwrap();
    service::change_settings(&world.ctx, &world.tenant, |settings| {
        let app = settings
            .apps
            .entry(domain::settings::AppProvider::CloudDrive)
            .or_default();
        (app.client_id, app.secret, app.enabled) = (
            Some("client-of-acme".into()),
            Some("oauth-app/x".into()),
            Some(true),
        );
        Ok(())
    })
    .await
    .unwrap();
    let (id, link) = world.connect(json!({})).await;
    let mut browser = Browser::default();
    let answer = browser.get(&world, &link).await;

    assert_eq!(answer.status, 303);
    assert!(
        answer.location().contains("client_id=client-of-acme"),
        "{}",
        answer.location()
    );

    let state = answer.location().split("state=").nth(1).unwrap().to_owned();
    assert_eq!(
        browser.come_back(&world, &state, "code=code").await.status,
        303
    );
    assert_eq!(
        grant_of(&world, &id).await.app.client_id(),
        "client-of-acme"
    );

    // The app's secret is gone, so whoever wants to connect is told how to fix that.
    world
        .ctx
        .vault
        .delete(&world.tenant, "oauth-app/x")
        .await
        .unwrap();
    let refusal = world
        .call_route("POST", super::world::DRIVE, json!({}))
        .await;

    assert_eq!(refusal.status, 400);
    assert!(refusal.text.contains("set it"), "{}", refusal.text);
}
