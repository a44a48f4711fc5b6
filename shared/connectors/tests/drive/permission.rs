//! Tests of the consent flow of the fake drive.

use domain::Timestamp;
use domain::connection::OAuthTokens;
use domain::ports::{ConnectorError, ConsentError, ConsentRequest, GrantedPermission, OAuthFlow};
use domain::vault::Secret;
use fake_drive::{ConsentDecision as Answer, PlannedFault};
use reqwest::redirect::Policy;
use url::Url;

use crate::{DriveStage, IDA, access_for};

fn consent() -> ConsentRequest {
    ConsentRequest {
        state: "a state & more".into(),
        nonce: "a-nonce".into(),
        verifier: Secret::new("v".repeat(64)),
        redirect_uri: "http://127.0.0.1:9/v3/connections/auth/callback".into(),
    }
}

/// Opens the consent page like a browser, and returns the parameters of the provider's redirect.
async fn consent_answer(stage: &DriveStage, decision: Answer) -> Vec<(String, String)> {
    stage.fake.get_or_create_account(IDA);
    stage.fake.plan_consent(decision);
    let oauth = stage.connector().oauth_flow().unwrap();
    let url = oauth
        .consent_url(&oauth.operator_client().unwrap(), &consent())
        .unwrap();
    let browser = reqwest::Client::builder()
        .redirect(Policy::none())
        .no_proxy();
    let config = rustls::ClientConfig::builder_with_provider(
        rustls::crypto::ring::default_provider().into(),
    )
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(rustls::RootCertStore::empty())
    .with_no_client_auth();
    let page = browser
        .tls_backend_preconfigured(config)
        .build()
        .unwrap()
        .get(url)
        .send()
        .await
        .unwrap();
    let location = page.headers()["location"].to_str().unwrap().to_owned();

    Url::parse(&location)
        .unwrap()
        .query_pairs()
        .into_owned()
        .collect()
}

fn part(answer: &[(String, String)], name: &str) -> String {
    answer
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.clone())
        .unwrap_or_default()
}

async fn exchange(stage: &DriveStage, code: &str) -> Result<GrantedPermission, ConsentError> {
    let oauth = stage.connector().oauth_flow().unwrap();
    let now = Timestamp::from_millis(stage.fake.now_millis());
    oauth
        .exchange_code(
            &oauth.operator_client().unwrap(),
            &consent(),
            &Secret::new(code),
            now,
        )
        .await
}

async fn refresh(stage: &DriveStage, tokens: &OAuthTokens) -> Result<OAuthTokens, ConnectorError> {
    let oauth = stage.connector().oauth_flow().unwrap();
    oauth
        .refresh_tokens(
            &oauth.operator_client().unwrap(),
            tokens,
            Timestamp::from_millis(stage.fake.now_millis()),
        )
        .await
}

async fn permitted(stage: &DriveStage) -> GrantedPermission {
    let answer = consent_answer(stage, Answer::Allow { email: IDA.into() }).await;
    assert_eq!(part(&answer, "state"), "a state & more");
    exchange(stage, &part(&answer, "code")).await.unwrap()
}

#[tokio::test]
async fn a_user_permits_and_takes_it_back() {
    let stage = DriveStage::open().await;
    let permission = permitted(&stage).await;
    assert_eq!(permission.account.email.as_deref(), Some(IDA));
    assert!(!permission.account.subject.is_empty());
    assert_eq!(permission.tokens.refresh_until, None);
    let feeds = |tokens: &OAuthTokens| {
        let access = access_for(tokens.access.expose());
        async { stage.connector().list_feeds(&{ access }).await }
    };
    assert_eq!(feeds(&permission.tokens).await.unwrap(), ["user"]);

    stage.fake.expire_access_tokens();
    let stale = feeds(&permission.tokens).await.unwrap_err();
    assert!(
        matches!(&stale, ConnectorError::Reauth(why) if why == "authError"),
        "{stale:?}"
    );
    let renewed = refresh(&stage, &permission.tokens).await.unwrap();
    assert_eq!(renewed.refresh, permission.tokens.refresh);
    assert_eq!(feeds(&renewed).await.unwrap(), ["user"]);

    let oauth: &dyn OAuthFlow = stage.connector().oauth_flow().unwrap();
    oauth.revoke_permission(&renewed).await.unwrap();
    oauth.revoke_permission(&renewed).await.unwrap();
    let error = refresh(&stage, &renewed).await.unwrap_err();
    assert!(
        matches!(&error, ConnectorError::Reauth(why) if why == "invalid_grant"),
        "{error:?}"
    );
    assert!(matches!(
        feeds(&renewed).await,
        Err(ConnectorError::Reauth(_))
    ));
}

#[tokio::test]
async fn a_provider_that_hands_out_new_refresh_tokens_is_followed() {
    let stage = DriveStage::open().await;
    stage.fake.set_quirks(|quirks| {
        quirks.rotation = true;
        quirks.refresh_seconds = Some(604_800);
    });

    let first_tokens = permitted(&stage).await.tokens;
    let week = Timestamp::from_millis(stage.fake.now_millis()).plus_seconds(604_800);
    assert!(first_tokens.refresh_until.unwrap() <= week);
    let second_tokens = refresh(&stage, &first_tokens).await.unwrap();
    assert!(second_tokens.refresh != first_tokens.refresh && second_tokens.refresh_until.is_some());
    assert!(refresh(&stage, &second_tokens).await.is_ok());
    assert!(matches!(
        refresh(&stage, &first_tokens).await,
        Err(ConnectorError::Reauth(_))
    ));
}

#[tokio::test]
async fn half_a_permission_is_none() {
    let stage = DriveStage::open().await;
    let denied = consent_answer(&stage, Answer::Deny).await;
    assert_eq!(
        (
            part(&denied, "error").as_str(),
            part(&denied, "code").as_str()
        ),
        ("access_denied", "")
    );

    let unticked = consent_answer(&stage, Answer::Untick { email: IDA.into() }).await;
    let failed = exchange(&stage, &part(&unticked, "code"))
        .await
        .unwrap_err();
    assert!(matches!(failed, ConsentError::ScopeDenied), "{failed:?}");

    stage.fake.withhold_refresh_tokens(1);
    let short = consent_answer(&stage, Answer::Allow { email: IDA.into() }).await;
    let failed = exchange(&stage, &part(&short, "code")).await.unwrap_err();
    assert!(
        matches!(failed, ConsentError::MissingRefreshToken),
        "{failed:?}"
    );

    let used = exchange(&stage, &part(&short, "code")).await.unwrap_err();
    assert!(matches!(used, ConsentError::Invalid(_)), "{used:?}");
}

#[tokio::test]
async fn the_token_endpoints_faults_are_told_apart() {
    let stage = DriveStage::open().await;
    let tokens = permitted(&stage).await.tokens;
    let cases = [
        (PlannedFault::html_error("/token", 502), "Unavailable"),
        (PlannedFault::html_error("/token", 200), "Unavailable"),
        (
            PlannedFault::oauth_error("/token", 400, "invalid_grant", Some("invalid_rapt")),
            "Reauth(\"invalid_rapt\")",
        ),
        (
            PlannedFault::oauth_error("/token", 400, "admin_policy_enforced", None),
            "Policy(",
        ),
    ];
    for (fault, expected) in cases {
        stage.fake.plan_fault(fault);
        let failed = format!("{:?}", refresh(&stage, &tokens).await.unwrap_err());
        assert!(failed.starts_with(expected), "{failed}");
    }

    let id = stage.fake.client_credentials().0.to_owned();
    stage.fake.remove_client(&id);
    assert!(matches!(
        refresh(&stage, &tokens).await,
        Err(ConnectorError::App(_))
    ));
}
