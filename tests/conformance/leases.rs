//! Conformance tests of [`domain::ports::Documents::claim`]: one worker at a time.

use domain::ports::ClaimOutcome;
use domain::{
    ContainerId, Document, DocumentChange, DocumentStatus, FailureCode, ProcessingFailure, Revision,
};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_lease_keeps_others_out_until_it_ends,
    postponing_ends_a_lease,
    waiting_for_a_file_uses_up_no_attempt,
    what_is_over_or_replaced_or_deleted_is_gone,
    of_many_claims_at_the_same_time_one_holds,
);

async fn a_lease_keeps_others_out_until_it_ends(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let ClaimOutcome::Claimed(mine) = setting.take_lease(&document).await else {
        panic!("nobody has it")
    };

    assert_eq!(
        (mine.status, mine.attempts),
        (DocumentStatus::Extracting, 1)
    );
    assert_eq!(
        setting.read_record(&document.id).await.as_ref(),
        Some(&*mine)
    );
    assert!(matches!(
        setting.take_lease(&document).await,
        ClaimOutcome::Busy
    ));
    setting.app.environment.clock.advance_seconds(60);
    assert!(matches!(
        setting.take_lease(&document).await,
        ClaimOutcome::Busy
    ));
    setting.app.environment.clock.advance_seconds(31);
    let ClaimOutcome::Claimed(again) = setting.take_lease(&document).await else {
        panic!("the lease has ended")
    };

    assert_eq!(again.attempts, 2);
}

async fn postponing_ends_a_lease(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let ClaimOutcome::Claimed(claimed) = setting.take_lease(&document).await else {
        panic!("nobody has a lease");
    };
    let (ports, later) = (&setting.ctx().documents, setting.now().plus_seconds(500));
    let postpone = async |lease| {
        let (id, revision) = (&document.id, &document.revision);
        retry_unavailable(async || {
            ports
                .postpone_revision(&setting.alpha, id, revision, lease, later)
                .await
        })
        .await
        .expect("an answer")
    };
    assert!(
        !postpone(document.lease_until).await,
        "another worker has a lease"
    );
    assert!(matches!(
        setting.take_lease(&document).await,
        ClaimOutcome::Busy
    ));
    assert!(postpone(claimed.lease_until).await);
    assert!(matches!(
        setting.take_lease(&document).await,
        ClaimOutcome::Claimed(_)
    ));
}

async fn waiting_for_a_file_uses_up_no_attempt(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let (ports, later) = (&setting.ctx().documents, setting.now().plus_seconds(500));
    for _ in 0..3 {
        let ClaimOutcome::Claimed(mine) = setting.take_lease(&document).await else {
            panic!("nobody has it")
        };
        assert_eq!(mine.attempts, 1);
        assert!(
            retry_unavailable(async || ports.requeue_until(&setting.alpha, &mine, later).await)
                .await
                .is_ok()
        );
        let waiting = setting.read_record(&document.id).await.expect("a record");
        assert_eq!(
            (waiting.status, waiting.attempts),
            (DocumentStatus::Queued, 0)
        );
    }

    let ClaimOutcome::Claimed(old) = setting.take_lease(&document).await else {
        panic!("nobody has it")
    };
    setting.app.environment.clock.advance_seconds(100);
    let ClaimOutcome::Claimed(new) = setting.take_lease(&document).await else {
        panic!("the lease has ended")
    };
    assert!(
        !retry_unavailable(async || ports.requeue_until(&setting.alpha, &old, later).await)
            .await
            .expect("an answer")
    );
    assert_eq!(
        setting.read_record(&document.id).await.as_ref(),
        Some(&*new),
        "it is another worker's by now"
    );
}

async fn what_is_over_or_replaced_or_deleted_is_gone(setting: &PortFixture) {
    let container = ContainerId::random();
    let missing = setting.compose_document(&container, "Never stored.").await;
    assert!(matches!(
        setting.take_lease(&missing).await,
        ClaimOutcome::Outdated
    ));
    assert_eq!(
        setting.read_record(&missing.id).await,
        None,
        "a claim never makes a record"
    );

    let old = setting.accept_document(&container, "Old.").await;
    let new = Document {
        revision: Revision::random(),
        revision_number: 2,
        ..old.clone()
    };
    setting
        .accept_record(&new, Some(&old.revision))
        .await
        .expect("a replacement");
    assert!(matches!(
        setting.take_lease(&old).await,
        ClaimOutcome::Outdated
    ));

    let done = setting.extracted_document(&container, "Done.").await;
    setting
        .commit(
            &container,
            0,
            &[DocumentChange::Publish(Box::new(done.clone()))],
        )
        .await;
    assert!(matches!(
        setting.take_lease(&done).await,
        ClaimOutcome::Outdated
    ));
    let done = setting.read_record(&done.id).await.expect("a record");
    setting
        .commit(
            &container,
            1,
            &[DocumentChange::Remove(Box::new(done.clone()))],
        )
        .await;
    assert!(matches!(
        setting.take_lease(&done).await,
        ClaimOutcome::Outdated
    ));

    let failed = setting.accept_document(&container, "Failed.").await;
    let failure = ProcessingFailure {
        code: FailureCode::Empty,
        message: "There is nothing in it.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let fail = async || {
        ports
            .fail_revision(
                &setting.alpha,
                &failed.id,
                &failed.revision,
                &failure,
                None,
                now,
            )
            .await
    };
    retry_unavailable(fail).await.expect("an answer");
    assert!(matches!(
        setting.take_lease(&failed).await,
        ClaimOutcome::Outdated
    ));
}

async fn of_many_claims_at_the_same_time_one_holds(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let claims = futures::future::join_all((0..12).map(|_| setting.take_lease(&document))).await;
    let mine = claims
        .iter()
        .filter(|claim| matches!(claim, ClaimOutcome::Claimed(_)))
        .count();
    let busy = claims
        .iter()
        .filter(|claim| matches!(claim, ClaimOutcome::Busy))
        .count();

    assert_eq!((mine, busy), (1, 11));
    assert_eq!(
        setting
            .read_record(&document.id)
            .await
            .expect("a record")
            .attempts,
        1
    );
}
