//! Conformance tests of [`domain::ports::Keys`].

use domain::key::{ApiKey, KeyKind, KeySpec, NewKey, Permission};
use domain::{ContainerTag, KeyId, RateLimit, Tenant};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_key_is_read_back_whole_by_its_id_alone,
    keys_are_listed_by_age_and_organization,
    keys_are_counted_by_organization_without_sessions,
    only_its_organization_disables_a_key,
    only_its_organization_deletes_a_key,
    sessions_are_keys_that_are_not_listed,
);

async fn create(
    setting: &PortFixture,
    tenant: &Tenant,
    change: impl FnOnce(&mut ApiKey),
) -> ApiKey {
    let plan = KeySpec {
        name: "a name".into(),
        kind: KeyKind::Full,
        permission: Permission::Write,
        tags: None,
        expires_at: None,
        rate_limit: None,
    };

    let mut key = NewKey::generate(tenant.org().clone(), plan, setting.now()).record;
    change(&mut key);
    retry_unavailable(async || setting.ctx().keys.create(&key).await)
        .await
        .expect("a stored key");

    key
}

async fn get(setting: &PortFixture, id: &KeyId) -> Option<ApiKey> {
    retry_unavailable(async || setting.ctx().keys.get(id).await)
        .await
        .expect("an answer")
}

async fn a_key_is_read_back_whole_by_its_id_alone(setting: &PortFixture) {
    let plain = create(setting, &setting.alpha, |_| {}).await;
    let full = create(setting, &setting.beta, |key| {
        key.name = "ä name with #".into();
        key.permission = Permission::Read;
        key.tags = Some(vec![
            ContainerTag::default_tag(),
            ContainerTag::parse("b:1").expect("a tag"),
        ]);
        key.enabled = false;
        key.expires_at = Some(key.created_at.plus_seconds(60));
        key.rate_limit = Some(RateLimit {
            max: 500,
            window_ms: 60_000,
        });
        key.acts_as = Some(plain.id.clone());
    })
    .await;
    let mut keys = vec![plain, full];
    for kind in [
        KeyKind::Full,
        KeyKind::Agent,
        KeyKind::Scoped,
        KeyKind::Session,
    ] {
        keys.push(create(setting, &setting.alpha, |key| key.kind = kind).await);
    }

    for key in keys {
        assert_eq!(get(setting, &key.id).await, Some(key));
    }

    assert_eq!(get(setting, &KeyId::random()).await, None);
}

async fn keys_are_listed_by_age_and_organization(setting: &PortFixture) {
    let mut wanted = Vec::new();
    for i in 0..6 {
        let key = create(setting, &setting.alpha, |key| key.name = format!("key {i}")).await;
        wanted.push(key);
        create(setting, &setting.beta, |_| {}).await;
    }
    assert_eq!(list(setting, &setting.alpha).await, wanted);
}

async fn keys_are_counted_by_organization_without_sessions(setting: &PortFixture) {
    for kind in [
        KeyKind::Full,
        KeyKind::Agent,
        KeyKind::Scoped,
        KeyKind::Session,
    ] {
        create(setting, &setting.alpha, |key| key.kind = kind).await;
    }

    create(setting, &setting.beta, |_| {}).await;
    for (tenant, wanted) in [(&setting.alpha, 3), (&setting.beta, 1)] {
        let count = retry_unavailable(async || setting.ctx().keys.count(tenant).await)
            .await
            .expect("a count");
        assert_eq!(count, wanted);
    }
}

async fn only_its_organization_disables_a_key(setting: &PortFixture) {
    let key = create(setting, &setting.alpha, |_| {}).await;
    let set = async |tenant: &Tenant, id: &KeyId, enabled: bool| {
        retry_unavailable(async || setting.ctx().keys.set_enabled(tenant, id, enabled).await)
            .await
            .expect("an answer")
    };
    assert!(!set(&setting.beta, &key.id, false).await);
    assert!(!set(&setting.alpha, &KeyId::random(), false).await);
    assert_eq!(get(setting, &key.id).await, Some(key.clone()));

    for enabled in [false, false, true] {
        assert!(set(&setting.alpha, &key.id, enabled).await);
        assert_eq!(
            get(setting, &key.id).await,
            Some(ApiKey {
                enabled,
                ..key.clone()
            })
        );
    }
}

async fn list(setting: &PortFixture, tenant: &Tenant) -> Vec<ApiKey> {
    retry_unavailable(async || setting.ctx().keys.list(tenant).await)
        .await
        .expect("a list")
}

async fn only_its_organization_deletes_a_key(setting: &PortFixture) {
    let (kept, deleted) = (
        create(setting, &setting.alpha, |_| {}).await,
        create(setting, &setting.alpha, |_| {}).await,
    );
    // After a lost answer, the second attempt may find nothing.
    let delete = async |tenant: &Tenant, id: &KeyId| setting.ctx().keys.delete(tenant, id).await;
    let refused = async |tenant: &Tenant, id: &KeyId| {
        !retry_unavailable(async || delete(tenant, id).await)
            .await
            .expect("an answer")
    };
    assert!(refused(&setting.beta, &deleted.id).await);
    assert!(refused(&setting.alpha, &KeyId::random()).await);
    assert_eq!(get(setting, &deleted.id).await, Some(deleted.clone()));

    let mut answers = Vec::new();
    while !answers.last().is_some_and(Result::is_ok) {
        answers.push(delete(&setting.alpha, &deleted.id).await);
    }
    assert!(
        answers.len() > 1 || matches!(answers[0], Ok(true)),
        "{answers:?}"
    );
    assert_eq!(get(setting, &deleted.id).await, None);
    assert!(refused(&setting.alpha, &deleted.id).await, "it is gone");
    assert_eq!(list(setting, &setting.alpha).await, [kept]);
}

async fn sessions_are_keys_that_are_not_listed(setting: &PortFixture) {
    let session = create(setting, &setting.alpha, |key| {
        key.kind = KeyKind::Session;
        key.expires_at = Some(key.created_at.plus_seconds(3600));
    })
    .await;
    let key = create(setting, &setting.alpha, |_| {}).await;
    assert_eq!(list(setting, &setting.alpha).await, [key]);
    assert_eq!(get(setting, &session.id).await, Some(session.clone()));
    retry_unavailable(async || setting.ctx().keys.delete(&setting.alpha, &session.id).await)
        .await
        .expect("an answer");
    assert_eq!(get(setting, &session.id).await, None);
}
