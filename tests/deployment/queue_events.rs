//! Recorded SQS events through the Lambda glue. Each message succeeds or fails on its own.

use std::time::Duration;

use aws::QueueReceiver;
use container_index::CompactionSettings;
use domain::{Document, DocumentId, Job, JobMessage, OrgId, Tenant};
use lambda::{Queues, handle_batch};
use maintenance::MaintenanceWorker;
use processor::Processor;
use serde_json::{Value, json};
use testkit::TestApp;

use crate::tree::read_file;

/// The ids in the recorded events.
const IDS: [&str; 3] = [
    "059f36b4-87a3-44ab-83d2-661975830a7d",
    "2e1424d4-f796-459a-8184-9c92662be6da",
    "7b3c9a10-5e0f-4f63-9a55-0d4c1f2e8b77",
];
const ORG: &str = "acme";

/// Returns a recorded event with these messages in place of its own.
fn event_with_bodies(name: &str, bodies: [String; 3]) -> Value {
    let mut event: Value =
        serde_json::from_str(&read_file(&format!("tests/deployment/data/{name}.json"))).unwrap();
    for (record, body) in event["Records"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(bodies)
    {
        record["body"] = body.into();
    }
    event
}

fn reported_failures(answer: &Value) -> Vec<&str> {
    let failures = answer["batchItemFailures"]
        .as_array()
        .expect("a list, also when it is empty");
    failures
        .iter()
        .map(|failure| failure["itemIdentifier"].as_str().unwrap())
        .collect()
}

fn queues_of(app: &TestApp) -> Queues {
    Queues::new(app.system.clients.clone(), app.system.names.clone())
}

fn org() -> OrgId {
    OrgId::parse(ORG).unwrap()
}

/// Accepts two texts without processing them: a short one, and one that is too long to be committed
/// together with its processing.
async fn two_documents(app: &TestApp) -> (String, [Document; 2]) {
    let key = app.create_key(ORG).await;
    let mut ids = Vec::new();
    let long = format!("The ferry leaves at one.{}", " ".repeat(32 * 1024));
    for text in ["The bridge opens at noon.", &long] {
        let answer = app
            .post("/v3/documents", &key, &json!({"content": text}))
            .await;
        ids.push(DocumentId::parse(answer.body["id"].as_str().unwrap()).unwrap());
    }

    let found = app
        .system
        .ctx
        .documents
        .get(&Tenant::for_operator(org()), &ids)
        .await
        .unwrap();
    let [Some(first), Some(second)] = <[_; 2]>::try_from(found).unwrap() else {
        panic!("accepted documents are there");
    };

    (key, [first, second])
}

fn run_processor(document: &Document) -> String {
    let job = Job::ProcessV1 {
        document: document.id.clone(),
        revision: document.revision.clone(),
        is_short_text: true,
    };
    JobMessage { org: org(), job }.to_json()
}

fn run_committer(document: &Document) -> String {
    let (id, revision) = (document.id.clone(), document.revision.clone());
    let job = Job::CommitV1 {
        document: id,
        revision,
        container: document.container.clone(),
    };
    JobMessage { org: org(), job }.to_json()
}

async fn document_state(app: &TestApp, key: &str, document: &Document) -> Value {
    app.get(&format!("/v3/documents/{}", document.id), key)
        .await
        .body
}

#[tokio::test]
async fn only_the_poison_message_of_a_batch_comes_again() {
    let app = TestApp::new().await;
    let (key, [first, second]) = two_documents(&app).await;
    let processor = Processor::new(app.system.ctx.clone(), app.environment.content_readers());

    let batch = event_with_bodies(
        "sqs-process",
        [
            run_processor(&first),
            "poison".into(),
            run_processor(&second),
        ],
    );
    let answer = handle_batch(&processor, &queues_of(&app), batch)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), [IDS[1]]);
    for (document, status) in [(&first, "done"), (&second, "indexing")] {
        assert_eq!(document_state(&app, &key, document).await["status"], status);
    }

    let batch = event_with_bodies(
        "sqs-commit",
        ["{}".into(), run_committer(&first), run_committer(&second)],
    );
    let answer = handle_batch(&processor, &queues_of(&app), batch)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), [IDS[0]]);
    for document in [&first, &second] {
        assert_eq!(document_state(&app, &key, document).await["status"], "done");
    }

    let found = app
        .post(
            "/v3/search",
            &key,
            &json!({"q": "when does the ferry leave?"}),
        )
        .await
        .body;
    assert_eq!(
        found["results"][0]["documentId"],
        second.id.as_str(),
        "{found}"
    );
}

#[tokio::test]
async fn a_message_that_could_not_be_handled_comes_again_after_seconds() {
    let app = TestApp::new().await;
    let (sqs, queue) = (&app.system.clients.sqs, &app.system.names.process_queue);
    let send = sqs.send_message().queue_url(queue).message_body("poison");
    send.send().await.unwrap();
    let receive = || async {
        let answer = sqs.receive_message().queue_url(queue).send().await.unwrap();
        answer.messages.unwrap_or_default()
    };
    let [received] = <[_; 1]>::try_from(receive().await).unwrap();

    let mut event = event_with_bodies("sqs-process", ["poison".into(), "".into(), "".into()]);
    event["Records"].as_array_mut().unwrap().truncate(1);
    event["Records"][0]["receiptHandle"] = received.receipt_handle.unwrap().into();
    event["Records"][0]["eventSourceARN"] = "arn:aws:sqs:us-east-1:000000000000:process".into();
    event["Records"][0]["attributes"]["ApproximateReceiveCount"] = "1".into();
    let processor = Processor::new(app.system.ctx.clone(), app.environment.content_readers());
    let answer = handle_batch(&processor, &queues_of(&app), event)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), [IDS[0]]);

    assert!(receive().await.is_empty(), "the pause is not over");
    app.environment.clock.advance_seconds(3);
    assert_eq!(receive().await.len(), 1);
}

#[tokio::test]
async fn a_batch_that_comes_twice_changes_nothing_more() {
    let app = TestApp::new().await;
    let (key, [first, second]) = two_documents(&app).await;
    let processor = Processor::new(app.system.ctx.clone(), app.environment.content_readers());
    let mut seen = Vec::new();
    for _ in 0..2 {
        for (name, message) in [
            ("sqs-process", run_processor as fn(&Document) -> String),
            ("sqs-commit", run_committer),
        ] {
            let batch =
                event_with_bodies(name, [message(&first), message(&second), message(&first)]);
            let answer = handle_batch(&processor, &queues_of(&app), batch)
                .await
                .unwrap();
            assert_eq!(reported_failures(&answer), Vec::<&str>::new(), "{name}");
        }
        seen.push(document_state(&app, &key, &first).await);
    }

    assert_eq!(seen[0]["status"], "done");
    assert_eq!(seen[0], seen[1]);
    let found = app
        .post("/v3/search", &key, &json!({"q": "bridge"}))
        .await
        .body;
    assert_eq!(found["total"], 2, "each document once: {found}");
    assert_eq!(
        found["results"][0]["chunks"].as_array().unwrap().len(),
        1,
        "{found}"
    );
}

#[tokio::test]
async fn documents_whose_messages_are_dead_are_tried_again() {
    for (name, message) in [
        ("sqs-process-dead", run_processor as fn(&Document) -> String),
        ("sqs-commit-dead", run_committer),
    ] {
        let app = TestApp::new().await;
        let (key, [first, second]) = two_documents(&app).await;
        let worker = MaintenanceWorker::new(app.system.ctx.clone(), CompactionSettings::LOCAL);
        let batch = event_with_bodies(name, [message(&first), "poison".into(), message(&second)]);
        let answer = handle_batch(&worker, &queues_of(&app), batch)
            .await
            .unwrap();
        assert_eq!(
            reported_failures(&answer),
            [IDS[1]],
            "what nobody can read stays for a person"
        );

        for document in [&first, &second] {
            let waiting = document_state(&app, &key, document).await;
            assert_eq!(waiting["status"], "queued", "{name}: {waiting}");
        }
        app.environment.clock.advance_seconds(3600);
        let overdue = maintenance::sweep_overdue_work(&app.system.ctx, app.system.ctx.clock.now());
        assert_eq!(overdue.await.unwrap().documents, 2, "{name}");
    }
}

#[tokio::test]
async fn texts_whose_common_message_is_dead_are_processed_alone() {
    let app = TestApp::new().await;
    let (_, documents) = two_documents(&app).await;
    let texts = documents
        .iter()
        .map(|document| (document.id.clone(), document.revision.clone()));
    let job = Job::ProcessTextsV1 {
        texts: texts.collect(),
    };
    let message = JobMessage { org: org(), job }.to_json();

    let (clients, names) = (&app.system.clients, &app.system.names);
    let receiver = QueueReceiver::new(clients.sqs.clone(), names.process_queue.clone());
    let sent = receiver.receive(Duration::ZERO).await.unwrap();
    receiver
        .delete(&sent.iter().collect::<Vec<_>>())
        .await
        .unwrap();

    let worker = MaintenanceWorker::new(app.system.ctx.clone(), CompactionSettings::LOCAL);
    let batch = event_with_bodies(
        "sqs-process-dead",
        [message.clone(), message.clone(), message],
    );
    let answer = handle_batch(&worker, &queues_of(&app), batch)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), Vec::<&str>::new());
    let sent = receiver.receive(Duration::ZERO).await.unwrap();
    let mut sent: Vec<String> = sent.into_iter().map(|message| message.body).collect();
    sent.sort();
    sent.dedup();
    let mut wanted = documents.each_ref().map(run_processor);
    wanted.sort();
    assert_eq!(sent, wanted);
}

#[tokio::test]
async fn a_dead_message_about_an_older_content_harms_nobody() {
    let app = TestApp::new().await;
    let key = app.create_key(ORG).await;
    let send = |content: &str| json!({"content": content, "customId": "note"});
    let accepted = app
        .post("/v3/documents", &key, &send("The old text."))
        .await
        .body;
    let id = DocumentId::parse(accepted["id"].as_str().unwrap()).unwrap();
    let tenant = Tenant::for_operator(org());
    let old = app
        .system
        .ctx
        .documents
        .get(&tenant, std::slice::from_ref(&id))
        .await
        .unwrap();
    let old = old.into_iter().flatten().next().unwrap();
    app.add_document(&key, &send("The new text.")).await;

    let worker = MaintenanceWorker::new(app.system.ctx.clone(), CompactionSettings::LOCAL);
    let batch = event_with_bodies(
        "sqs-process-dead",
        [
            run_processor(&old),
            run_committer(&old),
            run_processor(&old),
        ],
    );
    let answer = handle_batch(&worker, &queues_of(&app), batch)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), Vec::<&str>::new());
    assert_eq!(document_state(&app, &key, &old).await["status"], "done");
}

#[tokio::test]
async fn a_living_message_in_the_wrong_queue_fails_no_document() {
    let app = TestApp::new().await;
    let (key, [first, second]) = two_documents(&app).await;
    let worker = MaintenanceWorker::new(app.system.ctx.clone(), CompactionSettings::LOCAL);
    let batch = event_with_bodies(
        "sqs-keeper",
        [
            run_processor(&first),
            run_committer(&second),
            "poison".into(),
        ],
    );
    let answer = handle_batch(&worker, &queues_of(&app), batch)
        .await
        .unwrap();
    assert_eq!(reported_failures(&answer), IDS);
    assert_eq!(document_state(&app, &key, &first).await["status"], "queued");
    app.run_until_settled().await.unwrap();
    assert_eq!(document_state(&app, &key, &first).await["status"], "done");
}

#[tokio::test]
async fn an_event_of_something_else_is_an_error_and_not_a_success() {
    let app = TestApp::new().await;
    let worker = MaintenanceWorker::new(app.system.ctx.clone(), CompactionSettings::LOCAL);
    assert!(
        handle_batch(&worker, &queues_of(&app), json!({"Records": "none"}))
            .await
            .is_err()
    );
}
