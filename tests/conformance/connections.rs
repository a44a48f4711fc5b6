//! Conformance tests of [`domain::ports::Connections`]: records and their due times.

use domain::connection::{ConnectionStatus, Provider, ProviderAccount, RunTrigger, Selection};
use domain::{Connection, ConnectionId, ContainerTag, OrgId, Tenant, Timestamp};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_record_holds_only_over_the_one_before,
    only_the_record_that_is_stored_is_deleted,
    of_many_saves_at_the_same_time_one_holds,
    connections_are_listed_oldest_first_by_organization,
    a_connection_is_due_from_its_next_run_on,
    who_waits_for_somebody_else_is_not_due,
    the_longest_overdue_come_first,
);

fn new_connection(setting: &PortFixture) -> Connection {
    let tag = ContainerTag::parse("notes").expect("a tag");
    let mut made = Connection::new(Provider::CloudDrive, tag, setting.now());
    made.account = Some(ProviderAccount {
        subject: "1#2".into(),
        email: Some("Zoë@örter.example".into()),
    });
    made.redirect_url = Some("https://örter.example/?a=1".into());
    made
}

fn next(connection: &Connection, document_limit: u32) -> Connection {
    Connection {
        rev: connection.rev + 1,
        document_limit,
        ..connection.clone()
    }
}

async fn get(setting: &PortFixture, tenant: &Tenant, id: &ConnectionId) -> Option<Connection> {
    retry_unavailable(async || setting.ctx().connections.get(tenant, id).await)
        .await
        .expect("an answer")
}

/// Saves a connection. Under faults, a call may be repeated and then find its own write, which
/// counts as saved.
async fn save(setting: &PortFixture, tenant: &Tenant, connection: &Connection) -> bool {
    let save = async || setting.ctx().connections.save(tenant, connection).await;
    let saved = retry_unavailable(save).await.expect("an answer");
    saved
        || !setting.is_calm()
            && get(setting, tenant, &connection.id).await.as_ref() == Some(connection)
}

async fn delete(setting: &PortFixture, tenant: &Tenant, connection: &Connection) -> bool {
    let delete = async || setting.ctx().connections.delete(tenant, connection).await;
    retry_unavailable(delete).await.expect("an answer")
}

async fn due_connections(
    setting: &PortFixture,
    before: Timestamp,
    limit: usize,
) -> Vec<(OrgId, ConnectionId)> {
    retry_unavailable(async || setting.ctx().connections.list_due(before, limit).await)
        .await
        .expect("what is due")
}

async fn a_record_holds_only_over_the_one_before(setting: &PortFixture) {
    let first = new_connection(setting);
    assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    assert!(
        !save(setting, &setting.alpha, &next(&first, 1)).await,
        "there is nothing before it"
    );
    assert!(save(setting, &setting.alpha, &first).await);
    assert!(
        !save(
            setting,
            &setting.alpha,
            &Connection {
                document_limit: 9,
                ..first.clone()
            }
        )
        .await
    );
    assert!(
        !save(setting, &setting.alpha, &next(&next(&first, 1), 2)).await,
        "one is left out"
    );
    let second = next(&first, 1);
    assert!(save(setting, &setting.alpha, &second).await);
    if setting.is_calm() {
        assert!(
            !save(setting, &setting.alpha, &second).await,
            "the same record again is another write"
        );
    }

    for late in [&first, &next(&first, 2)] {
        assert!(!save(setting, &setting.alpha, late).await);
    }

    assert_eq!(
        get(setting, &setting.alpha, &first.id).await.as_ref(),
        Some(&second)
    );
    assert_eq!(get(setting, &setting.beta, &first.id).await, None);
    assert!(
        !save(setting, &setting.beta, &next(&second, 3)).await,
        "of another organization"
    );
    assert_eq!(get(setting, &setting.alpha, &first.id).await, Some(second));
}

async fn only_the_record_that_is_stored_is_deleted(setting: &PortFixture) {
    let first = new_connection(setting);
    assert!(
        delete(setting, &setting.alpha, &first).await,
        "there is none"
    );
    assert!(save(setting, &setting.alpha, &first).await);

    let second = next(&first, 1);
    assert!(save(setting, &setting.alpha, &second).await);
    assert!(
        !delete(setting, &setting.alpha, &first).await,
        "it has changed"
    );
    assert!(
        delete(setting, &setting.beta, &second).await,
        "another organization has none"
    );
    assert_eq!(
        get(setting, &setting.alpha, &first.id).await.as_ref(),
        Some(&second)
    );
    assert!(delete(setting, &setting.alpha, &second).await);
    assert!(
        delete(setting, &setting.alpha, &second).await,
        "again is fine"
    );
    assert_eq!(get(setting, &setting.alpha, &first.id).await, None);
    assert!(
        !save(setting, &setting.alpha, &next(&second, 2)).await,
        "who comes late does not bring it back"
    );
}

async fn of_many_saves_at_the_same_time_one_holds(setting: &PortFixture) {
    let first = new_connection(setting);
    assert!(save(setting, &setting.alpha, &first).await);
    let all: Vec<Connection> = (1..=12).map(|limit| next(&first, limit)).collect();
    let held = join_all(all.iter().map(|one| save(setting, &setting.alpha, one))).await;
    let stored = get(setting, &setting.alpha, &first.id)
        .await
        .expect("a connection");
    for (one, held) in all.iter().zip(held) {
        assert_eq!(held, *one == stored);
    }

    // Two writers of identical records still compete, and only one of them wins.
    let same = next(&stored, 77);
    let held = join_all((0..12).map(|_| save(setting, &setting.alpha, &same))).await;
    assert!(!setting.is_calm() || held.iter().filter(|held| **held).count() == 1);
}

async fn connections_are_listed_oldest_first_by_organization(setting: &PortFixture) {
    let ctx = setting.ctx();
    let list = async |tenant: &Tenant| {
        retry_unavailable(async || ctx.connections.list(tenant).await)
            .await
            .expect("a list")
    };
    assert!(list(&setting.alpha).await.is_empty());

    let mut made = Vec::new();
    for status in [
        ConnectionStatus::Active,
        ConnectionStatus::Deleting,
        ConnectionStatus::PendingOauth,
    ] {
        let connection = Connection {
            status,
            ..new_connection(setting)
        };
        assert!(save(setting, &setting.alpha, &connection).await);

        // The same partition holds other records next to connections. The list must skip them.
        let selection = Selection {
            rev: 1,
            ..Selection::default()
        };
        let select = async || {
            ctx.sync
                .save_selection(&setting.alpha, &connection.id, &selection)
                .await
        };
        retry_unavailable(select).await.expect("an answer");
        made.push(connection);
        setting.app.environment.clock.advance_seconds(1);
    }

    let theirs = new_connection(setting);
    assert!(save(setting, &setting.beta, &theirs).await);
    let tag = ContainerTag::parse("CX").expect("a tag");
    let (id, now) = (domain::ContainerId::random(), setting.now());
    let create = async || {
        ctx.containers
            .create_tag(&setting.alpha, &tag, id.clone(), now)
            .await
    };
    retry_unavailable(create).await.expect("a container");
    assert_eq!(list(&setting.alpha).await, made);
    assert_eq!(list(&setting.beta).await, [theirs]);

    let tags = retry_unavailable(async || ctx.containers.list(&setting.alpha).await)
        .await
        .expect("a list");
    assert_eq!(tags.len(), 1, "a connection is no container");
}

async fn a_connection_is_due_from_its_next_run_on(setting: &PortFixture) {
    let now = setting.now();
    let mut connection = Connection {
        status: ConnectionStatus::Active,
        ..new_connection(setting)
    };

    assert!(save(setting, &setting.alpha, &connection).await);
    assert!(
        due_connections(setting, Timestamp::from_millis(i64::MAX), 10)
            .await
            .is_empty(),
        "it has no next run"
    );
    for (status, seconds) in [
        (ConnectionStatus::Active, 100),
        (ConnectionStatus::Active, 5),
        (ConnectionStatus::Expired, 3600),
        (ConnectionStatus::Suspended, 86_400),
        (ConnectionStatus::Deleting, 60),
    ] {
        connection = Connection {
            status,
            ..next(&connection, 1)
        };
        connection.request_run(RunTrigger::Cron, now.plus_seconds(seconds));
        assert!(save(setting, &setting.alpha, &connection).await);
        assert!(
            due_connections(setting, now.plus_seconds(seconds), 10)
                .await
                .is_empty(),
            "{status:?}"
        );
        let named = (setting.alpha.org().clone(), connection.id.clone());
        assert_eq!(
            due_connections(setting, now.plus_seconds(seconds + 1), 10).await,
            [named],
            "{status:?}"
        );
    }

    let overdue = async || {
        setting
            .ctx()
            .documents
            .list_overdue(Timestamp::from_millis(i64::MAX), 10)
            .await
    };

    assert!(
        retry_unavailable(overdue)
            .await
            .expect("what is overdue")
            .is_empty(),
        "a run to come is no unfinished work"
    );
    let count = async || {
        setting
            .ctx()
            .documents
            .count_unfinished(&setting.alpha, 10)
            .await
    };
    assert_eq!(retry_unavailable(count).await.expect("a count"), 0);
}

async fn who_waits_for_somebody_else_is_not_due(setting: &PortFixture) {
    let now = setting.now();
    for (status, next_run_at, is_due) in [
        (ConnectionStatus::PendingOauth, Some(now), false),
        (ConnectionStatus::AwaitingSelection, Some(now), false),
        (ConnectionStatus::Expired, None, false),
        (ConnectionStatus::Suspended, None, false),
        (ConnectionStatus::Deleting, None, true),
    ] {
        let connection = Connection {
            status,
            next_run_at,
            ..new_connection(setting)
        };
        assert!(save(setting, &setting.alpha, &connection).await);

        let found = due_connections(setting, now.plus_seconds(1), 10).await;
        assert_eq!(!found.is_empty(), is_due, "{status:?}");
        assert!(delete(setting, &setting.alpha, &connection).await);
        assert!(
            due_connections(setting, Timestamp::from_millis(i64::MAX), 10)
                .await
                .is_empty(),
            "{status:?}"
        );
    }
}

async fn the_longest_overdue_come_first(setting: &PortFixture) {
    let now = setting.now();
    let mut wanted = Vec::new();
    for i in 0..30 {
        let mut connection = Connection {
            status: ConnectionStatus::Active,
            ..new_connection(setting)
        };
        connection.next_run_at = Some(now.plus_seconds(-i));
        let tenant = if i % 3 == 0 {
            &setting.beta
        } else {
            &setting.alpha
        };
        assert!(save(setting, tenant, &connection).await);
        wanted.insert(0, (tenant.org().clone(), connection.id));
    }

    assert_eq!(
        due_connections(setting, now.plus_seconds(1), 100).await,
        wanted
    );
    assert_eq!(
        due_connections(setting, now.plus_seconds(1), 7).await,
        wanted[..7]
    );
    assert_eq!(
        due_connections(setting, now.plus_seconds(-9), 100).await,
        wanted[..20]
    );
    // Due connections, however many, do not displace unfinished work.
    setting
        .accept_document(&domain::ContainerId::random(), "Words.")
        .await;
    let overdue = async || {
        setting
            .ctx()
            .documents
            .list_overdue(Timestamp::from_millis(i64::MAX), 1)
            .await
    };
    assert_eq!(
        retry_unavailable(overdue)
            .await
            .expect("what is overdue")
            .len(),
        1
    );
}
