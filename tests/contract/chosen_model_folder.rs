//! Vectors by an embedding model in a folder, which runs in the process.

use std::path::Path;

use cli::arguments::ModelOptions;
use cli::transfer::ImportOptions;
use random_encoder::RandomEncoder;
use serde_json::json;
use tempfile::TempDir;
use testkit::{TestApp, TestEnvironment};
use transformer::FolderSettings;

use crate::chosen_model::{answer, search, set_model, start};
use crate::client::OrgClient;
use crate::reuse::served_pack;
use crate::server::Server;
use crate::transfer::{TAG, export_lines, import_text, text};

/// Texts in the words of the model, and questions that it takes for them, as neither their words nor
/// the built-in vectors do.
const TEXTS: [&str; 2] = ["A ship.", "A cat."];
const QUESTIONS: [&str; 2] = ["A feline.", "A vessel."];

fn write_encoder(seed: u64) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let encoder = RandomEncoder {
        seed,
        ..RandomEncoder::tiny()
    };
    encoder.write(folder.path()).expect("a model");
    folder
}

fn set_folder(world: &mut TestEnvironment, folder: &Path) {
    world.models = remote::ModelSettings::default();
    world.embedding_folder = Some(FolderSettings {
        folder: folder.to_owned(),
        ..FolderSettings::default()
    });
}

async fn add_texts(client: &OrgClient) -> Vec<String> {
    let mut ids = Vec::new();
    for text in TEXTS {
        let body = json!({"content": text, "taskType": "superrag", "containerTag": TAG});
        ids.push(client.add_document(body).await);
    }
    ids
}

async fn expect_found_by_folder(client: &OrgClient, ids: &[String]) {
    for (question, id) in QUESTIONS.iter().zip(ids) {
        let found = search(client, question).await;
        assert_eq!(found.first(), Some(id), "{question}");
    }
}

async fn model_of(client: &OrgClient, id: &str) -> Option<String> {
    served_pack(client, id).await.chosen_model.clone()
}

#[tokio::test]
async fn a_question_finds_by_a_folder_what_shares_no_word_with_it() {
    let folder = write_encoder(1);
    let mut world = TestEnvironment::new().expect("a folder");
    set_folder(&mut world, folder.path());
    let client = start(&world).await;
    let ids = add_texts(&client).await;

    expect_found_by_folder(&client, &ids).await;
    let pack = served_pack(&client, &ids[0]).await;
    assert_eq!(pack.chunks[0].model_vector.len(), 32);
    let model = pack.chosen_model.as_deref().expect("a model");
    let name = folder.path().file_name().expect("a name");
    assert!(
        model.starts_with(&format!("folder:{}@", name.to_string_lossy())),
        "{model}"
    );
}

#[tokio::test]
async fn folders_and_endpoints_take_over_from_each_other() {
    let server = Server::start(answer).await;
    let (first, second) = (write_encoder(1), write_encoder(2));
    let mut world = TestEnvironment::new().expect("a folder");
    let client = start(&world).await;
    let mut ids = add_texts(&client).await;
    assert_eq!(model_of(&client, &ids[0]).await, None);
    drop(client);

    let mut names = Vec::new();
    for step in ["first", "second", "endpoint", "first"] {
        match step {
            "first" => set_folder(&mut world, first.path()),
            "second" => set_folder(&mut world, second.path()),
            _ => {
                world.embedding_folder = None;
                set_model(&mut world, &server, Some("narrow"));
            }
        }
        let client = start(&world).await;

        // A new document has vectors of the new model. The others are found by the built-in
        // vectors beside it, until they are embedded.
        let body = json!({"content": "A query.", "taskType": "superrag", "containerTag": TAG});
        let new = client.add_document(body).await;
        let name = model_of(&client, &new).await.expect("a model");
        assert_ne!(model_of(&client, &ids[0]).await.as_ref(), Some(&name));
        let before = server.connection_count();
        assert_eq!(search(&client, "the ship").await.first(), Some(&ids[0]));
        if step != "endpoint" {
            assert_eq!(server.connection_count(), before, "a folder asks nobody");
        }

        client
            .app
            .run_until_settled()
            .await
            .expect("work that ends");
        for id in &ids {
            assert_eq!(model_of(&client, id).await.as_ref(), Some(&name));
        }
        if step != "endpoint" {
            expect_found_by_folder(&client, &ids).await;
        }
        ids.push(new);
        names.push(name);
    }
    assert_eq!(names[0], names[3], "the same files have the same name");
    assert_eq!(names[2], "narrow");
    assert_ne!(names[0], names[1], "other weights have another name");

    world.embedding_folder = None;
    let client = start(&world).await;
    assert_eq!(search(&client, "the ship").await.first(), Some(&ids[0]));
}

#[tokio::test]
async fn an_import_keeps_the_vectors_of_a_folder() {
    let folder = write_encoder(1);
    let mut world = TestEnvironment::new().expect("a folder");
    set_folder(&mut world, folder.path());
    let client = start(&world).await;
    let ids = add_texts(&client).await;
    let model = model_of(&client, &ids[0]).await;
    let lines = export_lines(&client, TAG).await;

    let app = TestApp::start(&world, 0).await.expect("an app");
    let other = OrgClient::of(app, "other").await;
    import_text(&other, &text(&lines), &ImportOptions::default())
        .await
        .expect("an import");
    other.app.run_until_settled().await.expect("work that ends");
    let found = search(&other, QUESTIONS[0]).await;
    assert_eq!(model_of(&other, &found[0]).await, model);
    assert_eq!(
        served_pack(&other, &found[0]).await.chunks[0]
            .model_vector
            .len(),
        32
    );
}

#[test]
fn options_that_cannot_be_used_are_refused_at_the_start() {
    let refusal = |options: ModelOptions| match options.readers() {
        Ok(_) => panic!("these options should be refused"),
        Err(error) => format!("{error:#}"),
    };
    let folder = write_encoder(1);
    let both = ModelOptions {
        embedding_model: Some("text-embedding-3-small".into()),
        embedding_folder: Some(folder.path().to_owned()),
        ..ModelOptions::default()
    };
    assert!(
        refusal(both).contains("either RECOLLECT_EMBEDDING_MODEL or RECOLLECT_EMBEDDING_FOLDER")
    );

    std::fs::remove_file(folder.path().join("tokenizer.json")).expect("a file");
    let broken = ModelOptions {
        embedding_folder: Some(folder.path().to_owned()),
        ..ModelOptions::default()
    };
    let message = refusal(broken);
    assert!(
        message.contains("tokenizer.json: cannot be read"),
        "{message}"
    );

    let empty = ModelOptions {
        embedding_folder: Some("".into()),
        ..ModelOptions::default()
    };
    assert!(empty.readers().expect("readers").embedder.is_none());
}
