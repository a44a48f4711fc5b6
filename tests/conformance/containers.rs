//! Conformance tests of [`domain::ports::Containers`].

use domain::{Container, ContainerChange, ContainerId, ContainerTag, Patch, ProfileBucket, Tenant};
use futures::future::join_all;

use crate::setting::{PortFixture, retry_unavailable};
use crate::{promises, tags};

promises!(
    the_first_to_create_decides,
    of_many_at_the_same_time_one_decides,
    tags_are_listed_in_order_and_by_organization,
    what_a_tag_is_about_stays_until_it_is_replaced,
    a_description_makes_the_tag_and_changes_what_it_names,
    descriptions_of_different_fields_at_the_same_time_all_hold,
    buckets_are_replaced_only_as_they_were_read,
    tags_are_counted_up_to_a_bound,
);

fn tag(text: &str) -> ContainerTag {
    ContainerTag::parse(text).expect("a tag")
}

async fn create_tag(
    setting: &PortFixture,
    tenant: &domain::Tenant,
    name: &str,
) -> (ContainerId, Container) {
    let (id, now) = (ContainerId::random(), setting.now());
    let create = async || {
        setting
            .ctx()
            .containers
            .create_tag(tenant, &tag(name), id.clone(), now)
            .await
    };
    let container = retry_unavailable(create).await.expect("a container");
    (id, container)
}

async fn get(setting: &PortFixture, tenant: &domain::Tenant, name: &str) -> Option<Container> {
    retry_unavailable(async || setting.ctx().containers.get(tenant, &tag(name)).await)
        .await
        .expect("an answer")
}

async fn the_first_to_create_decides(setting: &PortFixture) {
    assert_eq!(get(setting, &setting.alpha, "box").await, None);
    let (id, first) = create_tag(setting, &setting.alpha, "box").await;
    assert_eq!(
        (first.ids.as_slice(), &first.tag),
        ([id].as_slice(), &tag("box"))
    );
    let (other, second) = create_tag(setting, &setting.alpha, "box").await;
    assert_eq!(second, first);
    assert_ne!(*second.primary_id(), other);
    assert_eq!(get(setting, &setting.alpha, "box").await, Some(first));
}

async fn of_many_at_the_same_time_one_decides(setting: &PortFixture) {
    let all = join_all((0..20).map(|_| create_tag(setting, &setting.alpha, "box"))).await;
    let stored = get(setting, &setting.alpha, "box")
        .await
        .expect("a container");
    assert!(all.iter().all(|(_, container)| *container == stored));
    assert!(all.iter().any(|(id, _)| id == stored.primary_id()));
}

/// Reserves tags until the limit refuses one, and returns the number of reservations. Stops at 20.
async fn count_reservations(setting: &PortFixture, tenant: &Tenant, most: u64) -> usize {
    let reserve = async || {
        retry_unavailable(async || setting.ctx().containers.reserve_tag(tenant, most).await).await
    };
    for counted in 0..20 {
        if !reserve().await.expect("an answer") {
            return counted;
        }
    }
    20
}

async fn tags_are_counted_up_to_a_bound(setting: &PortFixture) {
    let release = async |tenant: &Tenant| {
        retry_unavailable(async || setting.ctx().containers.release_tag(tenant).await)
            .await
            .expect("a release");
    };
    release(&setting.alpha).await;

    let counted = count_reservations(setting, &setting.alpha, 5).await;
    // A call whose answer was lost counts its tag again.
    assert!(
        if setting.is_calm() {
            counted == 5
        } else {
            counted <= 5
        },
        "{counted}"
    );
    assert_eq!(count_reservations(setting, &setting.alpha, 5).await, 0);
    assert!(
        count_reservations(setting, &setting.beta, 5).await > 0,
        "each organization has its own"
    );
    if !setting.is_calm() {
        return;
    }

    release(&setting.alpha).await;
    assert_eq!(count_reservations(setting, &setting.alpha, 5).await, 1);
    // A deleted tag makes room for another.
    let (_, container) = create_tag(setting, &setting.alpha, "box").await;
    let task = tags::purge_task(setting, &container);
    assert!(tags::delete(setting, &setting.alpha, &container, &task).await);
    assert_eq!(count_reservations(setting, &setting.alpha, 5).await, 1);
}

async fn tags_are_listed_in_order_and_by_organization(setting: &PortFixture) {
    let names = ["b", "a:1", "Z", "a", "a-1", "_", "0", &"x".repeat(100)];
    for name in names {
        create_tag(setting, &setting.alpha, name).await;
    }

    let (_, theirs) = create_tag(setting, &setting.beta, "a").await;
    let list = async |tenant: &domain::Tenant| {
        retry_unavailable(async || setting.ctx().containers.list(tenant).await)
            .await
            .expect("a list")
    };
    let listed = list(&setting.alpha).await;

    let mut wanted: Vec<ContainerTag> = names.iter().map(|name| tag(name)).collect();
    wanted.sort();
    assert_eq!(
        listed
            .iter()
            .map(|container| container.tag.clone())
            .collect::<Vec<_>>(),
        wanted
    );
    assert_eq!(list(&setting.beta).await, std::slice::from_ref(&theirs));
    assert_ne!(get(setting, &setting.alpha, "a").await, Some(theirs));
    assert_eq!(get(setting, &setting.beta, "b").await, None);
}

async fn what_a_tag_is_about_stays_until_it_is_replaced(setting: &PortFixture) {
    let set = async |tenant: &domain::Tenant, name: &str, context: &str| {
        retry_unavailable(async || {
            setting
                .ctx()
                .containers
                .set_context(tenant, &tag(name), context)
                .await
        })
        .await
        .expect("an answer")
    };
    let context = async |name: &str| {
        get(setting, &setting.alpha, name)
            .await
            .and_then(|found| found.entity_context)
    };
    assert!(!set(&setting.alpha, "box", "Nobody has written there.").await);
    assert_eq!(
        get(setting, &setting.alpha, "box").await,
        None,
        "guidance never makes a tag"
    );

    let (_, first) = create_tag(setting, &setting.alpha, "box").await;
    create_tag(setting, &setting.alpha, "other").await;
    create_tag(setting, &setting.beta, "box").await;
    assert_eq!(first.entity_context, None);

    for text in ["Birds of the coast.", "Örter: 日本語", &"x".repeat(1500)] {
        assert!(set(&setting.alpha, "box", text).await);
        assert_eq!(context("box").await.as_deref(), Some(text));
        let (_, again) = create_tag(setting, &setting.alpha, "box").await;
        assert_eq!(
            (again.entity_context.as_deref(), &again.ids),
            (Some(text), &first.ids)
        );
    }

    assert!(!set(&setting.beta, "other", "Not theirs.").await);
    assert_eq!(context("other").await, None);
    assert_eq!(
        get(setting, &setting.beta, "box")
            .await
            .and_then(|found| found.entity_context),
        None
    );
}

async fn describe_container(
    setting: &PortFixture,
    tenant: &Tenant,
    name: &str,
    change: &ContainerChange,
) -> Container {
    let (id, now) = (ContainerId::random(), setting.now());
    let describe = async || {
        setting
            .ctx()
            .containers
            .update_settings(tenant, &tag(name), change, id.clone(), now)
            .await
    };
    retry_unavailable(describe).await.expect("a container")
}

fn full_change() -> ContainerChange {
    let bucket = |key: &str| ProfileBucket {
        key: key.into(),
        description: "Örter: 日本語 \"quoted\"".into(),
    };
    ContainerChange {
        name: Patch::Set("A box".into()),
        entity_context: Patch::Set("Birds.".into()),
        profile_buckets: Patch::Set((0..50).map(|i| bucket(&format!("k{i}"))).collect()),
        memory_paths: Patch::Set(vec!["/notes/".into()]),
    }
}

async fn a_description_makes_the_tag_and_changes_what_it_names(setting: &PortFixture) {
    let made = describe_container(setting, &setting.alpha, "box", &full_change()).await;
    assert_eq!(
        get(setting, &setting.alpha, "box").await.as_ref(),
        Some(&made)
    );
    assert_eq!(
        (
            made.ids.len(),
            made.name.as_deref(),
            made.profile_buckets.len()
        ),
        (1, Some("A box"), 50)
    );
    assert_eq!(
        made.memory_paths.as_deref(),
        Some(["/notes/".to_owned()].as_slice())
    );
    assert_eq!(
        create_tag(setting, &setting.alpha, "box").await.1,
        made,
        "it was made by being described"
    );

    let kept =
        describe_container(setting, &setting.alpha, "box", &ContainerChange::default()).await;
    assert!(kept.updated_at > made.updated_at);
    assert_eq!(
        kept,
        Container {
            updated_at: kept.updated_at,
            ..made.clone()
        }
    );

    let one = ContainerChange {
        name: Patch::Clear,
        memory_paths: Patch::Set(Vec::new()),
        ..Default::default()
    };
    let changed = describe_container(setting, &setting.alpha, "box", &one).await;
    let wanted = Container {
        name: None,
        memory_paths: Some(Vec::new()),
        updated_at: changed.updated_at,
        ..made.clone()
    };
    assert_eq!(changed, wanted);

    let (entity_context, profile_buckets, memory_paths) =
        (Patch::Clear, Patch::Clear, Patch::Clear);
    let none = ContainerChange {
        entity_context,
        profile_buckets,
        memory_paths,
        name: Patch::Keep,
    };
    let cleared = describe_container(setting, &setting.alpha, "box", &none).await;
    assert_eq!(
        (
            cleared.entity_context,
            cleared.profile_buckets,
            cleared.memory_paths
        ),
        (None, Vec::new(), None)
    );

    let (_, plain) = create_tag(setting, &setting.alpha, "other").await;
    let named = ContainerChange {
        name: Patch::Set("Other".into()),
        ..Default::default()
    };
    let described = describe_container(setting, &setting.alpha, "other", &named).await;
    assert_eq!(
        (described.ids, described.created_at),
        (plain.ids, plain.created_at)
    );
    assert_eq!(get(setting, &setting.beta, "box").await, None);
}

async fn descriptions_of_different_fields_at_the_same_time_all_hold(setting: &PortFixture) {
    let full = full_change();
    let kept = ContainerChange::default();
    let parts = [
        ContainerChange {
            name: full.name,
            ..kept.clone()
        },
        ContainerChange {
            entity_context: full.entity_context,
            ..kept.clone()
        },
        ContainerChange {
            profile_buckets: full.profile_buckets,
            ..kept.clone()
        },
        ContainerChange {
            memory_paths: full.memory_paths,
            ..kept
        },
    ];

    let all = join_all(
        parts
            .iter()
            .map(|part| describe_container(setting, &setting.alpha, "box", part)),
    )
    .await;
    let stored = get(setting, &setting.alpha, "box")
        .await
        .expect("a container");

    assert!(all.iter().all(|container| container.ids == stored.ids));
    assert_eq!(
        (stored.name.as_deref(), stored.entity_context.as_deref()),
        (Some("A box"), Some("Birds."))
    );
    assert_eq!(
        (
            stored.profile_buckets.len(),
            stored.memory_paths.map(|paths| paths.len())
        ),
        (50, Some(1))
    );
}

async fn buckets_are_replaced_only_as_they_were_read(setting: &PortFixture) {
    let bucket = |key: &str| ProfileBucket {
        key: key.into(),
        description: "Örter: 日本語 \"quoted\"".into(),
    };
    let replace = async |name: &str, expected: &[ProfileBucket], new: &[ProfileBucket]| {
        let now = setting.now();
        retry_unavailable(async || {
            let containers = &setting.ctx().containers;
            containers
                .replace_buckets(&setting.alpha, &tag(name), expected, new, now)
                .await
        })
        .await
        .expect("an answer")
    };

    assert!(!replace("box", &[], &[bucket("food")]).await);
    assert_eq!(
        get(setting, &setting.alpha, "box").await,
        None,
        "buckets never make a tag"
    );

    let (_, made) = create_tag(setting, &setting.alpha, "box").await;
    create_tag(setting, &setting.beta, "box").await;
    let all = [bucket("food"), bucket("boats")];
    for (expected, new) in [
        (&all[..0], &all[..1]),
        (&all[..1], &all[..]),
        (&all[..], &all[..0]),
        (&all[..0], &all[1..]),
    ] {
        let is_replaced = replace("box", expected, new).await;
        assert!(is_replaced || !setting.is_calm());
        let stored = get(setting, &setting.alpha, "box").await.expect("a tag");
        assert_eq!(stored.profile_buckets, new);
        assert_eq!(
            stored,
            Container {
                profile_buckets: stored.profile_buckets.clone(),
                updated_at: stored.updated_at,
                ..made.clone()
            }
        );

        assert!(!replace("box", &[bucket("other")], &[]).await);
        assert!(new == expected || !replace("box", expected, &[bucket("late")]).await);
        let kept = get(setting, &setting.alpha, "box").await.expect("a tag");
        assert_eq!(kept, stored);
    }

    let theirs = get(setting, &setting.beta, "box").await.expect("a tag");
    assert!(theirs.profile_buckets.is_empty());
}
