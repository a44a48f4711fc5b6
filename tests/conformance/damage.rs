//! Conformance tests for damaged bytes: [`domain::ports::Blobs::read`] and
//! [`domain::ports::Documents::fail_damaged`].

use bytes::Bytes;
use domain::ports::{Shelf, Stored};
use domain::{BlobRef, ContainerId, Failure, FailureCode, PortError, Revision, Status};
use testkit::Harm;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_damaged_blob_is_told_from_the_others,
    only_a_document_that_is_as_it_was_read_is_failed,
    all_blobs_are_listed_page_by_page,
);

async fn a_damaged_blob_is_told_from_the_others(setting: &Setting) {
    let blobs = &setting.ctx().blobs;
    for (number, harm) in Harm::ALL.into_iter().enumerate() {
        let mut stored = Vec::new();
        for name in ["small", "large", "kept"] {
            let text = format!("{name} {number} ").repeat(if name == "large" { 9000 } else { 60 });
            let path = format!("c/{name}/{number}");
            let put = async || {
                blobs
                    .put(&setting.alpha, &path, Bytes::from(text.clone()))
                    .await
            };
            stored.push((again(put).await.expect("a blob"), Bytes::from(text)));
        }

        for (blob, _) in &stored[..2] {
            setting.app.harm(&setting.alpha, blob, harm).await;
        }
        let refs: Vec<BlobRef> = stored.iter().map(|(blob, _)| blob.clone()).collect();
        let read = again(async || blobs.read(&setting.alpha, &refs).await)
            .await
            .expect("an answer");
        let is_missing = harm == Harm::Missing;
        assert_eq!(
            read[0],
            if is_missing {
                Stored::Missing
            } else {
                Stored::Damaged
            },
            "{harm:?}"
        );

        // The bucket still lists the file.
        assert_eq!(read[1], Stored::Damaged, "{harm:?}");
        assert_eq!(read[2], Stored::Intact(stored[2].1.clone()), "{harm:?}");

        let got = again(async || blobs.get(&setting.alpha, &refs).await).await;
        assert!(matches!(got, Err(PortError::Corrupt(_))), "{harm:?}");
    }
}

async fn only_a_document_that_is_as_it_was_read_is_failed(setting: &Setting) {
    let container = ContainerId::random();
    let document = setting.served(&container, "Words.").await;
    let failure = Failure {
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
        again(call).await.expect("an answer")
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
        setting.record(&document.id).await.expect("a record").status,
        Status::Done
    );

    let first = fail(&document).await;
    assert!(first || !setting.is_calm(), "an answer may be lost");
    let failed = setting.record(&document.id).await.expect("a record");
    assert_eq!(
        (failed.status, failed.failure.clone()),
        (Status::Failed, Some(failure.clone()))
    );
    assert_eq!(failed.indexed, document.indexed);
    assert!(!fail(&failed).await);
}

async fn all_blobs_are_listed_page_by_page(setting: &Setting) {
    let blobs = &setting.ctx().blobs;
    let mut wanted = Vec::new();
    for tenant in [&setting.alpha, &setting.beta] {
        for number in 0..7 {
            let (small, large) = (format!("c/small/{number}"), format!("c/large/{number}"));
            let put = async || blobs.put(tenant, &small, Bytes::from("small")).await;
            wanted.push((tenant.org().clone(), again(put).await.expect("a blob")));
            let put = async || blobs.put_object(tenant, &large, Bytes::from("large")).await;
            wanted.push((tenant.org().clone(), again(put).await.expect("a blob")));
        }
    }

    for limit in [1, 3, 1000] {
        let mut found = Vec::new();
        for shelf in [Shelf::Inline, Shelf::Objects] {
            let mut after: Option<String> = None;
            loop {
                let page =
                    again(async || blobs.inventory(shelf, after.as_deref(), limit).await).await;
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
