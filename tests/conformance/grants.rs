//! Conformance tests of [`domain::ports::Connections`]: grants and claims.

use std::collections::BTreeSet;

use domain::connection::{Account, AppRef, Claim, Grant, Provider};
use domain::{ConnectionId, DocumentId, GrantId, Tenant};
use futures::future::join_all;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_permission_holds_only_over_the_one_before,
    of_many_who_renew_a_permission_one_is_first,
    a_permission_is_deleted_as_it_was_read,
    a_document_is_claimed_until_each_claim_is_given_up,
    claims_at_the_same_time_all_hold,
);

fn fresh(subject: &str) -> Grant {
    Grant {
        id: GrantId::derived("cloud-drive", "client", subject),
        provider: Provider::CloudDrive,
        account: Account {
            subject: subject.into(),
            email: None,
        },
        app: AppRef::Organization {
            client_id: "client".into(),
            secret: "app#1".into(),
        },
        connections: BTreeSet::from([ConnectionId::random()]),
        secret: "grant/ä".into(),
        refreshing_until: None,
        throttled_until: None,
        rev: 0,
    }
}

fn next(grant: &Grant, secret: &str) -> Grant {
    Grant {
        rev: grant.rev + 1,
        secret: secret.into(),
        ..grant.clone()
    }
}

async fn get(setting: &Setting, tenant: &Tenant, id: &GrantId) -> Option<Grant> {
    again(async || setting.ctx().connections.grant(tenant, id).await)
        .await
        .expect("an answer")
}

/// Saves a grant. Under faults, a call may be repeated and then find its own write, which counts as
/// saved.
async fn save(setting: &Setting, tenant: &Tenant, grant: &Grant) -> bool {
    let save = async || setting.ctx().connections.save_grant(tenant, grant).await;
    let saved = again(save).await.expect("an answer");
    saved || !setting.is_calm() && get(setting, tenant, &grant.id).await.as_ref() == Some(grant)
}

async fn delete(setting: &Setting, tenant: &Tenant, grant: &Grant) -> bool {
    let delete = async || setting.ctx().connections.delete_grant(tenant, grant).await;
    again(delete).await.expect("an answer")
}

async fn a_permission_holds_only_over_the_one_before(setting: &Setting) {
    let first = fresh("somebody");
    assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    assert!(
        !save(setting, &setting.alpha, &next(&first, "a")).await,
        "there is nothing before it"
    );
    assert!(save(setting, &setting.alpha, &first).await);
    assert!(
        save(setting, &setting.beta, &fresh("somebody")).await,
        "another organization's is its own"
    );
    let second = next(&first, "a");
    assert!(save(setting, &setting.alpha, &second).await);
    for late in [
        &next(&first, "b"),
        &next(&next(&second, "c"), "d"),
        &Grant {
            rev: 0,
            ..next(&first, "e")
        },
    ] {
        assert!(!save(setting, &setting.alpha, late).await);
    }

    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(second));
    assert_eq!(
        get(setting, &setting.beta, &first.id)
            .await
            .map(|theirs| theirs.rev),
        Some(0)
    );
}

async fn of_many_who_renew_a_permission_one_is_first(setting: &Setting) {
    let first = fresh("somebody");
    assert!(save(setting, &setting.alpha, &first).await);
    // All begin in the same millisecond, so that their records are identical.
    let mine = Grant {
        refreshing_until: Some(setting.now().plus_seconds(30)),
        ..next(&first, "a")
    };
    let held = join_all((0..12).map(|_| save(setting, &setting.alpha, &mine))).await;
    assert!(!setting.is_calm() || held.iter().filter(|held| **held).count() == 1);
    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(mine));
}

async fn a_permission_is_deleted_as_it_was_read(setting: &Setting) {
    let first = fresh("somebody");
    assert!(delete(setting, &setting.alpha, &first).await, "it is gone");
    assert!(save(setting, &setting.alpha, &first).await);
    let second = next(&first, "a");
    assert!(save(setting, &setting.alpha, &second).await);
    assert!(
        !delete(setting, &setting.alpha, &first).await,
        "somebody has changed it"
    );
    assert!(
        delete(setting, &setting.beta, &second).await,
        "there is none"
    );
    assert_eq!(
        get(setting, &setting.alpha, &first.id).await.as_ref(),
        Some(&second)
    );
    for _ in 0..2 {
        assert!(delete(setting, &setting.alpha, &second).await);
        assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    }

    assert!(
        save(setting, &setting.alpha, &first).await,
        "it is given anew"
    );
}

async fn claim(setting: &Setting, tenant: &Tenant, document: &DocumentId, claim: &Claim) {
    let call = async || {
        setting
            .ctx()
            .connections
            .claim(tenant, document, claim)
            .await
    };
    again(call).await.expect("a claim");
}

async fn claims(setting: &Setting, tenant: &Tenant, document: &DocumentId) -> BTreeSet<Claim> {
    let call = async || setting.ctx().connections.claims(tenant, document).await;
    let found = again(call).await.expect("claims");
    let total = found.len();
    let found: BTreeSet<Claim> = found.into_iter().collect();
    assert_eq!(found.len(), total, "each is there once");
    found
}

async fn a_document_is_claimed_until_each_claim_is_given_up(setting: &Setting) {
    let (document, other) = (DocumentId::random(), DocumentId::random());
    let connections = [ConnectionId::random(), ConnectionId::random()];
    let items = ["a", "a#b", "https://örter.example/a?b=c", &"x".repeat(3000)].map(str::to_owned);
    let mut wanted: BTreeSet<Claim> = BTreeSet::new();
    for (connection, item) in connections
        .iter()
        .flat_map(|one| items.iter().map(move |item| (one, item)))
    {
        let made = Claim {
            connection: connection.clone(),
            item: item.clone(),
        };
        for _ in 0..2 {
            claim(setting, &setting.alpha, &document, &made).await;
        }
        wanted.insert(made);
        assert_eq!(claims(setting, &setting.alpha, &document).await, wanted);
    }

    let theirs = Claim {
        connection: connections[0].clone(),
        item: "theirs".into(),
    };
    claim(setting, &setting.beta, &document, &theirs).await;
    claim(setting, &setting.alpha, &other, &theirs).await;

    for gone in wanted.clone() {
        for _ in 0..2 {
            let call = async || {
                setting
                    .ctx()
                    .connections
                    .unclaim(&setting.alpha, &document, &gone)
                    .await
            };
            again(call).await.expect("an answer");
        }

        wanted.remove(&gone);
        assert_eq!(claims(setting, &setting.alpha, &document).await, wanted);
    }

    assert_eq!(
        claims(setting, &setting.beta, &document).await,
        BTreeSet::from([theirs.clone()])
    );
    assert_eq!(
        claims(setting, &setting.alpha, &other).await,
        BTreeSet::from([theirs])
    );
}

async fn claims_at_the_same_time_all_hold(setting: &Setting) {
    let document = DocumentId::random();
    let made = |item: u32| Claim {
        connection: ConnectionId::random(),
        item: item.to_string(),
    };
    let all: Vec<Claim> = (0..40).map(made).collect();

    join_all(
        all.iter()
            .map(|one| claim(setting, &setting.alpha, &document, one)),
    )
    .await;
    assert_eq!(
        claims(setting, &setting.alpha, &document).await,
        all.into_iter().collect()
    );
}
