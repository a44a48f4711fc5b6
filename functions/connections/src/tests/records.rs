//! Tests of records: items, runs, notifications, the request log.

use domain::activity::TimeSpan;
use domain::connection::{
    ConnectionStatus, FeedState, ItemRecord, ItemState, NotificationChannel, Run, RunState,
    RunTrigger, SkipReason, SyncQueue, SyncQueueEntry, SyncState,
};
use domain::ports::SyncWrite;
use domain::{ConnectionId, Timestamp};
use serde_json::{Value, json};
use service::{RequestFilter, TicketKind, TicketValue, issue_ticket, list_requests};

use super::world::{DRIVE, TestWorld};

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn node(id: &str, state: ItemState) -> ItemRecord {
    ItemRecord {
        id: id.into(),
        parent: None,
        name: format!("{id}.md"),
        path: format!("/My Drive/{id}.md"),
        folder: false,
        target: None,
        drive: None,
        media_type: "text/markdown".into(),
        version: "1".into(),
        content_version: "1".into(),
        size: Some(5),
        modified_at: NOW,
        url: None,
        owner: None,
        kind: None,
        seen: 1,
        state,
        filed: None,
        attempts: 0,
        verdict: None,
    }
}

fn run(number: u64, state: RunState) -> Run {
    let run = Run::start(number, RunTrigger::Event, NOW.plus_seconds(number as i64));
    Run {
        state,
        processed: 3,
        failed: 1,
        skipped: 2,
        requests: 9,
        ..run
    }
}

#[tokio::test]
async fn what_became_of_items_and_runs_can_be_seen() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({"documentLimit": 2})).await;
    let connection_id = ConnectionId::parse(&id).unwrap();
    let skipped = |reason| ItemState::Skipped { reason };
    let mut writes = vec![
        SyncWrite::PutItem(Box::new(node("a", ItemState::Filed)), None),
        SyncWrite::PutItem(Box::new(node("b", skipped(SkipReason::TooLarge))), None),
        SyncWrite::PutItem(Box::new(node("c", skipped(SkipReason::Excluded))), None),
        SyncWrite::PutItem(
            Box::new(node(
                "d",
                ItemState::Failed {
                    reason: "502".into(),
                },
            )),
            None,
        ),
        SyncWrite::PutRun(Box::new(run(1, RunState::Completed))),
    ];
    for key in ["0#x", "1#001#y", "1#002#z", "9#1#w"] {
        writes.push(SyncWrite::Enqueue(
            SyncQueue::Fetch,
            SyncQueueEntry {
                key: key.into(),
                value: "{}".into(),
            },
        ));
    }
    let channel = NotificationChannel {
        id: "channel-1".into(),
        resource: "r".into(),
        expires_at: NOW,
    };
    let feed = FeedState {
        channel: Some(channel),
        ..FeedState::default()
    };
    let state = SyncState {
        step: 1,
        documents: 2,
        run: Some(run(2, RunState::Running)),
        feeds: [("user".to_owned(), feed)].into(),
        ..SyncState::default()
    };
    assert!(
        world
            .ctx
            .sync
            .commit_step(&world.tenant, &connection_id, &writes, &state)
            .await
            .unwrap()
    );

    let connection = world
        .call_route("GET", &format!("/v3/connections/{id}"), Value::Null)
        .await
        .json();
    assert_eq!(
        (&connection["documentCount"], &connection["skippedByLimit"]),
        (&json!(2), &json!(2)),
        "{connection}"
    );
    assert_eq!(connection["lastSyncRun"]["status"], "running");
    let runs = world
        .call_route(
            "GET",
            &format!("/v3/connections/{id}/sync-runs"),
            Value::Null,
        )
        .await
        .json();
    assert_eq!(runs[0]["id"], format!("{id}:2"));
    assert_eq!(
        (&runs[1]["status"], &runs[1]["triggerType"]),
        (&json!("completed"), &json!("event"))
    );
    assert_eq!(
        (&runs[1]["itemsProcessed"], &runs[1]["itemsFailed"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(runs[1]["error"], Value::Null);
    let items = |query: &str| format!("/v3/connections/{id}/items{query}");
    let skipped = world
        .call_route("GET", &items("?state=skipped&limit=1"), Value::Null)
        .await
        .json();
    assert_eq!(
        (&skipped["items"][0]["id"], &skipped["items"][0]["reason"]),
        (&json!("b"), &json!("too_large"))
    );
    let next = skipped["next"].as_str().unwrap();
    let rest = world
        .call_route(
            "GET",
            &items(&format!("?state=skipped&after={next}")),
            Value::Null,
        )
        .await
        .json();
    assert_eq!(
        (&rest["items"][0]["id"], &rest["items"][1], &rest["next"]),
        (&json!("c"), &Value::Null, &Value::Null)
    );
    let failed = world
        .call_route("GET", &items("?state=failed"), Value::Null)
        .await
        .json();
    assert_eq!(failed["items"][0]["reason"], "502");
    assert_eq!(
        world
            .call_route("GET", &items(""), Value::Null)
            .await
            .json()["items"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    for bad in ["?state=lost", "?limit=0", "?limit=101"] {
        assert_eq!(
            world
                .call_route("GET", &items(bad), Value::Null)
                .await
                .status,
            400,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_providers_notification_begins_a_run() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({})).await;
    let ticket_value = TicketValue::new(&world.tenant, &ConnectionId::parse(&id).unwrap());
    let until = world.ctx.clock.now().plus_seconds(3600);
    let token = issue_ticket(&world.ctx, TicketKind::Channel, &ticket_value, until)
        .await
        .unwrap();
    let notify = async |token: &str| {
        let path = "/v3/connections/google-drive/notifications";
        world
            .send(
                "POST",
                path,
                &[("x-goog-channel-token", token)],
                Value::Null,
            )
            .await
            .status
            .as_u16()
    };

    let now = world.ctx.clock.now();
    world
        .change_record(&id, |connection| {
            (connection.requested, connection.next_run_at) = (None, Some(now.plus_seconds(3600)));
            connection.last_run = Some(Run {
                started_at: now,
                ..run(1, RunState::Completed)
            });
        })
        .await;
    assert_eq!(notify(token.expose()).await, 200);
    let stored = world.stored(&id).await;
    assert_eq!(stored.requested, Some(RunTrigger::Event));
    assert_eq!(stored.next_run_at, Some(now.plus_seconds(30)));
    for _ in 0..3 {
        assert_eq!(notify(token.expose()).await, 200);
    }

    assert_eq!(world.stored(&id).await.rev, stored.rev);
    assert_eq!(notify("nonsense").await, 404);
    let path = "/v3/connections/cloud-drive/notifications";
    assert_eq!(world.send("POST", path, &[], Value::Null).await.status, 404);
    world.time.advance_seconds(3600);
    assert_eq!(notify(token.expose()).await, 404);
}

#[tokio::test]
async fn connections_whose_user_never_came_make_room() {
    let world = TestWorld::new().await;
    let (first, link) = world.connect(json!({})).await;
    world.time.advance_seconds(23 * 3600);
    let (second, _) = world.connect(json!({})).await;

    assert_eq!(
        world.stored(&first).await.status,
        ConnectionStatus::PendingOauth
    );

    world.time.advance_seconds(2 * 3600);
    world.connect(json!({})).await;
    assert!(!world.has_record(&first).await);
    assert_eq!(
        world.stored(&second).await.status,
        ConnectionStatus::PendingOauth
    );
    assert!(!link.is_empty());
}

#[tokio::test]
async fn no_link_of_a_browser_gets_into_the_request_log() {
    let world = TestWorld::new().await;
    service::change_settings(&world.ctx, &world.tenant, |settings| {
        settings.log_content = domain::settings::LogContentMode::Full;
        Ok(())
    })
    .await
    .unwrap();
    let created = world
        .call_route("POST", DRIVE, json!({"containerTag": "a"}))
        .await
        .json();
    let id = world.active_connection(json!({"containerTag": "b"})).await;
    let picker = world
        .call_route(
            "POST",
            &format!("/v3/connections/{id}/cloud-drive/hosted-picker"),
            json!({}),
        )
        .await;
    let span = TimeSpan::from_request(None, None, 3600, world.ctx.clock.now()).unwrap();
    let logged = list_requests(
        &world.ctx,
        &world.tenant,
        span,
        &RequestFilter::default(),
        1,
        100,
    )
    .await
    .unwrap();
    let log = format!("{:?}", logged.requests);

    assert!(
        log.contains("hosted-picker") && logged.requests.len() >= 4,
        "{log}"
    );

    for link in [&created["authLink"], &picker.json()["url"]] {
        let ticket = link
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        assert!(!log.contains(&ticket[..20]), "{ticket} in {log}");
    }
}
