//! The request log contains nothing of a container after the deletion of its tag.

use domain::activity::{Hour, RequestRecord, RequestType, TimeSpan};
use domain::settings::LogContentMode;
use domain::{ContainerId, Revision, Timestamp};
use serde_json::json;

use crate::client::OrgClient;
use crate::containers::find_container;
use crate::delete_container::{deletion_status, tag_path};
use crate::request_log::{read_log, set_log_content};

fn now(client: &OrgClient) -> Timestamp {
    client.app.system.ctx.clock.now()
}

/// Deletes a tag, waits until its purge has ended, and returns the report.
async fn delete_and_wait(client: &OrgClient, tag: &str) -> domain::task::PurgeReport {
    let answer = client.delete(&tag_path(tag)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;
    let purge = deletion_status(client, &answer.body["deletionId"]).await;
    assert_eq!(purge["status"], "completed", "{purge}");
    serde_json::from_value(purge["report"].clone()).expect("a report")
}

/// Counts the requests in the log whose contents contain the needle.
async fn count_records_with(client: &OrgClient, needle: &str) -> usize {
    let tells =
        |record: &RequestRecord| format!("{:?} {:?}", record.input, record.output).contains(needle);
    read_log(client)
        .await
        .iter()
        .filter(|record| tells(record))
        .count()
}

#[tokio::test]
async fn the_request_that_made_the_tag_is_found_in_the_hour_before() {
    let client = OrgClient::new().await;
    set_log_content(&client, LogContentMode::Full).await;
    // The clock advances with every read, so that the next request begins in the last millisecond
    // of the hour.
    let turn = Hour::containing(now(&client)).end_time();
    client
        .app
        .environment
        .clock
        .advance_seconds((turn.as_millis() - now(&client).as_millis()) / 1000 - 1);
    while now(&client).as_millis() < turn.as_millis() - 2 {}
    client
        .send_document(json!({"content": "The heron HRN-1 waits.", "containerTag": "box"}))
        .await;
    let made = find_container(&client, "box")
        .await
        .expect("a container")
        .created_at;
    let asked = read_log(&client).await.pop().expect("a record").at;
    assert_eq!(
        (
            Hour::containing(asked).next(),
            count_records_with(&client, "HRN-1").await
        ),
        (Hour::containing(made), 1)
    );

    client.run_until_settled().await;
    // The tag was created so long ago that the second pass does not search that time.
    client.app.environment.clock.advance_seconds(2 * 3600);
    assert!(delete_and_wait(&client, "box").await.log_contents > 0);
    assert_eq!(count_records_with(&client, "HRN-1").await, 0);
}

/// Writes a request that concerned some containers.
async fn write_record(client: &OrgClient, at: Timestamp, containers: Vec<ContainerId>) {
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
        .request_log
        .record(&client.tenant, &record, at)
        .await
        .expect("a record");
}

#[tokio::test]
async fn a_request_whose_body_took_hours_to_arrive_loses_its_content() {
    let client = OrgClient::new().await;
    // Only the record that this test writes has contents.
    set_log_content(&client, LogContentMode::Off).await;
    client
        .send_document(json!({"content": "A heron.", "containerTag": "box"}))
        .await;
    client.run_until_settled().await;

    // The request that created the tag is logged under the hour of its arrival.
    let container = find_container(&client, "box").await.expect("a container");
    let arrival = container.created_at.plus_seconds(-11 * 3600);
    write_record(&client, arrival, container.ids).await;
    client.app.environment.clock.advance_seconds(24 * 3600);
    assert_eq!(delete_and_wait(&client, "box").await.log_contents, 1);

    let activity = &client.app.system.ctx.request_log;
    let hour = Hour::containing(arrival);
    let (records, _) = activity
        .list_requests(
            &client.tenant,
            hour,
            TimeSpan::for_hour(hour),
            None,
            usize::MAX,
        )
        .await
        .expect("a page");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].input, None);
}

#[tokio::test]
async fn many_hours_of_several_containers_are_looked_through_once_and_counted_exactly() {
    let client = OrgClient::new().await;
    // Only the records that this test writes have contents.
    set_log_content(&client, LogContentMode::Off).await;
    for tag in ["from", "to", "other"] {
        client
            .send_document(json!({"content": "A heron.", "containerTag": tag}))
            .await;
    }

    client.run_until_settled().await;
    let body = json!({"containerTags": ["from"], "targetContainerTag": "to"});
    assert_eq!(client.post(crate::merge::MERGE, body).await.status, 202);

    client.run_until_settled().await;
    let ids = find_container(&client, "to")
        .await
        .expect("a container")
        .ids;
    let other = find_container(&client, "other")
        .await
        .expect("a container")
        .ids;
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
        write_record(&client, begin.plus_seconds(hour * 3600), containers.clone()).await;
        write_record(&client, begin.plus_seconds(hour * 3600 + 1), containers).await;
    }

    client.app.environment.clock.advance_seconds(225 * 3600);
    assert_eq!(delete_and_wait(&client, "to").await.log_contents, 8);
    let activity = &client.app.system.ctx.request_log;
    let mut left = 0;
    for hour in Hour::containing(begin).0..=Hour::containing(now(&client)).0 {
        let span = TimeSpan::for_hour(Hour(hour));
        let (records, _) = activity
            .list_requests(&client.tenant, Hour(hour), span, None, usize::MAX)
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
