//! The buckets of a namespace's profile, and `/organization`.

use domain::key::Permission;
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::{OrgClient, collect_field};
use crate::containers::find_container;
use crate::namespace_admin::{add, scoped_key};
use crate::shape::{ErrorMismatches, assert_shape, expect_error, expect_ok};

const BUCKETS: &str = "/ns/box/profile/buckets";

async fn call_buckets(client: &OrgClient, method: &str, buckets: Value) -> TestAnswer {
    let body = json!({"buckets": buckets});
    client
        .app
        .call_json(method, BUCKETS, &client.key, &body)
        .await
}

/// Returns the names of the buckets in an answer, in their order.
#[track_caller]
fn bucket_names(answer: &TestAnswer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_shape(&answer.body, &json!({"buckets": "object"}));
    let buckets = answer.body["buckets"].as_object().expect("an object");
    assert!(buckets.values().all(Value::is_string), "{}", answer.body);
    buckets.keys().cloned().collect()
}

/// Sets the buckets of the organization.
async fn set_organization_buckets(client: &OrgClient, buckets: Value) {
    let body = json!({"profileBuckets": buckets});
    let answer = client.send_patch("/v3/settings", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test]
async fn a_namespace_adds_buckets_to_those_of_the_organization() {
    let client = OrgClient::new().await;
    assert_eq!(bucket_names(&client.get(BUCKETS).await), ["preferences"]);
    add(&client, "box", "A heron.").await;
    let work = json!([{"key": "work", "description": "Jobs."}]);
    set_organization_buckets(&client, work).await;

    let sent = json!({"food": "Meals.", "boats": "Boats.", "work": "Jobs."});
    let set = call_buckets(&client, "PUT", sent).await;
    assert_eq!(bucket_names(&set), ["work", "boats", "food"]);
    let own = client.get("/v3/container-tags/box").await.body["profileBuckets"].clone();
    assert_eq!(collect_field(&own, "key"), ["boats", "food"]);

    let changed = call_buckets(
        &client,
        "PUT",
        json!({"food": "Meals and drinks.", "art": "Art."}),
    );
    let changed = changed.await;
    assert_eq!(bucket_names(&changed), ["work", "boats", "food", "art"]);
    assert_eq!(changed.body["buckets"]["food"], "Meals and drinks.");
    assert_eq!(changed.body["buckets"]["boats"], "Boats.");
    assert_eq!(client.get(BUCKETS).await.body, changed.body);

    let removed = call_buckets(&client, "DELETE", json!(["boats", "work", "unknown"])).await;
    assert_eq!(bucket_names(&removed), ["work", "food", "art"]);
    let removed = call_buckets(&client, "DELETE", json!(["food", "art", "food"])).await;
    assert_eq!(bucket_names(&removed), ["work"]);
    let unchanged = call_buckets(&client, "DELETE", json!([])).await;
    assert_eq!(bucket_names(&unchanged), ["work"]);
    let unchanged = call_buckets(&client, "PUT", json!({})).await;
    assert_eq!(bucket_names(&unchanged), ["work"]);
}

#[tokio::test]
async fn buckets_that_are_wrong_are_refused_and_nothing_is_set() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    let work = json!([{"key": "work", "description": "Jobs."}]);
    set_organization_buckets(&client, work).await;
    call_buckets(&client, "PUT", json!({"food": "Meals."})).await;

    let conflict = call_buckets(
        &client,
        "PUT",
        json!({"work": "Labour.", "boats": "Boats."}),
    )
    .await;
    expect_error(
        &conflict,
        409,
        "ConflictError",
        "work belongs to the organization",
    );

    let many: serde_json::Map<String, Value> =
        (0..50).map(|i| (format!("k{i}"), json!("x"))).collect();
    let mut faults = ErrorMismatches::default();
    for bad in [
        json!(many),
        json!({"static": "x"}),
        json!({"Food": "x"}),
        json!({"": "x"}),
        json!({"boats": ""}),
        json!({"boats": "x".repeat(2001)}),
        json!({"boats": 1}),
        json!(["boats"]),
        Value::Null,
    ] {
        let answer = call_buckets(&client, "PUT", bad.clone()).await;
        faults.check_error(&bad.to_string(), &answer, 400, "ValidationError", "buckets");
    }
    for bad in [
        json!({"food": "x"}),
        json!([1]),
        json!(vec!["x"; 101]),
        Value::Null,
    ] {
        let answer = call_buckets(&client, "DELETE", bad.clone()).await;
        faults.check_error(&bad.to_string(), &answer, 400, "ValidationError", "buckets");
    }
    for method in ["PUT", "DELETE"] {
        let answer = client
            .app
            .call_json(method, BUCKETS, &client.key, &json!({}))
            .await;
        faults.check_error(method, &answer, 400, "ValidationError", "buckets");
    }
    faults.assert_none();
    assert_eq!(bucket_names(&client.get(BUCKETS).await), ["work", "food"]);

    for (method, buckets) in [("PUT", json!({"a": "A."})), ("DELETE", json!(["a"]))] {
        let answer = client
            .app
            .call_json(
                method,
                "/ns/nobody/profile/buckets",
                &client.key,
                &json!({"buckets": buckets}),
            )
            .await;
        expect_error(&answer, 404, "NotFoundError", "Container tag not found");
    }
    assert!(find_container(&client, "nobody").await.is_none());
}

#[tokio::test]
async fn changes_of_buckets_at_the_same_time_all_hold() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    set_organization_buckets(&client, json!([])).await;
    let names: Vec<String> = (0..10).map(|i| format!("k{i}")).collect();

    let sets = names.iter().map(|name| {
        let mut buckets = json!({});
        buckets[name] = json!("A bucket.");
        call_buckets(&client, "PUT", buckets)
    });
    for answer in join_all(sets).await {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let mut stored = bucket_names(&client.get(BUCKETS).await);
    stored.sort();
    assert_eq!(stored, names);

    let (kept, removed) = names.split_at(5);
    let removals = removed
        .iter()
        .map(|name| call_buckets(&client, "DELETE", json!([name])));
    join_all(removals).await;
    let mut stored = bucket_names(&client.get(BUCKETS).await);
    stored.sort();
    assert_eq!(stored, kept);
}

#[tokio::test]
async fn buckets_of_a_namespace_are_one_organizations_own() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    call_buckets(&client, "PUT", json!({"secret": "Of acme."})).await;
    let other = OrgClient::of(client.app, "other").await;
    assert_eq!(bucket_names(&other.get(BUCKETS).await), ["preferences"]);
    let answer = call_buckets(&other, "PUT", json!({"secret": "Of other."})).await;
    expect_error(&answer, 404, "NotFoundError", "Container tag not found");
}

const ORGANIZATION: &str = "/organization";

fn organization_shape() -> Value {
    json!({"organizationalContext": "string|null", "namespaceCount": "int"})
}

#[tokio::test]
async fn the_context_of_an_organization_is_its_workspace_prompt() {
    let client = OrgClient::new().await;
    let got = expect_ok(client.get(ORGANIZATION).await, &organization_shape());
    assert_eq!(
        got,
        json!({"organizationalContext": null, "namespaceCount": 0})
    );
    add(&client, "north", "A heron.").await;
    add(&client, "south", "A stork.").await;

    let longest = "ü".repeat(1500);
    for (sent, stored) in [
        (json!("A ringing station."), json!("A ringing station.")),
        (json!(longest), json!(longest)),
        (json!(" "), Value::Null),
        (json!("A shipyard."), json!("A shipyard.")),
        (Value::Null, Value::Null),
    ] {
        let body = json!({"organizationalContext": sent});
        let changed = client.send_patch(ORGANIZATION, body).await;
        let changed = expect_ok(changed, &organization_shape());
        assert_eq!(
            changed,
            json!({"organizationalContext": stored, "namespaceCount": 2})
        );
        assert_eq!(client.get(ORGANIZATION).await.body, changed);
        let settings = client.get("/v3/settings").await.body;
        assert_eq!(settings["workspacePrompt"], stored);
    }

    let prompt = json!({"workspacePrompt": "A mill."});
    client.send_patch("/v3/settings", prompt).await;
    let kept = client.send_patch(ORGANIZATION, json!({})).await.body;
    assert_eq!(kept["organizationalContext"], "A mill.");

    let mut faults = ErrorMismatches::default();
    for bad in [json!("ü".repeat(1501)), json!(1), json!({})] {
        let answer = client
            .send_patch(ORGANIZATION, json!({"organizationalContext": bad}))
            .await;
        let field = "organizationalContext";
        faults.check_error(&bad.to_string(), &answer, 400, "ValidationError", field);
    }
    faults.assert_none();
}

#[tokio::test]
async fn an_organization_is_shown_to_its_own_keys_and_changed_by_administrators() {
    let client = OrgClient::new().await;
    add(&client, "north", "A heron.").await;
    let body = json!({"organizationalContext": "A ringing station."});
    client.send_patch(ORGANIZATION, body.clone()).await;

    let other = client.app.create_key("other").await;
    let theirs = client.app.get(ORGANIZATION, &other).await.body;
    assert_eq!(
        theirs,
        json!({"organizationalContext": null, "namespaceCount": 0})
    );

    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let of_north = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["north"]))
        .await;
    let scoped = scoped_key(&client, "north").await;
    let mut faults = ErrorMismatches::default();
    for (key, method, body) in [
        (&reader, "PATCH", &body),
        (&of_north, "GET", &Value::Null),
        (&of_north, "PATCH", &body),
        (&scoped, "GET", &Value::Null),
        (&scoped, "PATCH", &body),
    ] {
        let answer = client.app.call_json(method, ORGANIZATION, key, body).await;
        faults.check_error(method, &answer, 403, "PermissionError", "");
    }
    faults.assert_none();
    let got = client.app.get(ORGANIZATION, &reader).await;
    assert_eq!(expect_ok(got, &organization_shape())["namespaceCount"], 1);
}
