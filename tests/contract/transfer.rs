//! Export and import of a container. The copy gives the same answers as the original.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use cli::transfer::{ImportOptions, ImportReport, ProgressBar, export_container, import_file};
use domain::ContainerTag;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::containers::{compact, index_head};
use crate::delete_container::{deletion_status, tag_path};

pub(crate) const TAG: &str = "home";

pub(crate) async fn export_lines(client: &OrgClient, tag: &str) -> Vec<Value> {
    let tag = ContainerTag::parse(tag).unwrap();
    let mut out = Vec::new();
    let ctx = &client.app.system.ctx;
    let told = export_container(ctx, &client.tenant, &tag, &mut out, &ProgressBar::hidden())
        .await
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["type"], &end["documents"]),
        (&json!("end"), &json!(told.documents))
    );

    lines
}

/// Removes the parts that differ between two exports of the same container.
fn without_export_time(mut lines: Vec<Value>) -> Vec<Value> {
    lines[0]["exportedAt"] = Value::Null;
    lines
}

pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(crate) async fn import_text(
    client: &OrgClient,
    text: &str,
    options: &ImportOptions,
) -> anyhow::Result<ImportReport> {
    let mut input = text.as_bytes();
    import_file(
        &client.app.system.ctx,
        &client.tenant,
        &mut input,
        options,
        &ProgressBar::hidden(),
    )
    .await
}

async fn import_lines(client: &OrgClient, lines: &[Value]) -> ImportReport {
    import_text(client, &text(lines), &ImportOptions::default())
        .await
        .unwrap()
}

pub(crate) fn under(tag: &str) -> ImportOptions {
    ImportOptions {
        tag: Some(ContainerTag::parse(tag).unwrap()),
        ..ImportOptions::default()
    }
}

async fn post(client: &OrgClient, path: &str, body: Value) -> Value {
    let answer = client.post(path, body).await;
    assert!(answer.status.is_success(), "{path}: {}", answer.body);
    answer.body
}

pub(crate) async fn memories(client: &OrgClient) -> Value {
    let body = json!({"containerTags": [TAG], "limit": 100, "sort": "createdAt"});
    post(client, "/v4/memories/list", body).await["memoryEntries"].clone()
}

async fn find_memory(client: &OrgClient, text: &str) -> String {
    let all = memories(client).await;
    let found = all
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["memory"] == text);
    found.unwrap_or_else(|| panic!("no memory {text}: {all:#}"))["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Fills a container with every kind of data.
async fn fill_container(client: &OrgClient) {
    client.add_document(json!({
        "content": "The lighthouse keeper stores oil in the cellar.\n\nThe lamp is cleaned on Mondays.",
        "containerTag": TAG, "customId": "lighthouse", "metadata": {"place": "coast", "tags": ["a", "b"], "n": 1.5},
        "filepath": "/notes/lamp.md", "entityContext": "A lighthouse and its people.",
    }))
    .await;
    client
        .add_document(json!({"content": "Gulls nest on the roof.", "containerTag": TAG, "taskType": "superrag"}))
        .await;
    let latin = b"Le caf\xe9 est pr\xeat \xe0 sept heures, dit le gardien du phare.";
    let file = client
        .app
        .upload_file(&client.key, "cafe.txt", latin, &[("containerTag", TAG)])
        .await;
    assert!(file.status.is_success(), "{}", file.body);

    let turns = [
        "I live in Berlin.",
        "My sister is Anna.",
        "Anna lives in Bonn.",
        "I prefer tea over coffee.",
    ];
    let turns: Vec<Value> = turns
        .iter()
        .map(|turn| json!({"role": "user", "content": turn}))
        .collect();
    let talk = json!({"conversationId": "talk/1 ü", "messages": turns, "containerTags": [TAG]});
    post(client, "/v4/conversations", talk).await;
    client.run_until_settled().await;
    let written = json!([
        {"content": "The boat is painted green.", "metadata": {"who": "me"}, "isStatic": true},
        {"content": "The pier is closed until spring.", "forgetAfter": "2030-01-01", "forgetReason": "It reopens."},
    ]);
    post(
        client,
        "/v4/memories",
        json!({"containerTag": TAG, "memories": written}),
    )
    .await;
    edit_memories(client).await;
    let about = json!({"name": "Lighthouse", "profileBuckets": [{"key": "work", "description": "Jobs and duties."}]});
    let tagged = client
        .send_patch(&format!("/v3/container-tags/{TAG}"), about)
        .await;
    assert!(tagged.status.is_success(), "{}", tagged.body);
}

/// Corrects, forgets and approves memories.
async fn edit_memories(client: &OrgClient) {
    let boat = find_memory(client, "The boat is painted green.").await;
    let body = json!({"containerTag": TAG, "id": boat, "newContent": "The boat is painted blue."});
    let corrected = client.send_patch("/v4/memories", body).await;
    assert!(corrected.status.is_success(), "{}", corrected.body);
    let tea = find_memory(client, "User prefers tea over coffee.").await;
    let body = json!({"containerTag": TAG, "id": tea, "reason": "It changed."});
    let forgotten = client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &body)
        .await;
    assert!(forgotten.status.is_success(), "{}", forgotten.body);
    let concluded = find_memory(client, "User's sister lives in Bonn.").await;
    let path = format!("/v3/container-tags/{TAG}/inferred/{concluded}/review");
    post(client, &path, json!({"action": "approve"})).await;
}

/// Returns the answers to a set of requests, without durations and ids of keys.
async fn collect_answers(client: &OrgClient) -> Vec<Value> {
    let include = json!({"documents": true, "relatedMemories": true});
    let mut answers = Vec::new();
    for question in [
        "Where does my sister live?",
        "What color is the boat?",
        "lamp oil",
        "café",
    ] {
        for mode in ["hybrid", "memories", "documents"] {
            let body = json!({
                "q": question, "containerTag": TAG, "searchMode": mode, "limit": 20, "include": include, "threshold": 0,
            });
            answers.push(post(client, "/v4/search", body).await);
        }
        answers.push(
            post(
                client,
                "/v3/search",
                json!({"q": question, "containerTags": [TAG]}),
            )
            .await,
        );
    }

    answers.push(
        post(
            client,
            "/v3/documents/list",
            json!({"containerTags": [TAG], "limit": 100}),
        )
        .await,
    );
    answers.push(memories(client).await);
    answers.push(
        post(
            client,
            "/v4/profile",
            json!({"containerTag": TAG, "include": ["static", "dynamic", "buckets"]}),
        )
        .await,
    );
    answers.push(client.get(&format!("/v3/container-tags/{TAG}")).await.body);
    answers.push(client.get_document_unchecked("lighthouse").await);
    for answer in &mut answers {
        if let Some(fields) = answer.as_object_mut() {
            fields.remove("timing");
        }
    }

    answers
}

async fn compact_all(client: &OrgClient) {
    compact(client, TAG).await;
    assert!(
        index_head(client, TAG).await.generation > 0,
        "the log was compacted"
    );
}

#[tokio::test]
async fn a_container_in_a_fresh_place_is_the_same_container() {
    let (here, there) = (OrgClient::new().await, OrgClient::new().await);
    fill_container(&here).await;
    let lines = export_lines(&here, TAG).await;
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[..3], ["recollect-export", "container", "settings"]);
    let count = |kind: &str| kinds.iter().filter(|each| **each == kind).count();
    assert_eq!((count("document"), count("action")), (5, 3));
    assert!(count("memory") >= 8, "{kinds:?}");

    let report = import_lines(&there, &lines).await;
    assert_eq!(
        (
            report.documents.written,
            report.documents.queued,
            report.edits
        ),
        (5, 0, 3)
    );
    assert_eq!(
        without_export_time(export_lines(&there, TAG).await),
        without_export_time(lines.clone())
    );
    let (expected, found) = (collect_answers(&here).await, collect_answers(&there).await);
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(found, expected);
    }
    assert!(
        expected[1]["results"][0]["memory"].is_string(),
        "{}",
        expected[1]
    );

    // A second import changes nothing, and compaction hides nothing.
    let before = index_head(&there, TAG).await;
    let again = import_lines(&there, &lines).await;
    assert_eq!(
        (
            again.documents.written,
            again.documents.already_present,
            again.edits
        ),
        (0, 5, 0)
    );
    assert_eq!(index_head(&there, TAG).await, before);
    compact_all(&there).await;
    assert_eq!(
        without_export_time(export_lines(&there, TAG).await),
        without_export_time(lines.clone())
    );
    let again = import_lines(&there, &lines).await;
    assert_eq!((again.documents.already_present, again.edits), (5, 0));

    // Content sent later under the same customId replaces the imported document.
    there
        .add_document(json!({"content": "The lamp is electric.", "containerTag": TAG, "customId": "lighthouse"}))
        .await;
    assert_eq!(
        export_lines(&there, TAG)
            .await
            .iter()
            .filter(|line| line["type"] == "document")
            .count(),
        5
    );
}

#[tokio::test]
async fn another_organization_and_another_tag_may_hold_the_copy() {
    let here = OrgClient::new().await;
    fill_container(&here).await;
    let lines = export_lines(&here, TAG).await;
    let there = OrgClient::of(testkit::TestApp::new().await, "umbrella").await;
    import_text(&there, &text(&lines), &under("moved"))
        .await
        .unwrap();
    let copied = export_lines(&there, "moved").await;
    let of = |lines: &[Value]| -> Vec<(Value, Value)> {
        let memories = lines.iter().filter(|line| line["type"] == "memory");
        memories
            .map(|line| (line["id"].clone(), line["memory"].clone()))
            .collect()
    };

    assert_eq!(
        of(&copied),
        of(&lines),
        "ids of memories do not depend on the organization"
    );
    there
        .add_document(json!({"content": "The lamp is electric.", "containerTag": "moved", "customId": "lighthouse"}))
        .await;
    assert_eq!(
        export_lines(&there, "moved")
            .await
            .iter()
            .filter(|line| line["type"] == "document")
            .count(),
        5
    );
}

#[tokio::test]
async fn a_document_that_got_its_custom_id_later_keeps_its_id() {
    let here = OrgClient::new().await;
    let body = json!({"content": "The atlas lies in the map room.", "containerTag": TAG});
    let id = here.add_document(body).await;
    here.update_document(&id, json!({"customId": "atlas"}))
        .await;
    here.run_until_settled().await;
    // The id of the second document is derived from the customId of the third.
    let other = here
        .add_apart(TAG, "first", "The key hangs by the door.")
        .await;
    here.update_document(&other, json!({"customId": "second"}))
        .await;
    here.run_until_settled().await;
    here.app.environment.clock.advance_seconds(1);
    let latest = here.add_apart(TAG, "first", "The lamp is electric.").await;
    let lines = export_lines(&here, TAG).await;

    let there = OrgClient::new().await;
    import_lines(&there, &lines).await;
    for (custom_id, id) in [("atlas", &id), ("second", &other), ("first", &latest)] {
        for name in [custom_id, id] {
            let document = there.get_document(name).await;
            assert_eq!(
                (&document["id"], &document["customId"]),
                (&json!(id), &json!(custom_id))
            );
        }
    }
    assert_eq!(
        without_export_time(export_lines(&there, TAG).await),
        without_export_time(lines.clone())
    );
    let again = import_lines(&there, &lines).await;
    assert_eq!(again.documents.already_present, 3);
}

#[tokio::test]
async fn a_container_that_is_imported_again_shows_nothing_from_before_its_deletion() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "Gulls nest on the roof.", "containerTag": TAG}))
        .await;
    client.run_until_settled().await;
    let lines = export_lines(&client, TAG).await;
    client
        .add_document(json!({"content": "Seals sleep on the rocks.", "containerTag": TAG}))
        .await;
    client.run_until_settled().await;

    // The view of the container stays warm, because nothing is searched until it exists again.
    assert!(client.search_finds("Seals").await);
    let answer = client.delete(&tag_path(TAG)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;
    let deletion = deletion_status(&client, &answer.body["deletionId"]).await;
    assert_eq!(deletion["status"], "completed", "{deletion}");
    import_lines(&client, &lines).await;

    assert!(client.search_finds("Gulls").await);
    assert!(!client.search_finds("Seals").await);
}

#[tokio::test]
async fn a_container_exists_once_in_an_organization() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "Gulls nest on the roof.", "containerTag": TAG}))
        .await;
    client
        .add_document(json!({"content": "Seals sleep on the rocks.", "containerTag": "shore"}))
        .await;
    let lines = export_lines(&client, TAG).await;
    for (tag, why) in [
        ("fresh", "exists already, under the tag home"),
        ("shore", "exists already, under the tag home"),
    ] {
        let refused = import_text(&client, &text(&lines), &under(tag))
            .await
            .unwrap_err();
        assert!(format!("{refused:#}").contains(why), "{refused:#}");
    }

    let there = OrgClient::new().await;
    there
        .add_document(json!({"content": "Seals sleep on the rocks.", "containerTag": TAG}))
        .await;
    let refused = import_text(&there, &text(&lines), &ImportOptions::default())
        .await
        .unwrap_err();
    assert!(
        format!("{refused:#}").contains("home exists already, with other content"),
        "{refused:#}"
    );
    assert_eq!(
        there
            .listed_ids(json!({"containerTags": [TAG]}))
            .await
            .len(),
        1
    );
}

#[tokio::test]
async fn what_was_not_done_is_processed_again() {
    let (here, there) = (OrgClient::new().await, OrgClient::new().await);
    here.add_document(
        json!({"content": "Whales pass in May.", "containerTag": TAG, "customId": "whales"}),
    )
    .await;
    let failed = here
        .app
        .upload_file(
            &here.key,
            "broken.pdf",
            b"%PDF-1.7 nothing",
            &[("containerTag", TAG)],
        )
        .await;
    here.run_until_settled().await;
    here.send_document(
        json!({"content": "Whales pass in September.", "containerTag": TAG, "customId": "whales"}),
    )
    .await;
    here.send_document(json!({"content": "Porpoises stay all year.", "containerTag": TAG}))
        .await;
    let lines = export_lines(&here, TAG).await;
    let report = import_lines(&there, &lines).await;
    assert_eq!((report.documents.written, report.documents.queued), (0, 3));
    assert!(
        there.search_finds("May").await && !there.search_finds("September").await,
        "the old content until the new one is done"
    );

    there.run_until_settled().await;
    assert!(
        !there.search_finds("May").await
            && there.search_finds("September").await
            && there.search_finds("Porpoises").await
    );

    let broken = there
        .get_document_unchecked(failed.body["id"].as_str().unwrap())
        .await;
    assert_eq!(broken["status"], "failed", "{broken}");

    let again = import_lines(&there, &lines).await;
    assert_eq!(
        (again.documents.already_present, again.documents.queued),
        (3, 0)
    );
}

#[tokio::test]
async fn a_broken_line_is_named_and_what_stands_before_it_stays() {
    let (here, there) = (OrgClient::new().await, OrgClient::new().await);
    fill_container(&here).await;
    let lines = export_lines(&here, TAG).await;
    let whole = text(&lines);
    let cut = |from: usize, line: &str| {
        let mut broken: Vec<&str> = whole.lines().collect();
        broken[from] = line;
        broken.join("\n")
    };

    let strange = lines[3]
        .to_string()
        .replace("\"metadata\":{", "\"metadata\":{\"x\":{},");
    for (place, line, why) in [
        (
            5,
            "{\"type\":\"document\",",
            "line 6: this is not a line of an export",
        ),
        (
            5,
            "{\"type\":\"song\"}",
            "line 6: there is no line of the type \"song\"",
        ),
        (3, strange.as_str(), "line 4: metadata.x:"),
        (
            0,
            "{\"type\":\"recollect-export\",\"version\":2,\"containerTag\":\"home\",\"exportedAt\":\"2026-01-01\"}",
            "newer recollect",
        ),
    ] {
        let refused = import_text(&there, &cut(place, line), &ImportOptions::default())
            .await
            .unwrap_err();
        assert!(format!("{refused:#}").contains(why), "{refused:#}");
    }

    let whole_lines: Vec<&str> = whole.lines().collect();
    let half = whole_lines[..whole_lines.len() - 1].join("\n");
    let refused = import_text(&there, &half, &ImportOptions::default())
        .await
        .unwrap_err();
    assert!(format!("{refused:#}").contains("not whole"), "{refused:#}");
    let report = import_lines(&there, &lines).await;
    assert_eq!(
        (report.documents.already_present, report.documents.written),
        (5, 0),
        "all of it was there by now"
    );
    assert_eq!(
        without_export_time(export_lines(&there, TAG).await),
        without_export_time(lines)
    );
}
