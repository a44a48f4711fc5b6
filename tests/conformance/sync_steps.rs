//! Conformance tests of [`domain::ports::SyncStore`]: steps, each of which happens once.

use domain::PortError;
use domain::connection::{FeedState, RunPhase, SelectedItemState, SyncQueue, SyncState};
use domain::ports::SyncWrite;
use futures::future::join_all;

use crate::promises;
use crate::setting::PortFixture;
use crate::sync::{
    ConnectionStore, add_node_write, change_node_write, enqueue_write, finished_run, new_node,
};

promises!(
    a_step_holds_only_over_the_one_before,
    of_many_steps_at_the_same_time_one_holds,
    a_large_step_is_made_as_a_whole,
    a_step_that_was_cut_off_is_made_again,
    a_large_step_that_comes_late_changes_nothing,
    a_state_may_be_large,
    all_is_erased_and_the_state_last,
);

fn state(step: u64, documents: u64) -> SyncState {
    SyncState {
        step,
        documents,
        phase: Some(RunPhase::Scan {
            feed: None,
            page: None,
        }),
        ..SyncState::default()
    }
}

async fn a_step_holds_only_over_the_one_before(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    assert_eq!(known.read_state().await, SyncState::default());
    let wait_for = |key: &str| [enqueue_write(SyncQueue::Walk, key, "")];
    for writes in [&[][..], &wait_for("late")] {
        assert!(
            !known.commit_step(writes, &state(2, 0)).await,
            "there is nothing before it"
        );
    }

    assert!(known.commit_step(&[], &state(1, 1)).await, "without writes");
    assert!(known.commit_step(&wait_for("a"), &state(2, 2)).await);
    for late in [state(1, 7), state(2, 7), state(4, 7)] {
        assert!(!known.commit_step(&wait_for("late"), &late).await);
        assert!(!known.commit_step(&[], &late).await);
    }

    if setting.is_calm() {
        assert!(
            !known.commit_step(&wait_for("late"), &state(2, 2)).await,
            "the same again is another step"
        );
        assert!(!known.commit_step(&[], &state(2, 2)).await);
    }

    assert_eq!(known.read_state().await, state(2, 2));
    assert_eq!(
        known.read_queue(SyncQueue::Walk, 10).await.len(),
        1,
        "nothing of what came late"
    );

    for other in known.neighbouring_stores() {
        assert_eq!(other.read_state().await, SyncState::default());
        assert!(!other.commit_step(&[], &state(3, 0)).await);
    }
}

async fn of_many_steps_at_the_same_time_one_holds(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    for step in 1..=4 {
        // Most of these share a state, like workers that begin in the same millisecond.
        let writes: Vec<_> = (0..12)
            .map(|i| [enqueue_write(SyncQueue::Walk, &format!("{step}/{i}"), "")])
            .collect();
        let states: Vec<_> = (0..12).map(|i| state(step, i / 8)).collect();
        let all = writes.iter().zip(&states);
        let held = join_all(all.map(|(writes, next)| known.commit_step(writes, next))).await;
        let waiting = known.read_queue(SyncQueue::Walk, 100).await;
        let waiting: Vec<_> = waiting
            .iter()
            .filter(|one| one.key.starts_with(&step.to_string()))
            .collect();
        assert_eq!(waiting.len(), 1, "{waiting:?}");

        if setting.is_calm() {
            let held: Vec<usize> = (0..12).filter(|i| held[*i]).collect();
            let [held] = held.as_slice() else {
                panic!("{held:?}")
            };
            assert_eq!(waiting[0].key, format!("{step}/{held}"));
            assert_eq!(known.read_state().await, states[*held]);
        }
    }
}

/// Returns a step that needs more than one transaction: folders, each with a file and a queue
/// entry.
fn large_step(known_before: bool) -> Vec<SyncWrite> {
    let mut writes = Vec::new();
    for i in 0..120 {
        let (old, new) = (
            new_node(&format!("f{i}"), Some("old")),
            new_node(&format!("f{i}"), Some("new")),
        );
        writes.push(enqueue_write(SyncQueue::Fetch, &format!("{i:03}"), "1"));
        writes.push(if known_before {
            change_node_write(&old, &new)
        } else {
            add_node_write(&old)
        });
    }

    writes
}

async fn a_large_step_is_made_as_a_whole(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    known.commit_next_step(&large_step(false)).await;
    assert_eq!(known.read_children("old", 50).await.len(), 120);
    known.commit_next_step(&large_step(true)).await;
    assert_eq!(known.read_children("old", 50).await.len(), 0);
    assert_eq!(known.read_children("new", 50).await.len(), 120);
    assert_eq!(known.read_all_nodes(50).await.len(), 120);
    assert_eq!(known.read_queue(SyncQueue::Fetch, 50).await.len(), 120);
    assert_eq!(known.read_state().await.step, 2);
}

async fn a_step_that_was_cut_off_is_made_again(setting: &PortFixture) {
    if !setting.is_calm() {
        return;
    }
    let known = ConnectionStore::for_new_connection(setting);
    known.commit_next_step(&large_step(false)).await;
    let next = state(2, 5);
    let call = async || {
        known
            .store()
            .commit_step(&known.tenant, &known.of, &large_step(true), &next)
            .await
    };
    let faults = &setting.app.faults;

    for sent in 0..10 {
        faults.crash_at(Some(faults.call_count() + sent));
        let answer = call().await;
        faults.crash_at(None);
        match answer {
            Err(PortError::Unavailable(_)) => {}
            Ok(done) => {
                assert!(done && sent >= 4, "{done} after {sent} calls");
                break;
            }
            Err(error) => panic!("{error:?}"),
        }

        assert_eq!(
            known.read_state().await.step,
            1,
            "the step has not happened"
        );
        for i in 0..120 {
            let found = known
                .read_nodes(&[format!("f{i}")])
                .await
                .remove(0)
                .expect("a node");
            let parent = found.parent.expect("a folder");
            let children = known.read_children(&parent, 200).await;
            assert!(
                children.contains(&found.id),
                "each node is found where it lies"
            );
        }
    }

    assert_eq!(known.read_state().await, next);
    assert_eq!(known.read_children("new", 50).await.len(), 120);
    assert!(known.read_children("old", 50).await.is_empty());
}

async fn a_large_step_that_comes_late_changes_nothing(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    known.commit_next_step(&large_step(false)).await;
    known.commit_next_step(&[]).await;
    for late in [state(1, 7), state(2, 7), state(9, 7)] {
        assert!(!known.commit_step(&large_step(true), &late).await);
    }
    assert_eq!(known.read_children("old", 200).await.len(), 120);
    assert!(known.read_children("new", 200).await.is_empty());
}

async fn a_state_may_be_large(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let mut next = state(1, 1);
    let id = |i: u128| format!("1{:032x}", (i + 1).wrapping_mul(u128::MAX / 7 + 12));
    for i in 0..500 {
        let chain = (0..10).map(|above| id(i / 10 + above)).collect();
        let above = format!("/My Drive/{}", "Örter und Pläne/".repeat(8));
        next.selected_items.insert(
            id(1000 + i),
            SelectedItemState {
                active: true,
                above,
                chain,
            },
        );
    }

    let feed = FeedState {
        cursor: Some("1234567".into()),
        ..FeedState::default()
    };
    next.feeds.insert("user".into(), feed);
    assert!(known.commit_step(&large_step(false), &next).await);
    assert_eq!(known.read_state().await, next);
}

async fn all_is_erased_and_the_state_last(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    assert!(!known.erase_some(10).await, "there is nothing");
    for one in std::iter::once(&known).chain(&known.neighbouring_stores()) {
        one.commit_next_step(&large_step(false)).await;
        one.commit_next_step(&[
            SyncWrite::PutRun(Box::new(finished_run(1))),
            enqueue_write(SyncQueue::Walk, "w", ""),
            enqueue_write(SyncQueue::Walk, "x", ""),
        ])
        .await;
    }

    let neighbours = known.neighbouring_stores();
    let other = &neighbours[0];
    other.commit_next_step(&[]).await;
    // There are 363 items next to the state. Some of those that sort after its key are left for the
    // third call.
    let (mut left, mut calls, limit) = (true, 0, 181);
    while left {
        assert_eq!(known.read_state().await.step, 2, "after {calls} calls");
        left = known.erase_some(limit).await;
        calls += 1;
    }

    assert!(calls <= 8 || !setting.is_calm(), "{calls}");
    assert_eq!(known.read_state().await, SyncState::default());
    assert!(
        known.read_all_nodes(10).await.is_empty()
            && known.read_children("old", 10).await.is_empty()
    );
    assert!(
        known.read_queue(SyncQueue::Fetch, 10).await.is_empty()
            && known.read_runs(10).await.is_empty()
    );
    assert!(!known.erase_some(50).await);
    assert!(
        !known.commit_step(&[], &state(3, 0)).await,
        "whoever comes late finds no step of theirs"
    );
    assert_eq!(
        other.read_all_nodes(1000).await.len(),
        120,
        "another organization's is its own"
    );
}
