//! Tests of the drive over HTTP, as its clients see it.

mod changes;
mod consent;
mod content;
mod faults;
mod listings;
mod size;
mod watch;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::{DriveConfig, FakeDrive, Quirks};

const ADA: &str = "ada@example.test";
const BEN: &str = "ben@example.test";
/// The parameters of a listing that includes shared drives.
const DRIVES: &str = "supportsAllDrives=true&includeItemsFromAllDrives=true";

/// A drive and a client with an access token.
struct DriveFixture {
    drive: FakeDrive,
    http: Client,
    root: String,
    token: String,
}

/// Returns an HTTP client that follows no redirects.
fn client() -> Client {
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

impl DriveFixture {
    async fn new() -> Self {
        Self::with(Quirks::default()).await
    }

    async fn with(quirks: Quirks) -> Self {
        let drive = FakeDrive::start_with(DriveConfig {
            quirks,
            ..DriveConfig::default()
        })
        .await
        .unwrap();
        let ada = drive.get_or_create_account(ADA);
        let (root, token) = (ada.root().to_owned(), ada.access_token());

        Self {
            drive,
            http: client(),
            root,
            token,
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}/drive/v3/{path}", self.drive.base_url()))
            .bearer_auth(&self.token)
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let response = self.request(Method::GET, path).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json().await.unwrap_or(Value::Null),
        )
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self
            .request(Method::POST, path)
            .json(body)
            .send()
            .await
            .unwrap();
        (
            response.status().as_u16(),
            response.json().await.unwrap_or(Value::Null),
        )
    }

    /// Returns the answer to a call that must succeed.
    async fn get_ok(&self, path: &str) -> Value {
        let (status, value) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Returns the status and the reason of an error.
    async fn get_error(&self, path: &str) -> (u16, String) {
        let (status, value) = self.get(path).await;
        (status, reason(&value))
    }

    /// Returns the names on all pages of a listing.
    async fn list_names(&self, query: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("files?fields=nextPageToken,files(name)&{query}{next}");
            let page = self.get_ok(&path).await;
            names.extend(strings(&page["files"], "name"));
            let Some(token) = page["nextPageToken"].as_str() else {
                return names;
            };
            next = format!("&pageToken={token}");
        }
    }

    async fn start(&self, query: &str) -> String {
        let answer = self
            .get_ok(&format!(
                "changes/startPageToken?supportsAllDrives=true&{query}"
            ))
            .await;
        answer["startPageToken"].as_str().unwrap().to_owned()
    }

    /// Returns the entries since a token, and the next token.
    async fn list_changes(&self, token: &str, query: &str) -> (Vec<Value>, String) {
        let (mut entries, mut token) = (Vec::new(), token.to_owned());
        loop {
            let page = self
                .get_ok(&format!(
                    "changes?{DRIVES}&pageToken={token}&fields=*&{query}"
                ))
                .await;
            entries.extend(page["changes"].as_array().cloned().unwrap());
            if let Some(head) = page["newStartPageToken"].as_str() {
                return (entries, head.to_owned());
            }
            page["nextPageToken"]
                .as_str()
                .unwrap()
                .clone_into(&mut token);
        }
    }

    fn add_doc(&self, parent: &str, name: &str) -> String {
        self.drive
            .add_doc(parent, name, &format!("# {name}\n"))
            .unwrap()
    }

    fn add_folder(&self, parent: &str, name: &str) -> String {
        self.drive.add_folder(parent, name).unwrap()
    }
}

fn strings(list: &Value, field: &str) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|entry| entry[field].as_str().unwrap().to_owned())
        .collect()
}

fn reason(body: &Value) -> String {
    body["error"]["errors"][0]["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn requests_are_held_against_the_description() {
    let fixture = DriveFixture::new().await;
    for (path, expected) in [
        ("files?supportAllDrives=true", (400, "badRequest")),
        ("files?pageSize=0", (400, "invalid")),
        ("files?pageSize=1001", (400, "invalid")),
        ("files?fields=files(idd)", (400, "invalid")),
        ("files?q=id%3D%27a%27", (400, "invalid")),
        ("files?orderBy=mtime", (400, "invalid")),
        ("files?corpora=drive", (400, "required")),
        ("files?corpora=everything", (400, "invalid")),
        ("files?includeItemsFromAllDrives=true", (400, "invalid")),
        ("files?pageToken=abc", (400, "invalid")),
        ("files/root?acknowledgeAbuse=yes", (400, "invalid")),
        (
            "files/root/export?mimeType=text/plain&supportsAllDrives=true",
            (400, "badRequest"),
        ),
        ("files/root/export", (400, "required")),
        ("files/nothing", (404, "notFound")),
        ("about", (400, "required")),
        ("changes", (400, "required")),
        ("changes?pageToken=999999", (400, "invalid")),
        ("changes?pageToken=abc", (400, "invalid")),
        ("drives?pageSize=101", (400, "invalid")),
        ("drives/nothing", (404, "notFound")),
        ("comments", (404, "notFound")),
    ] {
        let (status, reason) = fixture.get_error(path).await;
        assert_eq!((status, reason.as_str()), expected, "{path}");
    }
}

#[tokio::test]
async fn callers_need_a_token_that_allows_it() {
    let mut fixture = DriveFixture::new().await;
    fixture.token = "ya29.unknown".to_owned();
    assert_eq!(
        fixture.get_error("files").await,
        (401, "authError".to_owned())
    );
    fixture.token = fixture.drive.access_token(ADA);
    fixture.get_ok("files").await;
    fixture.drive.expire_access_tokens();
    assert_eq!(
        fixture.get_error("files").await,
        (401, "authError".to_owned())
    );
}

#[tokio::test]
async fn answers_are_dated_by_the_drive() {
    let fixture = DriveFixture::new().await;
    fixture.drive.advance_clock(3600);
    for (path, status) in [("files/root", 200), ("files/nothing", 404)] {
        let response = fixture.request(Method::GET, path).send().await.unwrap();
        let dates: Vec<_> = response.headers().get_all("date").iter().collect();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(dates, ["Thu, 01 Jan 2026 01:00:00 GMT"]);
    }
}

#[tokio::test]
async fn about_says_who_it_is() {
    let fixture = DriveFixture::new().await;
    let about = fixture
        .get_ok("about?fields=user(emailAddress,displayName)")
        .await;
    assert_eq!(
        about,
        json!({ "user": { "emailAddress": ADA, "displayName": "Ada" } })
    );
}

#[tokio::test]
async fn commands_do_the_same_over_http() {
    let fixture = DriveFixture::new().await;
    let url = format!("{}/admin", fixture.drive.base_url());
    let run = async |command: Value| {
        let response = fixture.http.post(&url).json(&command).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json::<Value>().await.unwrap(),
        )
    };

    let (_, created) =
        run(json!({ "do": "addDoc", "parent": fixture.root, "name": "A", "markdown": "# A" }))
            .await;
    let id = created["id"].as_str().unwrap();
    assert_eq!(
        run(json!({ "do": "rename", "id": id, "name": "B" })).await,
        (200, json!({}))
    );
    assert_eq!(fixture.list_names("").await, ["B"]);
    assert_eq!(
        run(json!({ "do": "rename", "id": "none", "name": "B" }))
            .await
            .0,
        400
    );
    assert_eq!(run(json!({ "do": "fly" })).await.0, 400);
    let fault = json!({ "path": "/drive", "effect": { "kind": "reason", "status": 429, "reason": "rateLimitExceeded" } });
    assert_eq!(run(json!({ "do": "plan", "fault": fault })).await.0, 200);
    assert_eq!(fixture.get("files").await.0, 429);
    let (_, requests) = run(json!({ "do": "requests" })).await;
    assert_eq!(requests.as_array().unwrap().last().unwrap()["status"], 429);
}

#[test]
fn ids_are_the_same_with_the_same_seed() {
    let id = || crate::random::Random::new(7).random_name(20);
    assert_eq!(id(), id());
    assert_ne!(crate::random::Random::new(8).random_name(20), id());
}
