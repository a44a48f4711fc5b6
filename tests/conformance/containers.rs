//! [`domain::ports::Containers`].

use domain::{Container, ContainerId, ContainerTag};
use futures::future::join_all;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    the_first_to_create_decides,
    of_many_at_the_same_time_one_decides,
    tags_are_listed_in_order_and_by_organization,
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
