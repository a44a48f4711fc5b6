//! Conformance tests of [`domain::ports::Documents::claim`]: one worker at a time.

use domain::ports::Claim;
use domain::{Change, ContainerId, Document, Failure, FailureCode, Revision, Status};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_lease_keeps_others_out_until_it_ends,
    postponing_ends_a_lease,
    waiting_for_a_file_uses_up_no_attempt,
    what_is_over_or_replaced_or_deleted_is_gone,
    of_many_claims_at_the_same_time_one_holds,
);

async fn a_lease_keeps_others_out_until_it_ends(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Words.").await;
    let Claim::Mine(mine) = setting.claim(&document).await else {
        panic!("nobody has it")
    };

    assert_eq!((mine.status, mine.attempts), (Status::Extracting, 1));
    assert_eq!(setting.record(&document.id).await.as_ref(), Some(&*mine));
    assert!(matches!(setting.claim(&document).await, Claim::Busy));
    setting.app.world.clock.advance_seconds(60);
    assert!(matches!(setting.claim(&document).await, Claim::Busy));
    setting.app.world.clock.advance_seconds(31);
    let Claim::Mine(again) = setting.claim(&document).await else {
        panic!("the lease has ended")
    };

    assert_eq!(again.attempts, 2);
}

async fn postponing_ends_a_lease(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Words.").await;
    setting.claim(&document).await;
    let (ports, later) = (&setting.ctx().documents, setting.now().plus_seconds(500));
    let postpone = async || {
        ports
            .postpone(&setting.alpha, &document.id, &document.revision, later)
            .await
    };
    assert!(again(postpone).await.expect("an answer"));
    assert!(matches!(setting.claim(&document).await, Claim::Mine(_)));
}

async fn waiting_for_a_file_uses_up_no_attempt(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Words.").await;
    let (ports, later) = (&setting.ctx().documents, setting.now().plus_seconds(500));
    for _ in 0..3 {
        let Claim::Mine(mine) = setting.claim(&document).await else {
            panic!("nobody has it")
        };
        assert_eq!(mine.attempts, 1);
        assert!(
            again(async || ports.wait_on(&setting.alpha, &mine, later).await)
                .await
                .is_ok()
        );
        let waiting = setting.record(&document.id).await.expect("a record");
        assert_eq!((waiting.status, waiting.attempts), (Status::Queued, 0));
    }

    let Claim::Mine(old) = setting.claim(&document).await else {
        panic!("nobody has it")
    };
    setting.app.world.clock.advance_seconds(100);
    let Claim::Mine(new) = setting.claim(&document).await else {
        panic!("the lease has ended")
    };
    assert!(
        !again(async || ports.wait_on(&setting.alpha, &old, later).await)
            .await
            .expect("an answer")
    );
    assert_eq!(
        setting.record(&document.id).await.as_ref(),
        Some(&*new),
        "it is another worker's by now"
    );
}

async fn what_is_over_or_replaced_or_deleted_is_gone(setting: &Setting) {
    let container = ContainerId::random();
    let missing = setting.composed(&container, "Never stored.").await;
    assert!(matches!(setting.claim(&missing).await, Claim::Gone));
    assert_eq!(
        setting.record(&missing.id).await,
        None,
        "a claim never makes a record"
    );

    let old = setting.accepted(&container, "Old.").await;
    let new = Document {
        revision: Revision::random(),
        revision_number: 2,
        ..old.clone()
    };
    setting
        .accept(&new, Some(&old.revision))
        .await
        .expect("a replacement");
    assert!(matches!(setting.claim(&old).await, Claim::Gone));

    let done = setting.extracted(&container, "Done.").await;
    setting
        .commit(&container, 0, &[Change::Publish(Box::new(done.clone()))])
        .await;
    assert!(matches!(setting.claim(&done).await, Claim::Gone));
    let done = setting.record(&done.id).await.expect("a record");
    setting
        .commit(&container, 1, &[Change::Remove(Box::new(done.clone()))])
        .await;
    assert!(matches!(setting.claim(&done).await, Claim::Gone));

    let failed = setting.accepted(&container, "Failed.").await;
    let failure = Failure {
        code: FailureCode::Empty,
        message: "There is nothing in it.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let fail = async || {
        ports
            .fail(
                &setting.alpha,
                &failed.id,
                &failed.revision,
                &failure,
                None,
                now,
            )
            .await
    };
    again(fail).await.expect("an answer");
    assert!(matches!(setting.claim(&failed).await, Claim::Gone));
}

async fn of_many_claims_at_the_same_time_one_holds(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Words.").await;
    let claims = futures::future::join_all((0..12).map(|_| setting.claim(&document))).await;
    let mine = claims
        .iter()
        .filter(|claim| matches!(claim, Claim::Mine(_)))
        .count();
    let busy = claims
        .iter()
        .filter(|claim| matches!(claim, Claim::Busy))
        .count();

    assert_eq!((mine, busy), (1, 11));
    assert_eq!(
        setting
            .record(&document.id)
            .await
            .expect("a record")
            .attempts,
        1
    );
}
