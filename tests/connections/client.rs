//! A client whose user has connected a drive.

use std::collections::BTreeMap;

use edge::ProviderNames;
use fake_drive::FakeDrive;
use serde_json::{Value, json};
use testkit::{DRIVE_ACCOUNT, TestAnswer, TestApp, TestEnvironment};

pub(crate) const TAG: &str = "team";

/// An app, the key of an organization, and a drive.
pub(crate) struct DriveClient {
    pub(crate) app: TestApp,
    pub(crate) drive: FakeDrive,
    pub(crate) key: String,
}

/// The parts of a document that tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenDocument {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) kind: String,
    pub(crate) revision: u64,
}

impl DriveClient {
    pub(crate) async fn new() -> Self {
        Self::with_names(ProviderNames::default()).await
    }

    /// Creates a client of an app whose answers have these names for the drive.
    pub(crate) async fn with_names(names: ProviderNames) -> Self {
        let (mut world, drive) = TestEnvironment::with_drive().await.expect("a world");
        world.provider_names = names;
        let app = TestApp::start(&world, 0).await.expect("an app");
        let key = app.create_key("acme").await;
        Self { app, drive, key }
    }

    /// Returns the root folder of the user's drive.
    pub(crate) fn root_folder(&self) -> String {
        self.drive
            .get_or_create_account(DRIVE_ACCOUNT)
            .root()
            .to_owned()
    }

    pub(crate) fn add_doc(&self, parent: &str, name: &str, text: &str) -> String {
        self.drive.add_doc(parent, name, text).expect("room")
    }

    pub(crate) fn add_folder(&self, parent: &str, name: &str) -> String {
        self.drive.add_folder(parent, name).expect("room")
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> TestAnswer {
        self.app.post(path, &self.key, &body).await
    }

    pub(crate) async fn get(&self, path: &str) -> TestAnswer {
        self.app.get(path, &self.key).await
    }

    /// Connects everything and synchronizes once.
    pub(crate) async fn connect_all(&self) -> String {
        let body = json!({"containerTag": TAG, "metadata": {"syncScope": "full"}});
        let (id, ..) = self
            .app
            .connect_drive(&self.key, &body)
            .await
            .expect("permission");
        self.app.run_connection_until_settled(&self.key, &id).await;
        id
    }

    /// Connects the selected items and synchronizes once.
    pub(crate) async fn connect_selected(&self, selected: &[&str]) -> String {
        let body = json!({"containerTag": TAG});
        let (id, ..) = self
            .app
            .connect_drive(&self.key, &body)
            .await
            .expect("permission");
        self.app.select_items(&self.key, &id, selected).await;
        self.app.run_connection_until_settled(&self.key, &id).await;
        id
    }

    /// Synchronizes the connection again and returns its new state.
    pub(crate) async fn run_import(&self, id: &str) -> Value {
        self.app.run_import(&self.key, id).await
    }

    /// Synchronizes twice. In between, advances the clock until delayed removals are due.
    pub(crate) async fn run_import_twice(&self, id: &str) -> Value {
        self.run_import(id).await;
        self.app.environment.clock.advance_seconds(660);
        self.run_import(id).await
    }

    /// Returns the documents that came from the drive, by path.
    pub(crate) async fn list_documents(&self) -> BTreeMap<String, SeenDocument> {
        let body = json!({"containerTags": [TAG], "source": "cloud-drive", "limit": 200});
        let listed = self.post("/v3/documents/list", body).await.body;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut seen = BTreeMap::new();
        for document in listed["memories"].as_array().expect("a list") {
            assert_eq!(document["status"], "done", "{document}");
            let id = text(&document["id"]);
            let full = self.get(&format!("/v3/documents/{id}")).await.body;
            let revision = full["latestRevision"].as_u64().expect("a number");
            let one = SeenDocument {
                id,
                title: text(&document["title"]),
                kind: text(&document["type"]),
                revision,
            };
            assert_eq!(
                seen.insert(text(&document["filepath"]), one),
                None,
                "twice: {document}"
            );
        }

        seen
    }

    pub(crate) async fn list_paths(&self) -> Vec<String> {
        self.list_documents().await.into_keys().collect()
    }

    /// Checks whether search finds a text.
    pub(crate) async fn search_finds(&self, text: &str) -> bool {
        let body = json!({"q": text, "containerTag": TAG, "searchMode": "hybrid", "limit": 3});
        self.post("/v4/search", body).await.body["results"]
            .to_string()
            .contains(text)
    }
}
