//! Conformance tests for damaged bytes: [`domain::ports::Blobs::read`] and
//! [`domain::ports::Documents::fail_damaged`].

use bytes::Bytes;
use domain::ports::{BlobContent, BlobStore};
use domain::{
    BlobRef, ContainerId, DocumentStatus, FailureCode, PortError, ProcessingFailure, Revision,
};
use testkit::DamageKind;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_damaged_blob_is_told_from_the_others,
    only_a_document_that_is_as_it_was_read_is_failed,
    all_blobs_are_listed_page_by_page,
);

async fn a_damaged_blob_is_told_from_the_others(setting: &PortFixture) {
    let blobs = &setting.ctx().blobs;
    for (number, harm) in DamageKind::ALL.into_iter().enumerate() {
        let mut stored = Vec::new();
        for name in ["small", "large", "kept"] {
            let text = format!("{name} {number} ").repeat(if name == "large" { 9000 } else { 60 });
            let path = format!("c/{name}/{number}");
            let put = async || {
                blobs
                    .put(&setting.alpha, &path, Bytes::from(text.clone()))
                    .await
            };
            stored.push((
                retry_unavailable(put).await.expect("a blob"),
                Bytes::from(text),
            ));
        }

        for (blob, _) in &stored[..2] {
            setting.app.damage_blob(&setting.alpha, blob, harm).await;
        }
        let refs: Vec<BlobRef> = stored.iter().map(|(blob, _)| blob.clone()).collect();
        let read = retry_unavailable(async || blobs.read(&setting.alpha, &refs).await)
            .await
            .expect("an answer");
        let is_missing = harm == DamageKind::Missing;
        assert_eq!(
            read[0],
            if is_missing {
                BlobContent::Missing
            } else {
                BlobContent::Damaged
            },
            "{harm:?}"
        );

        // The bucket still lists the file.
        assert_eq!(read[1], BlobContent::Damaged, "{harm:?}");
        assert_eq!(
            read[2],
            BlobContent::Intact(stored[2].1.clone()),
            "{harm:?}"
        );

        let got = retry_unavailable(async || blobs.get_intact(&setting.alpha, &refs).await).await;
        assert!(matches!(got, Err(PortError::Corrupt(_))), "{harm:?}");
    }
}

async fn only_a_document_that_is_as_it_was_read_is_failed(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.served_document(&container, "Words.").await;
    let failure = ProcessingFailure {
        code: FailureCode::Damaged,
        message: "It cannot be read.".into(),
    };
    let fail = async |document: &domain::Document| {
        let documents = &setting.ctx().documents;
        let call = async || {
            documents
                .fail_damaged(&setting.alpha, document, &failure, setting.now())
                .await
        };
        retry_unavailable(call).await.expect("an answer")
    };
    let other = domain::Document {
        revision: Revision::random(),
        ..document.clone()
    };
    assert!(!fail(&other).await);

    let unserved = domain::Document {
        indexed: None,
        ..document.clone()
    };
    assert!(!fail(&unserved).await);
    assert_eq!(
        setting
            .read_record(&document.id)
            .await
            .expect("a record")
            .status,
        DocumentStatus::Done
    );

    let first = fail(&document).await;
    assert!(first || !setting.is_calm(), "an answer may be lost");
    let failed = setting.read_record(&document.id).await.expect("a record");
    assert_eq!(
        (failed.status, failed.failure.clone()),
        (DocumentStatus::Failed, Some(failure.clone()))
    );
    assert_eq!(failed.indexed, document.indexed);
    assert!(!fail(&failed).await);
}

async fn all_blobs_are_listed_page_by_page(setting: &PortFixture) {
    let blobs = &setting.ctx().blobs;
    let mut wanted = Vec::new();
    for tenant in [&setting.alpha, &setting.beta] {
        for number in 0..7 {
            let (small, large) = (format!("c/small/{number}"), format!("c/large/{number}"));
            let put = async || blobs.put(tenant, &small, Bytes::from("small")).await;
            wanted.push((
                tenant.org().clone(),
                retry_unavailable(put).await.expect("a blob"),
            ));
            let put = async || blobs.put_object(tenant, &large, Bytes::from("large")).await;
            wanted.push((
                tenant.org().clone(),
                retry_unavailable(put).await.expect("a blob"),
            ));
        }
    }

    for limit in [1, 3, 1000] {
        let mut found = Vec::new();
        for shelf in [BlobStore::Inline, BlobStore::Objects] {
            let mut after: Option<String> = None;
            loop {
                let page = retry_unavailable(async || {
                    blobs.list_inventory(shelf, after.as_deref(), limit).await
                })
                .await;
                let page = page.expect("a page");
                assert!(page.blobs.len() <= limit);
                let is_timed = |stored: &domain::ports::StoredBlob| {
                    stored.stored_at.is_some_and(|at| at <= setting.now())
                };
                assert!(page.blobs.iter().all(is_timed), "{page:?}");
                found.extend(
                    page.blobs
                        .into_iter()
                        .map(|stored| (stored.org, stored.blob)),
                );
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let mut wanted = wanted.clone();
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{limit} a page");
    }
}
