//! [`domain::ports::Containers`].

use domain::{Container, ContainerId, ContainerTag};
use futures::future::join_all;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    the_first_to_create_decides,
    of_many_at_the_same_time_one_decides,
    tags_are_listed_in_order_and_by_organization,
    what_a_tag_is_about_stays_until_it_is_replaced,
);

fn tag(text: &str) -> ContainerTag {
    ContainerTag::parse(text).expect("a tag")
}

async fn create(setting: &Setting, tenant: &domain::Tenant, name: &str) -> (ContainerId, Container) {
    let (id, now) = (ContainerId::random(), setting.now());
    let create = async || setting.ctx().containers.create(tenant, &tag(name), id.clone(), now).await;
    let container = again(create).await.expect("a container");
    (id, container)
}

async fn get(setting: &Setting, tenant: &domain::Tenant, name: &str) -> Option<Container> {
    again(async || setting.ctx().containers.get(tenant, &tag(name)).await).await.expect("an answer")
}

async fn the_first_to_create_decides(setting: &Setting) {
    assert_eq!(get(setting, &setting.alpha, "box").await, None);
    let (id, first) = create(setting, &setting.alpha, "box").await;
    assert_eq!((first.ids.as_slice(), &first.tag), ([id].as_slice(), &tag("box")));
    let (other, second) = create(setting, &setting.alpha, "box").await;
    assert_eq!(second, first);
    assert_ne!(*second.primary(), other);
    assert_eq!(get(setting, &setting.alpha, "box").await, Some(first));
}

async fn of_many_at_the_same_time_one_decides(setting: &Setting) {
    let all = join_all((0..20).map(|_| create(setting, &setting.alpha, "box"))).await;
    let stored = get(setting, &setting.alpha, "box").await.expect("a container");
    assert!(all.iter().all(|(_, container)| *container == stored));
    assert!(all.iter().any(|(id, _)| id == stored.primary()));
}

async fn tags_are_listed_in_order_and_by_organization(setting: &Setting) {
    let names = ["b", "a:1", "Z", "a", "a-1", "_", "0", &"x".repeat(100)];
    for name in names {
        create(setting, &setting.alpha, name).await;
    }
    let (_, theirs) = create(setting, &setting.beta, "a").await;
    let list = async |tenant: &domain::Tenant| {
        again(async || setting.ctx().containers.list(tenant).await).await.expect("a list")
    };
    let listed = list(&setting.alpha).await;
    let mut wanted: Vec<ContainerTag> = names.iter().map(|name| tag(name)).collect();
    wanted.sort();
    assert_eq!(listed.iter().map(|container| container.tag.clone()).collect::<Vec<_>>(), wanted);
    assert_eq!(list(&setting.beta).await, std::slice::from_ref(&theirs));
    assert_ne!(get(setting, &setting.alpha, "a").await, Some(theirs));
    assert_eq!(get(setting, &setting.beta, "b").await, None);
}

async fn what_a_tag_is_about_stays_until_it_is_replaced(setting: &Setting) {
    let set = async |tenant: &domain::Tenant, name: &str, context: &str| {
        again(async || setting.ctx().containers.set_context(tenant, &tag(name), context).await)
            .await
            .expect("an answer")
    };
    let context =
        async |name: &str| get(setting, &setting.alpha, name).await.and_then(|found| found.entity_context);
    assert!(!set(&setting.alpha, "box", "Nobody has written there.").await);
    assert_eq!(get(setting, &setting.alpha, "box").await, None, "guidance never makes a tag");
    let (_, first) = create(setting, &setting.alpha, "box").await;
    create(setting, &setting.alpha, "other").await;
    create(setting, &setting.beta, "box").await;
    assert_eq!(first.entity_context, None);
    for text in ["Birds of the coast.", "Örter: 日本語", &"x".repeat(1500)] {
        assert!(set(&setting.alpha, "box", text).await);
        assert_eq!(context("box").await.as_deref(), Some(text));
        let (_, again) = create(setting, &setting.alpha, "box").await;
        assert_eq!((again.entity_context.as_deref(), &again.ids), (Some(text), &first.ids));
    }
    assert!(!set(&setting.beta, "other", "Not theirs.").await);
    assert_eq!(context("other").await, None);
    assert_eq!(get(setting, &setting.beta, "box").await.and_then(|found| found.entity_context), None);
}
