//! The request log: the content of a line, the parts that disappear when a container is deleted,
//! and the growth of the organization.

use domain::activity::{RequestRecord, RequestType};
use domain::task::{ContainerPurge, PurgePhase};
use domain::{ContainerId, ContainerTag, Task, TaskId, TaskState, TaskWork};
use serde_json::{Value, json};

use crate::analytics::{DAY, new_record, plus_ms};
use crate::client::OrgClient;
use crate::containers::{find_container, physical_container};

#[tokio::test]
async fn a_line_shows_the_request() {
    let client = OrgClient::new().await;
    let at = client.now().plus_seconds(-60);
    let long_ago = client.now().plus_seconds(-80 * DAY);
    let cases = [
        (
            Some(json!({"q": "[5 characters]"})),
            json!({"q": "[5 characters]"}),
            1_499,
            1,
        ),
        (None, json!({}), 1_500, 2),
        (Some(Value::Null), json!({}), 0, 0),
        (
            Some(json!([1, 2])),
            json!({"value": [1, 2]}),
            7_000_000,
            7_000,
        ),
    ];

    for (i, (content, shown, micros, ms)) in cases.into_iter().enumerate() {
        let at = if i == 1 {
            long_ago
        } else {
            plus_ms(at, i as i64)
        };
        let one = new_record(at, RequestType::Search, 404, "local");
        let one = RequestRecord {
            input: content.clone(),
            output: content,
            micros,
            ..one
        };
        client.write_record(&one).await;
        let wanted = json!({
            "id": one.id, "createdAt": at.to_string(), "type": "search", "statusCode": 404, "duration": ms,
            "keyId": "local", "route": "POST /v4/search", "input": shown, "output": shown,
        });

        // A record older than seven days is found only if the request asks for an earlier start.
        let body = client.get_figures(&format!("requests?id={}", one.id)).await;
        assert_eq!(body["logs"] == json!([]), i == 1, "{body}");

        let since = client.now().plus_seconds(-85 * DAY);
        let body = client
            .get_figures(&format!("requests?id={}&from={since}", one.id))
            .await;
        assert_eq!(body["logs"], json!([wanted]));
        assert_eq!(
            body["pagination"],
            json!({"currentPage": 1, "limit": 20, "totalItems": 1, "totalPages": 1})
        );

        for (more, found) in [
            ("period=30d", i != 1),
            ("status=error", i != 1),
            ("status=success", false),
            ("type=add", false),
            ("page=2", false),
        ] {
            let body = client
                .get_figures(&format!("requests?id={}&{more}", one.id))
                .await;
            assert_eq!(
                body["logs"].as_array().map(Vec::len),
                Some(usize::from(found)),
                "{more}"
            );
        }
    }

    assert_eq!(
        client.get_figures("requests?id=unknown").await["logs"],
        json!([])
    );
}

/// Deletes a container tag without the tasks that normally follow.
async fn delete_tag(client: &OrgClient, tag: &str) {
    let ctx = &client.app.system.ctx;
    let container = find_container(client, tag).await.expect("a container");
    let tag = ContainerTag::parse(tag).expect("a tag");

    let now = client.now();
    let purge = ContainerPurge {
        tag,
        containers: container.ids.clone(),
        tag_created_at: container.created_at,
        deleted_at: now,
        container: 0,
        phase: PurgePhase::Documents,
        cursor: None,
        pending: domain::task::PendingErasure::default(),
        report: domain::task::PurgeReport::default(),
        verifying: false,
    };

    let task = Task {
        id: TaskId::random(),
        work: TaskWork::Purge(purge),
        state: TaskState::Running,
        step: 1,
        attempts: 0,
        error: None,
        created_at: now,
        updated_at: now,
        due_at: now.plus_seconds(DAY),
    };

    assert!(
        ctx.containers
            .delete_tag(&client.tenant, &container, &[], &task)
            .await
            .expect("a deletion")
    );
}

#[tokio::test]
async fn content_of_a_deleted_container_is_not_shown() {
    let client = OrgClient::new().await;
    let mut ids: Vec<ContainerId> = Vec::new();
    for tag in ["gone", "stays"] {
        client
            .send_document(json!({"content": format!("Words of {tag}."), "containerTag": tag}))
            .await;
        ids.push(physical_container(&client, tag).await);
    }

    let begin = client.now();
    let touched = [
        vec![],
        vec![ids[0].clone()],
        vec![ids[1].clone()],
        ids.clone(),
    ];

    for containers in touched {
        let at = client.now();
        client
            .write_record(&RequestRecord {
                containers,
                ..new_record(at, RequestType::Add, 200, "a")
            })
            .await;
    }

    let end = client.now();
    let shown = async || {
        let body = client
            .get_figures(&format!("logs?from={begin}&to={end}"))
            .await;
        let logs = body["logs"].as_array().expect("logs").clone();
        let has = |log: &Value| (log["input"] != json!({}), log["output"] != json!({}));
        logs.iter().rev().map(has).collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [(true, true); 4]);

    delete_tag(&client, "gone").await;
    assert_eq!(
        shown().await,
        [(true, true), (false, false), (true, true), (false, false)]
    );

    let body = client
        .get_figures(&format!("logs?from={begin}&to={end}"))
        .await;
    let id = body["logs"][0]["id"].as_str().expect("an id");
    let one = client.get_figures(&format!("requests?id={id}")).await;
    assert_eq!(
        (&one["logs"][0]["id"], &one["logs"][0]["input"]),
        (&json!(id), &json!({}))
    );
}

async fn say(client: &OrgClient, tag: &str, texts: &[&str]) {
    for text in texts {
        client
            .add_document(json!({"content": text, "containerTag": tag}))
            .await;
    }
}

#[tokio::test]
async fn growth_is_that_of_a_period_over_the_one_before() {
    let client = OrgClient::new().await;
    say(&client, "old", &["My sister is Anna.", "I live in Bonn."]).await;
    client
        .write_record(&new_record(client.now(), RequestType::Search, 200, "a"))
        .await;
    client
        .write_record(&new_record(client.now(), RequestType::Search, 400, "a"))
        .await;
    client.app.environment.clock.advance_seconds(DAY);
    say(&client, "old", &["My brother is Paul."]).await;
    say(
        &client,
        "new",
        &["I play the cello.", "My cat is called Minka."],
    )
    .await;
    client
        .write_record(&new_record(client.now(), RequestType::Search, 200, "a"))
        .await;
    client
        .write_record(&new_record(client.now(), RequestType::Update, 200, "a"))
        .await;
    let mut entries = 0;

    for tag in ["old", "new"] {
        let body = json!({"containerTags": [tag], "limit": 100});
        let listed = client.post("/v4/memories/list", body).await.body;
        entries += listed["pagination"]["totalItems"]
            .as_u64()
            .expect("a number");
    }

    assert!(entries >= 4, "{entries}");
    let figures = client.get_figures("memory?period=24h").await;
    let wanted = json!({
        "totalMemories": 5, "memoriesGrowth": 50.0, "searchQueries": 1, "searchGrowth": -50.0,
        "totalConnections": 0, "connectionsGrowth": 0.0, "totalContainerTags": 2, "containerTagsGrowth": 0.0,
        "totalMemoryEntries": entries, "memoryEntriesGrowth": figures["memoryEntriesGrowth"],
    });
    assert_eq!(figures, wanted);
    assert!(
        figures["memoryEntriesGrowth"]
            .as_f64()
            .is_some_and(|growth| growth > 0.0),
        "{figures}"
    );

    let all = client.get_figures("memory?period=all").await;
    assert_eq!(
        (&all["totalMemories"], &all["searchQueries"]),
        (&json!(5), &json!(3))
    );

    for growth in [
        "memoriesGrowth",
        "memoryEntriesGrowth",
        "searchGrowth",
        "containerTagsGrowth",
    ] {
        assert_eq!(all[growth], 0.0, "{growth}");
    }

    assert_eq!(client.get_figures("usage").await["totalMemories"], 5);
}
