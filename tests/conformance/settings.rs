//! Conformance tests of [`domain::ports::SettingsStore`].

use domain::ports::PortResult;
use domain::{PortError, ProfileBucket, Settings, Tenant};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    settings_are_the_default_until_they_are_set,
    settings_hold_only_over_the_version_before,
    of_many_at_the_same_time_one_holds,
);

fn settings(version: u64, size: u32) -> Settings {
    let bucket = ProfileBucket {
        key: "food".into(),
        description: format!("Meals, \"{size}\" – 食"),
    };
    Settings {
        version,
        chunk_size: Some(size),
        profile_buckets: Some(vec![bucket]),
        ..Settings::default()
    }
}

async fn get(setting: &PortFixture, tenant: &Tenant) -> Settings {
    retry_unavailable(async || setting.ctx().settings.get(tenant).await)
        .await
        .expect("settings")
}

async fn put(setting: &PortFixture, new: &Settings) -> PortResult<()> {
    retry_unavailable(async || setting.ctx().settings.put(&setting.alpha, new).await).await
}

fn is_conflict(result: &PortResult<()>) -> bool {
    matches!(result, Err(PortError::Conflict))
}

async fn settings_are_the_default_until_they_are_set(setting: &PortFixture) {
    assert_eq!(get(setting, &setting.alpha).await, Settings::default());
    put(setting, &settings(1, 500))
        .await
        .expect("the first settings");
    assert_eq!(get(setting, &setting.alpha).await, settings(1, 500));
    assert_eq!(
        get(setting, &setting.beta).await,
        Settings::default(),
        "another organization has its own"
    );
    let cleared = Settings {
        version: 2,
        ..Settings::default()
    };

    put(setting, &cleared).await.expect("the next settings");
    assert_eq!(get(setting, &setting.alpha).await, cleared);
}

async fn settings_hold_only_over_the_version_before(setting: &PortFixture) {
    assert!(
        is_conflict(&put(setting, &settings(2, 500)).await),
        "there is no version before"
    );
    put(setting, &settings(1, 500))
        .await
        .expect("the first settings");
    put(setting, &settings(1, 500))
        .await
        .expect("our own write again");
    for (version, size) in [(1, 600), (3, 600), (7, 600)] {
        assert!(
            is_conflict(&put(setting, &settings(version, size)).await),
            "{version}"
        );
    }

    assert_eq!(get(setting, &setting.alpha).await, settings(1, 500));
    put(setting, &settings(2, 600))
        .await
        .expect("the next settings");
    put(setting, &settings(2, 600))
        .await
        .expect("our own write again");
    assert!(is_conflict(&put(setting, &settings(2, 500)).await));
    assert_eq!(get(setting, &setting.alpha).await, settings(2, 600));
}

async fn of_many_at_the_same_time_one_holds(setting: &PortFixture) {
    for version in 1..=3 {
        let all: Vec<Settings> = (0..12).map(|i| settings(version, 500 + i)).collect();
        let results = join_all(all.iter().map(|new| put(setting, new))).await;
        let stored = get(setting, &setting.alpha).await;
        assert_eq!(stored.version, version);
        for (new, result) in all.iter().zip(results) {
            assert_eq!(result.is_ok(), *new == stored);
            assert!(result.is_ok() || is_conflict(&result));
        }
    }
}
