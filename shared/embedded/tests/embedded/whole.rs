//! Tests that a data folder is complete and private, or is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::AttributeValue;
use embedded::{Durability, EmbeddedServices, InProcessTransport};

use crate::dynamodb::create_table;
use crate::support::{self, sdk_config};

/// The files that a folder has once everything was used.
const FILES: [&str; 5] = [
    "dynamodb.sqlite",
    "kms.key",
    "s3/index.sqlite",
    "signing.key",
    "sqs.sqlite",
];

/// Stores an object and seals a secret.
async fn use_all_services(folder: &Path) {
    let services = EmbeddedServices::open(folder).unwrap();
    let s3 = support::s3_client(&sdk_config(InProcessTransport::new(services.clone())));
    s3.create_bucket().bucket("documents").send().await.unwrap();

    s3.put_object()
        .bucket("documents")
        .key("a")
        .body(b"bytes".to_vec().into())
        .send()
        .await
        .unwrap();

    let kms = aws_sdk_kms::Client::new(&sdk_config(InProcessTransport::new(services)));
    kms.encrypt()
        .key_id("local")
        .plaintext(b"text".to_vec().into())
        .send()
        .await
        .unwrap();
}

fn refusal_message(folder: &Path) -> String {
    format!(
        "{:#}",
        EmbeddedServices::open(folder).expect_err("a refusal")
    )
}

#[tokio::test]
async fn a_folder_without_one_of_its_files_is_refused_by_the_name_of_the_file() {
    for name in FILES {
        let folder = tempfile::tempdir().unwrap();
        use_all_services(folder.path()).await;
        let file = folder.path().join(name);

        fs::write(&file, "").unwrap();
        let refusal = refusal_message(folder.path());
        assert!(
            refusal.starts_with(&format!("{} is empty", file.display())),
            "{refusal}"
        );
        assert!(
            refusal.contains("Restore the whole folder from a backup"),
            "{refusal}"
        );
        assert!(
            refusal.contains("move the folder away to start with an empty one"),
            "{refusal}"
        );

        fs::remove_file(&file).unwrap();
        let removed = refusal_message(folder.path());
        assert!(
            removed.starts_with(&format!("{} is missing", file.display())),
            "{removed}"
        );
        assert!(!file.exists(), "the refusal made {name}");
    }
}

/// Versions before `MANIFEST` left such folders.
#[tokio::test]
async fn a_folder_of_an_older_version_opens_without_keys_but_not_without_a_database() {
    let folder = tempfile::tempdir().unwrap();
    use_all_services(folder.path()).await;
    for name in ["MANIFEST", "kms.key", "signing.key"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }

    drop(EmbeddedServices::open(folder.path()).unwrap());
    for name in ["dynamodb.sqlite", "s3/index.sqlite", "sqs.sqlite"] {
        fs::remove_file(folder.path().join("MANIFEST")).unwrap();
        let file = folder.path().join(name);
        let key_bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert!(
            refusal_message(folder.path()).starts_with(&format!("{} is missing", file.display()))
        );
        fs::write(&file, key_bytes).unwrap();
        drop(EmbeddedServices::open(folder.path()).unwrap());
    }
}

/// The engine creates a table in several commits, and a crash may come between any of them.
#[tokio::test]
async fn a_table_that_a_crash_left_half_made_can_be_created_again() {
    for lost_tables in [
        vec!["records::gsi::by-state"],
        vec!["records::gsi::by-state", "records"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let services = EmbeddedServices::open(folder.path()).unwrap();
        create_table(&support::dynamodb_client(&services)).await;
        drop(services);
        let database = rusqlite::Connection::open(folder.path().join("dynamodb.sqlite")).unwrap();
        for table in lost_tables {
            database
                .execute(&format!("DROP TABLE \"{table}\""), [])
                .unwrap();
        }
        drop(database);

        let services = EmbeddedServices::open(folder.path()).unwrap();
        let client = support::dynamodb_client(&services);
        create_table(&client).await;
        let put = client
            .put_item()
            .table_name("records")
            .item("pk", AttributeValue::S("a".into()));
        let put = put
            .item("sk", AttributeValue::S("1".into()))
            .item("state", AttributeValue::S("new".into()));
        put.send().await.unwrap();
        let reopened = EmbeddedServices::open(folder.path()).unwrap();
        let scan = support::dynamodb_client(&reopened)
            .scan()
            .table_name("records")
            .index_name("by-state");
        assert_eq!(scan.send().await.unwrap().count(), 1);
    }
}

#[test]
fn a_folder_that_a_crash_left_half_made_is_made_again() {
    for kept_files in FILES
        .iter()
        .map(|name| vec![*name])
        .chain([FILES.to_vec(), vec![]])
    {
        let folder = tempfile::tempdir().unwrap();
        drop(EmbeddedServices::open(folder.path()).unwrap());
        fs::remove_file(folder.path().join("MANIFEST")).unwrap();

        for name in FILES.iter().filter(|name| !kept_files.contains(*name)) {
            fs::remove_file(folder.path().join(name)).ok();
        }

        for durability in [Durability::Full, Durability::Relaxed] {
            EmbeddedServices::open_durable(folder.path(), durability)
                .unwrap_or_else(|error| panic!("{kept_files:?}: {error:#}"));
        }

        assert!(folder.path().join("MANIFEST").exists());
    }
}

#[tokio::test]
async fn a_folder_and_its_files_are_for_their_user_alone_and_files_of_others_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    use_all_services(&folder).await;
    let services = EmbeddedServices::open(&folder).unwrap();
    assert_eq!(list_shared(&folder), Vec::<PathBuf>::new());
    drop(services);

    fs::write(folder.join("notes.txt"), "mine").unwrap();
    for path in list_all(&folder) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    let services = EmbeddedServices::open(&folder).unwrap();
    assert_eq!(list_shared(&folder), [folder.join("notes.txt")]);
    drop(services);
}

fn list_all(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    let mut at = 0;
    while at < paths.len() {
        if paths[at].is_dir() {
            let entries: Vec<PathBuf> = fs::read_dir(&paths[at])
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            paths.extend(entries);
        }
        at += 1;
    }

    paths
}

/// Returns the files and folders that other users may read or enter.
fn list_shared(folder: &Path) -> Vec<PathBuf> {
    let is_shared = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o077 != 0;
    list_all(folder).into_iter().filter(is_shared).collect()
}
