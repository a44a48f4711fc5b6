//! Conformance tests of [`domain::ports::SyncStore`]: steps, each of which happens once.

use domain::PortError;
use domain::connection::{FeedState, Phase, Queue, RootState, SyncState};
use domain::ports::SyncWrite;
use futures::future::join_all;

use crate::promises;
use crate::setting::Setting;
use crate::sync::{Known, add, change, node, run, wait};

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
        phase: Some(Phase::Scan {
            feed: None,
            page: None,
        }),
        ..SyncState::default()
    }
}

async fn a_step_holds_only_over_the_one_before(setting: &Setting) {
    let known = Known::fresh(setting);
    assert_eq!(known.state().await, SyncState::default());
    let wait_for = |key: &str| [wait(Queue::Walk, key, "")];
    for writes in [&[][..], &wait_for("late")] {
        assert!(
            !known.commit(writes, &state(2, 0)).await,
            "there is nothing before it"
        );
    }

    assert!(known.commit(&[], &state(1, 1)).await, "without writes");
    assert!(known.commit(&wait_for("a"), &state(2, 2)).await);
    for late in [state(1, 7), state(2, 7), state(4, 7)] {
        assert!(!known.commit(&wait_for("late"), &late).await);
        assert!(!known.commit(&[], &late).await);
    }

    if setting.is_calm() {
        assert!(
            !known.commit(&wait_for("late"), &state(2, 2)).await,
            "the same again is another step"
        );
        assert!(!known.commit(&[], &state(2, 2)).await);
    }

    assert_eq!(known.state().await, state(2, 2));
    assert_eq!(
        known.waiting(Queue::Walk, 10).await.len(),
        1,
        "nothing of what came late"
    );

    for other in known.neighbours() {
        assert_eq!(other.state().await, SyncState::default());
        assert!(!other.commit(&[], &state(3, 0)).await);
    }
}

async fn of_many_steps_at_the_same_time_one_holds(setting: &Setting) {
    let known = Known::fresh(setting);
    for step in 1..=4 {
        // Most of these share a state, like workers that begin in the same millisecond.
        let writes: Vec<_> = (0..12)
            .map(|i| [wait(Queue::Walk, &format!("{step}/{i}"), "")])
            .collect();
        let states: Vec<_> = (0..12).map(|i| state(step, i / 8)).collect();
        let all = writes.iter().zip(&states);
        let held = join_all(all.map(|(writes, next)| known.commit(writes, next))).await;
        let waiting = known.waiting(Queue::Walk, 100).await;
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
            assert_eq!(known.state().await, states[*held]);
        }
    }
}

/// Returns a step that needs more than one transaction: folders, each with a file and a queue
/// entry.
fn large(known_before: bool) -> Vec<SyncWrite> {
    let mut writes = Vec::new();
    for i in 0..120 {
        let (old, new) = (
            node(&format!("f{i}"), Some("old")),
            node(&format!("f{i}"), Some("new")),
        );
        writes.push(wait(Queue::Fetch, &format!("{i:03}"), "1"));
        writes.push(if known_before {
            change(&old, &new)
        } else {
            add(&old)
        });
    }

    writes
}

async fn a_large_step_is_made_as_a_whole(setting: &Setting) {
    let known = Known::fresh(setting);
    known.step(&large(false)).await;
    assert_eq!(known.children("old", 50).await.len(), 120);
    known.step(&large(true)).await;
    assert_eq!(known.children("old", 50).await.len(), 0);
    assert_eq!(known.children("new", 50).await.len(), 120);
    assert_eq!(known.pages(50).await.len(), 120);
    assert_eq!(known.waiting(Queue::Fetch, 50).await.len(), 120);
    assert_eq!(known.state().await.step, 2);
}

async fn a_step_that_was_cut_off_is_made_again(setting: &Setting) {
    if !setting.is_calm() {
        return;
    }
    let known = Known::fresh(setting);
    known.step(&large(false)).await;
    let next = state(2, 5);
    let call = async || {
        known
            .store()
            .commit(&known.tenant, &known.of, &large(true), &next)
            .await
    };
    let faults = &setting.app.faults;

    for sent in 0..10 {
        faults.crash_at(Some(faults.calls() + sent));
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

        assert_eq!(known.state().await.step, 1, "the step has not happened");
        for i in 0..120 {
            let found = known
                .nodes(&[format!("f{i}")])
                .await
                .remove(0)
                .expect("a node");
            let parent = found.parent.expect("a folder");
            let children = known.children(&parent, 200).await;
            assert!(
                children.contains(&found.id),
                "each node is found where it lies"
            );
        }
    }

    assert_eq!(known.state().await, next);
    assert_eq!(known.children("new", 50).await.len(), 120);
    assert!(known.children("old", 50).await.is_empty());
}

async fn a_large_step_that_comes_late_changes_nothing(setting: &Setting) {
    let known = Known::fresh(setting);
    known.step(&large(false)).await;
    known.step(&[]).await;
    for late in [state(1, 7), state(2, 7), state(9, 7)] {
        assert!(!known.commit(&large(true), &late).await);
    }
    assert_eq!(known.children("old", 200).await.len(), 120);
    assert!(known.children("new", 200).await.is_empty());
}

async fn a_state_may_be_large(setting: &Setting) {
    let known = Known::fresh(setting);
    let mut next = state(1, 1);
    let id = |i: u128| format!("1{:032x}", (i + 1).wrapping_mul(u128::MAX / 7 + 12));
    for i in 0..500 {
        let chain = (0..10).map(|above| id(i / 10 + above)).collect();
        let above = format!("/My Drive/{}", "Örter und Pläne/".repeat(8));
        next.roots.insert(
            id(1000 + i),
            RootState {
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
    assert!(known.commit(&large(false), &next).await);
    assert_eq!(known.state().await, next);
}

async fn all_is_erased_and_the_state_last(setting: &Setting) {
    let known = Known::fresh(setting);
    assert!(!known.erase(10).await, "there is nothing");
    for one in std::iter::once(&known).chain(&known.neighbours()) {
        one.step(&large(false)).await;
        one.step(&[
            SyncWrite::Run(Box::new(run(1))),
            wait(Queue::Walk, "w", ""),
            wait(Queue::Walk, "x", ""),
        ])
        .await;
    }

    let neighbours = known.neighbours();
    let other = &neighbours[0];
    other.step(&[]).await;
    // There are 363 items next to the state. Some of those that sort after its key are left for the
    // third call.
    let (mut left, mut calls, limit) = (true, 0, 181);
    while left {
        assert_eq!(known.state().await.step, 2, "after {calls} calls");
        left = known.erase(limit).await;
        calls += 1;
    }

    assert!(calls <= 8 || !setting.is_calm(), "{calls}");
    assert_eq!(known.state().await, SyncState::default());
    assert!(known.pages(10).await.is_empty() && known.children("old", 10).await.is_empty());
    assert!(known.waiting(Queue::Fetch, 10).await.is_empty() && known.runs(10).await.is_empty());
    assert!(!known.erase(50).await);
    assert!(
        !known.commit(&[], &state(3, 0)).await,
        "whoever comes late finds no step of theirs"
    );
    assert_eq!(
        other.pages(1000).await.len(),
        120,
        "another organization's is its own"
    );
}
