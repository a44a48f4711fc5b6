//! The routes over embedded services, with a browser and a clock that the test controls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use aws::{Clients, ResourceNames};
use axum::Router;
use axum::body::Body;
use domain::connection::Connection;
use domain::key::{KeyKind, KeySpec, Permission};
use domain::ports::{Clock, Connectors};
use domain::{ConnectionId, ContainerTag, OrgId, Tenant, Timestamp};
use edge::App;
use embedded::{ACCESS_KEY_ID, EmbeddedServices, InProcessTransport, REGION, SECRET_ACCESS_KEY};
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use service::Ctx;
use service::{Authenticator, create_key};
use tempfile::TempDir;
use tower::ServiceExt;

use super::provider::ScriptedDrive;

pub(super) const BASE: &str = "https://api.recollect.test";
pub(super) const DRIVE: &str = "/v3/connections/cloud-drive";

#[derive(Clone)]
pub(super) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(super) fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::SeqCst))
    }

    async fn sleep(&self, _: Duration) {}
}

pub(super) struct TestWorld {
    pub(super) ctx: Ctx,
    pub(super) drive: ScriptedDrive,
    pub(super) time: TestClock,
    pub(super) tenant: Tenant,
    pub(super) key: String,
    router: Router,
    _folder: TempDir,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub(super) fn location(&self) -> String {
        self.headers
            .get(LOCATION)
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default()
    }
}

impl TestWorld {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let time = TestClock(Arc::new(AtomicI64::new(1_767_225_600_000)));
        let millis = time.0.clone();
        let now: embedded::Clock = Arc::new(move || millis.load(Ordering::SeqCst).unsigned_abs());
        let services = EmbeddedServices::open_with_clock(folder.path(), now).unwrap();
        let clients = Clients::new(&aws::config_through(
            InProcessTransport::new(services),
            ACCESS_KEY_ID,
            SECRET_ACCESS_KEY,
            REGION,
        ));
        let names = aws::create_missing_resources(&clients, ResourceNames::for_embedded())
            .await
            .unwrap();
        let ctx = aws::build_context(&clients, &names, Arc::new(time.clone()));
        let drive = ScriptedDrive::default();
        let app = App::new(
            ctx.clone(),
            Authenticator::new(ctx.keys.clone(), ctx.clock.clone()),
        );
        let connectors = Connectors::new(vec![Arc::new(drive.clone())]);
        let routes = crate::router(app.clone(), connectors, Some(BASE.into()));
        let tenant = Tenant::for_operator(OrgId::parse("acme").unwrap());
        let mut world = Self {
            ctx,
            drive,
            time,
            tenant,
            key: String::new(),
            router: edge::build_service(routes, &app),
            _folder: folder,
        };

        world.key = world.key_with(KeyKind::Full, Permission::Write, None).await;
        world
    }

    pub(super) async fn key_with(
        &self,
        kind: KeyKind,
        permission: Permission,
        tags: Option<&[&str]>,
    ) -> String {
        let tags = tags.map(|tags| {
            tags.iter()
                .map(|tag| ContainerTag::parse(tag).unwrap())
                .collect()
        });

        let plan = KeySpec {
            name: "test".into(),
            kind,
            permission,
            tags,
            expires_at: None,
            rate_limit: None,
        };

        create_key(&self.ctx, &self.tenant, plan)
            .await
            .unwrap()
            .key_text
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }

        let body = if body.is_null() {
            Body::empty()
        } else {
            Body::from(body.to_string())
        };

        let response = self
            .router
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();

        Answer {
            status: parts.status,
            headers: parts.headers,
            text,
        }
    }

    pub(super) async fn call_as(&self, key: &str, method: &str, path: &str, body: Value) -> Answer {
        self.send(
            method,
            path,
            &[("authorization", &format!("Bearer {key}"))],
            body,
        )
        .await
    }

    pub(super) async fn call_route(&self, method: &str, path: &str, body: Value) -> Answer {
        self.call_as(&self.key, method, path, body).await
    }

    /// Creates a connection, and returns its id and its link.
    pub(super) async fn connect(&self, body: Value) -> (String, String) {
        let answer = self.call_route("POST", DRIVE, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let created = answer.json();
        (
            created["id"].as_str().unwrap().into(),
            created["authLink"].as_str().unwrap().into(),
        )
    }

    pub(super) async fn stored(&self, id: &str) -> Connection {
        let id = ConnectionId::parse(id).unwrap();
        self.ctx
            .connections
            .get(&self.tenant, &id)
            .await
            .unwrap()
            .unwrap()
    }

    /// Checks whether a connection's record still exists.
    pub(super) async fn has_record(&self, id: &str) -> bool {
        let id = ConnectionId::parse(id).unwrap();
        self.ctx
            .connections
            .get(&self.tenant, &id)
            .await
            .unwrap()
            .is_some()
    }

    /// Changes a connection's record as a synchronization run does.
    pub(super) async fn change_record(
        &self,
        id: &str,
        change: impl Fn(&mut Connection) + Send + Sync,
    ) {
        let id = ConnectionId::parse(id).unwrap();
        let change = |connection: &mut Connection| {
            change(connection);
            Ok(true)
        };
        service::change_connection(&self.ctx, &self.tenant, &id, change)
            .await
            .unwrap();
    }

    /// Creates a connection whose user has given permission, and returns it with its browser.
    pub(super) async fn connected_browser(&self, body: Value) -> (String, Browser) {
        let (id, link) = self.connect(body).await;
        let mut browser = Browser::default();
        let answer = browser.run_consent(self, &link).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        (id, browser)
    }

    /// Creates a connection as [`World::connected`] does, and selects something.
    pub(super) async fn active_connection(&self, body: Value) -> String {
        let (id, _) = self.connected_browser(body).await;
        let resources = serde_json::json!({"resources": [{"id": "f1"}]});
        let answer = self
            .call_route(
                "POST",
                &format!("/v3/connections/{id}/configure"),
                resources,
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        id
    }
}

/// A browser with its cookies.
#[derive(Default, Clone)]
pub(super) struct Browser {
    pub(super) cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(super) async fn send(
        &mut self,
        world: &TestWorld,
        method: &str,
        address: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let path = address.strip_prefix(BASE).unwrap_or(address);
        let jar: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let jar = jar.join("; ");
        let mut all_headers = vec![(COOKIE.as_str(), jar.as_str())];
        all_headers.extend_from_slice(headers);
        let answer = world.send(method, path, &all_headers, body).await;
        for line in answer.headers.get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (pair, rules) = line.split_once(';').unwrap();
            assert!(pair.starts_with("__Host-"), "{line}");
            for rule in ["Path=/;", "Secure;", "HttpOnly;"] {
                assert!(rules.contains(rule), "{line}");
            }
            let kinds = ["SameSite=Lax", "SameSite=None; Partitioned"];
            assert!(kinds.iter().any(|kind| rules.ends_with(kind)), "{line}");
            let (name, value) = pair.split_once('=').unwrap();
            if rules.contains("Max-Age=0;") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.into(), value.into());
            }
        }

        answer
    }

    pub(super) async fn get(&mut self, world: &TestWorld, address: &str) -> Answer {
        self.send(
            world,
            "GET",
            address,
            &[("accept", "text/html")],
            Value::Null,
        )
        .await
    }

    /// Opens a link and continues to the provider. Returns the state that the provider received.
    pub(super) async fn go_to_provider(&mut self, world: &TestWorld, link: &str) -> String {
        let page = self.get(world, link).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let next = page
            .text
            .split("class=\"button primary\" href=\"")
            .nth(1)
            .unwrap();
        let answer = self.get(world, next.split('"').next().unwrap()).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let location = answer.location();
        assert!(
            location.starts_with("https://drive.test/auth?"),
            "{location}"
        );

        location.split("state=").nth(1).unwrap().to_owned()
    }

    /// Returns from the provider.
    pub(super) async fn come_back(&mut self, world: &TestWorld, state: &str, rest: &str) -> Answer {
        let path = format!("/v3/connections/auth/callback/cloud-drive?state={state}&{rest}");
        self.get(world, &path).await
    }

    /// Runs the whole OAuth flow.
    pub(super) async fn run_consent(&mut self, world: &TestWorld, link: &str) -> Answer {
        let state = self.go_to_provider(world, link).await;
        self.come_back(world, &state, "code=code&scope=x").await
    }
}
