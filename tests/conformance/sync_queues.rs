//! Conformance tests of [`domain::ports::SyncStore`]: queues, runs and selections.

use domain::connection::{SelectedItem, Selection, SyncQueue, SyncQueueEntry};
use domain::ports::SyncWrite;
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};
use crate::sync::{ConnectionStore, enqueue_write, finished_run, hard_ids};

promises!(
    what_waits_comes_in_the_order_of_its_keys,
    whatever_keys_are_made_of_they_stay_apart,
    the_newest_runs_are_kept,
    a_selection_holds_only_over_the_one_before,
);

const QUEUES: [SyncQueue; 3] = [SyncQueue::Walk, SyncQueue::Fetch, SyncQueue::Remove];

async fn what_waits_comes_in_the_order_of_its_keys(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let keys: Vec<String> = (0..40)
        .map(|i| format!("{}#{:05}#k{i}", i % 2, 999 - i))
        .collect();
    known
        .commit_next_step(
            &keys
                .iter()
                .map(|key| enqueue_write(SyncQueue::Fetch, key, "{}"))
                .collect::<Vec<_>>(),
        )
        .await;
    let mut wanted = keys.clone();
    wanted.sort();
    for limit in [1, 7, 40, 100] {
        let found: Vec<_> = known
            .read_queue(SyncQueue::Fetch, limit)
            .await
            .into_iter()
            .map(|one| one.key)
            .collect();
        assert_eq!(found, wanted, "in pages of {limit}");
    }

    for queue in [SyncQueue::Walk, SyncQueue::Remove] {
        assert!(
            known.read_queue(queue, 10).await.is_empty(),
            "each queue is its own"
        );
    }

    for other in known.neighbouring_stores() {
        assert!(other.read_queue(SyncQueue::Fetch, 10).await.is_empty());
    }

    // Some entries are removed and one is replaced. Of several writes to one key, the last one
    // counts.
    let dequeue = |key: &str| SyncWrite::Dequeue(SyncQueue::Fetch, key.to_owned());
    let mut writes: Vec<_> = wanted[..38].iter().map(|key| dequeue(key)).collect();
    writes.extend([
        dequeue("never there"),
        enqueue_write(SyncQueue::Fetch, &wanted[38], "new"),
        dequeue(&wanted[39]),
    ]);
    writes.extend([
        enqueue_write(SyncQueue::Fetch, &wanted[39], "x"),
        enqueue_write(SyncQueue::Fetch, "y", ""),
        dequeue("y"),
    ]);
    known.commit_next_step(&writes).await;
    let entry = |key: &str, value: &str| SyncQueueEntry {
        key: key.into(),
        value: value.into(),
    };
    let left = [entry(&wanted[38], "new"), entry(&wanted[39], "x")];
    assert_eq!(known.read_queue(SyncQueue::Fetch, 10).await, left);
}

async fn whatever_keys_are_made_of_they_stay_apart(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let keys = hard_ids();
    let enqueue = |queue: SyncQueue| {
        keys.iter()
            .map(move |key| enqueue_write(queue, key, &format!("{queue:?}{key}")))
    };

    known
        .commit_next_step(&QUEUES.into_iter().flat_map(enqueue).collect::<Vec<_>>())
        .await;
    for queue in QUEUES {
        let wanted = |key: &String| SyncQueueEntry {
            key: key.clone(),
            value: format!("{queue:?}{key}"),
        };
        let mut found = known.read_queue(queue, 4).await;
        found.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(found, keys.iter().map(wanted).collect::<Vec<_>>());
        let asked = [&keys[2..5], &["none".to_owned()], &keys[..1]].concat();
        let waits = async || {
            known
                .store()
                .get_queue_entries(&known.tenant, &known.of, queue, &asked)
                .await
        };
        let mut answer: Vec<_> = asked.iter().map(|key| Some(wanted(key))).collect();
        answer[3] = None;
        assert_eq!(retry_unavailable(waits).await.expect("what waits"), answer);
    }

    known
        .commit_next_step(&[SyncWrite::Dequeue(SyncQueue::Walk, keys[0].clone())])
        .await;
    let counts: Vec<usize> = join_all(
        QUEUES
            .iter()
            .map(async |queue| known.read_queue(*queue, 100).await.len()),
    )
    .await;
    assert_eq!(counts, [keys.len() - 1, keys.len(), keys.len()]);
}

async fn the_newest_runs_are_kept(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    assert!(known.read_runs(10).await.is_empty());
    for number in 1..=103 {
        // Each run is written twice: when it begins and when it ends.
        known
            .commit_next_step(&[SyncWrite::PutRun(Box::new(finished_run(number)))])
            .await;
        known
            .commit_next_step(&[SyncWrite::PutRun(Box::new(finished_run(number)))])
            .await;
    }
    assert_eq!(known.read_runs(3).await, [103, 102, 101]);
    assert_eq!(
        known.read_runs(1000).await,
        (4..=103).rev().collect::<Vec<_>>()
    );
    for other in known.neighbouring_stores() {
        assert!(other.read_runs(10).await.is_empty());
    }
}

async fn a_selection_holds_only_over_the_one_before(setting: &PortFixture) {
    let known = ConnectionStore::for_new_connection(setting);
    let selected = |id: &str| SelectedItem {
        id: id.into(),
        name: "Örter".into(),
        folder: true,
        drive: None,
    };
    let of = |rev: u64, ids: &[&str]| Selection {
        rev,
        items: ids.iter().map(|id| selected(id)).collect(),
        excluded: Vec::new(),
    };
    let get = async |known: &ConnectionStore<'_>| {
        let call = async || known.store().get_selection(&known.tenant, &known.of).await;
        retry_unavailable(call).await.expect("a selection")
    };
    let select = async |selection: &Selection| {
        let call = async || {
            known
                .store()
                .save_selection(&known.tenant, &known.of, selection)
                .await
        };
        let held = retry_unavailable(call).await.expect("an answer");
        held || !setting.is_calm() && get(&known).await == *selection
    };
    assert_eq!(get(&known).await, Selection::default());
    assert!(!select(&of(2, &["a"])).await, "there is none before it");
    assert!(select(&of(1, &["a", "b"])).await);

    for late in [of(1, &["c"]), of(3, &["c"])] {
        assert!(!select(&late).await);
    }
    assert!(select(&of(2, &[])).await);
    assert_eq!(get(&known).await, of(2, &[]));

    let names: Vec<String> = (0..12).map(|i| i.to_string()).collect();
    let all: Vec<Selection> = names.iter().map(|name| of(3, &[name])).collect();
    let held = join_all(all.iter().map(|one| select(one))).await;
    let stored = get(&known).await;
    assert!(
        all.iter()
            .zip(held)
            .all(|(one, held)| held == (*one == stored))
    );

    for other in known.neighbouring_stores() {
        assert_eq!(get(&other).await, Selection::default());
    }
    assert!(
        known.read_all_nodes(10).await.is_empty(),
        "a selection is no node"
    );
    assert_eq!(
        known.read_state().await,
        domain::connection::SyncState::default()
    );
}
