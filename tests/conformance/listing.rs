//! Conformance tests of lists of documents: [`service::list_documents`] over the ports.

mod listed;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;

use domain::ports::PortResult;
use domain::{Document, DocumentChange, DocumentId, DocumentStatus, Timestamp};
use service::{ListQuery, SortBy};

use crate::promises;
use crate::setting::PortFixture;
use listed::{Listed, STATES, State, select_page};

promises!(
    pages_are_complete_and_disjoint_in_both_orders,
    totals_are_exact_for_documents_in_every_state,
    any_list_equals_a_full_scan,
    documents_that_are_finished_between_pages_are_never_missed,
    former_containers_are_listed_exactly_before_and_after_they_are_completed,
    a_commit_of_an_earlier_program_is_noticed,
    a_first_commit_beside_former_documents_does_not_claim_that_all_are_listed,
    damaged_documents_are_pending_and_superseded_ones_never,
);

async fn pages_are_complete_and_disjoint_in_both_orders(setting: &PortFixture) {
    let listed = Listed::filled(setting, 3).await;
    for ascending in [true, false] {
        let whole = ListQuery {
            ascending,
            ..listed.query()
        };
        let wanted = listed.scan(&whole).await.documents;
        assert_eq!(wanted.len(), (STATES.len() - 1) * 2 * 3);

        for limit in [1, 7, 16, 48, 100] {
            let mut all = Vec::new();
            for page in 1..=wanted.len().div_ceil(limit) + 1 {
                let query = ListQuery {
                    page,
                    limit,
                    ..whole.clone()
                };
                let found = listed.list(&query).await;
                assert_eq!(found.total, wanted.len());
                assert!(found.documents.len() <= limit);
                all.extend(found.documents);
            }
            assert_eq!(all, wanted, "{limit} on a page");
        }
    }
}

async fn totals_are_exact_for_documents_in_every_state(setting: &PortFixture) {
    let listed = Listed::empty(setting, 1).await;
    let [container] = listed.containers.as_slice() else {
        panic!("one container");
    };
    let one = ListQuery {
        limit: 1,
        ..listed.query()
    };
    assert_eq!(listed.list(&one).await.total, 0);

    let mut wanted = 0;
    for (number, state) in STATES.iter().chain(&STATES).enumerate() {
        listed.add(container, *state, number).await;
        wanted += usize::from(!matches!(state, State::Deleted));
        assert_eq!(listed.list(&one).await.total, wanted, "{state:?}");
    }
    assert_eq!(listed.lists_all_pending().await, [true]);
    listed.check_pending().await;
}

async fn any_list_equals_a_full_scan(setting: &PortFixture) {
    let listed = Listed::filled(setting, 3).await;
    listed.check_lists(1, 150).await;
    assert!(listed.indexes.reads.load(Ordering::Relaxed) > 50);
    // Of more containers, those that are read to their end are not counted.
    let listed = Listed::filled(setting, 6).await;
    listed.check_lists(2, 50).await;
}

async fn documents_that_are_finished_between_pages_are_never_missed(setting: &PortFixture) {
    for ascending in [true, false] {
        let listed = Listed::empty(setting, 2).await;
        let mut waiting = VecDeque::new();
        for number in 0..12 {
            let container = &listed.containers[number % 2];
            waiting.push_back(listed.add(container, State::Queued, number).await);
            setting.app.environment.clock.advance_seconds(1);
        }
        let query = ListQuery {
            ascending,
            ..listed.query()
        };
        let wanted = listed.scan(&query).await.documents;
        let wanted: Vec<DocumentId> = wanted.into_iter().map(|document| document.id).collect();

        // They are finished from both ends of the list.
        let mut seen = Vec::new();
        for page in 1..=wanted.len().div_ceil(2) {
            let query = ListQuery {
                page,
                limit: 2,
                ..query.clone()
            };
            let found = listed.list(&query).await;
            assert_eq!(found.total, wanted.len());
            seen.extend(found.documents.into_iter().map(|document| document.id));
            let ends = [waiting.pop_back(), waiting.pop_front()];
            for id in ends.into_iter().flatten() {
                listed.finish(&listed.read(&id).await).await;
            }
        }
        assert_eq!(seen, wanted);
    }
}

async fn former_containers_are_listed_exactly_before_and_after_they_are_completed(
    setting: &PortFixture,
) {
    let listed = Listed::filled(setting, 2).await;
    setting.stop_faults();
    listed.make_former().await;
    assert_eq!(listed.lists_all_pending().await, [false, false]);
    listed.check_lists(3, 60).await;

    // Some documents are changed by the present version before the container is completed.
    for (number, state) in STATES.iter().enumerate() {
        listed.add(&listed.containers[0], *state, number).await;
    }
    assert_eq!(listed.lists_all_pending().await, [false, false]);
    listed.check_lists(4, 60).await;

    for _ in 0..2 {
        listed.complete().await;
        assert_eq!(listed.lists_all_pending().await, [true, true]);
        listed.check_pending().await;
        listed.check_lists(5, 60).await;
    }
}

async fn a_commit_of_an_earlier_program_is_noticed(setting: &PortFixture) {
    let listed = Listed::filled(setting, 1).await;
    let container = &listed.containers[0];
    assert_eq!(listed.lists_all_pending().await, [true]);

    // An earlier program stores a document and commits, without the attributes that are new.
    listed.add(container, State::Queued, 0).await;
    setting.stop_faults();
    listed.setting.app.remove_attributes("gp").await;
    let head = domain::IndexHead {
        pending_listed: false,
        ..setting.read_head(container).await
    };
    let committed =
        setting
            .ctx()
            .index
            .commit(&setting.alpha, container, &head, &[], setting.now());
    committed.await.expect("a commit");
    listed.add(container, State::Done, 1).await;
    assert_eq!(listed.lists_all_pending().await, [false]);
    listed.check_lists(8, 40).await;
}

async fn a_first_commit_beside_former_documents_does_not_claim_that_all_are_listed(
    setting: &PortFixture,
) {
    let listed = Listed::empty(setting, 2).await;
    let [mixed, fresh] = listed.containers.as_slice() else {
        panic!("two containers");
    };
    let former = listed.add(mixed, State::Queued, 0).await;
    setting.stop_faults();
    listed.make_former().await;
    for container in [mixed, fresh] {
        listed.add(container, State::Queued, 1).await;
        listed.add(container, State::Done, 2).await;
    }

    assert_eq!(listed.lists_all_pending().await, [false, true]);
    listed.check_lists(6, 40).await;
    listed.finish(&listed.read(&former).await).await;
    listed.complete().await;
    listed.check_pending().await;
    listed.check_lists(7, 40).await;
}

async fn damaged_documents_are_pending_and_superseded_ones_never(setting: &PortFixture) {
    let listed = Listed::empty(setting, 1).await;
    let container = &listed.containers[0];
    let winner = listed.add(container, State::Done, 0).await;
    let damaged = listed.add(container, State::Damaged, 1).await;
    let failed = listed.add(container, State::Failed, 2).await;
    let done = listed.add(container, State::Done, 3).await;
    assert_eq!(
        BTreeSet::from_iter(listed.pending_ids(container).await),
        BTreeSet::from([damaged.clone(), failed.clone()])
    );

    for id in [&damaged, &failed, &done] {
        let superseded = Document {
            superseded_by: Some(winner.clone()),
            ..listed.read(id).await
        };
        let change = DocumentChange::Supersede(Box::new(superseded));
        listed.commit(container, &[change]).await;
    }
    listed.damage(&listed.read(&done).await).await;
    assert_eq!(listed.pending_ids(container).await, []);
    assert_eq!(listed.list(&listed.query()).await.total, 1);
    listed.complete().await;
    assert_eq!(listed.pending_ids(container).await, []);
}

/// Returns a record like `document` with another id and time.
fn copy_of(document: &Document, number: i64) -> Document {
    let created_at = Timestamp::from_millis(document.created_at.as_millis() + number % 700);
    Document {
        id: DocumentId::random(),
        created_at,
        updated_at: Timestamp::from_millis(created_at.as_millis() + number % 900),
        ..document.clone()
    }
}

#[tokio::test]
async fn lists_of_thousands_are_read_in_parts() -> PortResult<()> {
    let setting = PortFixture::without_faults().await;
    let listed = Listed::empty(&setting, 2).await;
    for (index, container) in listed.containers.iter().enumerate() {
        listed.add(container, State::Done, 0).await;
        let waiting = setting.compose_document(container, "Many.").await;
        for number in 0..1_100 {
            let status = if number % 3 == 0 && index == 0 {
                DocumentStatus::Queued
            } else {
                DocumentStatus::Failed
            };
            let document = Document {
                status,
                ..copy_of(&waiting, number)
            };
            setting.accept_record(&document, None).await?;
        }
    }

    let pending = [DocumentStatus::Queued, DocumentStatus::Failed].to_vec();
    let all = ListQuery {
        ascending: true,
        ..listed.query()
    };
    let everything = listed.scan(&all).await.documents;
    for (statuses, sort) in [
        (None, SortBy::CreatedAt),
        (None, SortBy::UpdatedAt),
        (Some(pending), SortBy::CreatedAt),
    ] {
        // The pages 42 and 43 of 50 end after the documents that are kept at a time.
        for (page, limit) in [(1, 20), (42, 50), (43, 50), (46, 50)] {
            let query = ListQuery {
                statuses: statuses.clone(),
                sort,
                ascending: page % 2 == 0,
                page,
                limit,
                ..listed.query()
            };
            let found = listed.list(&query).await;
            let wanted = select_page(&query, everything.clone());
            assert_eq!(found.total, wanted.total, "{query:?}");
            assert!(found.documents == wanted.documents, "{query:?}");
        }
    }
    Ok(())
}
