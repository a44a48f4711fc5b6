//! Conformance tests of [`domain::ports::Documents`]: pages, counts and erasure.

use domain::ports::DocumentListing;
use domain::{ContainerId, Document, DocumentId, Tenant, Timestamp};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    pages_show_each_document_once_the_oldest_first,
    documents_are_counted_by_container_and_no_further_than_asked,
    unfinished_documents_are_counted_by_organization,
    erased_records_are_gone_with_all_that_points_at_them,
);

/// Creates `many` documents in a container, each a second after the previous one.
async fn accept_documents(
    setting: &PortFixture,
    container: &ContainerId,
    many: usize,
) -> Vec<Document> {
    let mut all = Vec::new();
    for i in 0..many {
        all.push(
            setting
                .accept_document(container, &format!("Number {i}."))
                .await,
        );
        setting.app.environment.clock.advance_seconds(1);
    }
    all
}

async fn read_pages(
    setting: &PortFixture,
    tenant: &Tenant,
    container: &ContainerId,
    size: usize,
) -> Vec<Document> {
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let documents = &setting.ctx().documents;
        let page = async || {
            documents
                .list_page(
                    tenant,
                    container,
                    DocumentListing::OldestFirst,
                    after.as_deref(),
                    size,
                )
                .await
        };
        let (page, next) = retry_unavailable(page).await.expect("a page");
        assert!(page.len() <= size);

        found.extend(page);
        let Some(next) = next else { return found };
        assert!(after.is_none_or(|after| after < next), "it goes on");

        after = Some(next);
    }
}

async fn pages_show_each_document_once_the_oldest_first(setting: &PortFixture) {
    let (one, two) = (ContainerId::random(), ContainerId::random());
    let wanted = accept_documents(setting, &one, 12).await;
    let other = setting.accept_document(&two, "Elsewhere.").await;
    for size in [1, 4, 5, 12, 100] {
        assert_eq!(
            read_pages(setting, &setting.alpha, &one, size).await,
            wanted,
            "{size} a page"
        );
    }

    assert_eq!(read_pages(setting, &setting.alpha, &two, 5).await, [other]);
    assert!(read_pages(setting, &setting.beta, &one, 5).await.is_empty());
    assert!(
        read_pages(setting, &setting.alpha, &ContainerId::random(), 5)
            .await
            .is_empty()
    );
    // An erasure during a walk does not stop the walk, not even if it erases the cursor's document.
    let documents = &setting.ctx().documents;
    let page = async || {
        documents
            .list_page(&setting.alpha, &one, DocumentListing::OldestFirst, None, 5)
            .await
    };
    let (first, next) = retry_unavailable(page).await.expect("a page");
    let ids: Vec<DocumentId> = first.iter().map(|document| document.id.clone()).collect();
    retry_unavailable(async || documents.erase_records(&setting.alpha, &one, &ids).await)
        .await
        .expect("erased records");
    let rest = async || {
        documents
            .list_page(
                &setting.alpha,
                &one,
                DocumentListing::OldestFirst,
                next.as_deref(),
                100,
            )
            .await
    };

    assert_eq!(
        retry_unavailable(rest).await.expect("a page"),
        (wanted[5..].to_vec(), None)
    );
}

async fn documents_are_counted_by_container_and_no_further_than_asked(setting: &PortFixture) {
    let (one, two) = (ContainerId::random(), ContainerId::random());
    accept_documents(setting, &one, 11).await;
    setting.accept_document(&two, "Elsewhere.").await;

    for (tenant, container, enough, wanted) in [
        (&setting.alpha, &one, 1000, Some(11)),
        (&setting.alpha, &one, 11, Some(11)),
        (&setting.alpha, &one, 10, None),
        (&setting.alpha, &one, 0, None),
        (&setting.alpha, &one, usize::MAX, Some(11)),
        (&setting.alpha, &two, 1, Some(1)),
        (&setting.beta, &one, 1000, Some(0)),
        (&setting.alpha, &ContainerId::random(), 0, Some(0)),
    ] {
        let count = async || {
            setting
                .ctx()
                .documents
                .count(tenant, container, enough)
                .await
        };
        assert_eq!(
            retry_unavailable(count).await.expect("a count"),
            wanted,
            "up to {enough}"
        );
    }
}

async fn unfinished_documents_are_counted_by_organization(setting: &PortFixture) {
    let container = ContainerId::random();
    let count = async |tenant: &Tenant, enough: usize| {
        let documents = &setting.ctx().documents;
        retry_unavailable(async || documents.count_unfinished(tenant, enough).await)
            .await
            .expect("a count")
    };
    assert_eq!(count(&setting.alpha, 10).await, 0);

    accept_documents(setting, &container, 11).await;
    let theirs = setting.with_organizations_swapped().await;
    accept_documents(&theirs, &container, 2).await;
    // Finished documents and purges do not count as unfinished documents.
    setting.served_document(&container, "Done.").await;
    let (index, now) = (&setting.ctx().index, setting.now());
    let purge = async || {
        index
            .record_purge(&setting.alpha, &container, &[], now)
            .await
    };
    retry_unavailable(purge).await.expect("a purge record");

    for (enough, wanted) in [(1000, 11), (11, 11), (4, 4), (1, 1)] {
        assert_eq!(count(&setting.alpha, enough).await, wanted);
    }

    assert_eq!(count(&setting.beta, 1000).await, 2);
}

async fn erased_records_are_gone_with_all_that_points_at_them(setting: &PortFixture) {
    let container = ContainerId::random();
    let all = accept_documents(setting, &container, 30).await;
    let kept = setting.accept_document(&container, "Kept.").await;
    let served = setting.served_document(&container, "Served.").await;
    let mut ids: Vec<DocumentId> = all.iter().map(|document| document.id.clone()).collect();
    ids.extend([served.id.clone(), DocumentId::random(), ids[0].clone()]);
    let erase = async |tenant: &Tenant| {
        let documents = &setting.ctx().documents;
        retry_unavailable(async || documents.erase_records(tenant, &container, &ids).await)
            .await
            .expect("erased records");
    };
    let elsewhere = ContainerId::random();
    let documents = &setting.ctx().documents;
    retry_unavailable(async || {
        documents
            .erase_records(&setting.alpha, &elsewhere, &ids)
            .await
    })
    .await
    .expect("nothing to erase");
    erase(&setting.beta).await;
    assert_eq!(
        read_pages(setting, &setting.alpha, &container, 100)
            .await
            .len(),
        32,
        "not theirs to erase"
    );

    for _ in 0..2 {
        erase(&setting.alpha).await;
        assert_eq!(setting.read_record(&ids[3]).await, None);
        assert_eq!(
            read_pages(setting, &setting.alpha, &container, 100).await,
            std::slice::from_ref(&kept)
        );
        let far = Timestamp::from_millis(i64::MAX);
        let due = async || setting.ctx().documents.list_overdue(far, 100).await;
        assert_eq!(
            retry_unavailable(due).await.expect("what is overdue").len(),
            1
        );
    }
}
