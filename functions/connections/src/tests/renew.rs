//! Tests of the renewal of expired tokens.

use domain::ports::ProviderAccess;
use domain::settings::AppProvider;
use domain::{ConnectionId, Secret};
use http::StatusCode;
use serde_json::json;
use service::{change_settings, provider_access, renew_provider_access};

use super::consent::grant_of;
use super::world::{Browser, TestWorld};

/// Sets the organization's own app, whose secret is in the vault under `name`.
async fn set_app(world: &TestWorld, name: &str, secret: &str, enabled: bool) {
    world
        .ctx
        .vault
        .put(&world.tenant, name, &Secret::new(secret))
        .await
        .unwrap();
    change_settings(&world.ctx, &world.tenant, |settings| {
        let app = settings.apps.entry(AppProvider::CloudDrive).or_default();
        (app.client_id, app.secret) = (Some("client-of-acme".into()), Some(name.into()));
        app.enabled = Some(enabled);
        Ok(())
    })
    .await
    .unwrap();
}

fn token(access: &ProviderAccess) -> &str {
    access.token.as_ref().unwrap().expose()
}

#[tokio::test]
async fn a_permission_outlives_the_secret_of_the_organizations_app() {
    let world = TestWorld::new().await;
    set_app(&world, "oauth-app/x", "first", true).await;
    let (id, link) = world.connect(json!({})).await;
    let mut browser = Browser::default();
    let state = browser
        .get(&world, &link)
        .await
        .location()
        .split("state=")
        .nth(1)
        .unwrap()
        .to_owned();
    assert_eq!(
        browser.come_back(&world, &state, "code=code").await.status,
        StatusCode::SEE_OTHER
    );

    set_app(&world, "oauth-app/y", "second", false).await;
    world
        .ctx
        .vault
        .delete(&world.tenant, "oauth-app/x")
        .await
        .unwrap();
    world.time.advance_seconds(3600);
    let connection = world.stored(&id).await;
    provider_access(&world.ctx, &world.drive, &world.tenant, &connection)
        .await
        .unwrap();
    assert_eq!(world.drive.script().refreshed_by, ["second"]);

    // The secret of another app does not count.
    change_settings(&world.ctx, &world.tenant, |settings| {
        settings
            .apps
            .entry(AppProvider::CloudDrive)
            .or_default()
            .client_id = Some("another".into());
        Ok(())
    })
    .await
    .unwrap();
    world.time.advance_seconds(3600);
    assert!(
        provider_access(&world.ctx, &world.drive, &world.tenant, &connection)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn new_tokens_are_kept_whoever_joins_the_permission_meanwhile() {
    let world = TestWorld::new().await;
    let (id, _) = world.connected_browser(json!({})).await;
    let (grant_before, other_id) = (grant_of(&world, &id).await, ConnectionId::random());
    let joined = (
        world.ctx.clone(),
        world.tenant.clone(),
        grant_before.id.clone(),
        other_id.clone(),
    );
    world.drive.script().joined = Some(joined);
    world.time.advance_seconds(3600);
    let connection = world.stored(&id).await;
    let ask = async || {
        provider_access(&world.ctx, &world.drive, &world.tenant, &connection)
            .await
            .unwrap()
    };

    assert_eq!(token(&ask().await), "access-renewed-1");
    let grant = grant_of(&world, &id).await;
    assert!(grant.connections.contains(&other_id) && grant.refreshing_until.is_none());
    assert!(
        world
            .ctx
            .vault
            .get(&world.tenant, &grant_before.secret)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        token(&ask().await),
        "access-renewed-1",
        "they are what is stored"
    );
}

#[tokio::test]
async fn a_token_that_the_provider_refuses_is_made_anew() {
    let world = TestWorld::new().await;
    let (id, _) = world.connected_browser(json!({})).await;
    let connection = world.stored(&id).await;
    let TestWorld {
        ctx, drive, tenant, ..
    } = &world;

    assert_eq!(
        token(
            &provider_access(ctx, drive, tenant, &connection)
                .await
                .unwrap()
        ),
        "access-1"
    );
    assert_eq!(
        token(
            &renew_provider_access(ctx, drive, tenant, &connection)
                .await
                .unwrap()
        ),
        "access-renewed-1"
    );
    assert_eq!(
        token(
            &provider_access(ctx, drive, tenant, &connection)
                .await
                .unwrap()
        ),
        "access-renewed-1"
    );
    // The old token is not returned while somebody else renews it.
    let mut grant = grant_of(&world, &id).await;
    grant.refreshing_until = Some(ctx.clock.now().plus_seconds(20));
    grant.rev += 1;
    assert!(ctx.connections.save_grant(tenant, &grant).await.unwrap());
    assert!(
        renew_provider_access(ctx, drive, tenant, &connection)
            .await
            .is_err()
    );
}
