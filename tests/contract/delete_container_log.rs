//! The request log contains nothing of a container after the deletion of its tag.

use domain::activity::{Hour, RequestRecord, RequestType};
use domain::settings::LogContent;
use domain::{ContainerId, Revision, Timestamp};
use serde_json::json;

use crate::client::Client;
use crate::containers::container;
use crate::delete_container::{deletion, path};
use crate::request_log::{keep, log};

fn now(client: &Client) -> Timestamp {
    client.app.system.ctx.clock.now()
}

/// Deletes a tag, waits until its purge has ended, and returns the report.
async fn purged(client: &Client, tag: &str) -> domain::task::PurgeReport {
    let answer = client.delete(&path(tag)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.settle().await;
    let purge = deletion(client, &answer.body["deletionId"]).await;
    assert_eq!(purge["status"], "completed", "{purge}");
    serde_json::from_value(purge["report"].clone()).expect("a report")
}

/// Counts the requests in the log whose contents contain the needle.
async fn telling(client: &Client, needle: &str) -> usize {
    let tells =
        |record: &RequestRecord| format!("{:?} {:?}", record.input, record.output).contains(needle);
    log(client)
        .await
        .iter()
        .filter(|record| tells(record))
        .count()
}

#[tokio::test]
async fn the_request_that_made_the_tag_is_found_in_the_hour_before() {
    let client = Client::new().await;
    keep(&client, LogContent::Full).await;
    // The clock advances with every read, so that the next request begins in the last millisecond
    // of the hour.
    let turn = Hour::of(now(&client)).end();
    client
        .app
        .world
        .clock
        .advance_seconds((turn.as_millis() - now(&client).as_millis()) / 1000 - 1);
    while now(&client).as_millis() < turn.as_millis() - 2 {}
    client
        .send(json!({"content": "The heron HRN-1 waits.", "containerTag": "box"}))
        .await;
    let made = container(&client, "box")
        .await
        .expect("a container")
        .created_at;
    let asked = log(&client).await.pop().expect("a record").at;
    assert_eq!(
        (Hour::of(asked).next(), telling(&client, "HRN-1").await),
        (Hour::of(made), 1)
    );

    client.settle().await;
    // The tag was created so long ago that the second pass does not search that time.
    client.app.world.clock.advance_seconds(2 * 3600);
    assert!(purged(&client, "box").await.log_contents > 0);
    assert_eq!(telling(&client, "HRN-1").await, 0);
}

/// Writes a request that concerned some containers.
async fn write(client: &Client, at: Timestamp, containers: Vec<ContainerId>) {
    let record = RequestRecord {
        id: Revision::random().as_str().to_owned(),
        at,
        kind: RequestType::Search,
        route: "POST /v4/search".into(),
        status: 200,
        error: None,
        micros: 1,
        key: "k".into(),
        key_name: "k".into(),
        containers,
        input: Some(json!({"q": "OWL-5"})),
        output: None,
    };

    client
        .app
        .system
        .ctx
        .activity
        .record(&client.tenant, &record, at)
        .await
        .expect("a record");
}

#[tokio::test]
async fn many_hours_of_several_containers_are_looked_through_once_and_counted_exactly() {
    let client = Client::new().await;
    // Only the records that this test writes have contents.
    keep(&client, LogContent::Off).await;
    for tag in ["from", "to", "other"] {
        client
            .send(json!({"content": "A heron.", "containerTag": tag}))
            .await;
    }

    client.settle().await;
    let body = json!({"containerTags": ["from"], "targetContainerTag": "to"});
    assert_eq!(client.post(crate::merge::MERGE, body).await.status, 202);

    client.settle().await;
    let ids = container(&client, "to").await.expect("a container").ids;
    let other = container(&client, "other").await.expect("a container").ids;
    assert_eq!(ids.len(), 2);

    // There are more hours than one step searches. Most of them concern another container, and some
    // have no requests.
    let begin = now(&client);
    for i in 0..24 {
        let containers = match i {
            0 => vec![ids[0].clone()],
            11 => ids.clone(),
            12 => vec![ids[1].clone(), other[0].clone()],
            23 => vec![ids[1].clone()],
            _ => other.clone(),
        };
        let hour = if i < 12 { i } else { i + 200 };
        write(&client, begin.plus_seconds(hour * 3600), containers.clone()).await;
        write(&client, begin.plus_seconds(hour * 3600 + 1), containers).await;
    }

    client.app.world.clock.advance_seconds(225 * 3600);
    assert_eq!(purged(&client, "to").await.log_contents, 8);
    let activity = &client.app.system.ctx.activity;
    let mut left = 0;
    for hour in Hour::of(begin).0..=Hour::of(now(&client)).0 {
        let (records, _) = activity
            .requests(&client.tenant, Hour(hour), None)
            .await
            .expect("a page");
        for record in records.iter().filter(|record| record.input.is_some()) {
            assert!(
                ids.iter().all(|id| !record.containers.contains(id)),
                "{record:?}"
            );
            left += usize::from(record.input == Some(json!({"q": "OWL-5"})));
        }
    }

    assert_eq!(left, 40);
}
