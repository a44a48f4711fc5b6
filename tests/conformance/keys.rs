//! [`domain::ports::Keys`].

use domain::key::{ApiKey, NewKey, Permission};
use domain::{ContainerTag, KeyId, Tenant};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_key_is_read_back_whole_by_its_id_alone,
    keys_are_listed_by_age_and_organization,
    only_its_organization_disables_a_key,
);

async fn create(setting: &Setting, tenant: &Tenant, change: impl FnOnce(&mut ApiKey)) -> ApiKey {
    let mut key =
        NewKey::generate(tenant.org().clone(), "a name", Permission::Write, None, setting.now()).record;
    change(&mut key);
    again(async || setting.ctx().keys.create(&key).await).await.expect("a stored key");
    key
}

async fn get(setting: &Setting, id: &KeyId) -> Option<ApiKey> {
    again(async || setting.ctx().keys.get(id).await).await.expect("an answer")
}

async fn a_key_is_read_back_whole_by_its_id_alone(setting: &Setting) {
    let plain = create(setting, &setting.alpha, |_| {}).await;
    let full = create(setting, &setting.beta, |key| {
        key.name = "ä name with #".into();
        key.permission = Permission::Read;
        key.tags = Some(vec![ContainerTag::default_tag(), ContainerTag::parse("b:1").expect("a tag")]);
        key.enabled = false;
        key.expires_at = Some(key.created_at.plus_seconds(60));
    })
    .await;
    for key in [plain, full] {
        assert_eq!(get(setting, &key.id).await, Some(key));
    }
    assert_eq!(get(setting, &KeyId::random()).await, None);
}

async fn keys_are_listed_by_age_and_organization(setting: &Setting) {
    let mut wanted = Vec::new();
    for i in 0..6 {
        let key = create(setting, &setting.alpha, |key| key.name = format!("key {i}")).await;
        wanted.push(key);
        create(setting, &setting.beta, |_| {}).await;
    }
    let listed = again(async || setting.ctx().keys.list(&setting.alpha).await).await.expect("a list");
    assert_eq!(listed, wanted);
}

async fn only_its_organization_disables_a_key(setting: &Setting) {
    let key = create(setting, &setting.alpha, |_| {}).await;
    let set = async |tenant: &Tenant, id: &KeyId, enabled: bool| {
        again(async || setting.ctx().keys.set_enabled(tenant, id, enabled).await).await.expect("an answer")
    };
    assert!(!set(&setting.beta, &key.id, false).await);
    assert!(!set(&setting.alpha, &KeyId::random(), false).await);
    assert_eq!(get(setting, &key.id).await, Some(key.clone()));
    for enabled in [false, false, true] {
        assert!(set(&setting.alpha, &key.id, enabled).await);
        assert_eq!(get(setting, &key.id).await, Some(ApiKey { enabled, ..key.clone() }));
    }
}
