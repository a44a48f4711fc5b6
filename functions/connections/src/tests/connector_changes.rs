//! Tests of the selection, the picker, the runs and the deletion of connectors.

use domain::connection::{
    ConnectionErrorKind, NotificationChannel, Run, RunState, RunTrigger, SyncState,
};
use domain::ports::SyncWrite;
use domain::{ConnectionId, Timestamp};
use serde_json::{Value, json};

use super::connectors::{BOX, drive, error, ids};
use super::world::{BASE, Browser, DRIVE, TestWorld};

impl TestWorld {
    /// Makes the writes of a step of the synchronization, and changes the state as `change` does.
    async fn write_step(&self, id: &str, writes: &[SyncWrite], change: impl Fn(&mut SyncState)) {
        let id = ConnectionId::parse(id).unwrap();
        let mut state = self.ctx.sync.get_state(&self.tenant, &id).await.unwrap();
        change(&mut state);
        state.step += 1;
        let sync = &self.ctx.sync;
        assert!(
            sync.commit_step(&self.tenant, &id, writes, &state)
                .await
                .unwrap()
        );
    }
}

#[tokio::test]
async fn a_selection_is_changed_with_the_limit() {
    let world = TestWorld::new().await;
    let id = world.permitted_connector(drive(json!({}))).await;
    let path = format!("{BOX}/{id}");
    let body = json!({"selection": {"files": ["d1"], "folders": ["f1"]}, "documentLimit": 5});
    let answer = world.call_route("PATCH", &path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let changed = answer.json();
    assert_eq!(
        changed["selection"],
        json!({
            "files": [{"id": "d1", "name": "Plan <b>2026</b>"}],
            "folders": [{"id": "f1", "name": "Projects"}],
        })
    );
    assert_eq!(changed["documentLimit"], 5);
    assert_eq!(world.show(&id).await, changed);

    let replaced = world
        .call_route("PATCH", &path, json!({"selection": {"files": ["d2"]}}))
        .await
        .json();
    assert_eq!(replaced["selection"]["folders"], json!([]));
    assert_eq!(replaced["selection"]["files"][0]["id"], "d2");

    for (body, message_part) in [
        (json!({}), "selection"),
        (json!({"documentLimit": 10_001}), "documentLimit"),
        (json!({"selection": {}}), "selection: at least one"),
        (
            json!({"selection": {"files": []}, "documentLimit": 7}),
            "selection: at least one",
        ),
        (json!({"selection": ["f1"]}), "selection"),
        (
            json!({"selection": {"repos": ["r"], "files": ["d1"]}}),
            "selection: ",
        ),
        (json!({"selection": {"labels": ["l"]}}), "selection: "),
        (
            json!({"selection": {"files": ["f1"]}}),
            "selection: the item f1 is a folder",
        ),
        (
            json!({"selection": {"folders": ["d1"]}}),
            "selection: the item d1 is a file",
        ),
        (
            json!({"selection": {"files": ["gone"]}, "documentLimit": 7}),
            "selection: ",
        ),
    ] {
        let (status, message) = error(&world.call_route("PATCH", &path, body.clone()).await);
        assert!(
            status == 400 && message.contains(message_part),
            "{body}: {status} {message}"
        );
    }
    let kept = world.show(&id).await;
    assert_eq!(kept["documentLimit"], 5);
    assert_eq!(kept["selection"], replaced["selection"]);
}

#[tokio::test]
async fn a_new_selection_keeps_what_the_user_left_out() {
    let world = TestWorld::new().await;
    let id = world.permitted_connector(drive(json!({}))).await;
    let body = json!({"resources": [{"id": "f1"}], "excluded": [{"id": "f2"}, {"id": "d3"}]});
    let path = format!("/v3/connections/{id}/configure");
    let answer = world.call_route("POST", &path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);

    let body = json!({"selection": {"files": ["d3"], "folders": ["f1"]}});
    let path = format!("{BOX}/{id}");
    let answer = world.call_route("PATCH", &path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let id = ConnectionId::parse(&id).unwrap();
    let sync = &world.ctx.sync;
    let selection = sync.get_selection(&world.tenant, &id).await.unwrap();
    let excluded: Vec<&str> = selection
        .excluded
        .iter()
        .map(|item| item.id.as_str())
        .collect();
    assert_eq!(excluded, ["f2"], "`d3` is selected now");
}

#[tokio::test]
async fn a_connector_that_takes_everything_has_nothing_to_select() {
    let world = TestWorld::new().await;
    let body = drive(json!({"config": {"syncScope": "full"}}));
    let (id, link) = world.setup(body).await;
    let path = format!("{BOX}/{id}");
    let select = json!({"selection": {"folders": ["f1"]}});
    let (status, _) = error(&world.call_route("PATCH", &path, select.clone()).await);
    assert_eq!(status, 409, "before there is permission");

    let answer = Browser::default().run_consent(&world, &link).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = world.read(&format!("{path}?include=picker")).await;
    assert_eq!(shown["selection"], Value::Null);
    assert_eq!(shown.get("picker"), None);
    assert_eq!(shown["config"], json!({"syncScope": "full"}));
    assert_eq!(shown["capabilities"]["selectable"], false);
    let (status, _) = error(&world.call_route("PATCH", &path, select).await);
    assert_eq!(status, 409);
}

#[tokio::test]
async fn a_link_to_the_picker_is_made_only_where_it_is_asked_for() {
    let world = TestWorld::new().await;
    let (id, link) = world.setup(drive(json!({}))).await;
    let path = format!("{BOX}/{id}");
    let pending = world.read(&format!("{path}?include=picker")).await;
    assert_eq!(pending.get("picker"), None);

    Browser::default().run_consent(&world, &link).await;
    assert_eq!(world.show(&id).await.get("picker"), None);
    for query in [
        "?include=picker",
        "?include=syncs,picker",
        "?include=syncs&include=picker",
    ] {
        let shown = world.read(&format!("{path}{query}")).await;
        let picker = &shown["picker"];
        let url = picker["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("{BASE}/picker/s/rk_t_")), "{url}");
        assert!(picker["expiresAt"].is_string(), "{picker}");
    }

    let return_url = "returnUrl=https://app.example.com/done";
    let shown = world
        .read(&format!("{path}?include=picker&{return_url}"))
        .await;
    let mut browser = Browser::default();
    let entered = browser
        .get(&world, shown["picker"]["url"].as_str().unwrap())
        .await;
    assert_eq!(entered.status, 303, "{}", entered.text);

    let unsafe_url = format!("{path}?include=picker&returnUrl=http://app.example.com");
    let (status, message) = error(&world.call_route("GET", &unsafe_url, Value::Null).await);
    assert!(
        status == 400 && message.starts_with("returnUrl"),
        "{message}"
    );
}

fn run(number: u64, state: RunState) -> Run {
    let started_at = Timestamp::from_millis(1_767_225_600_000 + i64::try_from(number).unwrap());
    let mut run = Run::start(number, RunTrigger::Manual, started_at);
    run.state = state;
    run.completed_at = (state != RunState::Running).then(|| started_at.plus_seconds(60));
    run.error = (state == RunState::Failed)
        .then(|| (ConnectionErrorKind::QuotaExceeded, "Tomorrow.".to_owned()));
    run
}

#[tokio::test]
async fn runs_are_shown_with_the_last_one_that_succeeded() {
    let world = TestWorld::new().await;
    let id = world.permitted_connector(drive(json!({}))).await;
    let failed = run(12, RunState::Failed);
    let mut runs: Vec<Run> = (1..=11)
        .map(|number| run(number, RunState::Completed))
        .collect();
    runs.push(failed.clone());
    let writes: Vec<SyncWrite> = runs
        .into_iter()
        .map(|run| SyncWrite::PutRun(Box::new(run)))
        .collect();
    world.write_step(&id, &writes, |_| {}).await;
    world
        .change_record(&id, |connection| connection.last_run = Some(failed.clone()))
        .await;

    let shown = world.read(&format!("{BOX}/{id}?include=syncs")).await;
    let system = json!({
        "status": "failed",
        "startedAt": "2026-01-01T00:00:00.012Z",
        "completedAt": "2026-01-01T00:01:00.012Z",
    });
    let latest = json!({"errorCode": "rate_limited", "error": "Tomorrow.", "system": system});
    assert_eq!(shown["latestRun"], latest);
    assert_eq!(
        shown["system"]["lastSuccessfulSyncAt"],
        "2026-01-01T00:01:00.011Z"
    );
    let syncs = shown["syncs"].as_array().unwrap();
    assert_eq!(syncs.len(), 10);
    assert_eq!(
        syncs[0],
        json!({
            "id": format!("{id}:12"),
            "trigger": "manual",
            "itemsProcessed": 0,
            "itemsFailed": 0,
            "failures": [],
            "errorCode": "rate_limited",
            "error": "Tomorrow.",
            "system": system,
        })
    );
    assert_eq!(syncs[9]["id"], json!(format!("{id}:3")));
    assert_eq!(world.show(&id).await.get("syncs"), None);
}

#[tokio::test]
async fn a_connector_is_synchronized_on_request_unless_it_is_already() {
    let world = TestWorld::new().await;
    let (id, link) = world.setup(drive(json!({}))).await;
    let path = format!("{BOX}/{id}/sync");
    for (link, message_part) in [
        (Some(&link), "has not given permission"),
        (None, "nothing is selected"),
    ] {
        let (status, message) = error(&world.call_route("POST", &path, Value::Null).await);
        assert!(
            status == 409 && message.contains(message_part),
            "{status} {message}"
        );
        if let Some(link) = link {
            Browser::default().run_consent(&world, link).await;
        }
    }

    let selection = json!({"selection": {"folders": ["f1"]}});
    world
        .call_route("PATCH", &format!("{BOX}/{id}"), selection)
        .await;
    world
        .change_record(&id, |connection| {
            connection.requested = None;
            connection.next_run_at = None;
        })
        .await;
    let answer = world.call_route("POST", &path, Value::Null).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert_eq!(answer.json(), json!({"id": id, "status": "queued"}));
    assert_eq!(world.stored(&id).await.requested, Some(RunTrigger::Manual));

    let channel = NotificationChannel {
        id: "c".into(),
        resource: "r".into(),
        expires_at: world.ctx.clock.now().plus_seconds(3600),
    };
    world
        .write_step(&id, &[], |state| {
            state.run = Some(run(1, RunState::Running));
            state.feeds.entry("user".into()).or_default().channel = Some(channel.clone());
            state.documents = 4;
        })
        .await;
    let answer = world.call_route("POST", &path, Value::Null).await;
    assert_eq!(
        error(&answer),
        (409, "the connector is being synchronized".into())
    );
    assert_eq!(answer.headers["x-should-retry"], "false");
    let shown = world.read(&format!("{BOX}/{id}?include=syncs")).await;
    assert_eq!(shown["latestRun"]["system"]["status"], "running");
    assert_eq!(shown["latestRun"]["system"]["completedAt"], Value::Null);
    assert_eq!(shown["syncs"].as_array().unwrap().len(), 1);
    assert_eq!(shown["capabilities"]["webhooks"], true);
    assert_eq!(shown["documentCount"], 4);

    world.time.advance_seconds(3600);
    let expired = world.show(&id).await;
    assert_eq!(expired["capabilities"]["webhooks"], false);
}

#[tokio::test]
async fn a_connector_is_deleted_with_its_documents_unless_they_are_kept() {
    let world = TestWorld::new().await;
    for (query, with_documents) in [
        ("", true),
        ("?deleteDocuments=true", true),
        ("?deleteDocuments=false", false),
    ] {
        let id = world.permitted_connector(drive(json!({}))).await;
        let path = format!("{BOX}/{id}");
        for wrong in [
            "?delete_documents=false",
            "?deletedocuments=false",
            "?deleteDocuments=no",
            "?deleteDocuments=",
        ] {
            let answer = world
                .call_route("DELETE", &format!("{path}{wrong}"), Value::Null)
                .await;
            assert_eq!(answer.status, 400, "{wrong}: {}", answer.text);
        }
        let body = json!({"deleteDocuments": false});
        let answer = world.call_route("DELETE", &path, body).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert_eq!(world.show(&id).await["system"]["status"], "active");

        // The second request arrives while the first deletion is under way.
        for _ in 0..2 {
            let answer = world
                .call_route("DELETE", &format!("{path}{query}"), Value::Null)
                .await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(answer.json(), json!({"id": id, "deleted": true}));
        }
        assert_eq!(
            world.stored(&id).await.delete_documents,
            with_documents,
            "{query}"
        );
        let (status, _) = error(&world.call_route("GET", &path, Value::Null).await);
        assert_eq!(status, 404);
    }
    assert_eq!(ids(&world.read(BOX).await), [""; 0]);
}

#[tokio::test]
async fn a_connection_of_either_form_is_one_of_the_other() {
    let world = TestWorld::new().await;
    let (id, _) = world
        .connect(json!({"containerTag": "box", "metadata": {"team": "north"}}))
        .await;
    let shown = world.show(&id).await;
    assert_eq!(shown["config"], json!({"syncScope": "selected"}));
    let (other, _) = world.setup(drive(json!({}))).await;
    let listed = world
        .call_route(
            "POST",
            "/v3/connections/list",
            json!({"containerTags": ["box"]}),
        )
        .await
        .json();
    assert_eq!(
        (&listed[0]["id"], &listed[1]["id"]),
        (&json!(id), &json!(other))
    );
    assert_eq!(
        world.call_route("GET", DRIVE, Value::Null).await.status,
        404
    );
}
