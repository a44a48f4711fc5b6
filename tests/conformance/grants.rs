//! Conformance tests of [`domain::ports::Connections`]: grants and claims.

use std::collections::BTreeSet;

use domain::connection::{DocumentClaim, Grant, OAuthAppRef, Provider, ProviderAccount};
use domain::{ConnectionId, DocumentId, GrantId, Tenant};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_permission_holds_only_over_the_one_before,
    of_many_who_renew_a_permission_one_is_first,
    a_permission_is_deleted_as_it_was_read,
    a_document_is_claimed_until_each_claim_is_given_up,
    claims_at_the_same_time_all_hold,
);

fn new_grant(subject: &str) -> Grant {
    Grant {
        id: GrantId::derived("cloud-drive", "client", subject),
        provider: Provider::CloudDrive,
        account: ProviderAccount {
            subject: subject.into(),
            email: None,
        },
        app: OAuthAppRef::Organization {
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

async fn get(setting: &PortFixture, tenant: &Tenant, id: &GrantId) -> Option<Grant> {
    retry_unavailable(async || setting.ctx().connections.get_grant(tenant, id).await)
        .await
        .expect("an answer")
}

/// Saves a grant. Under faults, a call may be repeated and then find its own write, which counts as
/// saved.
async fn save_grant(setting: &PortFixture, tenant: &Tenant, grant: &Grant) -> bool {
    let save = async || setting.ctx().connections.save_grant(tenant, grant).await;
    let saved = retry_unavailable(save).await.expect("an answer");
    saved || !setting.is_calm() && get(setting, tenant, &grant.id).await.as_ref() == Some(grant)
}

async fn delete(setting: &PortFixture, tenant: &Tenant, grant: &Grant) -> bool {
    let delete = async || setting.ctx().connections.delete_grant(tenant, grant).await;
    retry_unavailable(delete).await.expect("an answer")
}

async fn a_permission_holds_only_over_the_one_before(setting: &PortFixture) {
    let first = new_grant("somebody");
    assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    assert!(
        !save_grant(setting, &setting.alpha, &next(&first, "a")).await,
        "there is nothing before it"
    );
    assert!(save_grant(setting, &setting.alpha, &first).await);
    assert!(
        save_grant(setting, &setting.beta, &new_grant("somebody")).await,
        "another organization's is its own"
    );
    let second = next(&first, "a");
    assert!(save_grant(setting, &setting.alpha, &second).await);
    for late in [
        &next(&first, "b"),
        &next(&next(&second, "c"), "d"),
        &Grant {
            rev: 0,
            ..next(&first, "e")
        },
    ] {
        assert!(!save_grant(setting, &setting.alpha, late).await);
    }

    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(second));
    assert_eq!(
        get(setting, &setting.beta, &first.id)
            .await
            .map(|theirs| theirs.rev),
        Some(0)
    );
}

async fn of_many_who_renew_a_permission_one_is_first(setting: &PortFixture) {
    let first = new_grant("somebody");
    assert!(save_grant(setting, &setting.alpha, &first).await);
    // All begin in the same millisecond, so that their records are identical.
    let mine = Grant {
        refreshing_until: Some(setting.now().plus_seconds(30)),
        ..next(&first, "a")
    };
    let held = join_all((0..12).map(|_| save_grant(setting, &setting.alpha, &mine))).await;
    assert!(!setting.is_calm() || held.iter().filter(|held| **held).count() == 1);
    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(mine));
}

async fn a_permission_is_deleted_as_it_was_read(setting: &PortFixture) {
    let first = new_grant("somebody");
    assert!(delete(setting, &setting.alpha, &first).await, "it is gone");
    assert!(save_grant(setting, &setting.alpha, &first).await);
    let second = next(&first, "a");
    assert!(save_grant(setting, &setting.alpha, &second).await);
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
        save_grant(setting, &setting.alpha, &first).await,
        "it is given anew"
    );
}

async fn claim_document(
    setting: &PortFixture,
    tenant: &Tenant,
    document: &DocumentId,
    claim: &DocumentClaim,
) {
    let call = async || {
        setting
            .ctx()
            .connections
            .claim_document(tenant, document, claim)
            .await
    };
    retry_unavailable(call).await.expect("a claim");
}

async fn list_claims(
    setting: &PortFixture,
    tenant: &Tenant,
    document: &DocumentId,
) -> BTreeSet<DocumentClaim> {
    let call = async || {
        setting
            .ctx()
            .connections
            .list_claims(tenant, document)
            .await
    };
    let found = retry_unavailable(call).await.expect("claims");
    let total = found.len();
    let found: BTreeSet<DocumentClaim> = found.into_iter().collect();
    assert_eq!(found.len(), total, "each is there once");
    found
}

async fn a_document_is_claimed_until_each_claim_is_given_up(setting: &PortFixture) {
    let (document, other) = (DocumentId::random(), DocumentId::random());
    let connections = [ConnectionId::random(), ConnectionId::random()];
    let items = ["a", "a#b", "https://örter.example/a?b=c", &"x".repeat(3000)].map(str::to_owned);
    let mut wanted: BTreeSet<DocumentClaim> = BTreeSet::new();
    for (connection, item) in connections
        .iter()
        .flat_map(|one| items.iter().map(move |item| (one, item)))
    {
        let made = DocumentClaim {
            connection: connection.clone(),
            item: item.clone(),
        };
        for _ in 0..2 {
            claim_document(setting, &setting.alpha, &document, &made).await;
        }
        wanted.insert(made);
        assert_eq!(
            list_claims(setting, &setting.alpha, &document).await,
            wanted
        );
    }

    let theirs = DocumentClaim {
        connection: connections[0].clone(),
        item: "theirs".into(),
    };
    claim_document(setting, &setting.beta, &document, &theirs).await;
    claim_document(setting, &setting.alpha, &other, &theirs).await;

    for gone in wanted.clone() {
        for _ in 0..2 {
            let call = async || {
                setting
                    .ctx()
                    .connections
                    .release_claim(&setting.alpha, &document, &gone)
                    .await
            };
            retry_unavailable(call).await.expect("an answer");
        }

        wanted.remove(&gone);
        assert_eq!(
            list_claims(setting, &setting.alpha, &document).await,
            wanted
        );
    }

    assert_eq!(
        list_claims(setting, &setting.beta, &document).await,
        BTreeSet::from([theirs.clone()])
    );
    assert_eq!(
        list_claims(setting, &setting.alpha, &other).await,
        BTreeSet::from([theirs])
    );
}

async fn claims_at_the_same_time_all_hold(setting: &PortFixture) {
    let document = DocumentId::random();
    let made = |item: u32| DocumentClaim {
        connection: ConnectionId::random(),
        item: item.to_string(),
    };
    let all: Vec<DocumentClaim> = (0..40).map(made).collect();

    join_all(
        all.iter()
            .map(|one| claim_document(setting, &setting.alpha, &document, one)),
    )
    .await;
    assert_eq!(
        list_claims(setting, &setting.alpha, &document).await,
        all.into_iter().collect()
    );
}
