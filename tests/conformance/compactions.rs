//! Conformance tests of [`domain::ports::Index`]: one compaction of a container at a time.

use domain::ports::CompactionLease;
use domain::{ContainerId, Revision};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_lease_keeps_others_out_until_it_ends_or_expires,
    a_published_list_ends_a_lease,
    a_container_without_a_commit_has_no_lease,
);

const SECONDS: i64 = 120;

fn new_lease(setting: &PortFixture) -> CompactionLease {
    CompactionLease {
        token: Revision::random(),
        until: setting.now().plus_seconds(SECONDS),
    }
}

/// Takes a lease, and returns whether that was possible.
async fn begin(setting: &PortFixture, container: &ContainerId, lease: &CompactionLease) -> bool {
    let (index, now) = (&setting.ctx().index, setting.now());
    let begin = async || {
        index
            .begin_compaction(&setting.alpha, container, lease, now)
            .await
    };
    retry_unavailable(begin).await.expect("an answer")
}

async fn end(setting: &PortFixture, container: &ContainerId, lease: &CompactionLease) {
    let index = &setting.ctx().index;
    let end = async || index.end_compaction(&setting.alpha, container, lease).await;
    retry_unavailable(end).await.expect("an answer");
}

async fn a_lease_keeps_others_out_until_it_ends_or_expires(setting: &PortFixture) {
    let container = ContainerId::random();
    setting.served_document(&container, "Words.").await;
    let (first, second) = (new_lease(setting), new_lease(setting));
    assert!(begin(setting, &container, &first).await);
    assert!(begin(setting, &container, &first).await, "it is its own");
    assert!(!begin(setting, &container, &second).await);
    end(setting, &container, &second).await;
    assert!(
        !begin(setting, &container, &second).await,
        "that was not its lease"
    );

    end(setting, &container, &first).await;
    assert!(begin(setting, &container, &second).await);
    end(setting, &container, &first).await;
    let third = new_lease(setting);
    assert!(!begin(setting, &container, &third).await, "it ends once");

    let clock = &setting.app.environment.clock;
    clock.advance_seconds(SECONDS - 1);
    assert!(!begin(setting, &container, &third).await);
    clock.advance_seconds(1);
    assert!(begin(setting, &container, &third).await);
}

async fn a_published_list_ends_a_lease(setting: &PortFixture) {
    let container = ContainerId::random();
    setting.served_document(&container, "Words.").await;
    assert!(begin(setting, &container, &new_lease(setting)).await);
    let index = &setting.ctx().index;
    let publish = async || {
        index
            .publish_segments(&setting.alpha, &container, 0, &[], 7)
            .await
    };
    assert!(retry_unavailable(publish).await.expect("an answer"));
    assert!(begin(setting, &container, &new_lease(setting)).await);
}

async fn a_container_without_a_commit_has_no_lease(setting: &PortFixture) {
    let container = ContainerId::random();
    assert!(!begin(setting, &container, &new_lease(setting)).await);
    let head = setting.read_head(&container).await;
    assert_eq!((head.seq, head.generation), (0, 0));
}
